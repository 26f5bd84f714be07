"""Neighbours for SampleRank's steps: by operators of the sampler, or in pools of decoded derivations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.search.translator import ShardedTranslator
from dragoman.text.words import words_of
from dragoman.tuning.methods.method import FeatureSelector, State, TrainingSet
from dragoman.tuning.methods.samplerank.jumps import Jumps, JumpSteps
from dragoman.tuning.methods.samplerank.pools import ForestSearch, Pools
from dragoman.tuning.methods.samplerank.rank_chains import (
    BatchValue,
    Plan,
    RankRequest,
    RankResult,
    RankSteps,
    ShardedChains,
    TrainingSentences,
)
from dragoman.tuning.problems.evidence import DecodeLists, lists_of_strings


class NamedFeatures(Protocol):
    """Features by name, with a mark for those whose weights are trained."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names."""

    @property
    def learnt(self) -> NDArray[np.bool_]:
        """Marks of the trained features."""


def with_trained_weights(start: Weights, features: NamedFeatures, values: NDArray[np.float64]) -> Weights:
    """Return the weights with new values of the trained ones; new features of weight 0 are left out."""
    names = (features.names[i] for i in np.flatnonzero(features.learnt).tolist())
    pairs = zip(names, values.tolist(), strict=True)
    return start.updated({name: value for name, value in pairs if value or name in start})


def merge_results(parts: Sequence[RankResult]) -> RankResult:
    """Merge the results of local steps and then of jumps, which have all weights of the former."""
    if len(parts) == 1:
        return parts[0]
    sums = {field.name: sum(getattr(part, field.name) for part in parts) for field in fields(RankResult)[1:-1]}
    return RankResult(weights=parts[-1].weights, **sums, traces=[trace for part in parts for trace in part.traces])


def check_jumps(training_set: TrainingSet) -> None:
    """Refuse models with features that n-best lists do not have."""
    for name in training_set.model.global_features:
        raise UsageError(
            f"samplerank jumps among decoded derivations, and no decoder scores the global feature {name}; "
            "set neighbours to local"
        )


class LocalSteps:
    """Steps by operators at one place of a derivation."""

    def __init__(self, steps: RankSteps, training_set: TrainingSet, start: Weights, *, runtime: Runtime = Runtime()):
        learnt_of = FeatureSelector(training_set.names, training_set.sparse)
        sentences = TrainingSentences(
            training_set.lines, training_set.scorer, training_set.units, learnt_of, training_set.sign
        )
        self._chains = ShardedChains(steps, training_set.spread(start, runtime=runtime), sentences)
        self.names, self.learnt = self._chains.names, self._chains.learnt

    def run(self, plan: Plan, weights: NDArray[np.float64], asked: RankRequest) -> RankResult:
        """Run chains, see `RankChains.run`; weights of features that no option has do not change."""
        own, count = np.ascontiguousarray(weights[:, : len(self.names)]), len(self.names)
        if asked.units is not None:
            asked = replace(asked, units=asked.units[:count])
        found = self._chains.run(plan, own, asked)
        if weights.shape[1] == count:
            return found
        others = weights[:, count:]
        return RankResult(
            np.hstack([found.weights, others]),
            np.hstack([found.totals, found.collected[:, None] * others]),
            np.hstack([found.squares, np.zeros_like(others)]),
            found.collected,
            found.counts,
            found.gains,
            found.moved,
            found.traces,
        )


class PoolSteps:
    """Steps within pools, which grow at the start of each epoch; a saved state has its pools already.

    Names of features come from local steps, if there are any, from the start and the trained features, and then from
    decoded derivations.
    """

    def __init__(
        self, steps: JumpSteps, training_set: TrainingSet, start: Weights, state: State | None, local: LocalSteps | None
    ):
        start.check_finite()
        self._steps, self._training_set = steps, training_set
        known = dict.fromkeys([*(local.names if local else ()), *start, *training_set.names])
        self.pools = Pools.empty(len(training_set), known) if state is None else Pools.from_arrays(state)
        if len(self.pools.sentences) != len(training_set) + 1:
            raise DataError(
                f"the saved state has pools of {len(self.pools.sentences) - 1} sentences",
                expected=f"{len(training_set)}",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """All features."""
        return self.pools.names

    @property
    def learnt(self) -> NDArray[np.bool_]:
        """Marks of the features whose weights are trained."""
        names = self._training_set.learnt(self.names)
        return np.array([name in names for name in self.names], bool)

    def grow(self, weights: Weights, epoch: int, *, runtime: Runtime = Runtime()) -> None:
        """Decode the sentences, and add the derivations to their pools."""
        spread = self._training_set.spread(weights, runtime=runtime)
        self.__dict__.pop("_jumps", None)
        if self._steps.pool_from == "forests":
            self._grow_from_forests(spread, epoch, runtime)
            return
        training_set, lists = self._training_set, list[NBest]()
        work = DecodeLists(self._steps.pool, lists_of_strings(training_set.model))
        with runtime.stage(f"epoch {epoch + 1}: decoding") as progress_callback:
            for part in spread.map(work, spread.shards(training_set.lines)):
                lists.append(part)
                progress_callback(sum(map(len, lists)) / len(training_set))
        self.pools = self.pools.with_lists(NBest.concatenate(lists), training_set.scorer, runtime=runtime)

    def _grow_from_forests(self, spread: ShardedTranslator, epoch: int, runtime: Runtime) -> None:
        training_set = self._training_set
        work, parts, done = (
            ForestSearch(self._steps.pool, training_set.lines, training_set.scorer, training_set.sign),
            [],
            0,
        )
        with runtime.stage(f"epoch {epoch + 1}: decoding") as progress_callback:
            for part in work.search_all(spread):
                parts.append(part)
                done += len(part.sizes)
                progress_callback(done / len(training_set))
        home = np.repeat(np.arange(len(training_set)), np.concatenate([part.sizes for part in parts]))
        features = FeatureRows.concatenate([part.features for part in parts]).used()
        self.pools = self.pools.with_rows(home, features, np.concatenate([part.statistics for part in parts]))

    @cached_property
    def _jumps(self) -> Jumps:
        value = BatchValue(self._training_set.scorer, self._training_set.sign, self._steps.smoothing)
        lengths = np.array([len(words_of(line)) for line in self._training_set.lines])
        return Jumps(self._steps, self.pools, self._training_set.units, value, self.learnt, lengths)

    def run(self, plan: Plan, weights: NDArray[np.float64], asked: RankRequest) -> RankResult:
        """Run chains, see `Jumps.run`."""
        return self._jumps.run(plan, weights, asked)
