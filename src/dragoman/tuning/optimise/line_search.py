"""The exact metric along a line of weights: a step function, from the upper envelopes of all sentences.

Along w + t d a candidate with features h scores w · h + t d · h, a straight line in t. Each sentence's translation is
the highest line, so that it changes only at the breaks of the upper envelope of its lines (Och 2003); the metric
changes only where one of them does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Event, Lock
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Problem, best_rows

Vector = NDArray[np.float64]

#: Pieces narrower than this, in units of the largest weight, are passed over: rounding might miss them.
NARROWEST = 1e-9
#: Distance beyond the last break at which a piece without end is entered, in units of the sum of absolute weights.
REACH = 0.1


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


class Steps(NamedTuple):
    """Statistics of the translations along a line: their sum is row `i` of `sums` on piece `i` (see `Line`)."""

    breaks: Vector
    sums: Vector


class Point(Protocol):
    """A point in the space of weights, with all that lines through it share."""

    @property
    def sums(self) -> Vector:
        """The sum of the statistics of the translations here, as one row."""

    def steps(self, direction: Vector) -> Steps:
        """Return the statistics along a line through this point."""

    def moved(self, step: float, direction: Vector) -> Point:
        """Return the point after a step along a direction."""


class Lines(Protocol):
    """A problem prepared for many line searches."""

    @property
    def problem(self) -> Problem | HypergraphProblem:
        """The problem itself."""

    def at(self, weights: Vector) -> Point:
        """Return the point of some weights."""


def prepare_line_searches(problem: Problem | HypergraphProblem, *, runtime: Runtime = Runtime()) -> Lines:
    """Prepare a problem for many line searches; `runtime` has the threads of one search on hypergraphs."""
    if isinstance(problem, HypergraphProblem):
        return HypergraphLines(problem, runtime=runtime)
    return CandidateLines(problem)


def line_searches(lines: Lines, points: Sequence[Point], directions: Iterable[Vector]) -> list[Line]:
    """Return the objective along a line through each point, for all t. The metric is called once for all of them.

    Costs a sort of each sentence's candidates by slope, and then about one comparison for each candidate.
    """
    found = [point.steps(direction) for point, direction in zip(points, directions, strict=True)]
    scores = _objectives(lines.problem, [steps.sums for steps in found])
    return [Line(steps.breaks, along) for steps, along in zip(found, scores, strict=True)]


def line_search(problem: Problem | HypergraphProblem, weights: Vector, direction: Vector) -> Line:
    """Return the objective along `weights + t * direction`, for all t."""
    if weights.shape != (len(problem.names),) or direction.shape != weights.shape:
        raise UsageError(
            f"there are {len(weights)} weights and a direction of {len(direction)} for {len(problem.names)} features"
        )
    lines = prepare_line_searches(problem)
    return line_searches(lines, [lines.at(weights)], [direction])[0]


def _objectives(problem: Problem | HypergraphProblem, sums: Sequence[Vector]) -> list[Vector]:
    """Return the objective of each row of several arrays, by one call of the metric."""
    scores = problem.sign * problem.scorer.score(np.concatenate(sums))
    return np.split(scores, np.cumsum([len(rows) for rows in sums])[:-1])


class CandidateLines:
    """Line searches over lists of candidates. Each direction is sorted by slope once, for all points."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.columns = np.ascontiguousarray(problem.dense.T)
        self.sentences = np.ascontiguousarray(problem.sentences, np.int64)
        self.statistics = np.ascontiguousarray(problem.statistics, np.float64)
        self.same = kernels.mert_same_statistics(self.statistics, self.sentences)
        self._sorting = Lock()
        self._slopes: dict[bytes, tuple[Vector, NDArray[np.int32]]] = {}

    def at(self, weights: Vector) -> CandidatePoint:
        """Return the point of some weights."""
        return CandidatePoint(self, *self.scores(weights))

    def scores(self, weights: Vector) -> tuple[Vector, NDArray[np.int32]]:
        """Return the weighted sum of each candidate's features, and each sentence's best candidate."""
        scores, best = kernels.mert_scores(self.columns, np.ascontiguousarray(weights, np.float64), self.sentences)
        if not np.isfinite(scores).all():
            raise DataError("some weighted sums of features are too large to compute with", expected="smaller weights")
        return scores, best

    def along(self, direction: Vector) -> tuple[Vector, NDArray[np.int32]]:
        """Return the slope of each candidate along a direction, and each sentence's candidates by falling slope."""
        key = direction.tobytes()
        with self._sorting:
            if key not in self._slopes:
                axis = _axis(direction)
                slopes = self.scores(direction)[0] if axis is None else np.asarray(self.columns[axis])
                self._slopes[key] = slopes, kernels.mert_order(slopes, self.sentences)
            return self._slopes[key]


class CandidatePoint:
    """A point as the score of every candidate, and the best candidate of every sentence."""

    def __init__(self, lines: CandidateLines, scores: Vector, best: NDArray[np.int32]):
        self._lines = lines
        self._scores = scores
        self._best = best

    @property
    def sums(self) -> Vector:
        """The sum of the statistics of the best candidates, as one row."""
        return np.asarray(self._lines.problem.statistics[self._best].sum(axis=0, keepdims=True))

    def moved(self, step: float, direction: Vector) -> CandidatePoint:
        """Return the point after a step, up to rounding; much faster than from the weights."""
        of = self._lines
        return CandidatePoint(of, *kernels.mert_moved(self._scores, of.along(direction)[0], step, of.sentences))

    def steps(self, direction: Vector) -> Steps:
        """Return the statistics along a line through this point."""
        of = self._lines
        slopes, order = of.along(direction)
        found = kernels.mert_line(self._scores, self._best, slopes, order, of.sentences, of.same, of.statistics)
        return Steps(*found)


def _axis(direction: Vector) -> int | None:
    """Return the number of the axis that a direction is, or None."""
    axes = np.flatnonzero(direction)
    return int(axes[0]) if len(axes) == 1 and direction[axes[0]] == 1 else None


class HypergraphLines:
    """Line searches over all derivations of hypergraphs. Edges are scored along a direction once, for all points."""

    def __init__(self, problem: HypergraphProblem, *, runtime: Runtime = Runtime()):
        self.problem = problem
        self.runtime = runtime
        self._slopes: dict[bytes, Vector] = {}

    def at(self, weights: Vector) -> HypergraphPoint:
        """Return the point of some weights."""
        return HypergraphPoint(self, weights)

    def along(self, direction: Vector) -> Vector:
        """Return the slope of each edge along a direction."""
        key = direction.tobytes()
        if key not in self._slopes:  # two threads may both compute it, with the same result
            self._slopes[key] = self.problem.edge_scores(direction)
        return self._slopes[key]


class HypergraphPoint:
    """A point as its weights. The candidates along a line are the derivations that are best somewhere on it."""

    def __init__(self, lines: HypergraphLines, weights: Vector):
        self._lines = lines
        self._weights = weights

    @cached_property
    def _scores(self) -> Vector:
        """The score of each edge."""
        return self._lines.problem.edge_scores(self._weights)

    @property
    def sums(self) -> Vector:
        """The sum of the statistics of the best derivations, as one row."""
        return self._lines.problem.sums(self._weights, runtime=self._lines.runtime)[None]

    def moved(self, step: float, direction: Vector) -> HypergraphPoint:
        """Return the point after a step."""
        return HypergraphPoint(self._lines, self._weights + step * direction)

    def steps(self, direction: Vector) -> Steps:
        """Return the statistics along a line through this point."""
        problem, runtime = self._lines.problem, self._lines.runtime
        found = problem.envelopes(self._scores, self._lines.along(direction), runtime=runtime)
        statistics = problem.statistics(found, runtime=runtime)
        steps = kernels.mert_line(
            found.intercepts,
            best_rows(found.intercepts, found.graphs).astype(np.int32),
            found.slopes,
            kernels.mert_order(found.slopes, found.graphs),
            found.graphs,
            kernels.mert_same_statistics(statistics, found.graphs),
            statistics,
        )
        return Steps(*steps)


class Place(NamedTuple):
    """The current weights of a climb, and the objective there."""

    weights: Vector
    point: Point
    objective: float


class Move(NamedTuple):
    """A step along a direction, and the objective where it leads."""

    step: float
    score: float


@dataclass(frozen=True)
class LineAscent:
    """Climbs by exact line searches: along each axis and some other directions, round after round.

    Each round takes the next `random_directions` of those that it is given, and after the last of them the first again.
    Every move is made as it is found, or only the best of a round (`best_of_round`). With `smoothing`, the score of a
    piece is the minimum or the mean over the pieces around it, `window` to each side. Climbs from several starts go
    side by side: the metric then scores the lines of all of them in one call, and none depends on the others.
    """

    random_directions: int
    best_of_round: bool
    smoothing: Literal["none", "minimum", "average"]
    window: int
    min_gain: float
    max_rounds: int

    def climb(self, lines: Lines, starts: Vector, directions: Vector, stop: Event) -> list[Place]:
        """Move from each start until nothing gains any more; return where the climbs end."""
        at = self._places(lines, [*starts], [-np.inf] * len(starts))
        climbing = list(range(len(at)))
        axes = np.eye(starts.shape[1])
        searched: list[set[bytes]] = [set() for _ in at]  # the directions without a move since the last one
        for number in range(self.max_rounds):
            before = {i: at[i] for i in climbing}
            rows = np.arange(self.random_directions) + number * self.random_directions
            this_round = np.concatenate([axes, directions.take(rows, axis=0, mode="wrap")])
            for group in [this_round] if self.best_of_round else this_round[:, None]:
                key = group.tobytes()
                waiting = [i for i in climbing if key not in searched[i]]
                if stop.is_set() or not waiting:
                    continue
                for i, place in zip(waiting, self._move(lines, [at[i] for i in waiting], group), strict=True):
                    if place is not at[i]:
                        searched[i].clear()
                    searched[i].add(key)
                    at[i] = place
            moved = [i for i in climbing if at[i] is not before[i]]
            # The metric at the rounded weights is what counts.
            really = self._places(lines, [at[i].weights for i in moved], [at[i].objective for i in moved])
            for i, place in zip(moved, really, strict=True):
                gains = self.smoothing != "none" or place.objective > before[i].objective
                at[i] = place if gains else before[i]
            climbing = [i for i in moved if at[i] is not before[i]]
            if not climbing:
                break
        return at

    def _places(self, lines: Lines, weights: Sequence[Vector], smoothed: Sequence[float]) -> list[Place]:
        points, objectives = [lines.at(one) for one in weights], smoothed
        if points and self.smoothing == "none":
            objectives = [float(score[0]) for score in _objectives(lines.problem, [point.sums for point in points])]
        return [Place(*place) for place in zip(weights, points, objectives, strict=True)]

    def _move(self, lines: Lines, at: Sequence[Place], directions: Vector) -> list[Place]:
        """Make the best of the moves along some directions in each climb, if it gains enough."""
        many = len(directions)
        points = [place.point for place in at for _ in range(many)]
        found = line_searches(lines, points, [*directions] * len(at))
        return [self._moved(place, directions, found[i * many : (i + 1) * many]) for i, place in enumerate(at)]

    def _moved(self, at: Place, directions: Vector, lines: Sequence[Line]) -> Place:
        moves = [self.search(line, at.weights, direction) for line, direction in zip(lines, directions, strict=True)]
        chosen = max(range(len(moves)), key=lambda i: moves[i].score)
        move, direction = moves[chosen], directions[chosen]
        if move.score <= at.objective + self.min_gain:
            return at
        return Place(at.weights + move.step * direction, at.point.moved(move.step, direction), move.score)

    def search(self, line: Line, weights: Vector, direction: Vector) -> Move:
        """Return the move along a line through some weights."""
        scores = line.scores if self.smoothing == "none" else smooth(line.scores, self.window, self.smoothing)
        unit = float(np.abs(direction).max()) or 1.0
        low, high = line.low, line.high
        wide = high - low > NARROWEST * (np.abs(weights).max() or 1.0) / unit
        best = np.where(wide, scores, -np.inf).max()
        pieces = np.flatnonzero(wide & (scores == best))
        nearest = pieces[np.argmin(np.maximum(0, np.maximum(low[pieces], -high[pieces])))]
        step = middle(float(low[nearest]), float(high[nearest]), REACH * (float(np.abs(weights).sum()) or 1.0) / unit)
        return Move(step, float(best))


def middle(low: float, high: float, reach: float) -> float:
    """Return the middle of a piece, or the point `reach` into one with one end; 0 if it has no ends."""
    if np.isinf(low):
        return 0.0 if np.isinf(high) else high - reach
    return low + reach if np.isinf(high) else (low + high) / 2


def smooth(scores: Vector, window: int, how: Literal["minimum", "average"]) -> Vector:
    """Return the minimum or the mean of each score and of up to `window` scores on each side of it.

    >>> smooth(np.array([1.0, 5.0, 3.0]), 1, "minimum").tolist()
    [1.0, 1.0, 3.0]
    """
    around = sliding_window_view(np.pad(scores, window, constant_values=np.nan), 2 * window + 1)
    return np.asarray(np.nanmin(around, axis=1) if how == "minimum" else np.nanmean(around, axis=1))
