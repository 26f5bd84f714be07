"""What a search leaves: a batch of sentences, ready to be looked at in several ways."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.search.translation import Translation


class Searched(ABC):
    """A batch of sentences after the search, ready to be looked at in several ways."""

    @abstractmethod
    def __len__(self) -> int:
        """How many sentences there are."""

    @abstractmethod
    def reached(self, i: int) -> bool:
        """Whether sentence i has a derivation; only a forced target can leave it without."""

    @abstractmethod
    def translations(self, *, features: bool = False) -> list[Translation]:
        """Describe the best derivation of each sentence."""

    @abstractmethod
    def nbest(self, k: int, *, distinct: bool = False) -> NBest:
        """Return the k best hypotheses of each sentence, after a search with `forests`."""

    @abstractmethod
    def hypergraph(self, i: int, *, features: bool = True) -> Hypergraph:
        """Return all that the search kept of sentence i, after a search with `forests`."""

    @abstractmethod
    def edge_features(self, i: int, edges: NDArray[np.integer]) -> FeatureRows:
        """Return the features of some edges of sentence i's hypergraph; few are wanted where lists are made of it."""
