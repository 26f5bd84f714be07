"""Decision rules side by side: the options of each chosen on held-out sentences, and scored on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runtime import Runtime
from dragoman.decision.evidence import Draw
from dragoman.decision.grid import GridPoint, best_point, grid_rules, search_grid
from dragoman.decision.rule import Decisions, Evidence, EvidenceKind
from dragoman.decision.settings import Decision
from dragoman.metrics.metric import Metric, Scorer
from dragoman.search.translator import Translator

_DENSITY = 50.0


@dataclass(frozen=True)
class Candidate:
    """A rule by name, the evidence it sees, and the options to try: `scale=1,2,5` for each that varies."""

    rule: str
    evidence: EvidenceKind
    grid: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TextSet:
    """Sentences with a scorer that knows their references."""

    lines: Sequence[str]
    scorer: Scorer


@dataclass(frozen=True, eq=False)
class Compared:
    """What a rule was given by its grid, its score on the held-out sentences, and its translations of each test set."""

    candidate: Candidate
    point: GridPoint
    translations: Mapping[str, list[str]]
    statistics: Mapping[str, NDArray[np.float64]]


class RuleComparison:
    """Compares rules for one translator; evidence that several rules see is made once."""

    def __init__(
        self,
        translator: Translator,
        metric: Metric,
        held_out: TextSet,
        tests: Mapping[str, TextSet],
        *,
        nbest_size: int = 1000,
        draw: Draw | None = None,
        runtime: Runtime = Runtime(),
    ):
        self._translator, self._metric, self._held_out, self._tests = translator, metric, held_out, tests
        self._nbest_size, self._draw, self._runtime = nbest_size, draw, runtime
        self._kept: dict[tuple[EvidenceKind, bool, str], list[Evidence]] = {}

    def compare(self, candidates: Sequence[Candidate]) -> list[Compared]:
        """Choose options and translate, rule by rule."""
        found = []
        with self._runtime.stage("comparing decision rules") as share:
            for i, candidate in enumerate(candidates):
                found.append(self._one(candidate))
                share((i + 1) / len(candidates))
        return found

    def _one(self, candidate: Candidate) -> Compared:
        decision = Decision.of(candidate.rule, (), candidate.evidence, self._nbest_size)
        rules = grid_rules(type(decision.rule), (), candidate.grid)
        evidence = self._evidence(decision, "", self._held_out)
        runtime = self._runtime.quiet()
        points = search_grid(rules, evidence, self._held_out.scorer, runtime=runtime)
        best = best_point(points, self._metric)
        decided = {
            name: Decisions.concatenate(
                [best.rule.decide(part, runtime=runtime) for part in self._evidence(decision, name, test)]
            )
            for name, test in self._tests.items()
        }
        return Compared(
            candidate,
            best,
            {name: decisions.lines() for name, decisions in decided.items()},
            {
                name: self._tests[name].scorer.statistics(decisions.corpus, runtime=runtime)
                for name, decisions in decided.items()
            },
        )

    def _evidence(self, decision: Decision, name: str, texts: TextSet) -> list[Evidence]:
        key = (decision.evidence, decision.rule.distinct_lists, name)
        if key not in self._kept:
            density = _DENSITY if decision.evidence == "hypergraph" else 0.0
            parts = decision.gather(self._translator, texts.lines, density=density, draw=self._draw)
            self._kept[key] = list(parts)
        return self._kept[key]
