"""MBR decisions on lists from files, a block of sentences at a time, as if all were in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import PathLike
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.decision.choice_bootstrap import ChoiceBootstrap
from dragoman.decision.diversity import diverse_rows
from dragoman.decision.expected_utility import UtilityEstimation
from dragoman.decision.gains import gains_of_blocks
from dragoman.decision.mbr import Mbr
from dragoman.decision.posterior import Posterior, WeightsFrom
from dragoman.decision.rule import Decisions
from dragoman.decision.utilities import Utilities
from dragoman.metrics.metric import Metric


def settle_weights(
    blocks: Iterator[NBest], weights_from: WeightsFrom | None
) -> tuple[WeightsFrom | None, Iterator[NBest]]:
    """Return which numbers weight the hypotheses of all lists, as `hypothesis_scores` decides, and all blocks.

    At least one block is read, and as many as the decision takes: log-probabilities are the weights if all hypotheses
    have one, so that the first hypothesis without one of the two numbers decides. Lists with both are read to the end.
    Where some hypotheses have a log-probability and none has a score, log-probabilities are what is missing.
    """
    read: list[NBest] = []
    for block in blocks:
        read.append(block)
        if weights_from is None and len(block.scores):
            partly = block.logprobs is not None and np.isnan(block.scores).all()
            if not partly and (block.logprobs is None or np.isnan(block.logprobs).any()):
                weights_from = "score"
            elif np.isnan(block.scores).any():
                weights_from = "logprob"
        if weights_from is not None:
            break
    return weights_from, chain(read, blocks)


def matching_blocks(
    lists: Iterator[NBest], others: Iterator[NBest], candidates: PathLike, evidence: PathLike
) -> Iterator[tuple[NBest, NBest]]:
    """Yield blocks of candidates with the evidence for the same sentences, while both files have the same order.

    The rest is read to the end, and its evidence is put into the order of the candidates.
    """
    count, at, theirs = 0, 0, next(others)
    for ours in lists:
        if (missing := at + len(ours) - len(theirs)) > 0:
            theirs, at = join_blocks([_part(theirs, at, len(theirs)), *_at_least(others, missing)]), 0
        if _names(theirs)[at : at + len(ours)] != _names(ours):
            lists = chain([ours], lists)
            break
        yield ours, _part(theirs, at, at + len(ours))
        count, at = count + len(ours), at + len(ours)
    rest, left = [*lists], join_blocks([_part(theirs, at, len(theirs)), *others])
    sentences = sum(map(len, rest))
    if sentences != len(left):
        raise DataError(
            f"has {count + len(left)} sentences, but {candidates} has {count + sentences}",
            path=evidence,
            expected="as many",
        )
    if rest:
        ours = join_blocks(rest)
        place = {name: i for i, name in enumerate(_names(left))}
        missing_names = [name for name in _names(ours) if name not in place]
        if missing_names:
            raise DataError(f"has nothing for the id '{missing_names[0]}', which {candidates} has", path=evidence)
        yield ours, left.take(np.array([place[name] for name in _names(ours)], np.int64))


def _names(lists: NBest) -> list[str]:
    """Return the ids of sentences as text; some formats have numbers, others strings."""
    return [*map(str, lists.sentence_ids)]


def _at_least(blocks: Iterator[NBest], sentences: int) -> Iterator[NBest]:
    """Yield blocks until they have at least this many sentences, or there are no more."""
    while sentences > 0 and (block := next(blocks, None)) is not None:
        sentences -= len(block)
        yield block


def _part(lists: NBest, first: int, end: int) -> NBest:
    return lists if end - first == len(lists) else lists.take(np.arange(first, end))


def join_blocks(parts: Sequence[NBest]) -> NBest:
    """Join several blocks, with their ids and sources."""
    if len(parts) == 1:
        return parts[0]
    sources = [part.sources for part in parts if part.sources is not None]
    return replace(
        NBest.concatenate(parts),
        ids=tuple(chain.from_iterable(part.sentence_ids for part in parts)),
        sources=tuple(chain.from_iterable(sources)) if len(sources) == len(parts) else None,
    )


@dataclass(frozen=True)
class EvidenceBlock:
    """Candidates and evidence of some sentences, as they were read and as distinct strings."""

    lists: NBest
    others: NBest
    hypotheses: Posterior
    posterior: Posterior

    @classmethod
    def of(cls, rule: Mbr, lists: NBest, others: NBest, path: Path) -> EvidenceBlock:
        """Return the block, with the distribution of the evidence, which was read from `path`."""
        try:
            posterior = rule.posterior(others)
        except DataError as error:
            raise DataError(str(error), path=path) from None
        hypotheses = posterior if others is lists else Posterior.of_nbest(lists, weights_from="uniform")
        return cls(lists, others, hypotheses, posterior)


@dataclass(frozen=True)
class BlockDecisions:
    """The decisions on a block, with the gains of its hypotheses."""

    block: EvidenceBlock
    gains: NDArray[np.float64]
    matrix: NDArray[np.float32]
    chosen: Decisions
    #: The confidence of each hypothesis, if it was asked for.
    confidences: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, block: EvidenceBlock, gains: NDArray[np.float64], matrix: NDArray[np.float32]) -> BlockDecisions:
        """Choose the hypotheses with the highest gains."""
        found = block.hypotheses
        return cls(block, gains, matrix, Decisions.of_best(found.vocab, found.strings, gains, found.sentences))

    def confidences_of_choices(self) -> NDArray[np.float64]:
        """Return the confidence of the choice of each sentence that has hypotheses; none if they were not asked for."""
        found = self.block.hypotheses
        if self.confidences is None:
            return np.empty(0)
        order = np.lexsort((-self.gains, found.sentence_numbers))
        return self.confidences[order[found.sentences[:-1][np.diff(found.sentences) > 0]]]

    def rated_lists(self, count: int | None = None, *, diversity: float = 0.0) -> NBest:
        """Return the distinct candidates, best first, with expected utility, probability and confidence as features.

        Of each sentence `count` are kept: the best, or with a `diversity` above 0 a set of good and different ones.
        Candidates that an estimator ruled out are left out.
        """
        found, lists = self.block.hypotheses, self.block.lists.kept(self.block.hypotheses.rows)
        utilities = np.where(np.isfinite(self.gains), self.gains, 0.0)  # those that were ruled out are not kept
        columns = {"expected_utility": utilities, "probability": found.probabilities}
        columns |= {} if self.confidences is None else {"confidence": self.confidences}
        added = FeatureRows.of_columns(columns, len(utilities))
        lists = replace(lists, features=FeatureRows.join([lists.features, added]))
        chosen = [self._best(s, count, diversity) for s in range(len(found))]
        rows = np.concatenate([np.empty(0, np.int64), *chosen])
        # The candidates that are kept move to the front of their lists, the others are then cut off.
        order = np.concatenate(
            [np.empty(0, np.int64)]
            + [
                np.concatenate([best, np.setdiff1d(np.arange(begin, end), best)])
                for best, begin, end in zip(chosen, found.sentences, found.sentences[1:], strict=False)
            ]
        )
        return lists.reordered(order).kept(np.flatnonzero(np.isin(order, rows)))

    def _best(self, sentence: int, count: int | None, diversity: float) -> NDArray[np.int64]:
        found = self.block.hypotheses
        begin, end = found.sentences[sentence : sentence + 2].tolist()
        gains, size = self.gains[begin:end], end - begin if count is None else count
        if diversity > 0:
            texts = found.corpus.take(np.arange(begin, end)).lines()
            return diverse_rows(texts, gains, size, diversity) + np.int64(begin)
        order = np.argsort(-gains, kind="stable")
        return order[np.isfinite(gains[order])][:size] + np.int64(begin)


def decide_by_utilities(
    blocks: Iterable[EvidenceBlock], path: Path, *, matrix: bool = False
) -> Iterator[BlockDecisions]:
    """Decide by gains that another program computed."""
    for block in blocks:
        known, sides = Utilities.read(path, block.lists, block.others), (block.hypotheses, block.posterior)
        cells = known.cells(*sides) if matrix else np.empty(0, np.float32)
        yield BlockDecisions.of(block, known.expected(*sides), cells)


def decide_by_estimation(
    blocks: Iterable[EvidenceBlock], estimation: UtilityEstimation, *, runtime: Runtime = Runtime()
) -> Iterator[BlockDecisions]:
    """Decide by expected utilities that an estimator computes."""
    for block in blocks:
        found = estimation.estimates(block.hypotheses, block.posterior, block.lists.sources, runtime=runtime)
        decided = BlockDecisions.of(block, found.values, np.empty(0, np.float32))
        yield replace(decided, confidences=found.confidences)


def decide_by_metric(
    blocks: Iterable[EvidenceBlock],
    metric: Metric,
    *,
    matrix: bool = False,
    runtime: Runtime = Runtime(),
) -> Iterator[BlockDecisions]:
    """Decide by the gains of a metric, computed by threads or workers."""
    waiting = deque[EvidenceBlock]()

    def sides() -> Iterator[tuple[Posterior, Posterior]]:
        for block in blocks:
            waiting.append(block)
            yield block.hypotheses, block.posterior

    for gains, cells in gains_of_blocks(metric, sides(), matrix=matrix, runtime=runtime):
        yield BlockDecisions.of(waiting.popleft(), gains, cells)


def with_confidences(decided: Iterable[BlockDecisions], bootstrap: ChoiceBootstrap) -> Iterator[BlockDecisions]:
    """Yield decisions that have all gains with the confidences of their hypotheses."""
    before = 0
    for one in decided:
        sides = one.block.hypotheses, one.block.posterior
        yield replace(one, confidences=bootstrap.confidences(one.matrix, *sides, before=before))
        before += len(one.block.hypotheses)
