"""The sampler's operators by their definitions, a slow sampler made of them, and how samples are compared with π."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from oracles.phrase_case import Case
from oracles.phrase_space import Option, options

Derivation = tuple[Option, ...]


@dataclass(frozen=True)
class Point:
    """An operator and where it works."""

    operator: str
    first: int
    second: int = 0


class Blocks:
    """The blocks of derivations that operators draw from, in the space of one case."""

    #: Whether MERGE-SPLIT also draws options for two phrases that are not neighbours in the target.
    draws_pairs_apart = False

    def __init__(self, case: Case):
        self.length = len(case.sentence.split())
        self.limit = case.limit
        self.spans: dict[tuple[int, int], list[Option]] = {}
        for option in options(case.model, case.sentence, case.space.table_limit):
            self.spans.setdefault((option.begin, option.end), []).append(option)

    def points(self, operators: set[str]) -> Iterator[Point]:
        """The points of a systematic scan."""
        if "merge_split" in operators:
            yield from (Point("merge_split", j) for j in range(1, self.length))
        if "reorder" in operators:
            reach = self.length if self.limit < 0 else self.limit
            for u in range(self.length):
                yield from (Point("reorder", u, v) for v in range(u + 1, min(self.length, u + reach + 1)))
        if "retranslate" in operators:
            yield from (Point("retranslate", u) for u in range(self.length))

    def block(self, derivation: Derivation, point: Point) -> list[Derivation]:
        """All derivations that a step at the point may lead to."""
        if point.operator == "retranslate":
            for i, phrase in enumerate(derivation):
                if phrase.begin == point.first:
                    return [(*derivation[:i], new, *derivation[i + 1 :]) for new in self._on(phrase.begin, phrase.end)]
            return [derivation]
        if point.operator == "reorder":
            places = {phrase.begin: i for i, phrase in enumerate(derivation)}
            if point.first not in places or point.second not in places:
                return [derivation]
            swapped = list(derivation)
            i, j = places[point.first], places[point.second]
            swapped[i], swapped[j] = swapped[j], swapped[i]
            return [derivation, tuple(swapped)] if self._allowed(tuple(swapped)) else [derivation]
        return self._merge_split(derivation, point.first)

    def _merge_split(self, derivation: Derivation, position: int) -> list[Derivation]:
        left = next(i for i, p in enumerate(derivation) if p.begin < position <= p.end)
        right = next(i for i, p in enumerate(derivation) if p.begin <= position < p.end)
        begin, end = derivation[left].begin, derivation[right].end
        pairs = [(a, b) for a in self._on(begin, position) for b in self._on(position, end)]
        if left == right or right == left + 1:
            before, after = derivation[:left], derivation[right + 1 :]
            found = [(*before, one, *after) for one in self._on(begin, end)]
            return found + [(*before, a, b, *after) for a, b in pairs]
        both = []
        for a, b in pairs if self.draws_pairs_apart else []:
            changed = list(derivation)
            changed[left], changed[right] = a, b
            both.append(tuple(changed))
        return both or [derivation]

    def _on(self, begin: int, end: int) -> list[Option]:
        return self.spans.get((begin, end), [])

    def _allowed(self, derivation: Derivation) -> bool:
        ends = [0, *(phrase.end for phrase in derivation)]
        jumps = [abs(phrase.begin - end) for phrase, end in zip(derivation, ends, strict=False)]
        return self.limit < 0 or max(jumps) <= self.limit

    def component(self, start: Derivation, operators: set[str]) -> set[Derivation]:
        """All derivations that steps can lead to."""
        points = list(self.points(operators))
        found, waiting = {start}, [start]
        while waiting:
            here = waiting.pop()
            new = {other for point in points for other in self.block(here, point)} - found
            found |= new
            waiting += new
        return found


def scan(
    blocks: Blocks,
    derivation: Derivation,
    score: Callable[[Derivation], float],
    operators: set[str],
    temperature: float,
    rng: np.random.Generator,
    broken: str | None = None,
) -> Derivation:
    """One scan, step by step. The ratios of the operator `broken` are wrong: scores count half of what they should."""
    for point in blocks.points(operators):
        block = blocks.block(derivation, point)
        sharpness = (0.5 if point.operator == broken else 1.0) / temperature
        weights = [math.exp(score(other) * sharpness) for other in block]
        derivation = block[int(rng.choice(len(block), p=np.array(weights) / sum(weights)))]
    return derivation


def probabilities(scores: np.ndarray, temperature: float) -> np.ndarray:
    """π, by enumeration."""
    weights = np.exp((scores - scores.max()) / temperature)
    return np.asarray(weights / weights.sum())


def p_value(counts: np.ndarray, expected: np.ndarray) -> float | None:
    """Of a chi-square test; what is expected less than 5 times is put together. None: there is nothing to compare."""
    rare = expected < 5
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 5:
        keep = len(expected) - 1
        if keep < 2:
            return None
        largest = int(expected[:keep].argmax())
        counts[largest] += counts[-1]
        expected[largest] += expected[-1]
        counts, expected = counts[:-1], expected[:-1]
    if len(expected) < 2:
        return None
    return float(stats.chisquare(counts, expected).pvalue)
