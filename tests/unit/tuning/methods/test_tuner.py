"""A method says by the annotation of its problem what evidence it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.runtime import Runtime
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Optimum, Tuner
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem, ReferenceProblem
from dragoman.tuning.problems.mixtures import MixtureProblem
from dragoman.tuning.problems.problem import Problem
from oracles.toy_decoder import NAMES, ToyDecoder, as_graphs, task_of

START = np.array([0.1, -0.5, 0.3])


@dataclass(frozen=True)
class Plain(Tuner):
    """Says nothing of its problem, and remembers what it got."""

    name: ClassVar[str] = "plain"
    seen: ClassVar[list[object]] = []

    def improve(self, problem, start, rng, runtime):
        self.seen.append(problem)
        return Optimum(start, 0.0)


@dataclass(frozen=True)
class Either(Plain):
    """Takes both kinds."""

    def improve(self, problem: Problem | HypergraphProblem, start, rng, runtime):
        return super().improve(problem, start, rng, runtime)


@dataclass(frozen=True)
class Wider(Plain):
    """Takes what has references and mixtures."""

    def improve(self, problem: MixtureProblem | ReferenceProblem, start, rng, runtime):
        return super().improve(problem, start, rng, runtime)


def problems():
    task = task_of(ToyDecoder(sentences=3, size=5))
    lists = task.decoder(Weights(), runtime=Runtime())
    return [decoded.problem(NAMES, task.ranges, task.scorer) for decoded in (lists, as_graphs(lists))]


def test_lists_are_what_a_method_takes_that_says_nothing():
    assert Plain.evidence() == (Problem,)
    lists, graphs = problems()
    Plain().optimise(lists, START, rng=np.random.default_rng(1))
    with pytest.raises(UsageError, match="plain works on lists of candidates only, and these are hypergraphs"):
        Plain().optimise(graphs, START, rng=np.random.default_rng(1))


def test_evidence_is_handed_on_as_it_is_or_as_a_special_case_of_what_is_taken():
    for kind in (Either, Wider):
        Plain.seen.clear()
        for problem in problems():
            kind().optimise(problem, START, rng=np.random.default_rng(1))
        wanted = (Problem, HypergraphProblem) if kind is Either else (MixtureProblem, ReferenceProblem)
        assert tuple(type(problem) for problem in Plain.seen) == wanted
    mixed, referenced = Plain.seen
    assert mixed.mixtures == ()
    assert len(referenced.targets.sentences) == 0


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (HypergraphProblem, ["likelihood", "mert", "risk-forest"]),
        (ReferenceProblem, ["likelihood"]),
        (MixtureProblem, ["pro-mix", "risk-nbest"]),
    ],
)
def test_what_our_methods_take(kind, names):
    optimisers = [name for name in TUNERS.names() if issubclass(TUNERS.get(name), Tuner)]
    assert [name for name in optimisers if TUNERS.get(name).takes(kind)] == names
