"""Tuning problems on whole search spaces: hypergraphs instead of lists of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.runtime import Runtime
from dragoman.forest.batch import Batch
from dragoman.forest.derivation import yields
from dragoman.forest.envelope import Envelopes, envelopes
from dragoman.forest.inside_outside import max_inside
from dragoman.metrics.metric import Scorer
from dragoman.tuning.problems.fixed_score import FixedScore

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Targets:
    """Target translations: `strings` belong to the given sentences, which may have several, or none."""

    sentences: NDArray[np.int64]
    strings: Corpus

    @classmethod
    def none(cls) -> Targets:
        """Return no targets."""
        return cls(np.empty(0, np.int64), Corpus.from_lines([]))


@dataclass(frozen=True, eq=False)
class HypergraphProblem:
    """Hypergraph `s` holds the translations of sentence `s`, as many as it has derivations.

    Weights are vectors in the order of `names`. Under weights w the translation of a sentence is what its derivation
    with the highest w · features writes; `scorer` gives its statistics. What is optimised, and `ranges` and `sign`,
    are as in `Problem`.
    """

    #: The default number of edges per word of the best translation.
    density: ClassVar[float] = 20.0

    batch: Batch
    features: FeatureRows
    scorer: Scorer
    ranges: NDArray[np.float64]
    sign: int = 1

    @classmethod
    def of(
        cls,
        graphs: Sequence[Hypergraph],
        scorer: Scorer,
        ranges: NDArray[np.float64],
        sign: int = 1,
        *,
        names: Sequence[str] | None = None,
        fixed: FixedScore = FixedScore(),
    ) -> Self:
        """Build from one hypergraph per sentence; each must have features and at least one derivation.

        Features are all that occur, or the given names and the score of those with `fixed` weights.
        """
        if any(graph.features is None for graph in graphs):
            raise UsageError("a hypergraph was made without features, so its weights cannot be tuned")
        batch = Batch.of(graphs)
        features = batch.joined.features
        assert features is not None
        if names is not None:
            features = fixed.features(features, names)
            batch = replace(batch, joined=replace(batch.joined, features=features))
        if not np.isfinite(features.values).all():
            raise DataError("an edge of a hypergraph has a feature that is not a finite number")
        empty = np.flatnonzero(max_inside(batch.joined)[batch.roots] == -np.inf)
        if len(empty):
            raise DataError(f"the hypergraph of sentence {empty[0]} has no derivation")
        return cls(batch, features, scorer, ranges, sign)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.features.names

    def edge_scores(self, weights: Vector) -> Vector:
        """Return the weighted sum of each edge's features."""
        return self.features.dot(Weights(zip(self.names, weights.tolist(), strict=True)))

    def envelopes(self, intercepts: Vector, slopes: Vector, *, runtime: Runtime = Runtime()) -> Envelopes:
        """Return the derivations of each sentence that are best somewhere, if edges score intercept + t * slope."""
        return envelopes(self.batch, intercepts, slopes, runtime=runtime.quiet())

    def best(self, weights: Vector, *, runtime: Runtime = Runtime()) -> Envelopes:
        """Return the best derivation of each sentence: without a slope, an envelope is a single line."""
        scores = self.edge_scores(weights)
        return self.envelopes(scores, np.zeros(len(scores)), runtime=runtime)

    def statistics(self, found: Envelopes, *, runtime: Runtime = Runtime()) -> Vector:
        """Return the statistics of the string of each derivation."""
        hypotheses = Corpus(self.batch.joined.vocab, yields(self.batch.joined, found.derivations))
        sentences = np.repeat(np.arange(len(self.batch), dtype=np.int64), np.diff(found.graphs))
        statistics = self.scorer.statistics(hypotheses, sentences, runtime=runtime)
        return np.ascontiguousarray(statistics, np.float64)

    def objective(self, weights: Vector, *, runtime: Runtime = Runtime()) -> float:
        """Return what is maximised: the metric of the best derivations, negated for error rates."""
        return float(self.objectives([weights], runtime=runtime)[0])

    def objectives(self, weights: Sequence[Vector], *, runtime: Runtime = Runtime()) -> Vector:
        """Return what is maximised, under each of some weights."""
        return self.sign * self.scorer.score(np.array([self.sums(vector, runtime=runtime) for vector in weights]))

    def sums(self, weights: Vector, *, runtime: Runtime = Runtime()) -> Vector:
        """Return the sum of the statistics of the best derivations."""
        return np.asarray(self.statistics(self.best(weights, runtime=runtime), runtime=runtime).sum(axis=0))


@dataclass(frozen=True, eq=False)
class ReferenceProblem(HypergraphProblem):
    """Hypergraphs that hold all derivations of the references, as far as the model can write them.

    `targets` are the references that are among the translations.
    """

    density: ClassVar[float] = 100.0

    targets: Targets = field(default_factory=Targets.none)
