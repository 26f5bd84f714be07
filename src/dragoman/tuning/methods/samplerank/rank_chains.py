"""Chains of SampleRank: sentences and weights in, weights and their sums out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
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
from dragoman.search.translator import ShardedTranslator, Translator, TranslatorSpec

#: The batches of each chain; a batch is an array of units, which are sentences or documents.
Plan = Sequence[Sequence[NDArray[np.int64]]]

#: Where the chains for each kind of model are.
_CHAINS = {"phrase": "dragoman.tuning.methods.samplerank.phrase_chains:PhraseRankChains"}


@dataclass(frozen=True)
class RankSteps(Options):
    """Options of steps, and their number."""

    samples: int = option(100, "steps per sentence that may change weights", minimum=1)
    counted: Literal["all", "applied"] = option(
        "all", "steps that count as samples: all, or those at which the operator can be applied"
    )
    burn_in: int = option(100, "steps per sentence before the first sample", minimum=0)
    start: Literal["monotone", "gloss", "random"] = option(
        "monotone",
        "local: start each batch from the best monotone translations regardless of context, from the best option of "
        "each word, or from random derivations",
    )
    merge_split: float = option(1.0, "rate of merging and splitting phrases", minimum=0)
    reorder: float = option(1.0, "rate of swapping two phrases", minimum=0)
    retranslate: float = option(0.0, "rate of retranslating a phrase", minimum=0)
    temperature: float = option(1.0, "scores are divided by this when a neighbour is drawn", minimum=1e-6)
    aggressiveness: float = option(0.01, "C, the largest step size: the factor of a difference of features", minimum=0)
    cooling: float = option(0.0, "in epoch p, C is divided by 1 + cooling (p - 1)", minimum=0)
    gain_scale: float = option(1.0, "score that one unit of gain is worth", minimum=1e-9)
    gain_unit: Literal["points", "words"] = option(
        "points", "unit of gains: points of the metric, or these times a hundredth of the batch's source words"
    )
    margin: float = option(
        10.0,
        "M, the factor of the margin; 0: the oracle's gain, as in the paper (for error rates, 100 minus it)",
        minimum=0,
    )
    better: Literal["gain+score", "gain"] = option(
        "gain+score", "e+ has the best sum of gain and score (hope), or the best gain"
    )
    worse: Literal["fear", "best", "drawn"] | None = option(
        None,
        "e' has the best score minus gain, or the best score, or is drawn by its probability; "
        "by default fear with jumps, drawn with local steps",
    )
    best_found: bool = option(
        False,
        "local: e+ and e' must also score below the sentence's best gain so far in its batch (by Hildreth)",
    )
    violation: Literal["order", "margin"] = option(
        "margin", "change weights if the model orders neighbours wrongly, or also if rightly by less than the margin"
    )
    smoothing: float = option(0.01, "added to all counts of BLEU", minimum=0)
    update: Literal["closed-form", "hildreth"] = option(
        "closed-form", "one constraint per step, or several by Hildreth's algorithm"
    )
    constraints: int = option(
        5, "hildreth: number of constraints: the drawn neighbour and the most violated others", minimum=1
    )
    units: Literal["plain", "deviation"] = option(
        "plain", "dense features as they are, or in units of the root of their deviation in updates of the last epoch"
    )


@dataclass(frozen=True, eq=False)
class TrainingSentences:
    """Sentences that chains learn from, with the metric of their translations.

    Gains are `sign` times the metric. Sentences u[i] to u[i + 1] of `units` u stay together. `learnt` selects the
    features whose weights are trained from the names of all that occur.
    """

    lines: Sequence[str]
    scorer: Scorer
    units: NDArray[np.int64]
    learnt: Callable[[Sequence[str]], Collection[str]]
    sign: int = 1


@dataclass(frozen=True, eq=False)
class RankResult:
    """Results of chains. Arrays have a row for each chain, and a column for each feature of the table.

    `totals` are sums of the weights after each of the `collected` steps, `squares` of the squared differences of the
    pairs in constraints; columns of `counts` are all steps, those that
    changed the derivation, those that changed weights, duals at their bound, batches. `gains` (at the end of batches)
    and `moved` (lengths of changes of weights) are sums.
    """

    weights: NDArray[np.float64]
    totals: NDArray[np.float64]
    squares: NDArray[np.float64]
    collected: NDArray[np.int64]
    counts: NDArray[np.int64]
    gains: NDArray[np.float64]
    moved: NDArray[np.float64]
    traces: list[tuple[NDArray[Any], ...]]


@dataclass(frozen=True)
class RankRequest:
    """Settings of a run of chains; see `RankChains.run`.

    Updates are the smallest in features divided by `units`, one for each feature; None: 1. C is divided by `cooled`.
    """

    seed: int
    first_batch: int
    units: NDArray[np.float64] | None = None
    cooled: float = 1.0
    trace: bool = False
    progress_callback: ProgressCallback | None = None
    runtime: Runtime = Runtime()


class RankChains(ABC):
    """Chains over some sentences: `names` are all their features, and `learnt` marks the trained ones.

    Chains start with the translator's weights.
    """

    names: tuple[str, ...]
    learnt: NDArray[np.bool_]

    @classmethod
    def of(cls, steps: RankSteps, translator: Translator, sentences: TrainingSentences) -> RankChains:
        """Return the chains for the kind of a translator's model."""
        check_steps(steps, translator.space)
        translator.weights.check_finite()
        if translator.model.kind not in _CHAINS:
            raise UsageError(
                "samplerank lists all neighbours that differ in one or two phrases, and chains of a hierarchical "
                "model draw whole subtrees, which cannot be listed; expected neighbours=jump"
            )
        chains: RankChains = resolve_name(_CHAINS[translator.model.kind])(steps, translator, sentences)
        return chains

    @abstractmethod
    def run(self, plan: Plan, weights: NDArray[np.float64], asked: RankRequest) -> RankResult:
        """Run chains, each from its row of `weights` (of all features) through its batches of the plan.

        Random numbers depend on the seed, the chain, and `first_batch` plus the place of the batch.
        """


def check_steps(steps: RankSteps, space: SpaceLimits) -> None:
    """Refuse steps and search spaces that chains cannot learn from."""
    if not (steps.merge_split or steps.reorder or steps.retranslate):
        raise UsageError("samplerank has no operator; expected merge-split, reorder or retranslate")
    if space.depends_on_weights:
        raise UsageError("samplerank needs options that do not depend on weights; set table-limit-by to probability")


@dataclass(frozen=True, eq=False)
class BatchValue:
    """Value of sums of statistics: `sign` times the metric; for BLEU, `smoothing` is added to all counts."""

    scorer: Scorer
    sign: int = 1
    smoothing: float = 0.01

    def __call__(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value of each row."""
        if self.scorer.bleu_columns is not None:
            return self.sign * smoothed_bleu(statistics[..., self.scorer.bleu_columns], self.smoothing)
        return np.asarray(self.sign * self.scorer.score(statistics), np.float64)


def smoothed_bleu(counts: NDArray[np.float64], smoothing: float) -> NDArray[np.float64]:
    """Return BLEU from 0 to 100 with a constant added to all counts: matches, totals, length, reference length.

    >>> smoothed_bleu(np.array([2.0, 1, 4, 3, 4, 4]), 0.0).round(4).tolist()  # √(2/4 · 1/3)
    40.8248
    """
    order = (counts.shape[-1] - 2) // 2
    counts = counts + smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(counts[..., :order] / counts[..., order : 2 * order]).mean(axis=-1)
        penalty = np.minimum(0.0, 1 - counts[..., -1] / counts[..., -2])
        return np.asarray(np.nan_to_num(100 * np.exp(logs + penalty), nan=0.0))


_COLUMNS = [field.name for field in fields(RankResult)]


@dataclass(frozen=True, eq=False)
class ChainShard:
    """Some of all chains: the number of the first, their batches, weights and settings.

    The settings have no runtime and no callback: they are sent to workers.
    """

    first: int
    plan: Plan
    weights: NDArray[np.float64]
    asked: RankRequest


class ShardedChains(RankChains):
    """Chains that threads or workers run; each process prepares the sentences once for all its chains."""

    def __init__(self, steps: RankSteps, spread: ShardedTranslator, sentences: TrainingSentences):
        self._steps, self._spread, self._sentences = steps, spread, sentences
        self._chains = RankChains.of(steps, spread.translator, sentences)
        self.names, self.learnt = self._chains.names, self._chains.learnt

    def run(self, plan: Plan, weights: NDArray[np.float64], asked: RankRequest) -> RankResult:
        """Run chains, as many at a time as there are threads; see `RankChains.run`."""
        several, found = asked.runtime.threads_per_part, list[RankResult]()
        sent = replace(asked, progress_callback=None, runtime=Runtime())
        parts = (
            ChainShard(i, plan[i : i + several], weights[i : i + several], sent) for i in range(0, len(plan), several)
        )
        for some in asked.runtime.map_parts(self, parts):
            found.append(some)
            if asked.progress_callback is not None:
                asked.progress_callback(min(1.0, several * len(found) / len(plan)))
        columns = {name: np.concatenate([getattr(some, name) for some in found]) for name in _COLUMNS[:-1]}
        return RankResult(**columns, traces=[trace for some in found for trace in some.traces])

    def __call__(self, some: ChainShard, runtime: Runtime) -> RankResult:
        """Run a shard of chains with their own numbers; chains before them have no batches."""
        first = some.first
        weights = np.concatenate([np.zeros((first, some.weights.shape[1])), some.weights])
        plan = [*([] for _ in range(first)), *some.plan]
        found = self._chains.run(plan, weights, replace(some.asked, runtime=runtime))
        return RankResult(**{name: getattr(found, name)[first:] for name in _COLUMNS})

    def __reduce__(self) -> tuple[Any, ...]:
        assert self._spread.folder is not None
        recipe = TranslatorSpec.of(self._spread.translator, self._spread.folder)
        return _prepared, (self._steps, recipe, self._sentences)


def _prepared(steps: RankSteps, recipe: TranslatorSpec, sentences: TrainingSentences) -> ShardedChains:
    return ShardedChains(steps, ShardedTranslator(recipe.translator(), recipe.model), sentences)
