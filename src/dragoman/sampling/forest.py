"""What a search kept of one sentence, as evidence beside samples: what it holds, what it expects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.inside_outside import entropy, log_partition


@dataclass(frozen=True, eq=False)
class BestDerivations:
    """An n-best list of one sentence: derivations as samplers have them, scores (best first), features."""

    derivations: Ragged[np.int32]
    scores: NDArray[np.float64]
    features: FeatureRows

    def __len__(self) -> int:
        return len(self.scores)

    def expected_features(self, size: int, names: Sequence[str]) -> NDArray[np.float64]:
        """The expected features over the first `size`, as if there were no other derivations."""
        scores = self.scores[:size]
        shares = np.exp(scores - np.logaddexp.reduce(scores))
        return weighted_features(self.features.take(np.arange(len(scores))), shares, names)


class Forest(ABC):
    """The derivations of a sentence in `graph`, with p(derivation) ∝ exp(score)."""

    def __init__(self, graph: Hypergraph):
        self.graph = graph

    @cached_property
    def log_partition(self) -> float:
        """The logarithm of the sum of exp(score) over all derivations."""
        return log_partition(self.graph)

    @cached_property
    def log_size(self) -> float:
        """The logarithm of the number of derivations, which may be too large for a number."""
        return log_partition(self.graph.scaled(0))

    @cached_property
    def entropy(self) -> float:
        """The entropy of the distribution over derivations, in nats."""
        return max(entropy(self.graph), 0.0)

    @abstractmethod
    def expected_features(self) -> NDArray[np.float64]:
        """The expected features of a derivation, in the order of the model's dense features."""

    @abstractmethod
    def contains(self, derivations: Ragged[np.int32]) -> NDArray[np.bool_]:
        """Whether each derivation, as a sampler has it, is in the forest."""

    @abstractmethod
    def best(self, k: int) -> BestDerivations:
        """Return the k best derivations, or as many as there are, with their features."""


def weighted_features(rows: FeatureRows, shares: NDArray[np.float64], names: Sequence[str]) -> NDArray[np.float64]:
    """The sum of rows of features, each times its share, in the order of `names`; others are left out."""
    sums = np.bincount(rows.ids, np.repeat(shares, np.diff(rows.offsets)) * rows.values, minlength=len(rows.names))
    place = {name: i for i, name in enumerate(rows.names)}
    return np.array([sums[place[name]] if name in place else 0.0 for name in names])
