"""Hypergraphs: all derivations that a search explored, packed; a phrase lattice has one tail per edge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.ragged import Ragged


@dataclass(frozen=True, eq=False)
class Hypergraph:
    """Nodes 0 to N-1 in topological order (tails before heads), and hyperedges grouped by their head.

    The edges into node `n` are `first_edge[n]` to `first_edge[n + 1]`. Edge `e` has up to two tails, `tails[e]` (-1
    where there is none), writes `templates[template_ids[e]]`, in which a value >= 0 is a word of `vocab` and -1 - k
    stands for what tail k writes (each tail once), covers source words `spans[e, 0]` to `spans[e, 1]`, and scores
    `scores[e]`, the weighted sum of its features. A derivation of a node is an edge into it and a derivation of each
    tail; its score is the sum over its edges, and its probability among the derivations of `root` is proportional to
    exp(score).
    A node without incoming edges has no derivation; leaves are edges without tails.
    """

    vocab: Vocab
    root: int
    first_edge: NDArray[np.int64]
    tails: NDArray[np.int32]
    template_ids: NDArray[np.int32]
    templates: Ragged[np.int32]
    spans: NDArray[np.int32]
    scores: NDArray[np.float64]
    features: FeatureRows | None = None

    def __repr__(self) -> str:
        features = f", {len(self.features.names)} features" if self.features else ""
        return f"Hypergraph({self.nodes:,} nodes, {self.edges:,} edges{features})"

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.first_edge) - 1

    @property
    def edges(self) -> int:
        """Number of hyperedges."""
        return len(self.tails)

    @cached_property
    def heads(self) -> NDArray[np.int32]:
        """Head of each edge."""
        return np.repeat(np.arange(self.nodes, dtype=np.int32), np.diff(self.first_edge))

    def reweighted(self, weights: Weights) -> Hypergraph:
        """Return the same hypergraph, scored with other weights."""
        if self.features is None:
            raise UsageError("this hypergraph was made without features, so that it cannot be re-weighted")
        return replace(self, scores=self.features.dot(weights))

    def scaled(self, factor: float) -> Hypergraph:
        """Return the same hypergraph with all scores multiplied: a flatter (< 1) or sharper (> 1) distribution."""
        return replace(self, scores=self.scores * factor)

    def rebuilt(
        self, edges: NDArray[np.integer], first_edge: NDArray[np.int64], tails: NDArray[np.int32], *, root: int
    ) -> Hypergraph:
        """Return a hypergraph of copies of these edges between other nodes; an edge may be copied several times."""
        return replace(
            self,
            root=root,
            first_edge=first_edge,
            tails=tails,
            template_ids=self.template_ids[edges],
            spans=self.spans[edges],
            scores=self.scores[edges],
            features=None if self.features is None else self.features.take(edges),
        )

    def check(self) -> None:
        """Raise a DataError if the arrays are inconsistent; for hypergraphs from outside."""
        rules = [
            (len(self.first_edge) >= 2 and self.first_edge[0] == 0, "no nodes"),
            (bool((np.diff(self.first_edge) >= 0).all()), "edges that are not grouped by head"),
            (int(self.first_edge[-1]) == self.edges, "edges without a head"),
            (self.tails.shape == (self.edges, 2), "tails that are not two columns"),
            (len(self.template_ids) == len(self.spans) == len(self.scores) == self.edges, "columns of unequal length"),
            (0 <= self.root < self.nodes, f"root {self.root}, which is not a node"),
        ]
        for holds, found in rules:
            if not holds:
                raise DataError(f"the hypergraph has {found}")
        if self.edges == 0:
            return
        if int(self.tails.min()) < -1 or bool((self.tails >= self.heads[:, None]).any()):
            raise DataError("the hypergraph has tails that do not come before their heads")
        if bool(((self.tails[:, 0] < 0) & (self.tails[:, 1] >= 0)).any()):
            raise DataError("the hypergraph has an edge with a second tail but no first")
        if not 0 <= int(self.template_ids.min()) <= int(self.template_ids.max()) < len(self.templates):
            raise DataError("the hypergraph has edges without a template")
        if len(self.templates.values) and int(self.templates.values.min()) < -2:
            raise DataError("the hypergraph has templates with more than two tails")
        if len(self.templates.values) and int(self.templates.values.max()) >= len(self.vocab):
            raise DataError("the hypergraph has words that are not in its vocabulary")
        marked = np.zeros((len(self.templates), 2), np.int64)
        rows = np.repeat(np.arange(len(self.templates)), self.templates.lengths)
        is_tail = self.templates.values < 0
        np.add.at(marked, (rows[is_tail], -1 - self.templates.values[is_tail]), 1)
        if bool((marked[self.template_ids] != (self.tails >= 0)).any()):
            raise DataError("the hypergraph has templates that do not mention each tail of their edges once")
        if not bool(np.isfinite(self.scores).all()):
            raise DataError("the hypergraph has scores that are not finite")
