"""Samples packed as a hypergraph: derivations share their common parts, and probabilities stay those of the samples.

Arun's thesis (7.6) proposes such a representation for large numbers of samples. The derivations of a sentence are paths
of phrases in target order. Paths with the same beginning share it (a trie, whose edges have the share of the samples
that go on in this way). Then nodes are merged from which the same phrases follow, with the same probabilities and the
same features: the minimal deterministic automaton of a weighted set of strings (Mohri 1997, *Finite-state transducers
in language and speech processing*). No other derivation comes in, so that all expectations are those of the list.

Features of samples are sums over derivations, which the edges share out: a node has the features of the first of its
paths, and an edge the difference between its nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.samples import Samples

#: Differences of features that agree to as many decimals are equal: sums in another order differ beyond them.
_DECIMALS = 10


def pack(samples: Samples, i: int) -> Hypergraph:
    """Return the samples of sentence `i` as a hypergraph.

    Its derivations are those of the samples, each with its relative frequency over all chains: scores are logarithms of
    shares, and not weighted sums of features; `reweighted` gives the model's scores. Derivations of rules, which do not
    follow each other in the target, are paths of words. Those with the same path are apart at its end. O(derivations ·
    words), in NumPy.
    """
    part = samples.sentence(i)
    paths = _Paths.of(part)
    trie = _Trie.of(paths)
    return _hypergraph(part, paths, trie, _classes(trie))


@dataclass(frozen=True, eq=False)
class _Paths:
    """Derivations as rows of items, in lexicographic order, with shares and features; words and spans of the items.

    Equal derivations next to each other are rows of their own.
    """

    rows: Ragged[np.int32]
    shares: NDArray[np.float64]
    names: tuple[str, ...]
    features: NDArray[np.float64]
    words: Ragged[np.int32]
    spans: NDArray[np.int32]

    @classmethod
    def of(cls, part: Samples) -> _Paths:
        lengths, offsets, spans = _items(part)
        # An item is its span and its words; words are in the order of the items.
        bounds = np.concatenate([[0], np.cumsum(lengths + 2)]).astype(np.int64)
        values = np.empty(int(bounds[-1]), np.int32)
        heads = np.stack([bounds[:-1], bounds[:-1] + 1], axis=1)
        is_word = np.ones(len(values), bool)
        is_word[heads] = False
        values[heads] = spans
        values[is_word] = part.hypotheses.values
        numbers, distinct, ends = kernels.intern_sequences(values, bounds)
        items = Ragged(distinct, ends)
        starts = items.offsets[:-1]
        words = np.delete(items.values, np.stack([starts, starts + 1], axis=1).ravel())
        rows = Ragged(numbers, offsets)
        order = _lexicographic(rows)
        used, ids = np.unique(part.features.ids, return_inverse=True)
        matrix = np.zeros((len(rows), len(used)))
        np.add.at(matrix, (np.repeat(np.arange(len(rows)), np.diff(part.features.offsets)), ids), part.features.values)
        return cls(
            rows=rows.take(order),
            shares=part.probabilities[order],
            names=tuple(part.features.names[k] for k in used.tolist()),
            features=matrix[order],
            words=Ragged(words.astype(np.int32), np.concatenate([[0], np.cumsum(items.lengths - 2)]).astype(np.int64)),
            spans=np.stack([items.values[starts], items.values[starts + 1]], axis=1).astype(np.int32),
        )


def _items(part: Samples) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Return the number of words of each item, the offsets of the rows, and the spans: phrases, or single words."""
    parts = part.segmentations.values.reshape(-1, 4)
    offsets = part.segmentations.offsets
    lengths = (parts[:, 3] - parts[:, 2]).astype(np.int64)
    begins = np.concatenate([[0], np.cumsum(lengths)])
    expected = begins[:-1] - np.repeat(begins[offsets[:-1]], np.diff(offsets))
    written = begins[offsets[1:]] - begins[offsets[:-1]]
    if bool((parts[:, 2] == expected).all()) and bool((written == part.hypotheses.lengths).all()):
        return lengths, offsets, parts[:, :2].astype(np.int32)
    words = len(part.hypotheses.values)
    whole = np.array([[0, int(parts[:, 1].max(initial=0))]], np.int32)
    return np.ones(words, np.int64), part.hypotheses.offsets, np.repeat(whole, words, axis=0)


def _lexicographic(rows: Ragged[np.int32]) -> NDArray[np.int64]:
    lengths = rows.lengths
    padded = np.full((len(rows), int(lengths.max(initial=0)) + 1), -1, np.int32)
    row = np.repeat(np.arange(len(rows)), lengths)
    padded[row, np.arange(len(rows.values)) - rows.offsets[row]] = rows.values
    return np.lexsort(padded.T[::-1])


@dataclass(frozen=True, eq=False)
class _Trie:
    """A trie of paths; node 0 is its root and -1 the goal. Edges are sorted by `tails` and `items` (-1 into the goal).

    `heights` are the numbers of edges of the longest ways from each node to the goal.
    """

    heights: NDArray[np.int64]
    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    items: NDArray[np.int32]
    shares: NDArray[np.float64]
    features: NDArray[np.float64]

    @classmethod
    def of(cls, paths: _Paths) -> _Trie:
        lengths, shares = paths.rows.lengths, paths.shares
        node = np.zeros(len(lengths), np.int64)
        # Of each node: the first row (of all that pass), the share of the samples, and the length of the longest row.
        firsts, totals, longest = [np.zeros(1, np.int64)], [shares.sum(keepdims=True)], [lengths.max(keepdims=True)]
        tails, heads, items, count = list[NDArray[np.int64]](), list[NDArray[np.int64]](), list[NDArray[np.int32]](), 1
        depths = [np.zeros(1, np.int64)]
        for depth in range(int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > depth)
            chosen = paths.rows.values[paths.rows.offsets[rows] + depth]
            # Rows are sorted, so that a node's rows follow each other.
            is_new = np.ones(len(rows), bool)
            is_new[1:] = (node[rows[1:]] != node[rows[:-1]]) | (chosen[1:] != chosen[:-1])
            number = np.cumsum(is_new) - 1
            begins = np.flatnonzero(is_new)
            tails.append(node[rows[begins]])
            heads.append(count + np.arange(len(begins)))
            items.append(chosen[begins])
            firsts.append(rows[begins])
            totals.append(np.bincount(number, shares[rows]))
            longest.append(np.maximum.reduceat(lengths[rows], begins))
            depths.append(np.full(len(begins), depth + 1))
            node[rows] = count + number
            count += len(begins)
        first, total = np.concatenate(firsts), np.concatenate(totals)
        ends = np.arange(len(lengths))
        tail = np.concatenate([*tails, node]).astype(np.int64)
        head = np.concatenate([*heads, np.full(len(ends), -1)]).astype(np.int64)
        item = np.concatenate([*items, np.full(len(ends), -1)]).astype(np.int32)
        reached = np.concatenate([*(total[h] for h in heads), shares])
        row = np.concatenate([*(first[h] for h in heads), ends])
        order = np.lexsort((row, item, tail))
        return cls(
            heights=np.concatenate(longest) - np.concatenate(depths) + 1,
            tails=tail[order],
            heads=head[order],
            items=item[order],
            shares=(reached / total[tail])[order],
            features=(paths.features[row] - paths.features[first[tail]])[order],
        )


def _classes(trie: _Trie) -> NDArray[np.int64]:
    """Return the class of each node: nodes with the same edges into the same classes, from the goal on.

    Classes are numbered by falling height, the root's first; the goal comes after the last.
    """
    kinds = np.column_stack([trie.items, np.round(trie.shares, 12), np.round(trie.features, _DECIMALS) + 0.0])
    _, kind = np.unique(kinds, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    first_edge = np.searchsorted(trie.tails, np.arange(len(trie.heights) + 1))
    found = np.full(len(trie.heights) + 1, -1, np.int64)  # the last is the goal's
    count = 0
    for height in range(1, int(trie.heights[0]) + 1):
        nodes = np.flatnonzero(trie.heights == height)
        if not len(nodes):
            continue
        edges = Ragged(np.arange(len(kind)), first_edge).take(nodes)
        signature = np.stack([kind[edges.values], found[trie.heads[edges.values]]], axis=1)
        # Of edges with the same item, those into the goal, the order is that of their rows, which may differ.
        node = np.repeat(np.arange(len(nodes)), edges.lengths)
        signature = signature[np.lexsort((signature[:, 1], signature[:, 0], node))].astype(np.int32)
        numbers, _, bounds = kernels.intern_sequences(np.ascontiguousarray(signature).reshape(-1), 2 * edges.offsets)
        found[nodes] = count + numbers
        count += len(bounds) - 1
    found[:-1] = count - 1 - found[:-1]
    found[-1] = count
    return found


def _hypergraph(part: Samples, paths: _Paths, trie: _Trie, classes: NDArray[np.int64]) -> Hypergraph:
    nodes = int(classes[-1]) + 1
    # One node stands for its class.
    _, shown = np.unique(classes[:-1], return_index=True)
    edges = np.flatnonzero(np.isin(trie.tails, shown))
    heads = classes[trie.heads[edges]]
    order = np.lexsort((trie.items[edges], classes[trie.tails[edges]], heads))
    edges, heads = edges[order], heads[order]
    start = paths.features[:1]  # those of the first path, from which all others differ
    items = trie.items[edges]
    values = np.insert(paths.words.values, paths.words.offsets[:-1], np.int32(-1))
    offsets = np.concatenate([[0, 0], 1 + paths.words.offsets + np.arange(len(paths.words.offsets))])
    return Hypergraph(
        vocab=part.vocab,
        root=nodes - 1,
        # The start has one edge into it, without a tail.
        first_edge=np.concatenate([[0], 1 + np.searchsorted(heads, np.arange(1, nodes + 1))]).astype(np.int64),
        tails=np.stack([np.append(-1, classes[trie.tails[edges]]), np.full(len(edges) + 1, -1)], axis=1).astype(
            np.int32
        ),
        # Templates: nothing (into the start), the tail alone (into the goal), the tail and the words of an item.
        template_ids=np.append(0, items + 2).astype(np.int32),
        templates=Ragged(np.concatenate([np.array([-1], np.int32), values]), offsets.astype(np.int64)),
        spans=np.concatenate([paths.spans, np.zeros((1, 2), np.int32)])[np.append(-1, items)],
        scores=np.append(0.0, np.log(trie.shares[edges])),
        features=FeatureRows.from_dense(paths.names, np.concatenate([start, trie.features[edges]])),
    )
