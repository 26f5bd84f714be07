"""Chains of SampleRank that are spread over workers, each with the random numbers of its place among all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman.core.work.workers import Workers
from dragoman.sampling.ranking import Plan, RankChains, Ranked, RankedSentences, Ranking, RankSteps
from dragoman.search.spread import Recipe, Spread

_COLUMNS = [field.name for field in fields(Ranked)]


@dataclass(frozen=True, eq=False)
class OneChain:
    """One of many chains: its number, how many there are, its batches and its weights."""

    number: int
    count: int
    batches: Sequence[NDArray[np.int64]]
    weights: NDArray[np.float64]
    asked: Ranking


@dataclass(frozen=True, eq=False)
class RunOne:
    """Runs one chain on a worker, which prepares the sentences once for all chains that it gets."""

    steps: RankSteps
    recipe: Recipe
    sentences: RankedSentences

    @cached_property
    def _chains(self) -> RankChains:
        return RankChains.of(self.steps, self.recipe.translator(), self.sentences)

    def __call__(self, one: OneChain) -> Ranked:
        """Run it at its place, where the others have nothing to do."""
        plan: list[Sequence[NDArray[np.int64]]] = [[] for _ in range(one.count)]
        plan[one.number] = one.batches
        found = self._chains.ranked(plan, np.tile(one.weights, (one.count, 1)), one.asked)
        return Ranked(**{name: getattr(found, name)[one.number : one.number + 1] for name in _COLUMNS})


@dataclass(frozen=True, eq=False)
class ChainsElsewhere:
    """Runs chains on workers."""

    workers: Workers
    run_one: RunOne

    @classmethod
    def of(cls, steps: RankSteps, spread: Spread, sentences: RankedSentences) -> ChainsElsewhere | None:
        """Return them, or None where the work is done in this process."""
        if not spread.workers.remote:
            return None
        assert spread.folder is not None
        return cls(spread.workers, RunOne(steps, Recipe.of(spread.translator, spread.folder), sentences))

    def run(self, plan: Plan, weights: NDArray[np.float64], asked: Ranking) -> Ranked:
        """Run chains as `RankChains.run` says."""
        told, alone = asked.progress, replace(asked, threads=1, progress=None)
        chains = [OneChain(i, len(plan), batches, weights[i], alone) for i, batches in enumerate(plan)]
        found = []
        for one in self.workers.map(self.run_one, chains):
            found.append(one)
            if told is not None:
                told(len(found) / len(chains))
        columns = {name: np.concatenate([getattr(one, name) for one in found]) for name in _COLUMNS if name != "traces"}
        return Ranked(**columns, traces=[trace for one in found for trace in one.traces])
