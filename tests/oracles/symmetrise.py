"""Symmetrisation on sets of links, step by step as Koehn, Och & Marcu (2003) describe it."""

from __future__ import annotations

Link = tuple[int, int]

_NEIGHBOURS = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]


def symmetrise(forward: set[Link], reverse: set[Link], method: str) -> set[Link]:
    if method == "union":
        return forward | reverse
    result = forward & reverse
    if method == "intersection":
        return result

    def source_free(s: int) -> bool:
        return all(s != link[0] for link in result)

    def target_free(t: int) -> bool:
        return all(t != link[1] for link in result)

    grown = True
    while grown:
        grown = False
        for s, t in sorted((forward | reverse) - result):
            beside = any((s + i, t + j) in result for i, j in _NEIGHBOURS)
            if beside and (source_free(s) or target_free(t)):
                result.add((s, t))
                grown = True
    if method == "grow-diag":
        return result
    for direction in (forward, reverse):
        for s, t in sorted(direction):
            free = (source_free(s), target_free(t))
            if all(free) if method == "grow-diag-final-and" else any(free):
                result.add((s, t))
    return result
