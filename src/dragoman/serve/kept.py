"""Hypergraphs that are kept, so that other weights need no other search: the last ones that fit into some memory."""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from dragoman.core.hypergraph import Hypergraph
from dragoman.search.search_result import SearchResult

#: Of the memory for hypergraphs, the share that may be thrown away before it is given back to the system.
_UNRETURNED = 1 / 8

#: The C library's way to give memory back that is free between pieces that are not; where it has none, None.
_give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)


@dataclass(frozen=True, eq=False)
class KeptGraph:
    """All that a search kept of one sentence, with features, and the search itself, which can describe derivations."""

    graph: Hypergraph
    search: SearchResult

    @property
    def size(self) -> int:
        """About how many bytes it takes: what the search found is about as large as its hypergraph without features."""
        graph, rows = self.graph, self.graph.features
        own = (graph.first_edge, graph.tails, graph.template_ids, graph.spans, graph.scores, graph.templates.values)
        features = () if rows is None else (rows.offsets, rows.ids, rows.values)
        return 2 * _bytes(*own) + _bytes(*features)


def _bytes(*arrays: NDArray[Any]) -> int:
    return sum(array.nbytes for array in arrays)


class KeptGraphs:
    """The hypergraphs that were used last; safe to use from several threads."""

    def __init__(self, most_bytes: int):
        self._most = most_bytes
        self._kept: OrderedDict[Hashable, KeptGraph] = OrderedDict()
        self._lock = threading.Lock()
        self._thrown_away = 0
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._kept.clear()
            self.bytes = 0

    def get(self, key: Hashable) -> KeptGraph | None:
        """What is kept under a key, from now on the last that was used."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def get_or_make(self, key: Hashable, make: Callable[[], KeptGraph]) -> tuple[KeptGraph, bool]:
        """What is kept, or made now and kept; and whether it had to be made."""
        found = self.get(key)
        if found is not None:
            return found, False
        made = make()
        with self._lock:
            if key not in self._kept and made.size <= self._most:
                self._kept[key] = made
                self.bytes += made.size
                while self.bytes > self._most:
                    size = self._kept.popitem(last=False)[1].size
                    self.bytes -= size
                    self._thrown_away += size
            returns = self._thrown_away > _UNRETURNED * self._most
            if returns:
                self._thrown_away = 0
        if returns and _give_back is not None:
            _give_back(0)
        return made, True
