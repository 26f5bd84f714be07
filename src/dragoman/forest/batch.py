"""Many hypergraphs joined into one, for kernels that take them all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import common_vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged

#: Nodes, edges and templates are numbered in 32 bits.
_MOST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Batch:
    """Joined hypergraphs: `i` has the nodes `nodes[i]` to `nodes[i + 1]` of `joined`, and the root `roots[i]` there.

    Edges, templates and features follow one another in the same way; all words have one vocabulary. The root of
    `joined` has no meaning.
    """

    joined: Hypergraph
    nodes: NDArray[np.int64]
    roots: NDArray[np.int64]

    @classmethod
    def of(cls, graphs: Sequence[Hypergraph]) -> Batch:
        """Join hypergraphs; features are kept if all of them have features."""
        if not graphs:
            raise UsageError("there are no hypergraphs")
        vocab, maps = common_vocab([graph.vocab for graph in graphs])
        nodes, edges, templates = (
            np.cumsum([0, *counts], dtype=np.int64)
            for counts in zip(*((graph.nodes, graph.edges, len(graph.templates)) for graph in graphs), strict=True)
        )
        for counted, many in (("nodes", nodes[-1]), ("edges", edges[-1]), ("templates", templates[-1])):
            if many > _MOST:
                raise UsageError(f"{len(graphs):,} hypergraphs have {many:,} {counted} together; at most {_MOST:,} fit")
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

    def graphs(self) -> list[Hypergraph]:
        """Return the single hypergraphs, each with the templates that it uses."""
        return [self._graph(i) for i in range(len(self))]

    def _graph(self, i: int) -> Hypergraph:
        all_of, first_node = self.joined, int(self.nodes[i])
        nodes = slice(first_node, int(self.nodes[i + 1]) + 1)
        first_edge = all_of.first_edge[nodes]
        edges = slice(int(first_edge[0]), int(first_edge[-1]))
        used, template_ids = np.unique(all_of.template_ids[edges], return_inverse=True)
        rows = all_of.features
        if rows is not None:
            values = slice(int(rows.offsets[edges.start]), int(rows.offsets[edges.stop]))
            offsets = rows.offsets[edges.start : edges.stop + 1] - values.start
            rows = FeatureRows(rows.names, offsets, rows.ids[values], rows.values[values])
        return Hypergraph(
            vocab=all_of.vocab,
            root=int(self.roots[i]) - first_node,
            first_edge=first_edge - edges.start,
            tails=_shifted(all_of.tails[edges], -first_node),
            template_ids=template_ids.astype(np.int32),
            templates=all_of.templates.take(used),
            spans=all_of.spans[edges],
            scores=all_of.scores[edges],
            features=rows,
        )


def _shifted(numbers: NDArray[np.int32], by: int) -> NDArray[np.int32]:
    return np.where(numbers >= 0, numbers + np.int32(by), numbers).astype(np.int32)


def _renamed(templates: Ragged[np.int32], ids: NDArray[np.int32]) -> Ragged[np.int32]:
    """Return the templates with words of another vocabulary; marks of tails (-1 and -2) stay."""
    return Ragged(np.append(ids, np.array([-2, -1], np.int32))[templates.values], templates.offsets)


def structure(graph: Hypergraph, scores: NDArray[np.float64] | None = None) -> kernels.Forest:
    """Return the structure for kernels: the edges of each node, their tails and their scores, or other scores."""
    return kernels.Forest(
        first_edge=np.ascontiguousarray(graph.first_edge, np.int64),
        tails=np.ascontiguousarray(graph.tails, np.int32),
        scores=np.ascontiguousarray(graph.scores if scores is None else scores, np.float64),
    )


def texts(graph: Hypergraph) -> kernels.Templates:
    """Return the templates for kernels: the symbols that each edge writes."""
    return kernels.Templates(ids=np.ascontiguousarray(graph.template_ids, np.int32), rows=rows_of(graph.templates))


def rows_of(rows: Ragged[np.int32]) -> kernels.Rows:
    """Return rows as kernels take them, whatever the layout of their arrays."""
    return kernels.Rows(
        values=np.ascontiguousarray(rows.values, np.int32), offsets=np.ascontiguousarray(rows.offsets, np.int64)
    )


def no_derivation() -> DataError:
    """Return the error for hypergraphs without derivations."""
    return DataError("the hypergraph has no derivation")
