"""Sentences that are too long: they are cut after punctuation, and the translations of the pieces are joined."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from dragoman.search.translation import Phrase, Subtree, Translation
from dragoman.text.source_trees import ParsedLine
from dragoman.text.words import words_of

Step = TypeVar("Step", Phrase, Subtree)

_PAUSE = re.compile(r"[^\w]+")
_END = re.compile("[.!?…。\uff01\uff1f]+")


def cut(words: Sequence[str], most: int) -> list[Sequence[str]]:
    """Cut a sentence into pieces of at most `most` words.

    A piece ends with the last end of a sentence in its second half, or else with the last punctuation there.

    >>> cut("a b . c d , e f".split(), 4)
    [['a', 'b', '.'], ['c', 'd', ','], ['e', 'f']]
    """
    pieces, begin = [], 0
    while len(words) - begin > most:
        end = begin + _length(words[begin : begin + most])
        pieces.append(words[begin:end])
        begin = end
    return [*pieces, words[begin:]]


def pieces_of(line: str, most: int) -> list[str]:
    """Cut a tokenised sentence into pieces of at most `most` words.

    The pieces of a sentence with a tree have their parts of it; a constituent that is cut is lost.
    """
    words = words_of(line)
    pieces, begin = [], 0
    for piece in cut(words, most):
        end = begin + len(piece)
        text = " ".join(piece)
        pieces.append(ParsedLine(text, line.tree.part(begin, end)) if isinstance(line, ParsedLine) else text)
        begin = end
    return pieces


def _length(window: Sequence[str]) -> int:
    for mark in (_END, _PAUSE):
        for end in range(len(window), len(window) // 2, -1):
            if mark.fullmatch(window[end - 1]):
                return end
    return len(window)


def join_pieces(parts: Sequence[Translation]) -> Translation:
    """Join the translations of the pieces of a sentence; scores and features are summed."""
    phrases: list[Phrase] = []
    trees: list[Subtree] = []
    features: defaultdict[str, float] = defaultdict(float)
    source = target = 0
    for part in parts:
        phrases += (_moved(phrase, source, target) for phrase in part.phrases)
        trees += () if part.tree is None else (_moved_tree(tree, source, target) for tree in part.tree.children)
        source += len(words_of(part.source))
        target += len(words_of(part.text))
        for name, value in part.features.items():
            features[name] += value
    return Translation(
        source=" ".join(part.source for part in parts),
        text=" ".join(part.text for part in parts if part.text),
        score=sum(part.score for part in parts),
        phrases=tuple(phrases),
        features=dict(features),
        tree=_root(parts, trees, source, target) if any(part.tree is not None for part in parts) else None,
    )


def _root(parts: Sequence[Translation], trees: Sequence[Subtree], source: int, target: int) -> Subtree:
    """Return the glue root that joins the parts of all pieces."""
    features: defaultdict[str, float] = defaultdict(float)
    for name, value in (row for part in parts if part.tree is not None for row in part.tree.features.items()):
        features[name] += value
    return Subtree((0, source), (0, target), tuple(trees), (), unknown=False, glue=True, features=dict(features))


def _moved_tree(tree: Subtree, source: int, target: int) -> Subtree:
    """Move a tree and its subtrees; not recursive, because trees may be deeper than the call stack."""
    moved: dict[int, Subtree] = {}
    for _, rule in reversed([*tree.rules()]):
        children = tuple(moved.pop(id(child)) for child in rule.children)
        moved[id(rule)] = replace(_moved(rule, source, target), children=children)
    return moved[id(tree)]


def _moved(phrase: Step, source: int, target: int) -> Step:
    return replace(
        phrase,
        source=(phrase.source[0] + source, phrase.source[1] + source),
        target=(phrase.target[0] + target, phrase.target[1] + target),
        links=tuple((i + source, j + target) for i, j in phrase.links),
    )
