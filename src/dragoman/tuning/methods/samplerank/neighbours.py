"""Neighbours for SampleRank's steps: by operators of the sampler, or in pools of what was decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.search.shards import ShardedTranslator
from dragoman.tuning.methods.method import Learnt, Lesson, State
from dragoman.tuning.methods.samplerank.chains import (
    BatchValue,
    Plan,
    Ranked,
    RankedSentences,
    Ranking,
    RankSteps,
    SpreadChains,
)
from dragoman.tuning.methods.samplerank.jumps import Jumps, JumpSteps
from dragoman.tuning.methods.samplerank.pools import FindInForests, Pools
from dragoman.tuning.problems.evidence import DecodeLists, lists_of_strings


class Named(Protocol):
    """Features by name, and which of them have weights that change."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names."""

    @property
    def learnt(self) -> NDArray[np.bool_]:
        """Which."""


def changed(start: Weights, features: Named, values: NDArray[np.float64]) -> Weights:
    """The weights with other values of those that are learnt; what is 0 and was not there before stays away."""
    names = (features.names[i] for i in np.flatnonzero(features.learnt).tolist())
    pairs = zip(names, values.tolist(), strict=True)
    return start.updated({name: value for name, value in pairs if value or name in start})


def together(parts: Sequence[Ranked]) -> Ranked:
    """What chains have come to by steps of one kind and then of another, which have all weights of the first."""
    if len(parts) == 1:
        return parts[0]
    sums = {field.name: sum(getattr(part, field.name) for part in parts) for field in fields(Ranked)[1:-1]}
    return Ranked(weights=parts[-1].weights, **sums, traces=[trace for part in parts for trace in part.traces])


def check_jumps(lesson: Lesson) -> None:
    """Refuse models whose features lists cannot show."""
    for name in lesson.model.global_features:
        raise UsageError(
            f"samplerank jumps among what is decoded, and no decoder knows the global feature {name}; "
            "set neighbours to local"
        )


class LocalSteps:
    """Steps by operators at one place of a derivation."""

    def __init__(self, steps: RankSteps, lesson: Lesson, start: Weights, *, runtime: Runtime = Runtime()):
        learnt_of = Learnt(lesson.names, lesson.sparse)
        sentences = RankedSentences(lesson.lines, lesson.scorer, lesson.units, learnt_of, lesson.sign)
        self._chains = SpreadChains(steps, lesson.spread(start, runtime=runtime), sentences)
        self.names, self.learnt = self._chains.names, self._chains.learnt

    def ranked(self, plan: Plan, weights: NDArray[np.float64], asked: Ranking) -> Ranked:
        """Run chains, see `RankChains.run`; weights of features that no option has stay as they are."""
        own, count = np.ascontiguousarray(weights[:, : len(self.names)]), len(self.names)
        found = self._chains.ranked(plan, own, asked)
        if weights.shape[1] == count:
            return found
        others = weights[:, count:]
        return Ranked(
            np.hstack([found.weights, others]),
            np.hstack([found.totals, found.collected[:, None] * others]),
            found.collected,
            found.counts,
            found.gains,
            found.moved,
            found.traces,
        )


class PoolSteps:
    """Steps within pools, which grow at the start of each epoch; those of a saved state are there already.

    Names of features are those of local steps, if there are any, of the start and of what is learnt, and then of what
    is decoded.
    """

    def __init__(self, steps: JumpSteps, lesson: Lesson, start: Weights, state: State | None, local: LocalSteps | None):
        start.check_finite()
        self._steps, self._lesson = steps, lesson
        known = dict.fromkeys([*(local.names if local else ()), *start, *lesson.names])
        self.pools = Pools.empty(len(lesson), known) if state is None else Pools.from_arrays(state)
        if len(self.pools.sentences) != len(lesson) + 1:
            raise DataError(
                f"the saved state has pools of {len(self.pools.sentences) - 1} sentences", expected=f"{len(lesson)}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """All features."""
        return self.pools.names

    @property
    def learnt(self) -> NDArray[np.bool_]:
        """Which of them have weights that change."""
        names = self._lesson.learnt(self.names)
        return np.array([name in names for name in self.names], bool)

    def grow(self, weights: Weights, epoch: int, *, runtime: Runtime = Runtime()) -> None:
        """Decode the sentences, and add what is found to their pools."""
        spread = self._lesson.spread(weights, runtime=runtime)
        self.__dict__.pop("_jumps", None)
        if self._steps.pool_from == "forests":
            self._grow_from_forests(spread, epoch, runtime)
            return
        lesson, lists = self._lesson, list[NBest]()
        work = DecodeLists(self._steps.pool, lists_of_strings(lesson.model))
        with runtime.stage(f"epoch {epoch + 1}: decoding") as progress_callback:
            for part in spread.map(work, spread.shards(lesson.lines)):
                lists.append(part)
                progress_callback(sum(map(len, lists)) / len(lesson))
        self.pools = self.pools.added(NBest.concatenate(lists), lesson.scorer, runtime=runtime)

    def _grow_from_forests(self, spread: ShardedTranslator, epoch: int, runtime: Runtime) -> None:
        lesson = self._lesson
        work, parts, done = FindInForests(self._steps.pool, lesson.lines, lesson.scorer, lesson.sign), [], 0
        with runtime.stage(f"epoch {epoch + 1}: decoding") as progress_callback:
            for part in work.found(spread):
                parts.append(part)
                done += len(part.sizes)
                progress_callback(done / len(lesson))
        home = np.repeat(np.arange(len(lesson)), np.concatenate([part.sizes for part in parts]))
        features = FeatureRows.concatenate([part.features for part in parts]).used()
        self.pools = self.pools.with_rows(home, features, np.concatenate([part.statistics for part in parts]))

    @cached_property
    def _jumps(self) -> Jumps:
        value = BatchValue(self._lesson.scorer, self._lesson.sign, self._steps.smoothing)
        return Jumps(self._steps, self.pools, self._lesson.units, value, self.learnt)

    def ranked(self, plan: Plan, weights: NDArray[np.float64], asked: Ranking) -> Ranked:
        """Run chains, see `Jumps.ranked`."""
        return self._jumps.ranked(plan, weights, asked)
