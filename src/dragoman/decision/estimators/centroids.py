"""Centroid-based MBR: clusters of the evidence, each with one string in place of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.decision.estimators.estimator import Estimator, Rows, SentenceEvidence, Vector
from dragoman.metrics.character_vectors import character_vectors


@dataclass(frozen=True)
class Centroids(Estimator):
    """H. Deguchi et al., Centroid-Based Efficient Minimum Bayes Risk Decoding (Findings of ACL 2024).

    Clusters the strings of the evidence with k-means, and scores hypotheses against one string per cluster, the nearest
    to its centroid, weighted by the probability of the cluster.

    Cost: hypotheses times `clusters`. Departures: the paper averages sentence embeddings inside COMET. Any utility
    works here: strings are clustered by their character n-grams, and a cluster is represented by one of its strings.
    """

    name: ClassVar[str] = "centroids"

    clusters: int = option(10, "clusters of the evidence", minimum=1)
    iterations: int = option(10, "iterations of k-means", minimum=1)

    def expected(self, sentence: SentenceEvidence, rng: np.random.Generator) -> Vector:
        """Return utilities against the strings that represent the clusters."""
        vectors = character_vectors(sentence.evidence)
        labels, centres = k_means(vectors, sentence.probabilities, self.clusters, self.iterations, rng)
        masses = np.bincount(labels, sentence.probabilities, minlength=len(centres))
        used = np.flatnonzero(masses)
        distances = _squared_distances(vectors, centres)
        nearest = np.array([_nearest(distances[:, c], labels == c) for c in used.tolist()], np.int64)
        scores = sentence.scores(np.arange(len(sentence.hypotheses)), nearest)
        return np.asarray(scores @ (masses[used] / masses.sum()))


def k_means(
    vectors: Vector, weights: Vector, clusters: int, iterations: int, rng: np.random.Generator
) -> tuple[Rows, Vector]:
    """Cluster weighted vectors, from the starts of k-means++; return the cluster of each vector, and the centres."""
    chosen = [int(rng.choice(len(vectors), p=weights / weights.sum()))]
    distances = _squared_distances(vectors, vectors[chosen])[:, 0]
    while len(chosen) < min(clusters, len(vectors)):
        mass = weights * distances
        if not mass.sum() > 0:
            break
        chosen.append(int(rng.choice(len(vectors), p=mass / mass.sum())))
        distances = np.minimum(distances, _squared_distances(vectors, vectors[chosen[-1:]])[:, 0])
    centres = vectors[chosen].copy()
    labels = np.zeros(len(vectors), np.int64)
    for _ in range(iterations):
        labels = _squared_distances(vectors, centres).argmin(axis=1)
        masses = np.bincount(labels, weights, minlength=len(centres))
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, weights[:, None] * vectors)
        moved = np.where(masses[:, None] > 0, sums / np.maximum(masses, 1e-300)[:, None], centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return labels, centres


def _squared_distances(vectors: Vector, centres: Vector) -> Vector:
    squares = (vectors**2).sum(axis=1)[:, None] - 2 * vectors @ centres.T + (centres**2).sum(axis=1)
    return np.asarray(np.maximum(squares, 0.0))


def _nearest(distances: Vector, members: NDArray[np.bool_]) -> int:
    return int(np.where(members, distances, np.inf).argmin())
