"""What a search leaves: a batch of sentences, ready to be looked at in several ways."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.search.translation import Translation

#: Between the name of a table and the number of a pair in it.
PAIR_MARK = "#"


def pair_feature(table: str, row: int) -> str:
    """Name the feature that counts a pair of a table.

    >>> pair_feature("tm", 12)
    'tm#12'
    """
    return f"{table}{PAIR_MARK}{row}"


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

    def pair_lists(self, k: int) -> NBest:
        """Return the same as `nbest`, but with the pairs of mixed tables as features in place of their scores.

        Each is named by `pair_feature` and counts how often it is in the derivation, so that scores can be had for
        other shares.
        """
        raise UsageError("only a phrase-based model has mixed tables")

    @abstractmethod
    def hypergraph(self, i: int, *, features: bool = True) -> Hypergraph:
        """Return all that the search kept of sentence i, after a search with `forests`."""

    @abstractmethod
    def edge_features(self, i: int, edges: NDArray[np.integer]) -> FeatureRows:
        """Return the features of some edges of sentence i's hypergraph; few are wanted where lists are made of it."""
