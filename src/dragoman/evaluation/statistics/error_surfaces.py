"""Error surfaces: the metric of a tuning set as one weight changes, exact from the envelopes of all sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.runtime import Runtime
from dragoman.tuning.optimise.line_search import Line, line_searches, prepare_line_searches
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import MOST_DENSE, Problem

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ErrorSurface:
    """The metric of a corpus as one weight changes and the others are fixed (Schuth 2010, figure 3.1, appendix A).

    A step function with every one of its steps: `line` has the changes t of the weight at which the metric changes, and
    the metric between them.

    >>> surface = ErrorSurface("lm", 0.5, Line(np.array([-0.25, 0.25, 1.0]), np.array([20.0, 30.0, 25.0, 10.0])))
    >>> surface.at(0.5), surface.at(0.0)
    (30.0, 20.0)
    >>> [part.tolist() for part in surface.within(0.0, 1.0)]
    [[0.0, 0.25, 0.75, 1.0], [20.0, 30.0, 25.0]]
    >>> surface.zoom(1, 0.4)
    (0.25, 0.75)
    """

    name: str
    weight: float
    line: Line

    def at(self, weight: float) -> float:
        """Return the metric at another value of the weight."""
        return self.line.at(weight - self.weight)

    def within(self, low: float, high: float) -> tuple[Vector, Vector]:
        """Return the steps between two values of the weight: their edges, and the metric between these."""
        first, end = self.line.piece(low - self.weight), self.line.piece(high - self.weight)
        edges = np.concatenate([[low], self.weight + self.line.breaks[first:end], [high]])
        return edges, self.line.scores[first : end + 1]

    def zoom(self, steps: int, most: float) -> tuple[float, float]:
        """Return a range around the chosen weight with `steps` or more steps on each side within `most`."""
        breaks, place = self.line.breaks, self.line.piece(0.0)
        left = -float(breaks[place - steps]) if place >= steps else most
        right = float(breaks[place + steps - 1]) if place + steps <= len(breaks) else most
        reach = min(max(left, right), most)
        return self.weight - reach, self.weight + reach


def error_surfaces(
    problem: Problem | HypergraphProblem,
    weights: Vector,
    names: Sequence[str] | None = None,
    *,
    runtime: Runtime = Runtime(),
) -> list[ErrorSurface]:
    """Return the error surface along each weight, or along those of some features, through a point.

    Costs one exact line search each: a sort of each sentence's candidates, or an envelope of all derivations.
    """
    if len(problem.names) > MOST_DENSE:
        raise UsageError(f"there are {len(problem.names):,} features; surfaces can be drawn of at most {MOST_DENSE}")
    chosen = list(problem.names if names is None else names)
    axes = np.eye(len(weights))[[problem.names.index(name) for name in chosen]]
    lines = prepare_line_searches(problem, runtime=runtime)
    found = line_searches(lines, [lines.at(weights)] * len(axes), axes)
    return [
        ErrorSurface(name, float(weights @ axis), _steps(line, problem.sign))
        for name, axis, line in zip(chosen, axes, found, strict=True)
    ]


def _steps(line: Line, sign: int) -> Line:
    """Return a line without the breaks at which the score stays the same; scores are the metric's own."""
    changes = np.flatnonzero(np.diff(line.scores))
    return Line(line.breaks[changes], sign * line.scores[np.concatenate([changes, [len(line.scores) - 1]])])


def outline(edges: Vector, scores: Vector, columns: int) -> tuple[Vector, Vector, Vector]:
    """Return the lowest and the highest step in each of some columns of equal width: edges, minima and maxima.

    A picture of more steps than columns of pixels loses no peak by it.

    >>> [part.tolist() for part in outline(np.array([0.0, 0.1, 0.2, 2.0]), np.array([5.0, 9.0, 4.0]), 2)]
    [[0.0, 1.0, 2.0], [4.0, 4.0], [9.0, 4.0]]
    """
    grid = np.linspace(edges[0], edges[-1], columns + 1)
    first = np.searchsorted(edges[1:-1], grid[:-1], "right")
    last = np.searchsorted(edges[1:-1], grid[1:], "left")
    # Columns may share a step. A segment ends before `last + 1`, for which there is one more score.
    places = np.stack([first, np.maximum(last, first) + 1], axis=1).ravel()
    padded = np.append(scores, scores[-1])
    return grid, np.minimum.reduceat(padded, places)[::2], np.maximum.reduceat(padded, places)[::2]
