"""Many hypergraphs as one, so that a kernel can take them all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import common_vocab


@dataclass(frozen=True, eq=False)
class Batch:
    """Hypergraph `i` is the nodes `nodes[i]` to `nodes[i + 1]` of `joined`, and its root there is `roots[i]`.

    Edges, templates and features stand one after the other in the same way; all words are of one vocabulary. The root
    of `joined` means nothing.
    """

    joined: Hypergraph
    nodes: NDArray[np.int64]
    roots: NDArray[np.int64]

    @classmethod
    def of(cls, graphs: Sequence[Hypergraph]) -> Batch:
        """Join hypergraphs; features are kept if all of them have some."""
        if not graphs:
            raise UsageError("there are no hypergraphs")
        vocab, maps = common_vocab([graph.vocab for graph in graphs])
        nodes, edges, templates = (
            np.cumsum([0, *counts], dtype=np.int64)
            for counts in zip(*((graph.nodes, graph.edges, len(graph.templates)) for graph in graphs), strict=True)
        )
        rows = [graph.features for graph in graphs]
        joined = Hypergraph(
            vocab=vocab,
            root=0,
            first_edge=np.concatenate(
                [*(g.first_edge[:-1] + e for g, e in zip(graphs, edges, strict=False)), edges[-1:]]
            ),
            tails=np.concatenate([_shifted(g.tails, int(n)) for g, n in zip(graphs, nodes, strict=False)]),
            template_ids=np.concatenate(
                [_shifted(g.template_ids, int(t)) for g, t in zip(graphs, templates, strict=False)]
            ),
            templates=Ragged.concatenate([_renamed(g.templates, ids) for g, ids in zip(graphs, maps, strict=True)]),
            spans=np.concatenate([graph.spans for graph in graphs]),
            scores=np.concatenate([graph.scores for graph in graphs]),
            features=None if None in rows else FeatureRows.concatenate([row for row in rows if row is not None]),
        )
        return cls(joined, nodes, nodes[:-1] + np.array([graph.root for graph in graphs]))

    def __len__(self) -> int:
        return len(self.roots)


def _shifted(numbers: NDArray[np.int32], by: int) -> NDArray[np.int32]:
    return np.where(numbers >= 0, numbers + np.int32(by), numbers).astype(np.int32)


def _renamed(templates: Ragged[np.int32], ids: NDArray[np.int32]) -> Ragged[np.int32]:
    """The templates with words of another vocabulary; marks of tails (-1 and -2) stay."""
    return Ragged(np.append(ids, np.array([-2, -1], np.int32))[templates.values], templates.offsets)
