"""Chains of SampleRank: sentences and weights in, weights and their sums out, whatever the kind of model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from pkgutil import resolve_name
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.options import Options, option
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import Scorer
from dragoman.search.limits import SpaceLimits
from dragoman.search.shards import Recipe, ShardedTranslator
from dragoman.search.translator import Translator

#: The batches of each chain; a batch is an array of units, which are sentences or documents.
Plan = Sequence[Sequence[NDArray[np.int64]]]

#: Where the chains for each kind of model are.
_CHAINS = {"phrase": "dragoman.tuning.methods.samplerank.phrase_chains:PhraseRankChains"}


@dataclass(frozen=True)
class RankSteps(Options):
    """What a step does, and how many there are."""

    samples: int = option(100, "steps a sentence that may change weights", minimum=1)
    counted: Literal["all", "applied"] = option(
        "all", "which steps are samples: all, or those at which the operator can be applied"
    )
    burn_in: int = option(100, "steps a sentence before them", minimum=0)
    merge_split: float = option(1.0, "how often phrases are merged and split", minimum=0)
    reorder: float = option(1.0, "how often two phrases are exchanged", minimum=0)
    retranslate: float = option(0.0, "how often a phrase is translated anew", minimum=0)
    temperature: float = option(1.0, "scores are divided by this when a neighbour is drawn", minimum=1e-6)
    aggressiveness: float = option(0.01, "C, the most that a step may multiply a difference of features by", minimum=0)
    gain_scale: float = option(1.0, "what a point of the metric is worth in score", minimum=1e-9)
    margin: float = option(
        10.0, "M, the factor of the margin; 0: the oracle's gain, as in the paper (of an error: 100 less it)", minimum=0
    )
    better: Literal["gain+score", "gain"] = option(
        "gain+score", "e+ has the best sum of gain and score (hope), or the best gain"
    )
    worse: Literal["fear", "best", "drawn"] | None = option(
        None,
        "e' has the best score less gain, or the best score, or is drawn by its probability; "
        "by default fear with jumps, and drawn with local steps",
    )
    best_found: bool = option(
        False,
        "local: e+ and e' have to stay behind the best gain found of the sentence in its batch, too (by Hildreth)",
    )
    violation: Literal["order", "margin"] = option(
        "margin", "change weights if the model orders neighbours wrongly, or also if rightly but not by the margin"
    )
    smoothing: float = option(0.01, "added to all counts of BLEU", minimum=0)
    update: Literal["closed-form", "hildreth"] = option(
        "closed-form", "one constraint a step, or several by Hildreth's algorithm"
    )
    constraints: int = option(5, "hildreth: the drawn neighbour and the most violated others, so many", minimum=1)


@dataclass(frozen=True, eq=False)
class RankedSentences:
    """Sentences that chains learn from, with the metric of their translations.

    Gains are `sign` times the metric. Sentences u[i] to u[i + 1] of `units` u stay together. `learnt` says which of the
    names of features that occur have weights that change.
    """

    lines: Sequence[str]
    scorer: Scorer
    units: NDArray[np.int64]
    learnt: Callable[[Sequence[str]], Collection[str]]
    sign: int = 1


@dataclass(frozen=True, eq=False)
class Ranked:
    """What chains have come to. Arrays have a row for each chain, and a column for each feature of the table.

    `totals` are sums of the weights after each of the `collected` steps; columns of `counts` are all steps, those that
    changed the derivation, those that changed weights, duals at their bound, batches. `gains` (at the end of batches)
    and `moved` (lengths of changes of weights) are sums.
    """

    weights: NDArray[np.float64]
    totals: NDArray[np.float64]
    collected: NDArray[np.int64]
    counts: NDArray[np.int64]
    gains: NDArray[np.float64]
    moved: NDArray[np.float64]
    traces: list[tuple[NDArray[Any], ...]]


@dataclass(frozen=True)
class Ranking:
    """How chains are to run; see `RankChains.run`."""

    seed: int
    first_batch: int
    trace: bool = False
    progress_callback: ProgressCallback | None = None
    runtime: Runtime = Runtime()


class RankChains(ABC):
    """Sentences as chains see them: `names` are all their features, and `learnt` says which have weights that change.

    The translator's weights are those that the chains begin with.
    """

    names: tuple[str, ...]
    learnt: NDArray[np.bool_]

    @classmethod
    def of(cls, steps: RankSteps, translator: Translator, sentences: RankedSentences) -> RankChains:
        """Return the chains for the kind of a translator's model."""
        check_steps(steps, translator.space)
        translator.weights.check_finite()
        if translator.model.kind not in _CHAINS:
            raise UsageError(
                "samplerank lists all neighbours that differ in one or two phrases, and chains of a hierarchical "
                "model draw whole subtrees, which nobody can list; let it jump (neighbours=jump)"
            )
        chains: RankChains = resolve_name(_CHAINS[translator.model.kind])(steps, translator, sentences)
        return chains

    def run(
        self,
        plan: Plan,
        weights: NDArray[np.float64],
        *,
        seed: int,
        first_batch: int,
        trace: bool = False,
        runtime: Runtime = Runtime(),
    ) -> Ranked:
        """Run chains, each from its row of `weights` (of all features) through its batches of the plan.

        Random numbers depend on the seed, the chain, and `first_batch` plus the place of the batch.
        """
        return self.ranked(plan, weights, Ranking(seed, first_batch, trace, runtime=runtime))

    @abstractmethod
    def ranked(self, plan: Plan, weights: NDArray[np.float64], asked: Ranking) -> Ranked:
        """Run chains as `run` says."""


def check_steps(steps: RankSteps, space: SpaceLimits) -> None:
    """Refuse what chains cannot learn from."""
    if not (steps.merge_split or steps.reorder or steps.retranslate):
        raise UsageError("samplerank has no operator; expected merge-split, reorder or retranslate")
    if space.depends_on_weights:
        raise UsageError("samplerank needs options that do not depend on weights; set table-limit-by to probability")


@dataclass(frozen=True, eq=False)
class BatchValue:
    """Scores sums of statistics: `sign` times the metric; if it is BLEU, `smoothing` is added to all counts."""

    scorer: Scorer
    sign: int = 1
    smoothing: float = 0.01

    def __call__(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value of each row."""
        if self.scorer.bleu_columns is not None:
            return self.sign * smoothed_bleu(statistics[..., self.scorer.bleu_columns], self.smoothing)
        return np.asarray(self.sign * self.scorer.score(statistics), np.float64)


def smoothed_bleu(counts: NDArray[np.float64], smoothing: float) -> NDArray[np.float64]:
    """BLEU from 0 to 100 with a constant added to all counts: matches, totals, length, reference length.

    >>> smoothed_bleu(np.array([2.0, 1, 4, 3, 4, 4]), 0.0).round(4).tolist()  # √(2/4 · 1/3)
    40.8248
    """
    order = (counts.shape[-1] - 2) // 2
    counts = counts + smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(counts[..., :order] / counts[..., order : 2 * order]).mean(axis=-1)
        penalty = np.minimum(0.0, 1 - counts[..., -1] / counts[..., -2])
        return np.asarray(np.nan_to_num(100 * np.exp(logs + penalty), nan=0.0))


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

    def __init__(self, steps: RankSteps, spread: ShardedTranslator, sentences: RankedSentences):
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
            if asked.progress_callback is not None:
                asked.progress_callback(min(1.0, several * len(found) / len(plan)))
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
    return SpreadChains(steps, ShardedTranslator(recipe.translator(), recipe.model), sentences)
