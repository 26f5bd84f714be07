"""`dragoman score`: score translations with BLEU, TER, chrF and others, with confidence intervals and signatures.

`dragoman compare`: compare systems by their scores and test the differences for significance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Group

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Json, Machine, command
from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import open_output, read_lines
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.comparison import Resampling, compare_systems, conclusive_text
from dragoman.evaluation.statistics.intervals import SystemScore, full_signature, measure
from dragoman.evaluation.statistics.significance import Correction, draws_needed
from dragoman.metrics import METRICS
from dragoman.metrics.combined import tokenises
from dragoman.metrics.metric import Metric, Scorer
from dragoman.metrics.references import Tokenisation, read_references
from dragoman.metrics.tokeniser_choice import metrics_for, mismatch
from dragoman.model.bundle import Model
from dragoman.text.preparation import TextPreparation

ReferenceFiles = Annotated[
    list[Path],
    typer.Option(
        "--reference", help="Reference translations, one sentence per line; repeatable. `ref` stands for ref0, ref1 ..."
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help=f"One of {', '.join(METRICS.names())}, with options as in `bleu:lowercase=true` (separated by commas);"
        " or a weighted sum such as `bleu-ter(case_sensitive=true)`. Repeatable. Default: bleu.",
    ),
]
Tokenise = Annotated[
    Tokenisation | None,
    typer.Option(
        "--tokenize",
        "-tok",
        help="Tokeniser of sacreBLEU for BLEU and NIST. Default: sacreBLEU's default for raw text, `none` for tokenised"
        " text.",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        help="Language of the translations, such as `ja`: the text is raw, and gets sacreBLEU's tokeniser for that"
        " language. Default: guess from the script."
    ),
]
PreparedBy = Annotated[
    Path | None,
    typer.Option("--model", help="Tokenise and lower-case both sides as this model does before they are compared."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @command(
        app,
        "score",
        examples=[
            "dragoman score --reference test.en < test.out",
            "dragoman score --reference ref --metric bleu --metric chrf:word_order=2 system1.out system2.out",
            "dragoman score --reference test.en -m BLEU -m chrF -tok 13a --paired system1.out system2.out",
            "dragoman score --reference test.en --metric ter --sentences scores.tsv --json test.out",
        ],
    )
    def score(
        reference: ReferenceFiles,
        hypotheses: Annotated[list[Path] | None, typer.Argument(help="Translations to score.")] = None,
        metric: Metrics = None,
        tokenise: Tokenise = None,
        language: Language = None,
        model: PreparedBy = None,
        sentences: Annotated[
            Path | None, typer.Option(help="Write the score of each sentence to this file (TSV).")
        ] = None,
        resamples: Annotated[
            int, typer.Option(min=0, help="Number of bootstrap resamples for 95 % intervals; 0: none.")
        ] = 1000,
        paired: Annotated[
            bool, typer.Option("--paired", help="Compare the systems by the paired bootstrap, as `compare` does.")
        ] = False,
        seed: Seed = 0,
        as_json: Json = False,
        machine: Machine = Machine(),
    ) -> None:
        """Score translations against references; prints a table and the signatures of the metrics.

        Compare raw translations with raw references, or tokenised ones with tokenised ones, but never one with the
        other; a warning is printed if the texts look different. --model tokenises both as a model does.

        BLEU, TER and chrF equal sacreBLEU's scores for the same text. For BLEU, raw text gets sacreBLEU's default
        tokeniser (13a, or the one for the language), and tokenised text gets none. The signature names the tokeniser,
        and the line below it gives the reason. Options of a metric: `dragoman methods show bleu`.
        """
        labels, runtime = metric or ["bleu"], machine.runtime()
        how_tokenised = _tokeniser_asked_for(labels, tokenise, model)
        if paired:
            if sentences is not None or resamples == 0:
                raise UsageError("--paired goes without --sentences, and with resamples")
            how = Resampling(resamples, trials=0, samples=0, seed=seed)
            systems = list(map(str, hypotheses or []))
            _compare_files(
                systems,
                reference,
                labels,
                how,
                tokenise=how_tokenised,
                language=language,
                model=model,
                as_json=as_json,
                runtime=runtime,
            )
            return
        text = _preparation_of(model)
        references = read_references(reference, text, runtime=runtime)
        paths = hypotheses or [Path("-")]
        texts = [_read_hypotheses(path, references, reference[0], text, runtime=runtime) for path in paths]
        chosen = metrics_for(labels, references, texts, tokenise=how_tokenised, language=language)
        scored = [
            measure(one, label, references, str(path), found, note=chosen.notes.get(label), runtime=runtime)
            for path, found in zip(paths, texts, strict=True)
            for label, one in chosen.metrics.items()
        ]
        if sentences is not None:
            _write_sentences(sentences, scored)
        results = [found.summary(len(references), resamples, seed, prepared=model is not None) for found in scored]
        if as_json:
            print(json.dumps(results, indent=2, ensure_ascii=False))
        else:
            _print_scores(results, f"{', '.join(map(str, reference))}")

    @command(
        app,
        "compare",
        examples=[
            "dragoman compare --reference test.en baseline.out mert.out pro.out",
            "dragoman compare --reference ref mert=m1.out,m2.out,m3.out pro=p1.out,p2.out,p3.out",
            "dragoman compare --reference test.en --metric ter --sample-size 300 --sample-size 1000 a.out b.out",
        ],
    )
    def compare(
        reference: ReferenceFiles,
        systems: Annotated[
            list[str],
            typer.Argument(help="Translations of each system: FILE, NAME=FILE or NAME=FILE,FILE,... (several runs)."),
        ],
        metric: Metrics = None,
        tokenise: Tokenise = None,
        language: Language = None,
        model: PreparedBy = None,
        resamples: Annotated[int, typer.Option(min=1, help="Number of resamples of the paired bootstrap.")] = 1000,
        trials: Annotated[
            int, typer.Option(min=0, help="Number of shuffles of approximate randomisation; 0: none.")
        ] = 10_000,
        samples: Annotated[
            int, typer.Option(min=0, help="Test sets to draw, to estimate the proportion of conclusive ones; 0: none.")
        ] = 100,
        sample_size: Annotated[
            list[int] | None,
            typer.Option(min=1, help="Number of sentences of such a test set; repeatable. Default: 300."),
        ] = None,
        correction: Annotated[
            Correction, typer.Option(help="Correct p-values for the number of pairs, by Holm's method (1979).")
        ] = "none",
        seed: Seed = 0,
        as_json: Json = False,
        machine: Machine = Machine(),
    ) -> None:
        """Compare systems on one test set, and test whether the differences are significant.

        Prints for each pair: the proportion of bootstrap resamples of the sentences in which the first system is better
        (Koehn 2004; 0.95 counts as significant) and its one-sided p-value; the two-sided p-value of approximate
        randomisation; and the proportion of test sets of 300 sentences that would be conclusive, rightly or wrongly
        (`0.15/0.01`). The last line orders the systems: `>` is significantly better, `≥` is better on this test set
        only, `=` is equal in every sentence. For systems with several runs, scores are means, with the standard
        deviation over runs and over test sentences (Clark et al. 2011).

        Among many pairs, some differ by chance. With --correction holm, p-values are corrected by Holm's step-down
        method for all pairs, and `>` is based on them.
        """
        how = Resampling(resamples, trials, samples, tuple(sample_size or [300]), seed, correction)
        labels = metric or ["bleu"]
        _compare_files(
            systems,
            reference,
            labels,
            how,
            tokenise=_tokeniser_asked_for(labels, tokenise, model),
            language=language,
            model=model,
            as_json=as_json,
            runtime=machine.runtime(),
        )


def _tokeniser_asked_for(
    metrics: Sequence[str], tokenise: Tokenisation | None, model: Path | None
) -> Tokenisation | None:
    """Return the tokeniser asked for, `none` if a model prepares the text; refuse one that no metric uses."""
    asked = [tokenises(metric) for metric in metrics]
    if tokenise is not None and not any(asked):
        raise UsageError(f"--tokenize {tokenise} is for BLEU and NIST, but none of the metrics takes it")
    return "none" if tokenise is None and model is not None else tokenise


def _preparation_of(model: Path | None) -> TextPreparation:
    """Return the preparation of texts before they are compared: as a model does, or none."""
    return TextPreparation() if model is None else Model.load(model).preparation()


def _read_hypotheses(
    path: Path, references: Sequence[Corpus], reference_path: Path, text: TextPreparation, *, runtime: Runtime
) -> Corpus:
    """Read the translations of one system; warn if they look too different from the references."""
    as_it_is = text == TextPreparation()
    hypotheses = Corpus.read(path) if as_it_is else Corpus.from_lines(text.target(read_lines(path)))
    if len(hypotheses) != len(references[0]):
        raise DataError(
            f"has {len(hypotheses)} lines, but the reference {reference_path} has {len(references[0])}",
            path=path,
            expected="as many",
        )
    odd = mismatch(hypotheses, references[0])
    if odd is not None:
        runtime.warn(f"{path}: {odd}; the score is not meaningful (--model prepares both texts as a model does)")
    return hypotheses


def _write_sentences(path: Path, scored: Sequence[SystemScore]) -> None:
    columns = [found.scorer.sentence_scores(found.statistics) for found in scored]
    header = "\t".join(["sentence", *(f"{found.system} {found.label}" for found in scored)])
    with open_output(path) as stream:
        stream.write(f"{header}\n".encode())
        for number, row in enumerate(np.column_stack(columns).tolist()):
            stream.write(("\t".join([str(number), *(f"{value:.6g}" for value in row)]) + "\n").encode())


def _print_scores(results: Sequence[dict[str, object]], title: str) -> None:
    rows = []
    for result in results:
        interval = result.get("interval")
        shown = f"{interval[0]:.2f} to {interval[1]:.2f}" if isinstance(interval, list) else "-"
        rows.append((result["system"], result["metric"], f"{result['score']:6.2f}", shown, _details(result)))
    columns = ["system", "metric", "score", "95 % interval", "precisions, brevity penalty, lengths"]
    used = len(columns) if any(row[-1] for row in rows) else -1
    console = terminal.output()
    console.print(terminal.table(title, columns[:used], [row[:used] for row in rows]))
    print_signatures(results)


def print_signature(metric: Metric, references: int | None, *, prepared: bool = True, note: str | None = None) -> None:
    """Print the signature of the scores in a table; `prepared` if the text is tokenised as a model does."""
    print_signatures([{"signature": full_signature(metric, references, prepared=prepared), "note": note}])


def print_signatures(results: Sequence[Mapping[str, object]]) -> None:
    """Print the signatures of the scores in a table, and notes about tokenisers chosen by default."""
    console = terminal.output()
    for signature in dict.fromkeys(str(result["signature"]) for result in results):
        console.print(signature, style="dim", markup=False)
    for note in dict.fromkeys(str(result["note"]) for result in results if result.get("note")):
        console.print(note, style="dim", markup=False)


def _details(result: Mapping[str, Any]) -> str:
    """Format the details that sacreBLEU prints after a BLEU score."""
    if "precisions" not in result:
        return ""
    precisions = "/".join(f"{precision:.1f}" for precision in result["precisions"])
    return (
        f"{precisions} (BP = {result['brevity_penalty']:.3f} ratio = {result['length_ratio']:.3f}"
        f" hyp_len = {result['hypothesis_length']:.0f} ref_len = {result['reference_length']:.0f})"
    )


def _compare_files(
    systems: Sequence[str],
    reference: Sequence[Path],
    metrics: Sequence[str],
    how: Resampling,
    *,
    tokenise: Tokenisation | None,
    language: str | None,
    model: Path | None,
    as_json: bool,
    runtime: Runtime,
) -> None:
    """Print a comparison of some systems by each metric."""
    if len(systems) < 2:
        raise UsageError(f"found {len(systems)} system; expected two or more to compare")
    _warn_of_few_draws(how, len(systems), runtime)
    prepared = _preparation_of(model)
    references = read_references(reference, prepared, runtime=runtime)
    names, files = _parse_systems(systems)
    translations = [
        [(str(file), _read_hypotheses(file, references, reference[0], prepared, runtime=runtime)) for file in runs]
        for runs in files
    ]
    texts = [found for runs in translations for _, found in runs]
    chosen = metrics_for(metrics, references, texts, tokenise=tokenise, language=language)
    reports = []
    for text, one in chosen.metrics.items():
        scorer, statistics = _statistics(one, references, translations, runtime)
        report = {"metric": text, **compare_systems(one, scorer, names, statistics, how)}
        signature = full_signature(one, len(references), how.resamples, how.seed, prepared=model is not None)
        note = {"note": chosen.notes[text]} if text in chosen.notes else {}
        reports.append({**report, "signature": signature, **note})
    if as_json:
        print(json.dumps(reports, indent=2, ensure_ascii=False))
    else:
        for report in reports:
            _print_comparison(report)


def _warn_of_few_draws(how: Resampling, systems: int, runtime: Runtime) -> None:
    pairs = systems * (systems - 1) // 2
    needed = draws_needed(pairs)
    for flag, draws in (("resamples", how.resamples), ("trials", how.trials)):
        if how.correction == "holm" and 0 < draws < needed:
            runtime.warn(
                f"with --{flag} {draws} no p-value of {pairs} pairs can be significant; take at least {needed:,}"
            )


def _parse_systems(texts: Sequence[str]) -> tuple[list[str], list[list[Path]]]:
    names, files = map(list, zip(*(_parse_system(text) for text in texts), strict=True))
    short = [Path(name).name for name in names]
    if len(set(short)) == len(short):
        return short, files
    if len(set(names)) < len(names):
        raise UsageError("two systems have the same name; expected different ones, as in NAME=FILE")
    return names, files


def _parse_system(text: str) -> tuple[str, list[Path]]:
    name, equals, files = text.partition("=")
    if not equals or Path(text).exists():
        return text, [Path(text)]
    runs = [Path(file) for file in files.split(",") if file]
    if not name or not runs:
        raise UsageError(f"found '{text}'; expected FILE, NAME=FILE or NAME=FILE,FILE,...")
    return name, runs


def _statistics(
    metric: Metric,
    references: Sequence[Corpus],
    systems: Sequence[Sequence[tuple[str, Corpus]]],
    runtime: Runtime,
) -> tuple[Scorer, list[NDArray[np.float64]]]:
    measured = [[measure(metric, metric.name, references, *run, runtime=runtime) for run in runs] for runs in systems]
    return measured[0][0].scorer, [np.stack([run.statistics for run in runs]) for runs in measured]


def _print_comparison(report: dict[str, Any]) -> None:
    console = terminal.output()
    console.print(_system_table(report))
    console.print()
    console.print(_pair_table(report))
    console.print()
    console.print(report["order"], style="bold", markup=False)
    print_signatures([report])


def _system_table(report: dict[str, Any]) -> Group:
    rows = [
        (
            row["system"],
            len(row["runs"]),
            f"{row['score']:.2f}",
            f"{row['sd_runs']:.2f}" if "sd_runs" in row else "-",
            f"{row['sd_sentences']:.2f}" if "sd_sentences" in row else "-",
        )
        for row in report["systems"]
    ]
    return terminal.table("Systems", ["system", "runs", report["metric"], "sd over runs", "sd over sentences"], rows)


def _pair_table(report: dict[str, Any]) -> Group:
    first = report["pairs"][0]
    corrected = "p_bootstrap_holm" in first
    tests = [f"{test}_holm" if corrected else test for test in ("p_bootstrap", "p_randomisation")]
    rows = [
        (
            pair["better"],
            pair["worse"],
            f"{pair['difference']:+.2f}",
            f"{pair['share_better']:.3f}",
            *(f"{pair[test]:.4f}" if test in pair else "-" for test in tests),
            *(conclusive_text(*found) for found in pair["conclusive"].values()),
        )
        for pair in report["pairs"]
    ]
    columns = ["better", "worse", "difference", "share", "p boot", "p rand", *(f"at {s}" for s in first["conclusive"])]
    title = f"Pairs (p-values corrected by Holm's method for {len(rows)} pairs)" if corrected else "Pairs"
    return terminal.table(title, columns, rows)
