"""`dragoman score`: metrics of translations, with confidence intervals and signatures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Json, command
from dragoman.cli.shell.machine import Machine
from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import open_output, read_lines
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.comparison import Resampling
from dragoman.evaluation.statistics.intervals import Measured, full_signature, measure
from dragoman.metrics import METRICS
from dragoman.metrics.combined import tokenises
from dragoman.metrics.looks import metrics_for, mismatch
from dragoman.metrics.metric import Metric
from dragoman.metrics.preparation import Tokenisation
from dragoman.metrics.references import read_references
from dragoman.model.bundle import Model
from dragoman.text.preparation import TextPreparation

ReferenceFiles = Annotated[
    list[Path],
    typer.Option(
        "--reference", help="Reference translations, one sentence a line; repeatable. `ref` stands for ref0, ref1 ..."
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help=f"One of {', '.join(METRICS.names())}, with options as in `bleu:lowercase=true` (more behind commas);"
        " or a weighted sum such as `bleu-ter(case_sensitive=true)`. Repeatable; bleu by default.",
    ),
]
Tokenise = Annotated[
    Tokenisation | None,
    typer.Option(
        "--tokenize",
        "-tok",
        help="Tokeniser of sacreBLEU for BLEU and NIST; by default sacreBLEU's for raw text, `none` for tokenised.",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        help="Language of the translations, as `ja`: the text is raw, and sacreBLEU's tokeniser for that language is"
        " taken. By default its script tells."
    ),
]
PreparedBy = Annotated[
    Path | None,
    typer.Option("--model", help="Prepare both sides as this model does (tokens, case) before they are compared."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the resampling.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

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
        resamples: Annotated[int, typer.Option(min=0, help="Bootstrap resamples for 95 % intervals; 0: none.")] = 1000,
        paired: Annotated[
            bool, typer.Option("--paired", help="Compare the translations by the paired bootstrap, as `compare` does.")
        ] = False,
        seed: Seed = 0,
        as_json: Json = False,
        machine: Machine = Machine(),
    ) -> None:
        """Score translations against references; prints a table with signatures that say how.

        Texts are compared as they are, or with --model in the words of that model: raw translations with raw
        references, or prepared ones with prepared ones, but never one with the other; a warning says if it looks so.

        BLEU, TER and chrF are sacreBLEU's numbers for the same text. Raw text gets sacreBLEU's default tokeniser for
        BLEU (13a, or that of the language), tokenised text and the words of a model none; the signature says which,
        and the line below it why. Options of a metric: `dragoman methods show bleu`.
        """
        labels, runtime = metric or ["bleu"], machine.runtime()
        how_tokenised = tokeniser_asked_for(labels, tokenise, model)
        if paired:
            if sentences is not None or resamples == 0:
                raise UsageError("--paired goes without --sentences, and with resamples")
            from dragoman.cli.compare import compare_files  # which has its options from here

            how = Resampling(resamples, trials=0, samples=0, seed=seed)
            systems = list(map(str, hypotheses or []))
            compare_files(
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
        text = preparation_of(model)
        references = read_references(reference, text, runtime=runtime)
        paths = hypotheses or [Path("-")]
        texts = [read_hypotheses(path, references, reference[0], text, runtime=runtime) for path in paths]
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
            _print(results, f"{', '.join(map(str, reference))}")


def tokeniser_asked_for(
    metrics: Sequence[str], tokenise: Tokenisation | None, model: Path | None
) -> Tokenisation | None:
    """The tokeniser that was asked for: by name, or `none` with the words of a model; refuses one that nothing uses."""
    asked = [tokenises(metric) for metric in metrics]
    if tokenise is not None and not any(asked):
        raise UsageError(f"--tokenize {tokenise} is for BLEU and NIST, but none of the metrics takes it")
    return "none" if tokenise is None and model is not None else tokenise


def preparation_of(model: Path | None) -> TextPreparation:
    """How texts are prepared before they are compared: as a model says, or not at all."""
    return TextPreparation() if model is None else Model.load(model).preparation()


def read_hypotheses(
    path: Path, references: Sequence[Corpus], reference_path: Path, text: TextPreparation, *, runtime: Runtime
) -> Corpus:
    """Read the translations of one system; warn if they look as if they could not be compared with the references."""
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
        runtime.warn(f"{path}: {odd}; the score says little (--model prepares both as a model does)")
    return hypotheses


def _write_sentences(path: Path, scored: Sequence[Measured]) -> None:
    columns = [found.scorer.sentence_scores(found.statistics) for found in scored]
    header = "\t".join(["sentence", *(f"{found.system} {found.label}" for found in scored)])
    with open_output(path) as stream:
        stream.write(f"{header}\n".encode())
        for number, row in enumerate(np.column_stack(columns).tolist()):
            stream.write(("\t".join([str(number), *(f"{value:.6g}" for value in row)]) + "\n").encode())


def _print(results: Sequence[dict[str, object]], title: str) -> None:
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
    """Print below a table how its scores were made; text is in the words of a model unless it is not `prepared`."""
    print_signatures([{"signature": full_signature(metric, references, prepared=prepared), "note": note}])


def print_signatures(results: Sequence[Mapping[str, object]]) -> None:
    """Print below a table how its numbers were made, and which tokeniser was chosen without being named."""
    console = terminal.output()
    for signature in dict.fromkeys(str(result["signature"]) for result in results):
        console.print(signature, style="dim", markup=False)
    for note in dict.fromkeys(str(result["note"]) for result in results if result.get("note")):
        console.print(note, style="dim", markup=False)


def _details(result: Mapping[str, Any]) -> str:
    """What sacreBLEU prints behind a score of BLEU."""
    if "precisions" not in result:
        return ""
    precisions = "/".join(f"{precision:.1f}" for precision in result["precisions"])
    return (
        f"{precisions} (BP = {result['brevity_penalty']:.3f} ratio = {result['length_ratio']:.3f}"
        f" hyp_len = {result['hypothesis_length']:.0f} ref_len = {result['reference_length']:.0f})"
    )
