"""Items that go out several at a time, so that a task is worth its cost, and few enough that all have work to the end.

A task costs whoever gives it out some milliseconds, however small it is. How many items are one task is therefore found
out on the way, by how long they take; what is made of an item does not depend on it.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")

#: How long a task should take: long beside its cost, and not too long for whoever waits or loses a worker.
_SECONDS = 1.0
#: And so long for each worker, so that whoever gives out tasks can keep pace with many of them.
_SECONDS_A_WORKER = 0.006


class Bundles(Generic[Item]):
    """Cuts a stream into bundles: single items first, more when they turn out to be short, fewer towards the end.

    >>> bundles = Bundles(range(20))
    >>> bundles.next(workers=1, room=100)
    [0]
    >>> bundles.took(0.1, 1)
    >>> [bundles.next(workers=1, room=100) for _ in range(2)]
    [[1, 2], [3, 4]]
    >>> bundles.took(0.1, 2)
    >>> [len(bundles.next(workers=1, room=100)) for _ in range(10)]
    [4, 3, 2, 2, 1, 1, 1, 1, 0, 0]
    """

    def __init__(self, items: Iterable[Item]):
        self._stream: Iterator[Item] = iter(items)
        self._waiting = deque[Item]()
        self._size, self._pace = 1, 0.0

    @property
    def waiting(self) -> int:
        """How many items were taken from the stream and are in no bundle yet."""
        return len(self._waiting)

    def next(self, workers: int, room: int) -> list[Item]:
        """Return the next items, at most as many as there is room for; none if there are no more."""
        # As much is looked at as shows whether the end is near.
        wanted = min(room, 4 * workers * self._size) - len(self._waiting)
        self._waiting.extend(itertools.islice(self._stream, max(0, wanted)))
        share = -(-len(self._waiting) // (4 * workers))
        size = min(self._size, max(1, share), len(self._waiting))
        return [self._waiting.popleft() for _ in range(size)]

    def took(self, seconds: float, items: int, workers: int = 1) -> None:
        """Learn how long a bundle took; the next are at most twice as large."""
        each = seconds / items
        self._pace = each if self._pace == 0 else (self._pace + each) / 2
        wanted = max(_SECONDS, workers * _SECONDS_A_WORKER) / max(self._pace, 1e-6)
        self._size = max(1, min(max(self._size, 2 * items), int(wanted)))
