"""What is wanted of a search, and kept of it: a batch that can go from a worker to whoever asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.search.searched import Searched
from dragoman.search.spread import Portion, Spread
from dragoman.search.translation import Translation
from dragoman.search.translator import Translator


@dataclass(frozen=True, eq=False)
class Kept(Searched):
    """A batch of which only what was wanted is left; see `Keep`."""

    found: Sequence[Translation]
    reaches: Sequence[bool]
    too_large: Sequence[bool]
    lists: NBest | None = None
    graphs: Sequence[Hypergraph | None] | None = None

    def __len__(self) -> int:
        return len(self.found)

    def reached(self, i: int) -> bool:
        """Whether sentence i has a derivation."""
        return self.reaches[i]

    def is_too_large(self, i: int) -> bool:
        """Whether the search for the forced target of sentence i was given up."""
        return self.too_large[i]

    def translations(self, *, features: bool = False) -> list[Translation]:
        """The best derivation of each sentence, with features if these were wanted."""
        return list(self.found)

    def nbest(self, k: int, *, distinct: bool = False) -> NBest:
        """Return the lists that were wanted."""
        if self.lists is None:
            raise UsageError("no n-best lists were kept of the search")
        return self.lists

    def hypergraph(self, i: int, *, features: bool = True) -> Hypergraph:
        """Return the hypergraph of sentence i, if they were wanted."""
        found = None if self.graphs is None else self.graphs[i]
        if found is None:
            raise UsageError("no hypergraph was kept of the search")
        return found

    def edge_features(self, i: int, edges: NDArray[np.integer]) -> FeatureRows:
        """Return the features of some edges of a hypergraph that was kept."""
        features = self.hypergraph(i).features
        assert features is not None
        return features.take(edges)

    def derivation(self, i: int, edges: NDArray[np.integer], score: float) -> Translation:
        """Refuse: phrases and rules stay with whoever searched."""
        raise UsageError("derivations other than the best were not kept of the search")


@dataclass(frozen=True)
class Keep:
    """What is wanted of a search beside translations: their features, lists of so many, hypergraphs."""

    features: bool = False
    nbest: int | None = None
    distinct: bool = False
    hypergraphs: bool = False

    def __call__(self, translator: Translator, portion: Portion, runtime: Runtime) -> list[Kept]:
        """Search a portion."""
        forests = self.nbest is not None or self.hypergraphs
        return [self.of(part) for part in translator.searched(portion.lines, forests=forests, targets=portion.targets)]

    def of(self, part: Searched) -> Kept:
        """Keep what is wanted of a batch."""
        reached = [part.reached(i) for i in range(len(part))]
        return Kept(
            part.translations(features=self.features),
            reached,
            [part.is_too_large(i) for i in range(len(part))],
            None if self.nbest is None else part.nbest(self.nbest, distinct=self.distinct),
            [part.hypergraph(i) if there else None for i, there in enumerate(reached)] if self.hypergraphs else None,
        )


def kept(spread: Spread, keep: Keep, lines: Iterable[str], targets: Iterable[str] | None = None) -> Iterator[Kept]:
    """Search a text, whoever does it, and keep what is wanted, in order, a batch at a time."""
    spread.translator.refuse_global_features()
    return (part for parts in spread.map(keep, spread.portions(lines, targets)) for part in parts)
