"""`dragoman mbr`: minimum Bayes risk among anybody's candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from dragoman.cli.rerank import Format, FormatOptions, chosen_format, read_numbers
from dragoman.cli.shell import terminal
from dragoman.cli.shell.cluster import Cluster, ClusterWait, opened_workers
from dragoman.cli.shell.flags import Threads, command
from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import open_output
from dragoman.core.live import live_progress
from dragoman.core.nbest import NBest
from dragoman.core.progress import Progress
from dragoman.decision.mbr import Mbr
from dragoman.decision.posterior import Posterior
from dragoman.decision.rule import Decisions
from dragoman.decision.spread_gains import spread_gains
from dragoman.decision.utilities import Utilities
from dragoman.metrics.combined import parse_metric


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "mbr",
        examples=[
            "dragoman mbr --candidates samples.jsonl --weights-from uniform > test.out",
            "dragoman mbr --candidates beam.txt --format flat --format-option size=5 --evidence samples.txt "
            "--evidence-format-option size=100 --weights-from uniform --metric chrf",
            "dragoman mbr --candidates test.nbest.gz --scale 5 --out test.out --picture first.svg",
            "dragoman mbr --candidates large.nbest.gz --metric chrf --cluster tcp://10.0.0.1:8786 --out large.out",
        ],
    )
    def mbr(
        candidates: Annotated[Path, typer.Option(help="Candidates of any system, some for each sentence.")],
        evidence: Annotated[
            Path | None, typer.Option(help="Other candidates that stand for the truth; the same ones by default.")
        ] = None,
        format_name: Format = None,
        format_option: FormatOptions = None,
        evidence_format: Annotated[
            str | None, typer.Option(help="The format of the evidence, if it is another one.")
        ] = None,
        evidence_format_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for the format of the evidence; repeatable.")
        ] = None,
        metric: Annotated[str, typer.Option(help="The gain; see `dragoman score --help`.")] = "bleu",
        scale: Annotated[float, typer.Option(help="Weights are exp(scale * log-probability or score).")] = 1.0,
        weights_from: Annotated[
            Literal["logprob", "score", "uniform"] | None,
            typer.Option(
                help="What weighs the evidence: uniform for samples. By default logprob if there, else score."
            ),
        ] = None,
        weights: Annotated[
            Path | None, typer.Option(help="Weights of the evidence, a number a line, in place of these.")
        ] = None,
        out: Annotated[Path, typer.Option(help="Where the chosen candidates go, one a line.")] = Path("-"),
        utility_matrix: Annotated[
            Path | None, typer.Option(help="Write all gains to this file (.npz); see the tutorial.")
        ] = None,
        utility_matrix_in: Annotated[
            Path | None, typer.Option(help="Gains made elsewhere (.npz, .npy), in place of --metric's.")
        ] = None,
        picture: Annotated[Path | None, typer.Option(help="SVG of the first sentence's distribution.")] = None,
        threads: Threads = None,
        cluster: Cluster = None,
        cluster_wait: ClusterWait = 10.0,
    ) -> None:
        """Choose the candidate that agrees most with all others: minimum Bayes risk.

        Candidates that are equal count as one with their weights added. The gain of a candidate is the metric's
        sentence score, with each string of the evidence as reference in turn, weighted by its probability.
        """
        if utility_matrix_in is not None and utility_matrix is not None:
            raise UsageError(
                "--utility-matrix-in replaces the gains that --utility-matrix would write; give one of them"
            )
        if utility_matrix_in is not None and cluster is not None:
            raise UsageError("--utility-matrix-in leaves nothing to do for a --cluster; give one of them")
        if weights is not None and (weights_from is not None or scale != 1.0):
            raise UsageError("--weights replaces --weights-from and --scale; give one or the other")
        progress = live_progress()
        rule = Mbr(metric=metric, scale=scale, weights_from=weights_from)
        with opened_workers(cluster, threads, cluster_wait) as workers:
            workers.require([])
            lists = others = _read(candidates, format_name, format_option, progress)
            if evidence is not None:
                same = evidence_format is None and evidence_format_option is None
                form = (format_name, format_option) if same else (evidence_format, evidence_format_option)
                others = _in_order_of(lists, _read(evidence, *form, progress), candidates, evidence)
            if weights is not None:
                others = replace(others, logprobs=_log_weights(weights, others, evidence or candidates))
            posterior = _posterior(rule, others, evidence or candidates)
            hypotheses = posterior if evidence is None else Posterior.of_nbest(lists, weights_from="uniform")
            matrix = np.empty(0, np.float32)
            if utility_matrix_in is not None:
                gains, metric = (
                    Utilities.read(utility_matrix_in, lists, others).expected(hypotheses, posterior),
                    "utility",
                )
            else:
                gains, matrix = spread_gains(
                    parse_metric(metric),
                    hypotheses,
                    posterior,
                    matrix=utility_matrix is not None,
                    workers=workers,
                    progress=progress,
                )
        chosen = Decisions.of_best(hypotheses.vocab, hypotheses.strings, gains, hypotheses.sentences)
        with open_output(out) as stream:
            stream.write(chosen.corpus.text())
        if utility_matrix is not None:
            _write_matrix(utility_matrix, hypotheses, posterior, gains, matrix)
        if picture is not None:
            _draw(picture, posterior, chosen, lists)
        _report(candidates, metric, lists, hypotheses, chosen, gains, progress)


def _read(path: Path, name: str | None, options: Sequence[str] | None, progress: Progress) -> NBest:
    lists = chosen_format(path, name, options).read(path, progress=progress)
    if len(lists.hypotheses) == 0:
        raise DataError("has no candidates", path=path, expected="some for each sentence")
    return lists


def _in_order_of(lists: NBest, others: NBest, candidates: Path, evidence: Path) -> NBest:
    """The evidence with its sentences in the order of the candidates' sentences."""
    if len(lists) != len(others):
        raise DataError(
            f"has {len(others)} sentences, but {candidates} has {len(lists)}", path=evidence, expected="as many"
        )
    place = {name: i for i, name in enumerate(others.sentence_ids)}
    missing = [name for name in lists.sentence_ids if name not in place]
    if missing:
        raise DataError(f"has nothing for sentence {missing[0]}, which {candidates} has", path=evidence)
    return others.take(np.array([place[name] for name in lists.sentence_ids], np.int64))


def _log_weights(path: Path, lists: NBest, owner: Path) -> NDArray[np.float64]:
    values = read_numbers(path)
    if len(values) != len(lists.hypotheses):
        raise DataError(
            f"has {len(values)} numbers, but {owner} has {len(lists.hypotheses)} candidates",
            path=path,
            expected="as many",
        )
    wrong = np.flatnonzero(~(values >= 0) | np.isinf(values))
    if len(wrong):
        raise DataError(
            f"found {values[wrong[0]]:g}", path=path, line=int(wrong[0]) + 1, expected="a weight of at least 0"
        )
    with np.errstate(divide="ignore"):
        return np.log(values)


def _posterior(rule: Mbr, lists: NBest, path: Path) -> Posterior:
    if rule.weights_from is None and lists.logprobs is None and np.isnan(lists.scores).all():
        raise DataError(
            "has neither log-probabilities nor scores", path=path, expected="them, --weights, or --weights-from uniform"
        )
    try:
        return rule.posterior(lists)
    except DataError as error:
        raise DataError(str(error), path=path) from None


def _write_matrix(
    path: Path, hypotheses: Posterior, evidence: Posterior, gains: NDArray[np.float64], matrix: NDArray[np.float32]
) -> None:
    with open_output(path) as stream:
        np.savez(
            stream,
            gains=matrix,
            expected=gains,
            hypothesis_sentences=hypotheses.sentences,
            hypothesis_rows=hypotheses.rows,
            evidence_sentences=evidence.sentences,
            evidence_rows=evidence.rows,
            evidence_probabilities=evidence.probabilities,
        )


def _draw(path: Path, posterior: Posterior, chosen: Decisions, lists: NBest) -> None:
    from dragoman.evaluation.figures.posterior_plot import draw_posterior
    from dragoman.evaluation.figures.svg import write_svg

    first = posterior.strings.take(np.arange(posterior.sentences[1]))
    probabilities = posterior.probabilities[: posterior.sentences[1]]
    texts = Corpus(posterior.vocab, first).lines()
    picks = {"mbr": chosen.lines()[0]}
    if texts:
        picks["most probable"] = texts[int(probabilities.argmax())]
    source = None if lists.sources is None else lists.sources[0]
    write_svg(path, draw_posterior(texts, probabilities.tolist(), picks, source=source))


def _report(
    path: Path,
    metric: str,
    lists: NBest,
    hypotheses: Posterior,
    chosen: Decisions,
    gains: NDArray[np.float64],
    progress: Progress,
) -> None:
    filled = np.flatnonzero(np.diff(lists.sentences))
    if len(filled) < len(lists):
        progress.warn(
            f"{len(lists) - len(filled):,} of {len(lists):,} sentences have no candidates; their lines are empty"
        )
    firsts = hypotheses.strings.take(hypotheses.sentences[:-1][filled])
    before = Corpus(hypotheses.vocab, firsts).lines()
    after = chosen.lines()
    changed = sum(after[i] != text for i, text in zip(filled.tolist(), before, strict=True))
    rows = [
        ("sentences", len(lists)),
        ("candidates", len(lists.hypotheses)),
        ("distinct candidates", len(hypotheses.strings)),
        ("sentences whose choice is not the first candidate", changed),
        (f"expected {metric}, first candidates", float(gains[hypotheses.sentences[:-1][filled]].mean())),
        (f"expected {metric}, chosen candidates", float(chosen.values[filled].mean())),
    ]
    terminal.diagnostics().print(terminal.table(f"{path}: minimum Bayes risk", ["", "value"], rows))
