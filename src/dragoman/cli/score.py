"""`dragoman score`: score translations with BLEU, TER, chrF, neural metrics and others, with confidence intervals.

`dragoman compare`: compare systems by their scores and test the differences for significance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dragoman.cli.shell import terminal
from dragoman.cli.shell.comparison import check_comparison, print_comparison, print_signatures
from dragoman.cli.shell.flags import Json, Machine, command
from dragoman.cli.shell.metric_flags import MetricFlags
from dragoman.cli.shell.sacrebleu_output import PairedTest, SacrebleuOutput, SacrebleuReport
from dragoman.cli.shell.scored_texts import ScoredFiles, ScoredTexts, downloaded_test_set
from dragoman.core.errors import UsageError
from dragoman.core.files import open_output
from dragoman.evaluation.statistics.comparison import Resampling
from dragoman.evaluation.statistics.intervals import SystemScore, full_signature, measure
from dragoman.evaluation.statistics.significance import Correction
from dragoman.metrics import METRICS
from dragoman.metrics.metric import Metric
from dragoman.metrics.references import Tokenisation
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.tokeniser_choice import ChosenMetrics, metrics_for, tokenises
from dragoman.metrics.utility import UTILITIES, asks_models, names_utility

_REFERENCE = "Reference translations, one sentence per line; repeatable. `ref` stands for ref0, ref1 ..."
ReferenceFiles = Annotated[list[Path], typer.Option("--reference", help=_REFERENCE)]
AnyReferenceFiles = Annotated[
    list[Path] | None, typer.Option("--reference", help=f"{_REFERENCE} The arguments are then translations.")
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input", "-i", help="Translations, one file for each system. The arguments before it are references."
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "--metrics",
        "-m",
        help=f"One of {', '.join(METRICS.names())}, with options as in `bleu:lowercase=true` (separated by commas);"
        " a weighted sum such as `bleu-ter(case_sensitive=true)`; or a neural metric with its model,"
        f" NAME:model=FOLDER ({', '.join(UTILITIES.names())}). Several, or repeatable. Default: bleu.",
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
LanguagePair = Annotated[
    str | None,
    typer.Option("--language-pair", "-l", help="The same as a pair of source and target language, such as `en-ja`."),
]
SourceText = Annotated[
    Path | None, typer.Option("--source", help="Source text, one sentence per line, for neural metrics that read it.")
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache", help="File that keeps the scores of neural metrics. Default: one in the user's cache folder."
    ),
]
PreparedBy = Annotated[
    Path | None,
    typer.Option("--model", help="Tokenise and lower-case both sides as this model does before they are compared."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]

#: Tokenisers that sacreBLEU takes by itself for a language; all others get 13a.
_SACREBLEU_DEFAULTS: Mapping[str, Tokenisation] = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}


@dataclass(frozen=True)
class _ScoreMachine(Machine):
    """Threads of this process, also by sacreBLEU's name for its workers."""

    threads: Annotated[
        int | None,
        typer.Option("--threads", "--paired-jobs", "-j", min=0, help="Number of threads. Default, or 0: all cores."),
    ] = None


def _is_metric(text: str) -> bool:
    """Return whether an argument after -m is another metric."""
    return text.partition(":")[0].lower() in METRICS.names() or names_utility(text)


#: Flags that sacreBLEU's users follow with several values.
_SEVERAL = {"metric": _is_metric, "inputs": lambda text: True}


_TEST_SETS = "is about sacreBLEU's test sets, which Dragoman does not have; expected "
_DOCUMENTS = f"{_TEST_SETS}files: write the part with `sacrebleu --echo`, and score it"
#: Flags of sacreBLEU for which there are none here.
_ABSENT = {
    "--echo": f"{_TEST_SETS}`sacrebleu -t SET -l PAIR --echo src`",
    "--download": f"{_TEST_SETS}`sacrebleu --download SET`, after which -t SET finds it here",
    "--list": f"{_TEST_SETS}`sacrebleu --list`",
    **dict.fromkeys(("--cite", "--citation"), f"{_TEST_SETS}`sacrebleu --cite -t SET`"),
    **dict.fromkeys(("--origlang", "-ol", "--subset", "--detail", "-d"), _DOCUMENTS),
    **dict.fromkeys(("--encoding", "-e"), "is not needed for UTF-8; expected other texts converted, as by `iconv`"),
}


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @command(
        app,
        "score",
        examples=[
            "dragoman score --reference test.en < test.out",
            "dragoman score --reference ref --metric bleu --metric chrf:word_order=2 system1.out system2.out",
            "dragoman score --reference test.en --source test.fr -m comet:model=FOLDER system1.out system2.out",
            "dragoman score --reference test.en --metric ter --sentences scores.tsv --json test.out",
            "dragoman score ref1 ref2 -i system1.out system2.out -m bleu chrf ter --paired-bs --format text",
        ],
        several=_SEVERAL,
        absent=_ABSENT,
    )
    def score(
        texts: Annotated[
            list[str] | None,
            typer.Argument(help="Translations to score; without --reference the references, as in sacreBLEU."),
        ] = None,
        reference: AnyReferenceFiles = None,
        inputs: Inputs = None,
        metric: Metrics = None,
        tokenise: Tokenise = None,
        language: Language = None,
        language_pair: LanguagePair = None,
        test_set: Annotated[
            str | None, typer.Option("--test-set", "-t", help="A test set that sacreBLEU has downloaded; with -l.")
        ] = None,
        references_per_line: Annotated[
            int, typer.Option("--num-refs", "-nr", min=1, help="References in each line, separated by tabs.")
        ] = 1,
        source: SourceText = None,
        cache: Cache = None,
        model: PreparedBy = None,
        sentences: Annotated[
            Path | None, typer.Option(help="Write the score of each sentence to this file (TSV).")
        ] = None,
        resamples: Annotated[
            int,
            typer.Option(
                "--resamples",
                "--confidence-n",
                "-cin",
                "--paired-bs-n",
                "-pbsn",
                min=0,
                help="Number of bootstrap resamples for 95 % intervals and paired tests; 0: none.",
            ),
        ] = 1000,
        trials: Annotated[
            int,
            typer.Option("--trials", "--paired-ar-n", "-parn", min=1, help="Number of shuffles of --paired-ar."),
        ] = 10_000,
        paired: Annotated[
            bool,
            typer.Option(
                "--paired",
                "--paired-bs",
                "-pbs",
                help="Compare the systems by the paired bootstrap, as `compare` does.",
            ),
        ] = False,
        paired_ar: Annotated[
            bool, typer.Option("--paired-ar", "-par", help="Compare the systems by approximate randomisation.")
        ] = False,
        seed: Annotated[
            int | None, typer.Option("--seed", min=0, help="Random seed. Default: 0; for sacreBLEU's output, its own.")
        ] = None,
        force: Annotated[
            bool, typer.Option("--force", help="Do not warn of texts that look differently prepared.")
        ] = False,
        as_json: Json = False,
        options: MetricFlags = MetricFlags(),
        output: SacrebleuOutput = SacrebleuOutput(),
        machine: _ScoreMachine = _ScoreMachine(),
    ) -> None:
        """Score translations against references; prints a table and the signatures of the metrics.

        Compare raw translations with raw references, or tokenised ones with tokenised ones, but never one with the
        other; a warning is printed if the texts look different. --model tokenises both as a model does.

        BLEU, TER and chrF equal sacreBLEU's scores for the same text. For BLEU, raw text gets sacreBLEU's default
        tokeniser (13a, or the one for the language), and tokenised text gets none. The signature names the tokeniser,
        and the line below it gives the reason. Options of a metric: `dragoman methods show bleu`.

        A neural metric's score is the mean over sentences; of several references the best one counts. Scores of
        another program: `-m precomputed:path=FILE`.

        SacreBLEU's command lines work as they are: with references as arguments (or a test set), its defaults hold and
        its output is printed. With --reference, --format prints the same.
        """
        runtime = machine.runtime() if not output.quiet else machine.runtime().quiet(warns=False)
        known = [] if test_set is None else downloaded_test_set(test_set, language_pair)
        files = ScoredFiles.of(texts, reference, inputs, source=source, columns=references_per_line, test_set=known)
        form = None if as_json else output.format_for(like_sacrebleu=files.like_sacrebleu)
        labels = options.applied(metric or ["bleu"], strict=not files.like_sacrebleu, runtime=runtime)
        language = language if language_pair is None else language_pair.split("-")[-1]
        how_tokenised = _tokeniser_asked_for(labels, tokenise, model, strict=not files.like_sacrebleu)
        if files.like_sacrebleu and how_tokenised is None:
            how_tokenised = _SACREBLEU_DEFAULTS.get(language or "", "13a")
        tested = paired or paired_ar
        if tested and (sentences is not None or resamples == 0):
            raise UsageError("--paired goes without --sentences, and with resamples")
        found = files.read(model, runtime=runtime.quiet(warns=False) if force else runtime)
        chosen = _chosen(labels, found, how_tokenised, language, cache)
        if tested and form is None:
            how = Resampling(resamples, trials=trials if paired_ar else 0, samples=0, seed=seed or 0)
            check_comparison([system.name for system in found.systems], how, runtime)
            print_comparison(
                _with_base_names(found),
                chosen,
                how,
                prepared=model is not None,
                as_json=as_json,
                digits=output.width,
                runtime=runtime,
            )
            return
        scored = [
            measure(one, label, found.references, file, text, note=chosen.notes.get(label), runtime=runtime)
            for system in found.systems
            for file, text in system.runs
            for label, one in chosen.metrics.items()
        ]
        if sentences is not None:
            _write_sentences(sentences, scored)
        if form is not None:
            test = PairedTest("ar", trials) if paired_ar else PairedTest("bs", resamples) if paired else None
            drawn, names = output.seed if seed is None else seed, [system.name for system in found.systems]
            report = SacrebleuReport(names, scored, len(found.references), output, form=form, seed=drawn)
            report.show(test, resamples if output.confidence else 0)
            return
        results = [
            one.summary(len(found.references), resamples, seed or 0, prepared=model is not None) for one in scored
        ]
        if as_json:
            print(json.dumps(results, indent=2, ensure_ascii=False))
        else:
            digits = [one.metric.digits if output.width is None else output.width for one in scored]
            _print_scores(results, ", ".join(map(str, files.references)) or str(files.source), digits)

    @command(
        app,
        "compare",
        examples=[
            "dragoman compare --reference test.en baseline.out mert.out pro.out",
            "dragoman compare --reference ref mert=m1.out,m2.out,m3.out pro=p1.out,p2.out,p3.out",
            "dragoman compare --reference test.en --metric ter --sample-size 300 --sample-size 1000 a.out b.out",
            "dragoman compare --reference test.en --source test.fr -m comet:model=FOLDER a.out b.out",
        ],
        several=_SEVERAL,
    )
    def compare(
        systems: Annotated[
            list[str] | None,
            typer.Argument(
                help="Translations of each system: FILE, NAME=FILE or NAME=FILE,FILE,... (several runs); references if"
                " --input is given."
            ),
        ] = None,
        reference: AnyReferenceFiles = None,
        inputs: Inputs = None,
        metric: Metrics = None,
        tokenise: Tokenise = None,
        language: Language = None,
        source: SourceText = None,
        cache: Cache = None,
        model: PreparedBy = None,
        resamples: Annotated[
            int,
            typer.Option("--resamples", "--paired-bs-n", min=1, help="Number of resamples of the paired bootstrap."),
        ] = 1000,
        trials: Annotated[
            int,
            typer.Option(
                "--trials", "--paired-ar-n", min=0, help="Number of shuffles of approximate randomisation; 0: none."
            ),
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
        method for all pairs, and `>` is based on them. Metrics are those of `score`, neural ones included.
        """
        how = Resampling(resamples, trials, samples, tuple(sample_size or [300]), seed, correction)
        runtime, labels = machine.runtime(), metric or ["bleu"]
        files = ScoredFiles.of(systems, reference, inputs, source=source)
        check_comparison(files.systems, how, runtime)
        how_tokenised = _tokeniser_asked_for(labels, tokenise, model, strict=True)
        found = files.read(model, with_runs=True, runtime=runtime)
        chosen = _chosen(labels, found, how_tokenised, language, cache)
        print_comparison(found, chosen, how, prepared=model is not None, as_json=as_json, runtime=runtime)


def _tokeniser_asked_for(
    metrics: Sequence[str], tokenise: Tokenisation | None, model: Path | None, *, strict: bool
) -> Tokenisation | None:
    """Return the tokeniser asked for, `none` if a model prepares the text; if strict, refuse one that nothing uses."""
    open_choices = [tokenises(metric) for metric in metrics]  # which also refuses metrics that cannot be read
    if tokenise is not None and strict and not any(open_choices):
        raise UsageError(f"--tokenize {tokenise} is for BLEU and NIST, but none of the metrics takes it")
    return "none" if tokenise is None and model is not None else tokenise


def _chosen(
    labels: Sequence[str], texts: ScoredTexts, tokenise: Tokenisation | None, language: str | None, cache: Path | None
) -> ChosenMetrics:
    """Return the metrics; scores of neural ones are kept in the cache."""
    store = ScoreCache(cache or ScoreCache.default_path()) if any(map(asks_models, labels)) else None
    return metrics_for(
        labels,
        texts.references,
        texts.translations,
        tokenise=tokenise,
        language=language,
        sources=texts.sources,
        cache=store,
    )


def _with_base_names(texts: ScoredTexts) -> ScoredTexts:
    """Return systems with the names of their files without folders, if these differ, as `compare` has them."""
    short = [Path(system.name).name for system in texts.systems]
    if len(set(short)) < len(short):
        return texts
    return replace(
        texts, systems=[system._replace(name=name) for system, name in zip(texts.systems, short, strict=True)]
    )


def _write_sentences(path: Path, scored: Sequence[SystemScore]) -> None:
    columns = [found.scorer.sentence_scores(found.statistics) for found in scored]
    header = "\t".join(["sentence", *(f"{found.system} {found.label}" for found in scored)])
    with open_output(path) as stream:
        stream.write(f"{header}\n".encode())
        for number, row in enumerate(np.column_stack(columns).tolist()):
            stream.write(("\t".join([str(number), *(f"{value:.6g}" for value in row)]) + "\n").encode())


def _print_scores(results: Sequence[dict[str, object]], title: str, digits: Sequence[int]) -> None:
    rows = []
    for result, n in zip(results, digits, strict=True):
        interval = result.get("interval")
        shown = f"{interval[0]:.{n}f} to {interval[1]:.{n}f}" if isinstance(interval, list) else "-"
        rows.append((result["system"], result["metric"], f"{result['score']:{n + 4}.{n}f}", shown, _details(result)))
    columns = ["system", "metric", "score", "95 % interval", "precisions, brevity penalty, lengths"]
    used = len(columns) if any(row[-1] for row in rows) else -1
    console = terminal.output()
    console.print(terminal.table(title, columns[:used], [row[:used] for row in rows]))
    print_signatures(results)


def print_signature(metric: Metric, references: int | None, *, prepared: bool = True, note: str | None = None) -> None:
    """Print the signature of the scores in a table; `prepared` if the text is tokenised as a model does."""
    print_signatures([{"signature": full_signature(metric, references, prepared=prepared), "note": note}])


def _details(result: Mapping[str, Any]) -> str:
    """Format the details that sacreBLEU prints after a BLEU score."""
    if "precisions" not in result:
        return ""
    precisions = "/".join(f"{precision:.1f}" for precision in result["precisions"])
    return (
        f"{precisions} (BP = {result['brevity_penalty']:.3f} ratio = {result['length_ratio']:.3f}"
        f" hyp_len = {result['hypothesis_length']:.0f} ref_len = {result['reference_length']:.0f})"
    )
