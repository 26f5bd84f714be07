"""Random small hypergraphs, and everything about them by listing all derivations."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.core.corpus import Vocab
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged

VOCAB = Vocab.of(["a", "b", "c"])
FEATURES = ("lm", "tm", "rare")


@dataclass(frozen=True)
class Listed:
    """One derivation: edges in pre-order, score, words, and the target positions of each edge's own words."""

    edges: tuple[int, ...]
    score: float
    words: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]


def derivations(graph: Hypergraph, node: int | None = None) -> list[Listed]:
    """All derivations of a node, the root by default."""
    node = graph.root if node is None else node
    found = []
    for edge in range(int(graph.first_edge[node]), int(graph.first_edge[node + 1])):
        tails = [int(tail) for tail in graph.tails[edge] if tail >= 0]
        for parts in itertools.product(*(derivations(graph, tail) for tail in tails)):
            words: list[int] = []
            own: list[int] = []
            shifts = [0] * len(parts)
            for symbol in graph.templates[int(graph.template_ids[edge])].tolist():
                if symbol >= 0:
                    own.append(len(words))
                    words.append(symbol)
                else:
                    shifts[-1 - symbol] = len(words)
                    words += parts[-1 - symbol].words
            places = [tuple(own)]
            for shift, part in zip(shifts, parts, strict=True):
                places += [tuple(place + shift for place in row) for row in part.places]
            edges = (edge, *(e for part in parts for e in part.edges))
            score = float(graph.scores[edge]) + sum(part.score for part in parts)
            found.append(Listed(edges, score, tuple(words), tuple(places)))
    return found


def totals(graph: Hypergraph, weights: Mapping[str, float]) -> list[Counter[str]]:
    """The features of every derivation, after a check that it scores what the weights make of them."""
    found = []
    for derivation in derivations(graph):
        total: Counter[str] = Counter()
        for edge in derivation.edges:
            total.update(graph.features.row(edge))
        assert math.isclose(
            derivation.score, sum(weights.get(name, 0.0) * value for name, value in total.items()), abs_tol=1e-9
        )
        found.append(total)
    return found


def probabilities(listed: list[Listed]) -> list[float]:
    """The probability of each derivation."""
    weights = [math.exp(d.score) for d in listed]
    return [weight / math.fsum(weights) for weight in weights]


def ngram_counts(words: tuple[int, ...], order: int) -> Counter[tuple[int, ...]]:
    """How often each n-gram up to the order occurs in a string."""
    return Counter(words[i : i + n] for n in range(1, order + 1) for i in range(len(words) - n + 1))


def random_hypergraph(rng: np.random.Generator, *, lattice: bool = False, limit: int = 400) -> Hypergraph:
    """A random hypergraph whose nodes have at most `limit` derivations each.

    It has edges of all arities (of at most one, with the tail first, in a lattice), parallel edges, equal scores, nodes
    that cannot be reached or have no derivation, templates without words, and roots that are not the last node.
    """
    nodes = int(rng.integers(1, 10))
    counts: list[int] = []
    first_edge, tails, templates = [0], [], []
    for node in range(nodes):
        counts.append(0)
        for _ in range(int(rng.integers(1, 5)) if rng.random() < 0.9 else 0):
            arity = int(rng.choice(3, p=[0.2, 0.8, 0.0] if lattice else [0.2, 0.3, 0.5])) if node else 0
            chosen = [int(t) for t in rng.integers(0, node, arity)] if node else []
            ways = math.prod(counts[t] for t in chosen)
            if counts[node] + ways > limit:
                continue
            counts[node] += ways
            tails.append(chosen + [-1] * (2 - arity))
            words = [int(w) for w in rng.integers(3, len(VOCAB), int(rng.integers(0, 4)))]
            marks = [-1 - k for k in range(arity)]
            text = marks + words if lattice else [*words, *marks]
            templates.append(text if lattice else [text[i] for i in rng.permutation(len(text))])
        first_edge.append(len(tails))
    edges = len(tails)
    with_derivations = [node for node in range(nodes) if counts[node]]
    root = (
        with_derivations[-1 - int(rng.random() < 0.2)]
        if len(with_derivations) > 1 and rng.random() < 0.95
        else nodes - 1
    )
    scores = rng.normal(0, 2, edges) if rng.random() < 0.5 else rng.integers(-2, 2, edges) / 2
    matrix = rng.integers(-2, 3, (edges, len(FEATURES))).astype(float)
    # Templates are numbered at random, and the last one is used by no edge.
    template_ids = rng.permutation(edges).astype(np.int32)
    texts: list[list[int]] = [[]] * edges + [[3]]
    for edge, template in enumerate(template_ids.tolist()):
        texts[template] = templates[edge]
    graph = Hypergraph(
        vocab=VOCAB,
        root=root,
        first_edge=np.array(first_edge, np.int64),
        tails=np.array(tails, np.int32).reshape(edges, 2),
        template_ids=template_ids,
        templates=Ragged.of(texts, np.int32),
        spans=rng.integers(0, 9, (edges, 2)).astype(np.int32),
        scores=scores.astype(np.float64),
        features=FeatureRows.from_dense(FEATURES, matrix),
    )
    graph.check()
    return graph


class RandomHypergraphs(Sequence[tuple[Hypergraph, list[Listed]]]):
    """Random hypergraphs, half of them lattices, with all their derivations; only ones that have some, if asked for.

    They are made when somebody looks at them: a test module that has some costs nothing where its tests do not run.
    """

    def __init__(self, number: int, seed: int, *, derivable: bool = True) -> None:
        self.number, self.seed, self.derivable = number, seed, derivable

    @functools.cached_property
    def _made(self) -> list[tuple[Hypergraph, list[Listed]]]:
        rng = np.random.default_rng(self.seed)
        found: list[tuple[Hypergraph, list[Listed]]] = []
        while len(found) < self.number:
            graph = random_hypergraph(rng, lattice=len(found) % 2 == 1)
            listed = derivations(graph)
            if listed or not self.derivable:
                found.append((graph, listed))
        return found

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, index: Any) -> Any:
        return self._made[index]


def chain(length: int, edges: int = 2) -> Hypergraph:
    """A lattice of one path of nodes, with parallel edges between neighbours that write nothing."""
    tails = np.full((edges * length, 2), -1, np.int32)
    tails[:, 0] = np.repeat(np.arange(-1, length - 1), edges)
    return Hypergraph(
        vocab=VOCAB,
        root=length - 1,
        first_edge=np.arange(length + 1, dtype=np.int64) * edges,
        tails=tails,
        template_ids=(tails[:, 0] >= 0).astype(np.int32),
        templates=Ragged.of([[], [-1]], np.int32),
        spans=np.zeros((edges * length, 2), np.int32),
        scores=np.tile(-np.arange(edges, dtype=np.float64), length),
    )


def doubling(depth: int) -> Hypergraph:
    """Each node is used twice by the next: one derivation, of 2^depth - 1 edges."""
    tails = np.repeat(np.arange(-1, depth - 1, dtype=np.int32), 2).reshape(depth, 2)
    return Hypergraph(
        vocab=VOCAB,
        root=depth - 1,
        first_edge=np.arange(depth + 1, dtype=np.int64),
        tails=tails,
        template_ids=(tails[:, 0] >= 0).astype(np.int32),
        templates=Ragged.of([[3], [-1, -2]], np.int32),
        spans=np.zeros((depth, 2), np.int32),
        scores=np.zeros(depth),
    )
