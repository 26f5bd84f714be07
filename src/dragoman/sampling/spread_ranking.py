"""Chains of SampleRank that are spread over workers, each with the random numbers of its place among all."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runtime import Runtime
from dragoman.sampling.ranking import Plan, RankChains, Ranked, RankedSentences, Ranking, RankSteps
from dragoman.search.spread import Recipe, Spread

_COLUMNS = [field.name for field in fields(Ranked)]


@dataclass(frozen=True, eq=False)
class SomeChains:
    """Some of many chains: the number of the first, their batches and weights, and how they are to run."""

    first: int
    plan: Plan
    weights: NDArray[np.float64]
    seed: int
    first_batch: int
    trace: bool


class SpreadChains(RankChains):
    """Chains whoever runs them: wherever this is sent, the sentences are prepared once for all chains that come."""

    def __init__(self, steps: RankSteps, spread: Spread, sentences: RankedSentences):
        self._steps, self._spread, self._sentences = steps, spread, sentences
        self._chains = RankChains.of(steps, spread.translator, sentences)
        self.names, self.learnt = self._chains.names, self._chains.learnt

    def ranked(self, plan: Plan, weights: NDArray[np.float64], asked: Ranking) -> Ranked:
        """Run chains as `run` says, as many together as there are threads for them."""
        several, found = asked.runtime.threads_per_part, list[Ranked]()
        parts = (
            SomeChains(i, plan[i : i + several], weights[i : i + several], asked.seed, asked.first_batch, asked.trace)
            for i in range(0, len(plan), several)
        )
        for some in asked.runtime.map_parts(self, parts):
            found.append(some)
            if asked.share is not None:
                asked.share(min(1.0, several * len(found) / len(plan)))
        columns = {name: np.concatenate([getattr(some, name) for some in found]) for name in _COLUMNS[:-1]}
        return Ranked(**columns, traces=[trace for some in found for trace in some.traces])

    def __call__(self, some: SomeChains, runtime: Runtime) -> Ranked:
        """Run some at their place, where those before have nothing to do."""
        first = some.first
        weights = np.concatenate([np.zeros((first, some.weights.shape[1])), some.weights])
        asked = Ranking(some.seed, some.first_batch, some.trace, runtime=runtime)
        found = self._chains.ranked([*([] for _ in range(first)), *some.plan], weights, asked)
        return Ranked(**{name: getattr(found, name)[first:] for name in _COLUMNS})

    def __reduce__(self) -> tuple[Any, ...]:
        assert self._spread.folder is not None
        recipe = Recipe.of(self._spread.translator, self._spread.folder)
        return _prepared, (self._steps, recipe, self._sentences)


def _prepared(steps: RankSteps, recipe: Recipe, sentences: RankedSentences) -> SpreadChains:
    return SpreadChains(steps, Spread(recipe.translator(), recipe.model), sentences)
