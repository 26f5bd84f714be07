"""A cache of hypergraphs, so that other weights need no new search: the most recent ones within a memory limit."""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from dragoman.core.hypergraph import Hypergraph
from dragoman.search.translation import SearchResult

#: The share of the memory that may be thrown away before it is given back to the system.
_UNRETURNED = 1 / 8

#: The C library's function that gives free memory between pieces in use back to the system, where it has one.
_give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)


@dataclass(frozen=True, eq=False)
class CachedHypergraph:
    """The hypergraph of a sentence with features, and the search result, which can describe derivations."""

    graph: Hypergraph
    search: SearchResult

    @property
    def size(self) -> int:
        """Approximate size in bytes; the search result is about as large as the hypergraph without features."""
        graph, rows = self.graph, self.graph.features
        own = (graph.first_edge, graph.tails, graph.template_ids, graph.spans, graph.scores, graph.templates.values)
        features = () if rows is None else (rows.offsets, rows.ids, rows.values)
        return 2 * _bytes(*own) + _bytes(*features)


def _bytes(*arrays: NDArray[Any]) -> int:
    return sum(array.nbytes for array in arrays)


class HypergraphCache:
    """The most recently used hypergraphs; safe to use from several threads."""

    def __init__(self, most_bytes: int):
        self._most = most_bytes
        self._graphs: OrderedDict[Hashable, CachedHypergraph] = OrderedDict()
        self._lock = threading.Lock()
        self._thrown_away = 0
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._graphs)

    def clear(self) -> None:
        """Remove all hypergraphs."""
        with self._lock:
            self._graphs.clear()
            self.bytes = 0

    def get_or_make(self, key: Hashable, make: Callable[[], CachedHypergraph]) -> tuple[CachedHypergraph, bool]:
        """Return the hypergraph of a key and whether it was made now; make and cache it if there is none."""
        with self._lock:
            if key in self._graphs:
                self._graphs.move_to_end(key)
                return self._graphs[key], False
        made = make()
        with self._lock:
            if key not in self._graphs and made.size <= self._most:
                self._graphs[key] = made
                self.bytes += made.size
                while self.bytes > self._most:
                    size = self._graphs.popitem(last=False)[1].size
                    self.bytes -= size
                    self._thrown_away += size
            returns = self._thrown_away > _UNRETURNED * self._most
            if returns:
                self._thrown_away = 0
        if returns and _give_back is not None:
            _give_back(0)
        return made, True
