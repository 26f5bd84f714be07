"""`dragoman mbr`: choose among candidate translations of any system by minimum Bayes risk."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from dragoman.cli.score import Seed
from dragoman.cli.shell.flags import ClusterMachine, command
from dragoman.cli.shell.loading import (
    FailedLines,
    Format,
    FormatOptions,
    Ids,
    Order,
    Source,
    chosen_format,
    output_order,
    with_id,
)
from dragoman.cli.shell.mbr_report import MbrReport, draw_first, write_matrix
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import open_output
from dragoman.core.nbest import NBest
from dragoman.core.options import parse_options
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.decision.blocks import (
    BlockDecisions,
    EvidenceBlock,
    decide_by_estimation,
    decide_by_metric,
    decide_by_utilities,
    join_blocks,
    matching_blocks,
    settle_weights,
    with_confidences,
)
from dragoman.decision.choice_bootstrap import ChoiceBootstrap
from dragoman.decision.estimators import ESTIMATORS
from dragoman.decision.expected_utility import UtilityEstimation
from dragoman.decision.mbr import Mbr
from dragoman.decision.system_lists import join_systems, named_files
from dragoman.evaluation.figures.svg import require_matplotlib
from dragoman.formats.nbest.format import NBestFormat
from dragoman.formats.nbest.numbers import read_numbers
from dragoman.formats.nbest.order import Id, IdOrderCheck, RequestedOrder
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.utility import UTILITIES, MetricUtility, utility_of


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "mbr",
        examples=[
            "dragoman mbr --candidates samples.jsonl --weights-from uniform > test.out",
            "dragoman mbr --candidates beam.txt --format flat --format-option size=5 --evidence samples.txt "
            "--evidence-format-option size=100 --weights-from uniform --utility chrf",
            "dragoman mbr --candidates samples.jsonl --utility comet:model=FOLDER --estimator pruned > test.out",
            "dragoman mbr --candidates test.nbest.gz --scale 5 --out test.out --picture first.svg",
            "dragoman mbr --candidates a.jsonl --candidates b.jsonl --utility chrf > test.out",
            "dragoman mbr --candidates large.nbest.gz --utility chrf --cluster tcp://10.0.0.1:8786 --out large.out",
            "dragoman mbr --candidates batch.jsonl --order requests.jsonl --weights-from uniform > test.out",
        ],
    )
    def mbr(
        candidates: Annotated[
            list[Path],
            typer.Option(
                help="Candidate translations of any system, in one of the formats of n-best lists; repeatable, for"
                " several systems, which have the same weight; NAME=FILE names one."
            ),
        ],
        evidence: Annotated[
            Path | None,
            typer.Option(help="Pseudo-references that candidates are compared with. Default: the candidates."),
        ] = None,
        format_name: Format = None,
        format_option: FormatOptions = None,
        evidence_format: Annotated[str | None, typer.Option(help="Format of --evidence, if it differs.")] = None,
        evidence_format_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for an option of that format; repeatable.")
        ] = None,
        utility: Annotated[
            str,
            typer.Option(
                help="The utility function: a metric (see `dragoman score --help`), or a neural metric with its model,"
                f" NAME:model=FOLDER. Neural metrics: {', '.join(UTILITIES.names())}."
            ),
        ] = "bleu",
        estimator: Annotated[
            str,
            typer.Option(
                help=f"Estimator of expected utilities: {', '.join(ESTIMATORS.names())}. All but exact need fewer calls"
                " of the utility."
            ),
        ] = "exact",
        estimator_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for an option of the estimator; repeatable.")
        ] = None,
        check: Annotated[
            int, typer.Option(min=0, help="Compare the choices for the first n sentences with the exact ones.")
        ] = 0,
        resamples: Annotated[
            int,
            typer.Option(
                min=0,
                help="Resample the pseudo-references this often (1,000 are usual): the confidence of a choice is the"
                " share of resamples in which it stays the same.",
            ),
        ] = 0,
        cache: Annotated[
            Path | None,
            typer.Option(help="File that keeps the scores of neural metrics. Default: one in the user's cache folder."),
        ] = None,
        seed: Seed = 1,
        scale: Annotated[
            float, typer.Option(help="Weight of a pseudo-reference: exp(scale * log-probability or score).")
        ] = 1.0,
        weights_from: Annotated[
            Literal["logprob", "score", "uniform"] | None,
            typer.Option(
                help="Source of the weights: uniform for samples. Default: logprob if given, otherwise score."
            ),
        ] = None,
        weights: Annotated[
            Path | None, typer.Option(help="File with the weights of the pseudo-references, one number per line.")
        ] = None,
        out: Annotated[Path, typer.Option(help="Output file for the chosen candidates, one per line.")] = Path("-"),
        order: Order = None,
        source: Source = None,
        failed: FailedLines = None,
        ids: Ids = False,
        lists_out: Annotated[
            Path | None,
            typer.Option(
                help="Write the candidates to this file, best first, in the format of --candidates, with the features "
                "`expected_utility` and `probability`."
            ),
        ] = None,
        nbest: Annotated[int | None, typer.Option(min=1, help="Candidates per sentence in --lists-out.")] = None,
        diversity: Annotated[
            float, typer.Option(min=0, help="Weight of the similarity to candidates already in --lists-out; 0: none.")
        ] = 0.0,
        utility_matrix: Annotated[
            Path | None, typer.Option(help="Write the matrix of utilities to this file (.npz); see the tutorial.")
        ] = None,
        utility_matrix_in: Annotated[
            Path | None,
            typer.Option(
                help="Read the matrix of utilities from this file (.npz, .npy) instead of computing --utility."
            ),
        ] = None,
        picture: Annotated[Path | None, typer.Option(help="SVG of the first sentence's distribution.")] = None,
        machine: ClusterMachine = ClusterMachine(),
    ) -> None:
        """Choose the candidate with the highest expected utility (minimum Bayes risk).

        The expected utility of a candidate is the average of the metric's sentence score, with each pseudo-reference
        in turn as the reference, weighted by its probability. Equal candidates are merged and their weights added.
        Choices are written while sentences are read, unless a format or an option needs all sentences at once. They
        keep the order of the file; OpenAI batches and tables, whose lines have no fixed order, are sorted by their ids
        in natural order.
        """
        if utility_matrix_in is not None and utility_matrix is not None:
            raise UsageError(
                "--utility-matrix-in replaces the utilities that --utility-matrix would write; give one of them"
            )
        if utility_matrix_in is not None and machine.cluster is not None:
            raise UsageError("--utility-matrix-in leaves nothing to do for a --cluster; give one of them")
        if weights is not None and (weights_from is not None or scale != 1.0):
            raise UsageError("--weights replaces --weights-from and --scale; give one or the other")
        if picture is not None:
            require_matplotlib()
        wanted, seen = output_order(order, source), IdOrderCheck()
        rule = Mbr(scale=scale, weights_from=weights_from)
        chosen = utility_of(utility)
        metric = chosen.metric if isinstance(chosen, MetricUtility) and estimator == "exact" and not check else None
        if metric is None and (utility_matrix or utility_matrix_in or machine.cluster):
            raise UsageError(
                "--utility-matrix, --utility-matrix-in and --cluster need a metric and the exact estimator"
            )
        store = None if isinstance(chosen, MetricUtility) else ScoreCache(cache or ScoreCache.default_path())
        estimation = UtilityEstimation(
            PairScorer(chosen, store),
            parse_options(ESTIMATORS.get(estimator), estimator_option or []),
            seed=seed,
            check=check,
            resamples=resamples,
        )
        # Files of weights and utilities cover all sentences, which are then one block.
        systems = named_files(candidates)
        first, *more = systems.values()
        whole = bool(more) or any(one is not None for one in (weights, utility_matrix, utility_matrix_in, lists_out))
        with machine.open() as runtime, contextlib.ExitStack() as stack:
            done = None
            if not (whole or (_is_standard(out) and sys.stdout.isatty())):
                done = stack.enter_context(runtime.stage(f"choosing among {first}"))
            forms = [chosen_format(path, format_name, format_option, failed) for path in systems.values()]
            kept = lists_out is not None
            read = [
                _read(path, form, whole, done, runtime, features=kept)
                for path, form in zip(systems.values(), forms, strict=True)
            ]
            lists = others = seen.watch(_joined([*systems], read, rule) if more else read[0])
            weights_from = "logprob" if more else weights_from  # they are normalised for each system
            if evidence is not None:
                same = evidence_format is None and evidence_format_option is None
                named = (format_name, format_option) if same else (evidence_format, evidence_format_option)
                others = _read(evidence, chosen_format(evidence, *named), whole, None, runtime)
            if weights is not None:
                others = _weighted(others, weights, evidence or first)
            settled, others = settle_weights(others, weights_from)
            if evidence is None:
                pairs: Iterator[tuple[NBest, NBest]] = ((block, block) for block in others)
            else:
                pairs = matching_blocks(lists, others, first, evidence)
            if weights_from is None:
                pairs = _with_numbers(pairs, evidence or first)
            rule = replace(rule, weights_from=settled)
            blocks = (EvidenceBlock.of(rule, *pair, evidence or first) for pair in pairs)
            if utility_matrix_in is not None:
                gained, utility = decide_by_utilities(blocks, utility_matrix_in, matrix=resamples > 0), "utility"
            elif metric is None:
                gained = decide_by_estimation(blocks, estimation, runtime=runtime if whole else runtime.quiet())
            else:
                # From a pipe, one block is decided before the next is read; from a file, workers may be ahead.
                groups = [blocks] if first.is_file() else ([block] for block in blocks)
                by_metric = partial(
                    decide_by_metric,
                    metric=metric,
                    matrix=utility_matrix is not None or resamples > 0,
                    runtime=runtime if whole else runtime.quiet(),
                )
                gained = itertools.chain.from_iterable(map(by_metric, groups))
            if resamples and (metric is not None or utility_matrix_in is not None):
                gained = with_confidences(gained, ChoiceBootstrap(resamples, seed))
            report = _write(out, gained, _OutputLines(first, wanted, ids, runtime=runtime))
        if wanted is None and not ids:
            seen.warn(first, runtime=runtime)
        if utility_matrix is not None:
            write_matrix(utility_matrix, report.first)
        if picture is not None:
            draw_first(picture, report.first)
        if lists_out is not None:
            forms[0].write(lists_out, report.first.rated_lists(nbest, diversity=diversity), runtime=runtime)
        report.show(first, utility, estimation.report if metric is None else None, runtime=runtime)


def _is_standard(out: Path) -> bool:
    return os.fspath(out) == "-"


def _read(
    path: Path,
    form: NBestFormat,
    whole: bool,
    done: ProgressCallback | None,
    runtime: Runtime,
    *,
    features: bool = False,
) -> Iterator[NBest]:
    """Read lists in blocks, or as one block; read ahead until there is a candidate, or raise an error."""
    blocks = form.read_blocks(path, progress_callback=done, runtime=runtime.quiet())
    if features:
        (lists,) = [join_blocks([*blocks])]
        blocks = iter([lists])
        if len(lists.hypotheses):
            return blocks
    if whole:
        all_blocks = [*map(_without_features, blocks)]
        blocks = iter([join_blocks(all_blocks)] if all_blocks else [])
    begun: list[NBest] = []
    for block in blocks:
        begun.append(block)
        if len(block.hypotheses):
            return map(_without_features, itertools.chain(begun, blocks))
    raise DataError("has no candidates", path=path, expected="some for each sentence")


def _joined(names: Sequence[str], read: Sequence[Iterator[NBest]], rule: Mbr) -> Iterator[NBest]:
    """Yield the lists of all systems as one block."""
    systems = dict(zip(names, map(next, read), strict=True))
    yield join_systems(systems, scale=rule.scale, weights_from=rule.weights_from)


def _without_features(block: NBest) -> NBest:
    """Drop the features: they need most of the memory, and blocks may wait for workers."""
    return replace(block, features=FeatureRows.zeros(len(block.scores)), segmentations=None, extras=None)


def _with_numbers(pairs: Iterator[tuple[NBest, NBest]], path: Path) -> Iterator[tuple[NBest, NBest]]:
    """Yield the same blocks; raise an error if the first pseudo-references have no number as a weight."""
    known = False
    for ours, others in pairs:
        if not known and len(others.scores):
            known = others.logprobs is not None or not np.isnan(others.scores).all()
            if not known:
                expected = "them, --weights, or --weights-from uniform"
                raise DataError("has neither log-probabilities nor scores", path=path, expected=expected)
        yield ours, others


def _weighted(blocks: Iterator[NBest], weights: Path, owner: Path) -> Iterator[NBest]:
    (lists,) = blocks
    yield replace(lists, logprobs=_log_weights(weights, lists, owner))


class _OutputLines:
    """Lines of the output: as they are decided, or at the end if another order is asked for."""

    def __init__(self, path: Path, wanted: RequestedOrder | None, show_ids: bool, *, runtime: Runtime):
        self._path, self._wanted, self._show_ids, self._runtime = path, wanted, show_ids, runtime
        self._ids: list[Id] = []
        self._sources: list[str] = []
        self._lines: list[str] = []

    def add(self, one: BlockDecisions) -> bytes:
        """Add the choices of a block; return what can be written now."""
        if self._wanted is None and not self._show_ids:
            return one.chosen.corpus.text()
        lists, lines = one.block.lists, one.chosen.lines()
        if self._wanted is None:
            return _text(map(with_id, lists.sentence_ids, lines))
        self._ids += lists.sentence_ids
        self._sources += lists.sources or ()
        self._lines += lines
        return b""

    def rest(self) -> bytes:
        """Return what is left to write."""
        if self._wanted is None:
            return b""
        sources = self._sources if len(self._sources) == len(self._ids) else None
        places = self._wanted.places(self._ids, sources, self._path, runtime=self._runtime).tolist()
        lines = [self._lines[place] if place >= 0 else "" for place in places]
        if self._show_ids:
            ids = self._wanted.ids or [self._ids[place] if place >= 0 else "" for place in places]
            lines = [*map(with_id, ids, lines)]
        return _text(lines)


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _write(out: Path, decided: Iterable[BlockDecisions], arranged: _OutputLines) -> MbrReport:
    """Write choices as they are made; a file appears only when it is complete."""
    report = MbrReport()
    with open_output(out) as stream:
        for one in decided:
            stream.write(arranged.add(one))
            if _is_standard(out):
                stream.flush()
            report.add(one)
        stream.write(arranged.rest())
    return report


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
