"""Segmentations of a sentence, and how merging and splitting connects them, one by one."""

from __future__ import annotations

from collections.abc import Iterator

Segmentation = tuple[int, ...]


def segmentations(length: int, spans: set[tuple[int, int]], start: int = 0) -> Iterator[Segmentation]:
    """All of them, as positions between words, with both ends."""
    if start == length:
        yield (start,)
    for end in range(start + 1, length + 1):
        if (start, end) in spans:
            yield from ((start, *rest) for rest in segmentations(length, spans, end))


def components(length: int, spans: set[tuple[int, int]]) -> int:
    """The number of parts of the graph in which a segmentation is next to those with one position less or more."""
    left = set(segmentations(length, spans))
    count = 0
    while left:
        count += 1
        waiting = [left.pop()]
        while waiting:
            here = waiting.pop()
            near = {other for other in left if len(set(here) ^ set(other)) == 1}
            left -= near
            waiting += near
    return count
