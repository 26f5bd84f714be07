"""Random trees over sentences, brackets by recursion, and what spans do to constituents by definition."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from dragoman.formats.penn_trees import TreeFile
from dragoman.text.source_trees import ParsedLine, SourceTree

LABELS = ("NP", "PP", "S", "VP", "FRAG", "PRT")

#: A node: its label, and a word or the nodes below it.
Node = tuple[str, "str | list[Node]"]


def random_node(rng: np.random.Generator, words: Sequence[str]) -> Node:
    """A tree over some words: parts of speech, phrases of one and more parts, and phrases around one phrase."""
    if len(words) == 1 and rng.random() < 0.6:
        return "NN", words[0]
    count = int(rng.integers(1, min(3, len(words)) + 1)) if len(words) > 1 or rng.random() < 0.5 else 0
    if count == 0:
        return "NN", words[0]
    cuts = [0, *sorted(rng.choice(np.arange(1, len(words)), count - 1, replace=False).tolist()), len(words)]
    parts = [random_node(rng, words[a:b]) for a, b in itertools.pairwise(cuts)]
    return str(rng.choice(LABELS)), parts


def bracketed(node: Node) -> str:
    """The tree as a treebank writes it."""
    label, inside = node
    return f"({label} {inside if isinstance(inside, str) else ' '.join(map(bracketed, inside))})"


def constituents(node: Node, begin: int = 0) -> tuple[int, list[tuple[str, int, int]]]:
    """Where the tree ends, and its phrases."""
    label, inside = node
    if isinstance(inside, str):
        return begin + 1, []
    end, found = begin, []
    for child in inside:
        end, below = constituents(child, end)
        found += below
    return end, [*found, (label, begin, end)]


def tree_of(words: int, rows: Iterable[tuple[str, int, int]]) -> SourceTree:
    """A tree from its phrases."""
    rows = list(rows)
    spans = np.array([row[1:] for row in rows], np.int32).reshape(-1, 2)
    return SourceTree(words, tuple(row[0] for row in rows), spans)


def parsed(rng: np.random.Generator, line: str) -> ParsedLine:
    """The line with a random tree, or now and then without a parse."""
    words = line.split()
    brackets = bracketed(random_node(rng, words)) if words and rng.random() < 0.9 else "()"
    return TreeFile([brackets]).attach(line)


def span_features(tree: SourceTree, begin: int, end: int, labels: Sequence[str], *, fine: bool) -> Counter[str]:
    """The features of a span by their definition, one constituent and one word at a time."""
    found: Counter[str] = Counter()
    ours = set(range(begin, end))
    for label, (first, last) in zip(tree.labels, tree.spans.tolist(), strict=True):
        theirs = set(range(first, last))
        if label in labels:
            name = f"syntax.{label}." if fine else "syntax."
            if ours == theirs:
                found[f"{name}equal"] = 1
            elif ours & theirs and ours - theirs and theirs - ours:
                found[f"{name}cross"] = 1
    return found
