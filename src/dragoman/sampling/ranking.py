"""Chains of SampleRank: sentences and weights in, weights and their sums out, whatever the kind of model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.options import Options, option
from dragoman.core.progress import ShareDone
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import Scorer
from dragoman.search.limits import SpaceLimits
from dragoman.search.translator import Translator

#: The batches of each chain; a batch is an array of units, which are sentences or documents.
Plan = Sequence[Sequence[NDArray[np.int64]]]

#: Where the chains for each kind of model are.
_CHAINS = {"phrase": "dragoman.sampling.phrase.rank_chains:PhraseRankChains"}


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
    share: ShareDone | None = None
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
