"""Sentences with trees: which stretches of words are constituents, and lines of text that know those of theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SourceTree:
    """The constituents of a sentence of so many words: row i of `spans` is where the one called `labels[i]` is.

    A sentence without a parse has no constituents. Several may cover the same words, as an S of nothing but a VP does.
    """

    words: int
    labels: tuple[str, ...]
    spans: NDArray[np.int32]

    def __post_init__(self) -> None:
        spans = np.array(self.spans, np.int32).reshape(-1, 2)
        if len(spans) != len(self.labels):
            raise ValueError(f"{len(spans)} spans for {len(self.labels)} labels")
        begin, end = spans.T
        if not bool(np.all((begin >= 0) & (begin < end) & (end <= self.words))):
            raise ValueError(f"a constituent is empty or outside the sentence of {self.words} words")
        spans.flags.writeable = False
        object.__setattr__(self, "spans", spans)

    @classmethod
    def nothing(cls, words: int) -> SourceTree:
        """What is known of a sentence without a parse."""
        return cls(words, (), np.empty((0, 2), np.int32))

    def part(self, begin: int, end: int) -> SourceTree:
        """The constituents that lie wholly in a piece of the sentence, numbered from its first word."""
        inside = np.flatnonzero((self.spans[:, 0] >= begin) & (self.spans[:, 1] <= end))
        return SourceTree(end - begin, tuple(self.labels[i] for i in inside.tolist()), self.spans[inside] - begin)


class ParsedLine(str):
    """A prepared sentence that knows its constituents: whatever takes lines takes it, and models with features of
    trees look at them. A string that is made of it, such as its lower case, knows nothing of them any more.

    >>> line = ParsedLine("a man sleeps", SourceTree(3, ("NP",), np.array([[0, 2]])))
    >>> line == "a man sleeps", line.tree.labels
    (True, ('NP',))
    """

    __slots__ = ("tree",)

    tree: SourceTree

    def __new__(cls, text: str, tree: SourceTree) -> ParsedLine:
        """Make a line; the tree is that of its words."""
        line = super().__new__(cls, text)
        object.__setattr__(line, "tree", tree)
        return line

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a parsed line cannot be changed, and neither can its {name}")

    def __reduce__(self) -> tuple[type[ParsedLine], tuple[str, SourceTree]]:
        return ParsedLine, (str(self), self.tree)
