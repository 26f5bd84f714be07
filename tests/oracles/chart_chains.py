"""The moves of chains in charts by their definitions, as matrices over all derivations of tiny models."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.sampling.chart.forest import ChartForest
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Schedule
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SearchLimits
from oracles import chart_space
from oracles.chains import Row
from oracles.chart_holes import HOLE_NAMES, PART_NAMES, JoinedParts, OpenedHoles, Spanned, WideHoles, values_of_part

EVERYTHING = SearchLimits(algorithm="exhaustive")


class Case:
    """A tiny random model with a sentence and all its derivations; its `space` is without features of holes or glue."""

    def __init__(self, seed: int, *, most: int = 60, holes: bool = False, parts: bool = False, **settings: Any):
        rng = np.random.default_rng(seed)
        space = chart_space.random_space(rng, most=most, **settings)
        # Else what is unknown would decide everything.
        weights = space.model.weights.updated({"unknown_word": 0.01})
        self.model, self.sentence, self.space = (
            space.model,
            space.sentence,
            replace(space, scores=space.rows @ weights.vector(space.model.feature_names)),
        )
        features = (*(OpenedHoles(), WideHoles()) * holes, *(JoinedParts(), Spanned()) * parts)
        for names in (HOLE_NAMES * holes, PART_NAMES * parts):
            weights = weights.updated(dict(zip(names, rng.normal(0, 1, len(names)).tolist(), strict=True)))
        self.looks_at_glue = parts
        self.translator = ChartTranslator(self.model, weights, limits=EVERYTHING, features=features)
        self.batch = self.translator.batch([self.sentence])
        self.length = len(self.sentence.split())
        rules = self.batch.rules
        sides = rules.matches[:, 0]
        counts = np.diff(rules.first_rule)[sides]
        self._match = np.repeat(np.arange(len(sides)), counts)
        self._rule = np.concatenate(
            [np.empty(0, np.int64), *(np.arange(rules.first_rule[s], rules.first_rule[s + 1]) for s in sides)]
        )

    @functools.cached_property
    def forest(self) -> ChartForest | None:
        """All derivations; None if there are none."""
        found = Sampler.of(self.translator).forest(self.sentence, EVERYTHING)
        assert found is None or isinstance(found, ChartForest)
        return found

    @functools.cached_property
    def scores(self) -> dict[Row, float]:
        """The score of each derivation."""
        if self.forest is None:
            return {}
        best = self.forest.best(100_000)
        rows = [tuple(row.tolist()) for row in best.derivations]
        return dict(zip(rows, best.scores.tolist(), strict=True))

    def span(self, edge: int) -> tuple[int, int]:
        """What an edge covers."""
        begin, end = self.batch.rules.matches[self._match[edge], 1:3].tolist()
        return begin, end

    def size(self, row: Row, node: int) -> int:
        """How many edges are below a node, itself included: those inside its span."""
        end = self.span(row[node])[1]
        return sum(1 for _ in itertools.takewhile(lambda edge: self.span(edge)[0] < end, row[node:]))

    def parts(self, row: Row) -> list[Row]:
        """What glue joined."""
        found, at = [], 0
        while at < len(row):
            found.append(row[at : at + self.size(row, at)])
            at += len(found[-1])
        return found

    def part_score(self, part: Row) -> float:
        """What glue scores for a part, beside its weight."""
        values = values_of_part(*self.span(part[0])) if self.looks_at_glue else {}
        return sum(self.translator.weights[name] * value for name, value in values.items())

    @functools.cached_property
    def subtrees(self) -> dict[tuple[int, int], list[Row]]:
        """All ways to fill each span."""
        found: dict[tuple[int, int], dict[Row, None]] = {}
        for row in self.scores:
            for node, edge in enumerate(row):
                found.setdefault(self.span(edge), {})[row[node : node + self.size(row, node)]] = None
        return {span: list(rows) for span, rows in found.items()}

    @functools.cached_property
    def width(self) -> int:
        """The longest span that a rule matches."""
        spans = self.batch.rules.matches[:, 1:3]
        return int((spans[:, 1] - spans[:, 0]).max())


class Moves:
    """What each kind of move does, as a matrix: from rows to columns, in the order of the case's derivations.

    `broken` leaves something out of the ratio: the numbers of `nodes`, of `parts`, or the `proposal`.
    """

    def __init__(self, case: Case, temperature: float, broken: str | None = None):
        self._case, self._temperature, self._broken = case, temperature, broken
        runs = [
            sum(not hole for hole, _ in itertools.groupby(words, lambda word: word < 0))
            for words in (row.tolist() for row in case.batch.rules.words)
        ]
        models = case.model.language_models
        gain = sum(case.translator.weights.get(name, 0.0) for name, model in models.items() if model.order > 1)
        of_models = case.batch.estimates()[0] - case.batch.local + math.log(10) * gain * np.array(runs)
        estimates = case.batch.local + 0.5 * of_models
        scores, classes = case.batch.arrays.match_scores, case.batch.arrays.rule_classes
        places = scores[case._match, classes[case._rule]] if scores.size else 0.0
        self._weights = ((estimates[case._rule] + places) / temperature).tolist()
        self._glue = case.translator.weights.get("glue", 0.0) / temperature
        self._number = {row: i for i, row in enumerate(case.scores)}

    def matrix(self, kind: str) -> NDArray[np.float64]:
        """The probability of each step."""
        moves = {"subtree": self._subtrees, "rule": self._rules, "glue": self._glued, "jump": self._jumps}[kind]
        matrix = np.zeros((len(self._number), len(self._number)))
        for row, i in self._number.items():
            for other, chosen, factor in moves(row):
                matrix[i, self._number[other]] += chosen * min(1.0, factor * self._ratio(row, other))
            matrix[i, i] += 1 - matrix[i].sum()
        return matrix

    def _ratio(self, row: Row, other: Row) -> float:
        gain = (self._case.scores[other] - self._case.scores[row]) / self._temperature
        return math.exp(gain - (0 if self._broken == "proposal" else self._weight(other) - self._weight(row)))

    def _weight(self, row: Row) -> float:
        parts = self._case.parts(row)
        joined = sum(map(self._case.part_score, parts)) / self._temperature
        return sum(self._weights[edge] for edge in row) + self._glue * len(parts) + joined

    def _draws(self, ways: list[Row]) -> Iterator[tuple[Row, float]]:
        weights = np.exp([self._weight(way) for way in ways])
        yield from zip(ways, (weights / weights.sum()).tolist(), strict=True)

    def _subtrees(self, row: Row) -> Iterator[tuple[Row, float, float]]:
        for node, edge in enumerate(row):
            end = node + self._case.size(row, node)
            for way, share in self._draws(self._case.subtrees[self._case.span(edge)]):
                other = (*row[:node], *way, *row[end:])
                yield other, share / len(row), 1 if self._broken == "nodes" else len(row) / len(other)

    def _rules(self, row: Row) -> Iterator[tuple[Row, float, float]]:
        matches = self._case._match
        for node, edge in enumerate(row):
            same = [(other,) for other in np.flatnonzero(matches == matches[edge]).tolist()]
            for way, share in self._draws(same):
                yield (*row[:node], *way, *row[node + 1 :]), share / len(row), 1.0

    def _glued(self, row: Row) -> Iterator[tuple[Row, float, float]]:
        parts = self._case.parts(row) if self._case.model.settings.glue else []
        for first in range(len(parts)):
            ends = self._ends(parts, first)
            for last in range(first + 1, first + ends + 1):
                begin, end = self._case.span(parts[first][0])[0], self._case.span(parts[last - 1][0])[1]
                for way, share in self._draws(self._covers(begin, end)):
                    changed = [*parts[:first], *self._case.parts(way), *parts[last:]]
                    factor = len(parts) * ends / (len(changed) * self._ends(changed, first))
                    other = tuple(itertools.chain.from_iterable(changed))
                    yield other, share / len(parts) / ends, 1 if self._broken == "parts" else factor

    def _ends(self, parts: list[Row], first: int) -> int:
        begin = self._case.span(parts[first][0])[0]
        return sum(self._case.span(part[0])[1] - begin <= self._case.width for part in parts[first:])

    def _covers(self, begin: int, end: int) -> list[Row]:
        if begin == end:
            return [()]
        return [
            (*way, *rest)
            for span, ways in self._case.subtrees.items()
            if span[0] == begin and span[1] <= end
            for way in ways
            for rest in self._covers(span[1], end)
        ]

    def _jumps(self, row: Row) -> Iterator[tuple[Row, float, float]]:
        for way, share in self._draws(list(self._number)):
            yield way, share, 1.0


def only(kind: str) -> Schedule:
    """A schedule with one kind of move."""
    rates = {name: 1.0 if name == kind else 0.0 for name in ("subtree", "rule", "glue")}
    return Schedule(**rates, jump_every=1 if kind == "jump" else 0)  # type: ignore[arg-type]


def random_schedule(rng: np.random.Generator) -> Schedule:
    """Any subset of the moves, any scan, with jumps or without, that can get everywhere."""
    rates = [float(rng.uniform(0.5, 2)) if rng.random() < 0.7 else 0.0 for _ in range(3)]
    return Schedule(
        scan="random" if rng.random() < 0.5 else "systematic",
        subtree=rates[0],
        rule=rates[1],
        glue=rates[2],
        jump_every=int(rng.integers(1, 3)) if not all(rates) or rng.random() < 0.5 else 0,
    )
