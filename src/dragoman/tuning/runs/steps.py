"""How far a run goes towards the weights that a method proposes: evidence says nothing of what is far from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.tuning.methods.tuner import Optimum, Tuner
from dragoman.tuning.problems.problem import Evidence
from dragoman.tuning.problems.ranges import is_share

Vector = NDArray[np.float64]

#: Says which share of the score is lost, in truth, where some weights lead; negative if it is a gain.
Loss = Callable[[Vector], float]

#: Shares of the way to new weights that are tried, the longest first.
STEPS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)

#: With this as the largest turn nothing is held back.
ANY_TURN = 180.0

#: Weights that have turned by fewer degrees are near enough to what was decoded with, whatever the method.
SAFE_TURN = 10.0

#: The share of the gain that some way promises for which a shorter way is preferred to it.
ENOUGH = 0.95

#: The share of the score that a large turn may lose on a sample of sentences; a shorter one is tried if it loses more.
LARGEST_LOSS = 0.05


class Way(NamedTuple):
    """Weights to go on with, what share of the way to proposed ones that is, and whether it is a look `further`."""

    end: Vector
    share: float
    further: bool = False


@dataclass(frozen=True)
class Steps:
    """The steps of a run with a method: all of the way or a given part, or else no further than the largest turn."""

    tuner: Tuner
    interpolation: float | None
    largest_turn: float
    minimum_change: float

    def on(self, optimum: Optimum, problem: Evidence, known: Sequence[Vector], loss: Loss | None = None) -> Way:
        """Where to go from the last of the weights that were decoded with, which are `known`.

        If nothing beats these, as far as the evidence goes, other proposals are worth a small turn: from there, new
        evidence may say more. If a `loss` can be measured, larger turns are halved until it is no large one.
        """
        names, begin = problem.names, known[-1]
        there, share = optimum.weights, self.tuner.interpolation if self.interpolation is None else self.interpolation
        if not self.tuner.is_held_back:
            return Way(between(names, begin, there, share), share)
        ahead, most = [there, *(() if optimum.others is None else optimum.others)], share
        if self.interpolation is None:
            there, most = self._held_back(ahead, problem, known, share)
        end = between(names, begin, there, most)
        elsewhere = [one for one in ahead if not is_same(names, begin, one, self.minimum_change)]
        if elsewhere and is_same(names, begin, end, self.minimum_change):
            there, most = _best_within_reach(problem, known, elsewhere, share, self._safe_turn)
            return Way(between(names, begin, there, most), most, further=True)
        if loss is not None and self.interpolation is None and self.largest_turn < ANY_TURN:
            safe = longest_step(names, known, there, most, self._safe_turn)
            while most > safe and loss(end) > LARGEST_LOSS:
                most = max(most / 2, safe)
                end = between(names, begin, there, most)
        return Way(end, most)

    @property
    def _safe_turn(self) -> float:
        return min(SAFE_TURN, self.largest_turn)

    def _held_back(
        self, ahead: Sequence[Vector], problem: Evidence, known: Sequence[Vector], share: float
    ) -> tuple[Vector, float]:
        """Where to go, and how much of `share` of the way: no further than is known of, or than a gain is seen.

        Of what is `ahead`, the first is the best; the others count where that is too far away.
        """
        names, there = problem.names, ahead[0]
        most = longest_step(names, known, there, share, self.largest_turn)
        if most < share and len(ahead) > 1:
            there, most = _best_within_reach(problem, known, ahead, share, self.largest_turn)
        if not self.tuner.may_overshoot:
            return there, most
        safe = longest_step(names, known, there, most, self._safe_turn)
        return there, most if safe == most else shortest_step(problem, known[-1], there, (safe, most))


def _best_within_reach(
    problem: Evidence, known: Sequence[Vector], optima: Iterable[Vector], share: float, largest_turn: float
) -> tuple[Vector, float]:
    """The optimum towards which the evidence is best where the largest turn ends the way, and how far that is."""
    ways = [(there, longest_step(problem.names, known, there, share, largest_turn)) for there in optima]
    return max(ways, key=lambda way: problem.objective(between(problem.names, known[-1], *way)))


def longest_step(
    names: Sequence[str], known: Sequence[Vector], after: Vector, share: float, largest_turn: float
) -> float:
    """How far to go from the last of known weights to new ones: `share` of the way, or less where that turns too far.

    >>> longest_step(["lm", "distortion"], [np.array([1.0, 0.0])], np.array([0.0, 1.0]), 1.0, 30)
    0.3
    """
    weighed = np.array([not is_share(name) for name in names], bool)
    steps = [share * step for step in STEPS]
    for step in steps:
        there = between(names, known[-1], after, step)[weighed]
        if min(degrees_between(there, weights[weighed]) for weights in known) <= largest_turn:
            return step
    return steps[-1]


def shortest_step(problem: Evidence, before: Vector, after: Vector, bounds: tuple[float, float]) -> float:
    """The shortest step within bounds that has nearly all of the gain that the evidence sees in any of them."""
    least, most = bounds
    steps = [least, *(step for step in sorted(most * step for step in STEPS) if step > least)]
    scores = np.array([problem.objective(between(problem.names, before, after, step)) for step in steps])
    gains = scores - problem.objective(before)
    return most if gains.max() <= 0 else steps[int(np.argmax(gains >= ENOUGH * gains.max()))]


def degrees_between(one: Vector, other: Vector) -> float:
    """The angle between two directions; 0 if one of them is no direction at all."""
    sizes = float(np.linalg.norm(one) * np.linalg.norm(other))
    return 0.0 if sizes == 0 else float(np.degrees(np.arccos(np.clip(one @ other / sizes, -1, 1))))


def interpolated(before: Vector, after: Vector, share: float) -> Vector:
    """Weights between two: `share` of the new ones and the rest of those before, scaled to the size of the new ones.

    >>> interpolated(np.array([0.0, 1.0]), np.array([2.0, 0.0]), 0.25).tolist()
    [0.5, 1.5]
    """
    size = float(np.abs(before).sum())
    if share == 1 or size == 0:
        return after
    return share * after + (1 - share) * before * (float(np.abs(after).sum()) / size)


def between(names: Sequence[str], before: Vector, after: Vector, share: float) -> Vector:
    """Weights between two, as `interpolated` has them; shares of mixed tables are not scaled, so that they sum to 1."""
    found = share * after + (1 - share) * before
    weighed = np.array([not is_share(name) for name in names], bool)
    found[weighed] = interpolated(before[weighed], after[weighed], share)
    return found


def is_same(names: Sequence[str], before: Vector, after: Vector, minimum_change: float) -> bool:
    """Whether weights hardly change but for their size, and shares of mixed tables hardly change.

    >>> is_same(["lm", "distortion"], np.array([1.0, 0.5]), np.array([2.0, 1.0]), 1e-4)
    True
    """
    weighed = np.array([not is_share(name) for name in names], bool)
    if np.abs(after[~weighed] - before[~weighed]).max(initial=0) > minimum_change:
        return False
    before, after = before[weighed], after[weighed]
    scale = np.abs(after).sum() / max(np.abs(before).sum(), 1e-300)
    return bool(np.abs(after / scale - before).max() <= minimum_change * np.abs(before).max())
