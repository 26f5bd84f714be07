"""Trust region around the weights decoded with so far: the evidence says nothing about weights far away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import Options, option
from dragoman.tuning.problems.problem import Evidence, is_weight

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Returns the fraction of the score that is lost under some weights, by decoding; negative for a gain.
Loss = Callable[[Vector], float]

#: All directions are within this many degrees of each other.
ANY_DIRECTION = 180.0

#: Fractions of the way to a proposal that are tried, the longest first.
PARTS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)


class Step(NamedTuple):
    """New weights, their fraction of the way to a proposal, and whether the run `explores` there."""

    weights: Vector
    part: float
    explores: bool = False


@dataclass(frozen=True)
class TrustRegion(Options):
    """The rule by which a run moves towards the weights that a method proposes.

    After Conn, Gould & Toint (2000, Trust-Region Methods), by angle in place of length, because only the direction of
    weights decides what is decoded:

    1. The region is all directions within `radius` degrees of weights that were decoded with. A proposal outside is
       shortened to the edge, and then another proposal of the method is taken if the evidence prefers it there.
    2. A step of more than `min_radius` degrees is tried on a sample of the tuning set that is really decoded. If it
       loses more than `max_loss` of the score it is rejected, and half of it is tried, but never less than
       `min_radius`. The next iteration begins with the whole radius again.
    3. Where the evidence has nothing better than the last weights, the run explores: it goes to `min_radius` towards
       the best other proposal. It stops after this many `explorations` without a better score.

    Methods differ in two settings: `part` is the part of the way to a proposal that is a whole step, and a method that
    may overshoot what the evidence can tell takes the shortest step with the fraction `enough` of the gain
    (0: the longest). A radius of 180 degrees means no trust region: a step is that part of the way to the first
    proposal, whatever its score.
    """

    radius: float = option(30.0, "largest angle to weights decoded with, in degrees", minimum=1, maximum=ANY_DIRECTION)
    min_radius: float = option(10.0, "angle within which evidence is trusted, in degrees", minimum=0)
    max_loss: float = option(0.05, "fraction of the score that a step may lose on the sample", minimum=0)
    sample: int = option(100, "sentences that a step is tried on", minimum=1)
    explorations: int = option(3, "explorations without a better score", minimum=0)
    part: float = option(1.0, "part of the way to a proposal that is a whole step", minimum=0, maximum=1)
    enough: float = option(0.0, "fraction of the gain for which a shorter step is preferred", minimum=0, maximum=1)

    def step(
        self,
        proposals: Sequence[Vector],
        problem: Evidence,
        decoded: Sequence[Vector],
        minimum_change: float,
        loss: Loss | None = None,
    ) -> Step:
        """Return the step from the last of the weights that were `decoded` with; the first proposal is the best.

        `loss` decodes a sample to measure what a step loses; without it, no step is tried.
        """
        weighed, begin = is_weight(problem.names), decoded[-1]
        if self.radius >= ANY_DIRECTION:
            return Step(damped_step(begin, proposals[0], self.part, weighed), self.part)
        proposal, part = self._within(proposals, problem, decoded, weighed)
        found = damped_step(begin, proposal, part, weighed)
        elsewhere = [one for one in proposals if not is_same(begin, one, minimum_change, weighed)]
        if elsewhere and is_same(begin, found, minimum_change, weighed):
            proposal, part = self._best_within(self._near, elsewhere, problem, decoded, weighed)
            return Step(damped_step(begin, proposal, part, weighed), part, explores=True)
        if loss is not None:
            least = longest_part(decoded, proposal, part, self._near, weighed)
            while part > least and loss(found) > self.max_loss:
                part = max(part / 2, least)
                found = damped_step(begin, proposal, part, weighed)
        return Step(found, part)

    @property
    def _near(self) -> float:
        return min(self.min_radius, self.radius)

    def _within(
        self, proposals: Sequence[Vector], problem: Evidence, decoded: Sequence[Vector], weighed: Mask
    ) -> tuple[Vector, float]:
        """Return a proposal and the part of the way to it that stays within the region."""
        proposal = proposals[0]
        part = longest_part(decoded, proposal, self.part, self.radius, weighed)
        if part < self.part and len(proposals) > 1:
            proposal, part = self._best_within(self.radius, proposals, problem, decoded, weighed)
        if self.enough:
            least = longest_part(decoded, proposal, part, self._near, weighed)
            if least < part:
                part = shortest_part(problem, decoded[-1], proposal, (least, part), self.enough)
        return proposal, part

    def _best_within(
        self,
        angle: float,
        proposals: Sequence[Vector],
        problem: Evidence,
        decoded: Sequence[Vector],
        weighed: Mask,
    ) -> tuple[Vector, float]:
        """Return the proposal towards which the evidence is best at that angle, and the part of the way."""
        parts = [longest_part(decoded, one, self.part, angle, weighed) for one in proposals]
        there = [damped_step(decoded[-1], *way, weighed) for way in zip(proposals, parts, strict=True)]
        best = int(np.argmax(problem.objectives(there)))
        return proposals[best], parts[best]


def longest_part(decoded: Sequence[Vector], proposal: Vector, most: float, angle: float, weighed: Mask) -> float:
    """Return the longest part, at most `most`, of the way to a proposal within an angle of weights decoded with.

    >>> longest_part([np.array([1.0, 0.0])], np.array([0.0, 1.0]), 1.0, 30, np.array([True, True]))
    0.3
    """
    parts = [most * part for part in PARTS]
    for part in parts:
        there = damped_step(decoded[-1], proposal, part, weighed)[weighed]
        if min(degrees_between(there, weights[weighed]) for weights in decoded) <= angle:
            return part
    return parts[-1]


def shortest_part(
    problem: Evidence, begin: Vector, proposal: Vector, bounds: tuple[float, float], enough: float
) -> float:
    """Return the shortest part of the way within bounds that has the fraction `enough` of the largest gain."""
    weighed, (least, most) = is_weight(problem.names), bounds
    parts = [least, *(part for part in sorted(most * part for part in PARTS) if part > least)]
    here, *scores = problem.objectives([begin, *(damped_step(begin, proposal, part, weighed) for part in parts)])
    gains = np.array(scores) - here
    return most if gains.max() <= 0 else parts[int(np.argmax(gains >= enough * gains.max()))]


def degrees_between(one: Vector, other: Vector) -> float:
    """Return the angle between two directions; 0 if one of them is no direction at all."""
    sizes = float(np.linalg.norm(one) * np.linalg.norm(other))
    return 0.0 if sizes == 0 else float(np.degrees(np.arccos(np.clip(one @ other / sizes, -1, 1))))


def damped_step(before: Vector, after: Vector, part: float, weighed: Mask) -> Vector:
    """Return weights between two: `part` of the new ones, the rest of the old ones, scaled to the size of the new.

    Interpolation weights of mixed tables, which are not `weighed`, are not scaled, so that they sum to 1.

    >>> damped_step(np.array([0.0, 1.0]), np.array([2.0, 0.0]), 0.25, np.array([True, True])).tolist()
    [0.5, 1.5]
    """
    found = part * after + (1 - part) * before
    old, new = before[weighed], after[weighed]
    size = float(np.abs(old).sum())
    if part == 1 or size == 0:
        found[weighed] = new
    else:
        found[weighed] = part * new + (1 - part) * old * (float(np.abs(new).sum()) / size)
    return found


def is_same(before: Vector, after: Vector, minimum_change: float, weighed: Mask) -> bool:
    """Return whether weights hardly change but for their size, and interpolation weights hardly change.

    >>> is_same(np.array([1.0, 0.5]), np.array([2.0, 1.0]), 1e-4, np.array([True, True]))
    True
    """
    if np.abs(after[~weighed] - before[~weighed]).max(initial=0) > minimum_change:
        return False
    before, after = before[weighed], after[weighed]
    scale = np.abs(after).sum() / max(np.abs(before).sum(), 1e-300)
    return bool(np.abs(after / scale - before).max() <= minimum_change * np.abs(before).max())
