"""Minimum error rate training (Och 2003)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event, Lock
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import Optimum, Tuner, best_of, random_starts
from dragoman.tuning.optimise.line_search import LineAscent, Lines, prepare_line_searches
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import MOST_DENSE, Problem

Vector = NDArray[np.float64]

#: Groups of starts for each thread or worker. Starts of a group climb side by side; several groups even out the load.
_GROUPS = 4
#: Random directions are drawn for this many rounds, and used again in later ones: each is sorted by slope once.
_ROUNDS = 2


@dataclass(frozen=True)
class Mert(Tuner):
    """Maximise the metric itself, by exact line searches from several starts.

    Each round searches along every axis and along `random_directions` more, with normal coordinates, the same for all
    starts and for every second round; a direction without a move since it was last searched is left out. A line search
    gives the metric at every t (see `line_search`) and moves to the middle of the best piece; of equally good pieces it
    takes the nearest to t = 0, of equally near ones the left one. Every move is made at once, before the next line
    search (`moves = cyclic`), or all searches of a round start from one point and the best move is made (`best`, as in
    Moses; it takes about twice as many searches). A climb ends when no move gains more than `min_gain`, and the best
    of all starts is returned.

    With `smoothing`, the score of a piece is the minimum or the mean over the pieces around it, `window` to each side
    (Cer, Jurafsky & Manning 2008), which avoids narrow peaks; the objective is then the score on the last line.

    Evidence is lists of candidates or hypergraphs (Macherey et al. 2008). One line search costs about a comparison for
    each candidate, and a score of the metric for each break. Restarts run
    in threads, or on the workers of a cluster, in groups that climb side by side.

    Och 2003; Schuth 2010, section 4.1. Departures: random directions besides the axes (`random_directions=0` for axes
    only); 20 restarts (Schuth: 23) in our ranges, unless the loop has the preset `schuth`; smoothing is over three
    pieces on each side (Schuth: one); weights are scaled at the end, which changes no translation.
    """

    name: ClassVar[str] = "mert"
    most_features: ClassVar[int | None] = MOST_DENSE

    restarts: int = option(20, "random starts besides the given one", minimum=0)
    random_directions: int = option(5, "random directions per round, besides the axes", minimum=0)
    moves: Literal["cyclic", "best"] = option("cyclic", "make every move at once, or only the best of a round")
    smoothing: Literal["none", "minimum", "average"] = option(
        "none", "smoothing of the score of an interval over its neighbours"
    )
    window: int = option(3, "neighbouring intervals on each side for smoothing", minimum=1)
    min_gain: float = option(1e-4, "smallest gain of a move, in units of the metric", minimum=0)
    max_rounds: int = option(100, "maximum rounds from one start", minimum=1)
    normalise: bool = option(True, "scale the weights so that their absolute values sum to 1")

    def improve(
        self, problem: Problem | HypergraphProblem, start: Vector, rng: np.random.Generator, runtime: Runtime
    ) -> Optimum:
        """Return the weights with the highest metric, never worse than `start` (unless smoothed)."""
        starts = random_starts(problem, start, self.restarts, rng)
        directions = rng.normal(size=(_ROUNDS * self.random_directions, starts.shape[1]))
        groups = np.array_split(
            np.arange(len(starts)), min(len(starts), _GROUPS * max(runtime.threads, runtime.parts_at_once))
        )
        climbs = _Climbs(self, problem, directions, runtime.with_threads(max(1, runtime.threads // len(groups))))
        with runtime.stage("mert") as progress_callback:
            items = [starts[group] for group in groups]
            found = itertools.chain.from_iterable(runtime.map(climbs, items, window=len(items)))
            best = best_of(found, len(starts), progress_callback)
        if not self.normalise:
            return best
        others = None if best.others is None else np.array([_scaled(other) for other in best.others])
        return replace(best, weights=_scaled(best.weights), others=others)

    @property
    def ascent(self) -> LineAscent:
        """The climb from a group of starts."""
        return LineAscent(
            random_directions=self.random_directions,
            best_of_round=self.moves == "best",
            smoothing=self.smoothing,
            window=self.window,
            min_gain=self.min_gain,
            max_rounds=self.max_rounds,
        )


class _Climbs:
    """Climbs from groups of starts; the problem is prepared once for all of them.

    The runtime is for a single group. A worker that this is sent to prepares the problem again, for one thread.
    """

    def __init__(
        self, tuner: Mert, problem: Problem | HypergraphProblem, directions: Vector, runtime: Runtime = Runtime()
    ):
        self._tuner, self._problem, self._directions, self._runtime = tuner, problem, directions, runtime
        self._preparing, self._stopped = Lock(), Event()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Climbs, (self._tuner, self._problem, self._directions)

    @cached_property
    def _lines(self) -> Lines:
        return prepare_line_searches(self._problem, runtime=self._runtime)

    def __call__(self, starts: Vector, runtime: Runtime) -> list[Optimum]:
        with self._preparing:
            lines = self._lines
        ends = self._tuner.ascent.climb(lines, starts, self._directions, self._stopped)
        return [Optimum(place.weights, place.objective) for place in ends]

    def stop(self) -> None:
        """End climbs at their next move, after an interruption."""
        self._stopped.set()


def _scaled(weights: Vector) -> Vector:
    """Return the weights scaled so that absolute values sum to 1, unless all are 0."""
    return np.asarray(weights / (float(np.abs(weights).sum()) or 1.0))
