"""Expected gains of hypotheses against a distribution over references, under any metric or utility function.

Where a metric counts shared n-grams (BLEU, chrF), a kernel numbers the n-grams of a sentence once and compares pairs by
additions. Other metrics compare pairs as they compare a hypothesis with its reference, block by block.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, common_vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.decision.posterior import Posterior
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.chrf import Chrf
from dragoman.metrics.combined import Combined
from dragoman.metrics.metric import Metric
from dragoman.metrics.precomputed import Precomputed
from dragoman.metrics.references import tokenise

T = TypeVar("T")

#: The expected gain of each hypothesis; all gains, sentence by sentence, hypothesis by hypothesis (or nothing).
Gains = tuple[NDArray[np.float64], NDArray[np.float32]]

#: Pairs that a metric without a kernel compares at a time.
_PAIRS = 1 << 16

_LONGEST = 65_535


def check_gain(metric: Metric) -> None:
    """Refuse metrics that cannot compare any two strings."""
    parts = [part for _, part in metric.terms()] if isinstance(metric, Combined) else [metric]
    if any(isinstance(part, Precomputed) for part in parts):
        raise UsageError("precomputed scores belong to single hypotheses and cannot compare two strings as a gain does")


def check_sides(hypotheses: Posterior, evidence: Posterior, before: int = 0) -> None:
    """Refuse sides that no utility can compare; `before` sentences came before these."""
    if len(hypotheses) != len(evidence):
        raise DataError(f"there are hypotheses for {len(hypotheses)} sentences and evidence for {len(evidence)}")
    alone = np.flatnonzero((np.diff(hypotheses.sentences) > 0) & (np.diff(evidence.sentences) == 0))
    if len(alone):
        raise DataError(f"sentence {before + alone[0] + 1} has hypotheses but no evidence")


def expected_gains(
    metric: Metric,
    hypotheses: Posterior,
    evidence: Posterior,
    *,
    matrix: bool = False,
    progress_callback: ProgressCallback | None = None,
    runtime: Runtime = Runtime(),
) -> Gains:
    """Return the expected gain of each hypothesis, if the true translation follows its sentence's evidence.

    The gain is the metric's sentence score with a string of the evidence as reference, negated for error rates. With
    `matrix`, all gains are returned as well. `progress_callback` is told the progress, in place of the stage.
    """
    check_gain(metric)
    check_sides(hypotheses, evidence)
    with runtime.stage("expected gains") as of_stage:
        return _gains(metric, hypotheses, evidence, matrix, progress_callback or of_stage, runtime)


@singledispatch
def _gains(
    metric: Metric,
    hypotheses: Posterior,
    evidence: Posterior,
    matrix: bool,
    progress_callback: ProgressCallback,
    runtime: Runtime,
) -> Gains:
    """Return gains under any metric, from statistics of all pairs with the evidence of one sentence as references."""
    sign = 1.0 if metric.higher_is_better else -1.0
    expected = np.zeros(len(hypotheses.strings))
    cells: list[NDArray[np.float32]] = []
    for s in range(len(hypotheses)):
        ours = np.arange(hypotheses.sentences[s], hypotheses.sentences[s + 1])
        theirs = np.arange(evidence.sentences[s], evidence.sentences[s + 1])
        if len(ours) == 0:
            continue
        # Preparing a metric takes time linear in the vocabulary.
        scorer = metric.scorer([evidence.corpus.take(theirs).compact()])
        text = hypotheses.corpus.take(ours).compact()
        gains = np.empty((len(ours), len(theirs)))
        step = max(1, _PAIRS // len(ours))
        for first in range(0, len(theirs), step):
            columns = np.arange(first, min(first + step, len(theirs)))
            # All hypotheses against one reference, then all against the next: metrics index a reference once.
            pairs = text.take(np.tile(np.arange(len(ours)), len(columns)))
            found = scorer.statistics(pairs, np.repeat(columns, len(ours)), runtime=runtime)
            gains[:, columns] = sign * scorer.sentence_scores(found).reshape(len(columns), len(ours)).T
        expected[ours] = gains @ evidence.probabilities[theirs]
        if matrix:
            cells.append(gains.astype(np.float32).ravel())
        progress_callback((s + 1) / len(hypotheses))
    return expected, np.concatenate([np.empty(0, np.float32), *cells])


@_gains.register
def _bleu_gains(
    metric: Bleu,
    hypotheses: Posterior,
    evidence: Posterior,
    matrix: bool,
    progress_callback: ProgressCallback,
    runtime: Runtime,
) -> Gains:
    given = metric.smoothing_value
    addend, unmatched, decay = {
        "add-one": (1.0, 0.0, 1.0),
        "add-k": (1.0 if given is None else given, 0.0, 1.0),
        "exp": (0.0, 0.5, 0.5),
        "floor": (0.0, 0.1 if given is None else given, 1.0),
        "none": (0.0, 0.0, 1.0),
    }[metric.sentence_smoothing]
    rows, references = words_for_bleu(metric, hypotheses, evidence)
    lists = _lists(rows, references, hypotheses, evidence)
    return kernels.expected_bleu(
        *lists,
        evidence.probabilities,
        metric.order,
        addend,
        unmatched,
        decay,
        matrix,
        runtime.threads,
        progress_callback,
    )


def both_sides(prepare: Callable[[Corpus], T], hypotheses: Posterior, evidence: Posterior) -> tuple[T, T]:
    """Prepare the strings of both sides: once if they are the same."""
    ours = prepare(hypotheses.corpus)
    return ours, ours if evidence is hypotheses else prepare(evidence.corpus)


def words_for_bleu(
    metric: Bleu, hypotheses: Posterior, evidence: Posterior
) -> tuple[Ragged[np.int32], Ragged[np.int32]]:
    """Return the words of both sides as the metric tokenises them, in one numbering."""
    ours, theirs = both_sides(
        lambda corpus: tokenise(corpus, metric.tokenise, lowercase=metric.lowercase), hypotheses, evidence
    )
    if ours is theirs:
        return ours.sentences, ours.sentences
    _, (our_ids, their_ids) = common_vocab([ours.vocab, theirs.vocab])
    return (
        Ragged(our_ids[ours.sentences.values], ours.sentences.offsets),
        Ragged(their_ids[theirs.sentences.values], theirs.sentences.offsets),
    )


@_gains.register
def _chrf_gains(
    metric: Chrf,
    hypotheses: Posterior,
    evidence: Posterior,
    matrix: bool,
    progress_callback: ProgressCallback,
    runtime: Runtime,
) -> Gains:
    if metric.word_order or not metric.char_order or metric.eps_smoothing:
        return _gains.dispatch(Metric)(metric, hypotheses, evidence, matrix, progress_callback, runtime)
    rows, references = both_sides(metric.characters, hypotheses, evidence)
    lists = _lists(rows, references, hypotheses, evidence)
    return kernels.expected_chrf(
        *lists,
        evidence.probabilities,
        metric.char_order,
        float(metric.beta),
        matrix,
        runtime.threads,
        progress_callback,
    )


def _lists(
    rows: Ragged[np.int32], references: Ragged[np.int32], hypotheses: Posterior, evidence: Posterior
) -> tuple[kernels.StringLists, kernels.StringLists]:
    """Return the strings of both sides for the kernels; refuse one that is too long for their counts."""
    longest = max(int(strings.lengths.max(initial=0)) for strings in (rows, references))
    if longest > _LONGEST:
        raise DataError(f"a string has {longest:,} words or characters", expected=f"at most {_LONGEST:,}")
    return (
        kernels.StringLists(strings=rows.for_kernels(), sentences=hypotheses.sentences),
        kernels.StringLists(strings=references.for_kernels(), sentences=evidence.sentences),
    )


#: Pairs of hypothesis and evidence in a shard, where several shards are computed at a time: some tenths of a second for
#: BLEU, and little to send in comparison.
_PAIRS_PER_SHARD = 1 << 18

#: Shards under way for each one that is computed: enough that no worker waits for input.
_AHEAD = 4

#: Hypotheses and evidence of the same sentences.
Sides = tuple[Posterior, Posterior]


@dataclass(frozen=True)
class ShardGains:
    """Computation of the gains of a shard; `share` reports progress in this process and is not sent to workers."""

    metric: Metric
    matrix: bool
    progress_callback: ProgressCallback | None = None

    def __call__(self, sides: Sides, runtime: Runtime) -> Gains:
        """Return the gains of a shard, which depend on the metric and both sides only."""
        return expected_gains(
            self.metric, *sides, matrix=self.matrix, progress_callback=self.progress_callback, runtime=runtime
        )

    def __reduce__(self) -> tuple[type[ShardGains], tuple[Metric, bool]]:
        return ShardGains, (self.metric, self.matrix)


def sharded_gains(metric: Metric, hypotheses: Posterior, evidence: Posterior, *, runtime: Runtime = Runtime()) -> Gains:
    """Return what `expected_gains` does, computed by threads or workers."""
    (gains,) = gains_of_blocks(metric, [(hypotheses, evidence)], runtime=runtime)
    return gains


def gains_of_blocks(
    metric: Metric,
    blocks: Iterable[Sides],
    *,
    matrix: bool = False,
    runtime: Runtime = Runtime(),
) -> Iterator[Gains]:
    """Yield what `expected_gains` does for blocks of sentences, in order.

    Blocks are read when one is done, or just far enough ahead to keep workers busy. Progress is reported per block.
    """
    under_way = deque[_Place]()
    cut = _shards if runtime.parts_at_once > 1 else _whole
    shards = (shard for sides in _checked(metric, blocks) for shard in cut(*sides, under_way))
    expected, cells = [np.empty(0)], [np.empty(0, np.float32)]
    with runtime.stage("expected gains") as progress_callback:
        made = runtime.map_parts(
            ShardGains(metric, matrix, progress_callback), shards, window=_AHEAD * runtime.parts_at_once
        )
        for gains, part in made:
            expected.append(gains)
            cells.append(part)
            place = under_way.popleft()
            progress_callback(place.share)
            if place.last:
                yield np.concatenate(expected), np.concatenate(cells)
                expected, cells = [np.empty(0)], [np.empty(0, np.float32)]


def _checked(metric: Metric, blocks: Iterable[Sides]) -> Iterator[Sides]:
    before = 0
    check_gain(metric)
    for hypotheses, evidence in blocks:
        check_sides(hypotheses, evidence, before)
        yield hypotheses, evidence
        before += len(hypotheses)


@dataclass(frozen=True)
class _Place:
    """A shard's place in its block: how much of the block is done after it, and whether it is the last."""

    share: float
    last: bool


def _whole(hypotheses: Posterior, evidence: Posterior, places: deque[_Place]) -> Iterator[Sides]:
    """Yield a block as one shard, so that threads share all its sentences."""
    places.append(_Place(1.0, last=True))
    yield hypotheses, evidence


def _shards(hypotheses: Posterior, evidence: Posterior, places: deque[_Place]) -> Iterator[Sides]:
    """Cut both sides into shards with about equal numbers of pairs and their own vocabularies; record their places."""
    pairs = np.cumsum(np.diff(hypotheses.sentences) * np.diff(evidence.sentences))
    first, sentences = 0, len(hypotheses)
    while True:
        before = pairs[first - 1] if first else 0
        end = min(sentences, max(first + 1, int(np.searchsorted(pairs, before + _PAIRS_PER_SHARD, "right"))))
        places.append(_Place(end / max(1, sentences), end == sentences))
        ours = hypotheses.part(first, end)
        yield ours, ours if evidence is hypotheses else evidence.part(first, end)
        if end == sentences:
            return
        first = end
