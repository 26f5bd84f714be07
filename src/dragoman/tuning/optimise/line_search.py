"""The metric along a line of weights, exactly: a step function, from the upper envelopes of all sentences.

Along w + t d a candidate with features h scores w · h + t d · h, a straight line in t. Each sentence's translation is
the highest line, so that it changes only at the breaks of the upper envelope of its lines (Och 2003); the metric
changes only where one of them does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Problem, best_rows

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Line:
    """The objective is `scores[i]` for t from `breaks[i - 1]` to `breaks[i]`; the first and last piece have no end.

    At a break itself several candidates are equally good.

    >>> line = Line(np.array([-1.0, 2.0]), np.array([30.0, 50.0, 40.0]))
    >>> line.at(0.0), line.at(5.0)
    (50.0, 40.0)
    """

    breaks: Vector
    scores: Vector

    def at(self, t: float) -> float:
        """Return the objective at t."""
        return float(self.scores[self.piece(t)])

    def piece(self, t: float) -> int:
        """Return the number of the piece that t lies in; at a break, the one to its right."""
        return int(np.searchsorted(self.breaks, t, "right"))

    @property
    def low(self) -> Vector:
        """The left end of each piece."""
        return np.concatenate([[-np.inf], self.breaks])

    @property
    def high(self) -> Vector:
        """The right end of each piece."""
        return np.concatenate([self.breaks, [np.inf]])


class Point(Protocol):
    """A place in the space of weights, with all that lines through it share."""

    @property
    def objective(self) -> float:
        """The objective here, at t = 0."""

    def line(self, direction: Vector) -> Line:
        """Return the objective along a line through here."""

    def moved(self, step: float, direction: Vector) -> Point:
        """Return the place after a step along a direction."""


class Lines(Protocol):
    """A problem prepared for many line searches."""

    def at(self, weights: Vector) -> Point:
        """Return the place of some weights."""


def prepare(problem: Problem | HypergraphProblem, *, runtime: Runtime = Runtime()) -> Lines:
    """Prepare a problem for many line searches; the threads are those of a single search on hypergraphs."""
    if isinstance(problem, HypergraphProblem):
        return HypergraphLines(problem, runtime=runtime)
    return CandidateLines(problem)


def line_search(problem: Problem | HypergraphProblem, weights: Vector, direction: Vector) -> Line:
    """The objective along `weights + t * direction`, for all t.

    Costs a sort of each sentence's candidates by slope, and then about one comparison for each candidate.
    """
    if weights.shape != (len(problem.names),) or direction.shape != weights.shape:
        raise UsageError(
            f"there are {len(weights)} weights and a direction of {len(direction)} for {len(problem.names)} features"
        )
    return prepare(problem).at(weights).line(direction)


class CandidateLines:
    """Line searches over lists of candidates. The order of slopes along each axis is kept: no search sorts it again."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.columns = np.ascontiguousarray(problem.dense.T)
        self.sentences = np.ascontiguousarray(problem.sentences, np.int64)
        self.statistics = np.ascontiguousarray(problem.statistics, np.float64)
        self.same = kernels.mert_same_statistics(self.statistics, self.sentences)
        self._orders: dict[int, NDArray[np.int32]] = {}

    def at(self, weights: Vector) -> CandidatePoint:
        """Return the place of some weights."""
        return CandidatePoint(self, *self.scores(weights))

    def scores(self, weights: Vector) -> tuple[Vector, NDArray[np.int32]]:
        """The weighted sum of each candidate's features, and each sentence's best candidate."""
        scores, best = kernels.mert_scores(self.columns, np.ascontiguousarray(weights, np.float64), self.sentences)
        if not np.isfinite(scores).all():
            raise DataError("some weighted sums of features are too large to compute with", expected="smaller weights")
        return scores, best

    def order(self, axis: int) -> NDArray[np.int32]:
        """Each sentence's candidates by falling slope along an axis."""
        if axis not in self._orders:  # two threads may both find it missing; they then find the same
            self._orders[axis] = kernels.mert_order(self.columns[axis], self.sentences)
        return self._orders[axis]


class CandidatePoint:
    """Some weights, as the score of every candidate and the best candidate of every sentence under them."""

    def __init__(self, lines: CandidateLines, scores: Vector, best: NDArray[np.int32]):
        self._lines = lines
        self._scores = scores
        self._best = best
        self._slopes: dict[bytes, Vector] = {}

    @property
    def objective(self) -> float:
        """The objective at these weights."""
        problem = self._lines.problem
        return problem.sign * float(problem.scorer.score(problem.statistics[self._best].sum(axis=0)))

    def moved(self, step: float, direction: Vector) -> CandidatePoint:
        """Return the place after a step, but for rounding; much faster than to begin with the weights."""
        of = self._lines
        return CandidatePoint(of, *kernels.mert_moved(self._scores, self._along(direction), step, of.sentences))

    def line(self, direction: Vector) -> Line:
        """Return the objective along a line through here."""
        of, axis, slopes = self._lines, _axis(direction), self._along(direction)
        if axis is None:
            order, bounds = kernels.mert_contenders(self._scores, self._best, slopes, of.sentences)
        else:
            order, bounds = of.order(axis), of.sentences
        breaks, sums = kernels.mert_line(self._scores, self._best, slopes, order, bounds, of.same, of.statistics)
        return Line(breaks, of.problem.sign * of.problem.scorer.score(sums))

    def _along(self, direction: Vector) -> Vector:
        """The slope of each candidate; kept, because a move follows a search along the same direction."""
        axis = _axis(direction)
        if axis is not None:
            return np.asarray(self._lines.columns[axis])
        key = direction.tobytes()
        if key not in self._slopes:
            self._slopes[key], _ = self._lines.scores(direction)
        return self._slopes[key]


def _axis(direction: Vector) -> int | None:
    """The number of the axis that a direction goes along, if it does."""
    axes = np.flatnonzero(direction)
    return int(axes[0]) if len(axes) == 1 and direction[axes[0]] == 1 else None


class HypergraphLines:
    """Line searches over all derivations of hypergraphs."""

    def __init__(self, problem: HypergraphProblem, *, runtime: Runtime = Runtime()):
        self.problem = problem
        self.runtime = runtime

    def at(self, weights: Vector) -> HypergraphPoint:
        """Return the place of some weights."""
        return HypergraphPoint(self, weights)


class HypergraphPoint:
    """Some weights. Envelopes along a direction are those of candidates: the derivations that are best somewhere."""

    def __init__(self, lines: HypergraphLines, weights: Vector):
        self._lines = lines
        self._weights = weights

    @property
    def objective(self) -> float:
        """The objective at these weights."""
        return self._lines.problem.objective(self._weights, runtime=self._lines.runtime)

    def moved(self, step: float, direction: Vector) -> HypergraphPoint:
        """Return the place after a step."""
        return HypergraphPoint(self._lines, self._weights + step * direction)

    def line(self, direction: Vector) -> Line:
        """Return the objective along a line through here."""
        problem, runtime = self._lines.problem, self._lines.runtime
        found = problem.envelopes(self._weights, direction, runtime=runtime)
        statistics = problem.statistics(found, runtime=runtime)
        breaks, sums = kernels.mert_line(
            found.intercepts,
            best_rows(found.intercepts, found.graphs).astype(np.int32),
            found.slopes,
            kernels.mert_order(found.slopes, found.graphs),
            found.graphs,
            kernels.mert_same_statistics(statistics, found.graphs),
            statistics,
        )
        return Line(breaks, problem.sign * problem.scorer.score(sums))
