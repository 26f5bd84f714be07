"""Chains of SampleRank in the kernel: batches of sentences and weights in, weights and their sums out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import Options, option
from dragoman.core.progress import ShareDone
from dragoman.core.weights import Weights
from dragoman.sampling.global_features import GlobalFunctions, features_of
from dragoman.sampling.phrase.chains import check_weights
from dragoman.tuning.batch_gain import MetricGain, bleu_arrays
from dragoman.tuning.feature_table import FeatureTable
from dragoman.tuning.methods.learner import Lesson

#: The batches of each chain; a batch is an array of units, which are sentences or documents.
Plan = Sequence[Sequence[NDArray[np.int64]]]


@dataclass(frozen=True)
class RankSteps(Options):
    """What a step does, and how many there are."""

    samples: int = option(100, "steps a sentence that may change weights", minimum=1)
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
    violation: Literal["order", "margin"] = option(
        "margin", "change weights if the model orders neighbours wrongly, or also if rightly but not by the margin"
    )
    smoothing: float = option(0.01, "added to all counts of BLEU", minimum=0)
    update: Literal["closed-form", "hildreth"] = option(
        "closed-form", "one constraint a step, or several by Hildreth's algorithm"
    )
    constraints: int = option(5, "hildreth: the drawn neighbour and the most violated others, so many", minimum=1)


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


class RankChains:
    """A lesson in the kernel's terms."""

    def __init__(self, steps: RankSteps, lesson: Lesson, start: Weights):
        check_steps(steps, lesson)
        check_weights(start)
        self._steps, self._lesson = steps, lesson
        translator = lesson.translator(start)
        self.reordering_limit = translator.reordering_limit
        self.batch = translator.batch(lesson.lines)
        features = features_of(lesson.model.global_features)
        given = Weights(dict.fromkeys(lesson.model.global_features, 0.0)).updated(start)
        self._functions = GlobalFunctions(features, given) if features else None
        self.table = FeatureTable.of(self.batch, lesson)
        options = self.batch.options
        self._bleu = bleu_arrays(lesson.scorer, options, steps.smoothing)
        self._gain = None
        if self._bleu is None:
            self._gain = MetricGain(lesson.scorer, options.vocab, sign=lesson.sign, smoothing=steps.smoothing)

    def run(
        self,
        plan: Plan,
        weights: NDArray[np.float64],
        *,
        seed: int,
        first_batch: int,
        trace: bool = False,
        threads: int = 1,
        progress: ShareDone | None = None,
    ) -> Ranked:
        """Run chains, each from its row of `weights` (of all features) through its batches of the plan.

        Random numbers depend on the seed, the chain, and `first_batch` plus the place of the batch.
        """
        steps, options = self._steps, self.batch.options
        batches = [batch for chain in plan for batch in chain]
        try:
            found = kernels.samplerank(
                self.batch.arrays,
                self.table.arrays,
                [] if self._functions is None else self._functions.arrays(self.batch),
                self.table.global_ids,
                self._bleu,
                self._gain,
                options.words.values,
                options.source.sentences.offsets,
                self._lesson.units,
                self.table.learnt.astype(np.uint8),
                weights,
                np.concatenate([np.empty(0, np.int64), *batches]),
                np.cumsum([0, *(len(batch) for batch in batches)]),
                np.cumsum([0, *(len(chain) for chain in plan)]),
                reordering_limit=self.reordering_limit,
                seed=seed,
                first_batch=first_batch,
                rates=(steps.merge_split, steps.reorder, steps.retranslate),
                burn_in=steps.burn_in,
                samples=steps.samples,
                temperature=steps.temperature,
                gain_scale=steps.gain_scale,
                margin=steps.margin or -1.0,
                bound=steps.aggressiveness,
                constraints=steps.constraints if steps.update == "hildreth" else 1,
                by_margin=steps.violation == "margin",
                sign=float(self._lesson.sign),
                trace=trace,
                threads=threads,
                progress=progress,
            )
        except ValueError as error:
            if self._functions is None:
                raise
            raise self._functions.failure(error) from None
        for sentence in found["missing"][found["missing"] >= 0].tolist():
            raise DataError(
                f"sentence {sentence + 1} ('{self._lesson.lines[sentence]}') has no derivation",
                expected="options that cover each word, in an order that the reordering limit allows",
            )
        return Ranked(
            weights=found["weights"],
            totals=found["totals"],
            collected=found["counts"][:, 0],
            counts=found["counts"][:, 1:],
            gains=found["measures"][:, 0],
            moved=found["measures"][:, 1],
            traces=found["traces"],
        )


def check_steps(steps: RankSteps, lesson: Lesson) -> None:
    """Refuse what chains cannot learn from."""
    if not (steps.merge_split or steps.reorder or steps.retranslate):
        raise UsageError("samplerank has no operator; expected merge-split, reorder or retranslate")
    if lesson.space.table_limit_by == "score":
        raise UsageError("samplerank needs options that do not depend on weights; set table-limit-by to probability")
