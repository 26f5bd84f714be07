"""The downhill simplex method of Nelder and Mead, uphill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import Optimum, Tuner, best_of, random_starts
from dragoman.tuning.problems.problem import MOST_DENSE, Evaluator, Problem

Objectives = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: Moves of the worst vertex, as multiples of the way from it to the centroid of the others, beyond the centroid:
#: reflection, expansion, outside contraction, inside contraction.
_MOVES = np.array([1.0, 2.0, 0.5, -0.5])


@dataclass(frozen=True)
class Simplex(Tuner):
    """Maximises the metric itself with a simplex of m + 1 weight vectors that walks and shrinks, for m features.

    The simplex has the given weights and m random ones, uniform in the ranges, as its vertices. It ends when all
    vertices are close to the best one, which is returned: never worse than the start.

    Cost: a step evaluates the metric at 4 weight vectors, at once, or at m + 4; some hundred steps a run.

    Nelder & Mead 1965; Schuth 2010, section 4.3. There, equations 4.14-4.19 and algorithm 4 differ from each other and
    from Nelder and Mead. Departures: this is the standard method, with the comparisons of Lagarias et al. 1998; the
    given weights are a vertex in the first iteration too, as in algorithm 4 (step 1 of the text has random vertices
    only); random vertices have our ranges (see `weight_ranges`), unless the loop has the preset `schuth`.
    """

    name: ClassVar[str] = "simplex"
    most_features: ClassVar[int | None] = MOST_DENSE

    starts: int = option(1, "runs, each with random vertices of its own; the best one counts", minimum=1)
    tolerance: float = option(1e-4, "stop when all vertices are this close to the best one, by weight", minimum=0)
    steps: int = option(10_000, "maximum number of steps", minimum=1)

    def improve(
        self, problem: Problem, start: NDArray[np.float64], rng: np.random.Generator, runtime: Runtime
    ) -> Optimum:
        """Run from the start and random vertices; return the best vertex."""
        evaluator = Evaluator(problem, runtime=runtime)
        simplices = (random_starts(problem, start, len(start), rng) for _ in range(self.starts))
        with runtime.stage("moving simplices") as progress_callback:
            found = (
                climb(evaluator.objectives, vertices, self.tolerance, self.steps, evaluator.focus)
                for vertices in simplices
            )
            return best_of(found, self.starts, progress_callback)


def climb(
    objectives: Objectives,
    vertices: NDArray[np.float64],
    tolerance: float,
    steps: int,
    expect: Callable[[NDArray[np.float64], NDArray[np.float64]], None] | None = None,
) -> Optimum:
    """Maximise a function of points, given as rows, from a simplex; `expect` is called with the box of the next points.

    >>> peak = climb(lambda points: -((points - 3) ** 2).sum(axis=1), np.array([[0.0, 0], [1, 0], [0, 1]]), 1e-6, 200)
    >>> peak.weights.round(5).tolist()
    [3.0, 3.0]
    """
    values = objectives(vertices)
    for _ in range(steps):
        order = np.argsort(-values, kind="stable")
        vertices, values = vertices[order], values[order]
        if np.abs(vertices - vertices[0]).max() <= tolerance:
            break
        if expect is not None:
            low, high = vertices.min(axis=0), vertices.max(axis=0)
            expect(2 * low - high, 2 * high - low)
        middle = vertices[:-1].mean(axis=0)
        moved = middle + _MOVES[:, None] * (middle - vertices[-1])
        reflected, expanded, outside, inside = gains = objectives(moved)
        if reflected > values[0]:
            chosen = 1 if expanded > reflected else 0
        elif reflected > values[-2]:
            chosen = 0
        elif reflected > values[-1]:
            chosen = 2 if outside >= reflected else -1
        else:
            chosen = 3 if inside > values[-1] else -1
        if chosen >= 0:
            vertices[-1], values[-1] = moved[chosen], gains[chosen]
        else:
            vertices[1:] = vertices[0] + 0.5 * (vertices[1:] - vertices[0])
            values[1:] = objectives(vertices[1:])
    best = int(np.argmax(values))
    return Optimum(vertices[best], float(values[best]))
