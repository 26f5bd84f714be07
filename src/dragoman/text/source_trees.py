"""Sentences with parse trees, also over another tokenisation of the same text.

What counts is what a reader sees: `don't` and `do n't`, `(` and `-LRB-`, `&apos;` and `'`, `"` and ``` `` ```, upper
and lower case are the same.
"""

from __future__ import annotations

import functools
import html
import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SourceTree:
    """The constituents of a sentence of `words` words: row i of `spans` is the span of the constituent `labels[i]`.

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
        """Return the tree of a sentence without a parse: it has no constituents."""
        return cls(words, (), np.empty((0, 2), np.int32))

    def part(self, begin: int, end: int) -> SourceTree:
        """Return the constituents that lie wholly in a piece of the sentence, numbered from its first word."""
        inside = np.flatnonzero((self.spans[:, 0] >= begin) & (self.spans[:, 1] <= end))
        return SourceTree(end - begin, tuple(self.labels[i] for i in inside.tolist()), self.spans[inside] - begin)


class ParsedLine(str):
    """A prepared sentence with its constituents, for models with features of trees; it is used like any line.

    A string derived from it, such as its lower case, has no constituents.

    >>> line = ParsedLine("a man sleeps", SourceTree(3, ("NP",), np.array([[0, 2]])))
    >>> line == "a man sleeps", line.tree.labels
    (True, ('NP',))
    """

    __slots__ = ("tree",)

    tree: SourceTree

    def __new__(cls, text: str, tree: SourceTree) -> ParsedLine:
        """Make a line with the tree of its words."""
        line = super().__new__(cls, text)
        object.__setattr__(line, "tree", tree)
        return line

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a parsed line cannot be changed, and neither can its {name}")

    def __reduce__(self) -> tuple[type[ParsedLine], tuple[str, SourceTree]]:
        return ParsedLine, (str(self), self.tree)


#: How treebanks write brackets, which have a meaning of their own there.
_BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}

#: Quotation marks as one or two strokes, so that it does not matter whether ' ' is one word or two, and dashes.
_STROKES = str.maketrans(
    dict.fromkeys('"\u201c\u201d\u201e\u201f\u00ab\u00bb', "''")
    | dict.fromkeys("`\u00b4\u2018\u2019\u201a\u201b\u2039\u203a", "'")
    | dict.fromkeys("\u2013\u2014\u2015", "--")
    | {"\u2011": "-"}
)


@functools.lru_cache(1 << 16)
def characters(token: str) -> str:
    """The characters of a token, without those that two ways of writing the same text may differ in.

    >>> characters("&quot;"), characters("``"), characters("-LRB-"), characters("@-@"), characters("Don\\u2019t")
    ("''", "''", '(', '-', "don't")
    """
    text = html.unescape(token).casefold()
    if len(text) == 3 and text[0] == text[2] == "@":  # a hyphen that was split off
        text = text[1]
    text = _BRACKETS.get(text, text).replace("\\/", "/").replace("\\*", "*")
    # Before the signs are composed, because some of them would become letters with accents.
    text = unicodedata.normalize("NFKC", text.translate(_STROKES)).casefold()
    return re.sub(r"[\s\u00ad\u200b-\u200f\u2060\ufeff]+", "", text)


def same_boundaries(ours: Sequence[str], theirs: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Map the word boundaries of another tokenisation to ours; None if the texts differ.

    Boundary i of theirs, before their word i, is before our word `begin[i]` and behind our word `end[i] - 1`; where it
    falls inside one of our words, both are -1. They differ only around words that have no characters.

    >>> begin, end = same_boundaries("I don't know".split(), "I do n't know".split())
    >>> begin.tolist(), end.tolist()
    ([0, 1, -1, 2, 3], [0, 1, -1, 2, 3])
    """
    sides = [[characters(word) for word in side] for side in (ours, theirs)]
    if "".join(sides[0]) != "".join(sides[1]):
        return None
    our_ends, their_ends = (np.concatenate([[0], np.cumsum([len(word) for word in side])]) for side in sides)
    our_ends, their_ends = our_ends.astype(np.int64), their_ends.astype(np.int64)
    last = np.searchsorted(our_ends, their_ends, side="right") - 1
    first = np.searchsorted(our_ends, their_ends, side="left")
    inside = our_ends[last] != their_ends
    return np.where(inside, -1, last), np.where(inside, -1, first)


def first_difference(ours: Sequence[str], theirs: Sequence[str]) -> tuple[int, int]:
    """Return the first word in each of two texts where their characters differ; after the last word if a text ends.

    >>> first_difference("I don't know".split(), "I do n't care".split())
    (2, 3)
    """
    sides = [[characters(word) for word in side] for side in (ours, theirs)]
    both = zip(*("".join(side) for side in sides), strict=False)
    common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], both))
    ends = [np.cumsum([len(word) for word in side]) for side in sides]
    here, there = (int(np.searchsorted(side, common, side="right")) for side in ends)
    return here, there
