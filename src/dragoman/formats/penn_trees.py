"""Bracketed trees of treebanks, one per line: `(S (NP (DT a) (NN man)) (VP (VBZ sleeps)))`.

`()` and an empty line mean a sentence without a parse. Function tags (`NP-SBJ`), traces (`-NONE-`) and parts of speech
are left out; if a line has several trees, they cover its words one after the other.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.core.display import shorten
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_lines
from dragoman.text.source_trees import ParsedLine, SourceTree, first_difference, same_boundaries
from dragoman.text.words import words_of

#: A part of speech with its word, an opening bracket with its label, a closing bracket, or a word.
_TOKEN = re.compile(
    r"\([ \t-\r]*([^() \t-\r]+)[ \t-\r]+([^() \t-\r]+)[ \t-\r]*\)|(\()[ \t-\r]*([^() \t-\r]*)|(\))|([^() \t-\r]+)"
)
_TRACE = "-NONE-"

#: Number of words on either side of the first difference, in a message.
_BESIDE = 3


@dataclass(frozen=True, eq=False)
class BracketedTree:
    """The words of a tree, and its constituents over them."""

    leaves: tuple[str, ...]
    tree: SourceTree

    def over(self, words: list[str]) -> SourceTree | None:
        """Map the constituents to the words of a sentence, which may be tokenised differently.

        A constituent that begins or ends inside a word of the sentence is left out. None if the text is different.
        """
        if not self.leaves:
            return SourceTree.nothing(len(words))
        if [*self.leaves] == words:
            return self.tree
        bounds = same_boundaries(words, self.leaves)
        if bounds is None:
            return None
        spans = np.stack([side[places] for side, places in zip(bounds, self.tree.spans.T, strict=True)], axis=1)
        kept = np.flatnonzero((spans[:, 0] >= 0) & (spans[:, 0] < spans[:, 1]))
        return SourceTree(len(words), tuple(self.tree.labels[i] for i in kept.tolist()), spans[kept].astype(np.int32))


def parse_tree(line: str) -> BracketedTree:
    """Parse the brackets of one line.

    >>> found = parse_tree("(S (NP-SBJ (DT a) (NN man)) (VP (VBZ sleeps)))")
    >>> found.leaves, found.tree.labels, found.tree.spans.tolist()
    (('a', 'man', 'sleeps'), ('NP', 'VP', 'S'), [[0, 2], [2, 3], [0, 3]])
    """
    leaves: list[str] = []
    labels: list[str] = []
    spans: list[tuple[int, int]] = []
    opened: list[tuple[str, int]] = []  # labels and their begins; no recursion, because trees may be deep
    for tag, leaf, opening, name, closing, word in _TOKEN.findall(line):
        if tag:
            if tag != _TRACE:
                leaves.append(leaf)
        elif opening:
            opened.append((name, len(leaves)))
        elif closing and opened:
            label, first = opened.pop()
            if label and len(leaves) > first:
                labels.append(_category(label))
                spans.append((first, len(leaves)))
        elif word and opened:
            leaves.append(word)
        else:
            raise _fault(line)
    if opened:
        raise _fault(line)
    return BracketedTree(tuple(leaves), SourceTree(len(leaves), tuple(labels), np.array(spans, np.int32)))


@functools.cache
def _category(label: str) -> str:
    """Return a label without function tags and indices: `NP` of `NP-SBJ-1`, `NP=2` or `NP|NX`."""
    return label[0] + re.split("[-=|]", label[1:])[0]


def _fault(line: str) -> DataError:
    """Return what is wrong with the brackets of a line, and the position of the character."""
    opened: list[int] = []
    for found in re.finditer(r"[()]|[^() \t-\r]+", line):
        token, column = found.group(), found.start() + 1
        if token == "(":
            opened.append(column)
        elif not opened:
            what = "')' closes what was not opened" if token == ")" else f"'{shorten(token)}' is in no bracket"
            return DataError(f"at column {column} {what}", expected="balanced brackets")
        elif token == ")":
            opened.pop()
    return DataError(f"the bracket at column {opened[-1]} is not closed", expected="balanced brackets")


def bracketed_trees(lines: Iterable[str], path: PathLike | None = None) -> Iterator[BracketedTree]:
    """Read trees, one per line; `path` is for messages."""
    for number, line in enumerate(lines, 1):
        try:
            yield parse_tree(line)
        except DataError as error:
            raise DataError(str(error), path=path, line=number) from None


class TreeFile:
    """Trees that are read in step with a text, one for each line."""

    def __init__(self, lines: Iterable[str], path: PathLike | None = None):
        self._trees = bracketed_trees(lines, path)
        self._path = path
        self._taken = 0

    @classmethod
    def read(cls, path: PathLike) -> TreeFile:
        """Read a file, compressed or not."""
        return cls(read_lines(path), path)

    def attach(self, line: str, words: str | None = None) -> ParsedLine:
        """Attach the next tree to a prepared line; `words` are given if the line holds more than words."""
        found = next(self._trees, None)
        if found is None:
            raise self._error(f"there are {self._taken:,} trees, and more sentences", "a tree a line, or ()")
        self._taken += 1
        ours = words_of(line if words is None else words)
        tree = found.over(ours)
        if tree is None:
            here, there = first_difference(ours, found.leaves)
            raise self._error(
                f"the tree has '{_around(found.leaves, there)}' where the sentence has '{_around(ours, here)}'",
                "a tree of the same text",
                self._taken,
            )
        return ParsedLine(line, tree)

    def finish(self) -> None:
        """Refuse trees beyond the last line."""
        if next(self._trees, None) is not None:
            raise self._error(f"there are more trees than sentences, which are {self._taken:,}", "as many")

    def _error(self, found: str, expected: str, line: int | None = None) -> DataError:
        return DataError(found, path=self._path, line=line, expected=expected)


def with_trees(lines: Iterable[str], trees: TreeFile) -> Iterator[ParsedLine]:
    """Attach trees to prepared lines; there must be exactly one for each.

    >>> [line.tree.labels for line in with_trees(["a man"], TreeFile(["(NP (DT a) (NN man))"]))]
    [('NP',)]
    """
    for line in lines:
        yield trees.attach(line)
    trees.finish()


def _around(words: Sequence[str], place: int) -> str:
    """Return the words around the first difference, for a message."""
    begin, end = max(0, place - _BESIDE), place + _BESIDE + 1
    return shorten(f"{'... ' * (begin > 0)}{' '.join(words[begin:end])}{' ...' * (end < len(words))}")
