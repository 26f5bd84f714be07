"""What a search leaves: a batch of sentences, ready to be looked at in several ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.core.shown import shortened
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

    def is_too_large(self, i: int) -> bool:
        """Whether the search for the forced target of sentence i was given up, because it needed too much memory."""
        return False

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

    @abstractmethod
    def derivation(self, i: int, edges: NDArray[np.integer], score: float) -> Translation:
        """Describe a derivation of sentence i's hypergraph, with features, given its edges in pre-order and its score.

        The best under other weights is one, which needs no other search.
        """


class Outcomes(Protocol):
    """What kernels found: the outcome of each sentence (0 found, 1 no derivation, 2 too large), and more."""

    @property
    def outcomes(self) -> NDArray[np.uint8]:
        """One for each sentence."""


Batch = TypeVar("Batch")
Found = TypeVar("Found", bound=Outcomes)

_TOO_LARGE = 2


class SearchedBatch(Searched, Generic[Batch, Found]):
    """What a kernel found of a batch; `global_values` are of features that a search cannot see."""

    def __init__(
        self,
        batch: Batch,
        found: Found,
        *,
        global_values: FeatureRows | None = None,
        runtime: Runtime = Runtime(),
    ):
        self.batch = batch
        self.found = found
        self._global_values = global_values
        self._runtime = runtime

    def __len__(self) -> int:
        return len(self.found.outcomes)

    def reached(self, i: int) -> bool:
        """Whether sentence i has a derivation; only a forced target can leave it without."""
        return bool(self.found.outcomes[i] == 0)

    def is_too_large(self, i: int) -> bool:
        """Whether the search for the forced target of sentence i was given up."""
        return bool(self.found.outcomes[i] == _TOO_LARGE)


def refuse_too_large(found: Outcomes, lines: Sequence[str], max_size: int, what: str) -> None:
    """Refuse the first sentence that needed more memory than was allowed.

    Not for forced targets: a sentence more or less that cannot be derived is no reason to lose the work on the others.
    """
    for i in np.flatnonzero(found.outcomes == _TOO_LARGE).tolist():
        line = lines[i]
        raise DataError(
            f"the search of '{shortened(line)}' ({len(line.split())} words) needs more than {max_size:,} {what}",
            expected="a shorter sentence, tighter limits, or a larger max-size",
        )
