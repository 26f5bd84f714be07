"""Conditional maximum likelihood: the references are to be probable (Och & Ney 2002; Blunsom, Cohn & Osborne 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.batch import Batch
from dragoman.forest.derivation import yields
from dragoman.forest.kbest import kbest
from dragoman.forest.log_linear import LogLinear
from dragoman.forest.operations import intersection, union
from dragoman.tuning.methods.method import Optimum, Tuner
from dragoman.tuning.optimise.ascent import maximise
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem, ReferenceProblem
from dragoman.tuning.problems.problem import best_rows

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Likelihood(Tuner):
    """Maximises the mean over sentences of ln p(target | source), with a Gaussian prior on the weights.

    p(target) is the sum over all derivations of the target of exp(w · features), over the same sum for all derivations
    of the hypergraph: a probability, as derivations of references are put into the hypergraph, and each is there once.
    A sentence's targets are those of its references that the model can derive, by forced decoding; p is then their
    sum. Where it can derive none, the target is a surrogate (Och & Ney 2002): of the `candidates` best strings of the
    hypergraph under the weights at the start, the one with the best sentence score of the metric, whatever the metric
    is. The numbers of sentences with either are noted, and recorded in the run's events as `reached` and `surrogates`.

    The objective is (Σ_s ln p(target_s) - |w|² / (2 deviation²)) / S for S sentences; its gradient is exact, expected
    features of the target's derivations less those of all (Blunsom, Cohn & Osborne 2008), each step is L-BFGS, and
    given the targets it has few local optima (none, if each target has one derivation). Cost: a gradient takes a pass
    up and down the hypergraphs, linear in edges and feature values, in threads; any number of features. There is
    nothing random.

    Pruned hypergraphs stand for the whole space. While they lack what the new weights prefer, the likelihood rises by
    going where nothing is known, and the first few iterations translate worse than the start: the references are often
    outside the beam, and what sets them apart from it is that they score badly. It takes dense hypergraphs, hence
    `density`, and some ten iterations until the evidence holds what there is; see `docs/theory/tuning.md`.
    """

    name: ClassVar[str] = "likelihood"

    deviation: float = option(1.0, "standard deviation of the prior; 0: no prior", minimum=0)
    candidates: int = option(100, "n-best strings among which a surrogate reference is chosen", minimum=1)
    iterations: int = option(200, "maximum iterations of L-BFGS", minimum=1)

    def improve(self, problem: ReferenceProblem, start: Vector, rng: np.random.Generator, runtime: Runtime) -> Optimum:
        """Climb from the start."""
        graphs = problem.batch.graphs()
        targets = reached_targets(problem, graphs)
        missing = [i for i, target in enumerate(targets) if target is None]
        details = {"reached": len(graphs) - len(missing), "surrogates": len(missing)}
        runtime.note(
            f"{details['reached']:,} sentences have a reference that can be derived,"
            f" {details['surrogates']:,} a surrogate"
        )
        for i, target in surrogates(problem, graphs, missing, start, self.candidates, runtime=runtime).items():
            targets[i] = target
        objective = LogLikelihood(
            [target for target in targets if target is not None], graphs, self.deviation, runtime=runtime
        )
        with runtime.stage("maximising the likelihood"):
            weights, value = maximise(objective, start, self.iterations, runtime=runtime)
        return Optimum(weights, value, details)


class LogLikelihood:
    """The mean log-probability of targets among all derivations, and the prior, with the gradient."""

    def __init__(
        self,
        targets: Sequence[Hypergraph],
        graphs: Sequence[Hypergraph],
        deviation: float,
        *,
        runtime: Runtime = Runtime(),
    ):
        sentences = len(graphs)
        assert len(targets) == sentences
        self._forests = LogLinear.of(Batch.of([*targets, *graphs]))
        self._factors = np.repeat([1 / sentences, -1 / sentences], sentences)
        self._precision = 1 / (deviation**2 * sentences) if deviation else 0.0
        self._runtime = runtime

    def __call__(self, weights: Vector) -> tuple[float, Vector]:
        """Return the objective and its derivatives with respect to the weights."""
        derivations = self._forests.at(weights, runtime=self._runtime)
        # Not by BLAS: products of its threads may differ in the last place.
        value = float((self._factors * derivations.log_totals).sum() - self._precision / 2 * (weights * weights).sum())
        return value, derivations.expected_features(self._factors) - self._precision * weights


def reached_targets(problem: ReferenceProblem, graphs: Sequence[Hypergraph]) -> list[Hypergraph | None]:
    """Return the derivations of all targets of each sentence as one hypergraph; None if it has no target."""
    strings = problem.targets.strings
    words = strings.vocab.map_to(problem.batch.joined.vocab)[strings.sentences.values]
    found: list[dict[tuple[int, ...], Hypergraph]] = [{} for _ in graphs]
    for sentence, row in zip(problem.targets.sentences.tolist(), Ragged(words, strings.sentences.offsets), strict=True):
        # Two references may be the same string.
        part = intersection(graphs[sentence], row)
        if part is not None:
            found[sentence][tuple(row.tolist())] = part
    return [union(list(parts.values())) if parts else None for parts in found]


def surrogates(
    problem: HypergraphProblem,
    graphs: Sequence[Hypergraph],
    sentences: Sequence[int],
    weights: Vector,
    candidates: int,
    *,
    runtime: Runtime = Runtime(),
) -> dict[int, Hypergraph]:
    """Return the derivations of the best candidate by the metric of some sentences; of equals the more probable."""
    if not sentences:
        return {}
    named = Weights(dict(zip(problem.names, weights.tolist(), strict=True)))
    scored = [replace(graphs[i].reweighted(named), features=None) for i in sentences]
    lists = runtime.here().map(lambda graph, _: kbest(graph, candidates, distinct=True), scored, window=len(scored))
    strings = [yields(graph, best.derivations) for graph, best in zip(scored, lists, strict=True)]
    bounds = np.cumsum([0, *map(len, strings)], dtype=np.int64)
    listed = Ragged.concatenate(strings)
    numbers = np.repeat(np.array(sentences, np.int64), np.diff(bounds))
    statistics = problem.scorer.statistics(Corpus(problem.batch.joined.vocab, listed), numbers, runtime=runtime)
    best = best_rows(problem.sign * problem.scorer.sentence_scores(statistics), bounds)
    found = {i: intersection(graphs[i], listed[row]) for i, row in zip(sentences, best.tolist(), strict=True)}
    return {i: graph for i, graph in found.items() if graph is not None}
