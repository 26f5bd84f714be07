"""Local unimodal sampling: random steps from a box that shrinks whenever a step fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import Optimum, Tuner, best_of, random_starts
from dragoman.tuning.problems.problem import MOST_DENSE, Evaluator, Problem

#: Samples are evaluated in batches, as if all but the last failed; batches grow while that is so.
_SMALLEST_BATCH, _LARGEST_BATCH = 16, 128


@dataclass(frozen=True)
class Lus(Tuner):
    """Maximises the metric itself by trying random weights near the best ones so far.

    From weights w, a sample is w' = w + a with a uniform in the box ± d, which is at first as wide as the ranges of the
    weights on each side. If the metric is better at w', that is the new w; otherwise d ← q d with q = 2^(-alpha/m) for
    m features: m/alpha failures halve the box. With `final_box`, q depends on the number of samples n in place of the
    number of features: q = final_box^(1/n), so that n failures leave that fraction of the box however many samples
    there are, as section 7.2.2 of the thesis suggests. Weights may leave their ranges. The best of several starts is
    returned, the first if they are equal: never worse than the given one.

    Cost: `samples` times `starts` evaluations of the metric. Most are cheap, as few candidates can win in a small box.

    Pedersen, "Tuning & Simplifying Heuristical Optimization", 2010 (alpha = 1/3); Schuth, 2010, algorithm 5 (1/100,
    also 0; 50,000 samples from each of 8 starts). Departures: random starts and the first box have our ranges (see
    `weight_ranges`) unless the loop has the preset `schuth`; sampling ends early where no weights in the box could
    change a translation any more, which changes no result.
    """

    name: ClassVar[str] = "lus"
    most_features: ClassVar[int | None] = MOST_DENSE

    alpha: float = option(0.01, "rate at which the box shrinks: from 0 (not at all) to 1/3 (quickly)", minimum=0)
    final_box: float | None = option(
        None,
        "fraction of the box that is left if all samples fail: the box shrinks by the number of samples, not by alpha",
        minimum=1e-300,
        maximum=1,
    )
    samples: int = option(50_000, "weights to try from each start", minimum=1)
    starts: int = option(8, "number of starts: the given weights, and random ones", minimum=1)

    def improve(
        self, problem: Problem, start: NDArray[np.float64], rng: np.random.Generator, runtime: Runtime
    ) -> Optimum:
        """Sample from each start; return the best weights found."""
        evaluator = Evaluator(problem, runtime=runtime)
        starts = random_starts(problem, start, self.starts - 1, rng)
        streams = rng.spawn(self.starts)
        with runtime.stage("sampling weights") as progress_callback:
            parts = [_Part(progress_callback, i, self.starts) for i in range(self.starts)]
            found = (self._sample(evaluator, *each) for each in zip(starts, streams, parts, strict=True))
            return best_of(found, self.starts, progress_callback)

    def reach(self, width: NDArray[np.float64], failures: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the box after each number of failures: d = width · q^failures, one row each."""
        rate = self.alpha / max(len(width), 1)
        if self.final_box is not None:
            rate = -np.log2(self.final_box) / self.samples
        shrunk: NDArray[np.float64] = np.exp2(-rate * failures)
        return width * shrunk[:, None]

    def _sample(
        self,
        evaluator: Evaluator,
        weights: NDArray[np.float64],
        rng: np.random.Generator,
        progress_callback: ProgressCallback,
    ) -> Optimum:
        width = np.ptp(evaluator.problem.ranges, axis=1)
        objective = float(evaluator.objectives(weights[None])[0])
        noise = np.empty((0, len(weights)))
        done, failures, batch = 0, 0, _SMALLEST_BATCH
        while done < self.samples:
            count = min(batch, self.samples - done)
            # Sample k always gets the k-th row of noise, so that the size of batches does not matter.
            if len(noise) < count:
                noise = np.concatenate([noise, rng.uniform(-1, 1, (count - len(noise), len(weights)))])
            reach = self.reach(width, np.arange(failures, failures + count))
            evaluator.focus(weights - reach[0], weights + reach[0])
            if evaluator.open_candidates() == 0:
                break
            tried = weights + reach * noise[:count]
            objectives = evaluator.objectives(tried)
            better = np.flatnonzero(objectives > objective)
            used = count
            if len(better):
                used = int(better[0]) + 1
                weights, objective = tried[used - 1], float(objectives[used - 1])
            batch = _SMALLEST_BATCH if len(better) else min(2 * batch, _LARGEST_BATCH)
            done, failures, noise = done + used, failures + used - min(len(better), 1), noise[used:]
            progress_callback(done / self.samples)
        return Optimum(weights, objective)


@dataclass(frozen=True)
class _Part:
    """The share done of one of several equal parts."""

    whole: ProgressCallback
    part: int
    parts: int

    def __call__(self, share: float) -> None:
        self.whole((self.part + share) / self.parts)
