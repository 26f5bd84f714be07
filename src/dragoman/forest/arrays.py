"""A hypergraph as kernels take it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged


def structure(graph: Hypergraph, scores: NDArray[np.float64] | None = None) -> kernels.Forest:
    """What every algorithm needs: the edges of each node, their tails and their scores, or others."""
    return kernels.Forest(
        first_edge=np.ascontiguousarray(graph.first_edge, np.int64),
        tails=np.ascontiguousarray(graph.tails, np.int32),
        scores=np.ascontiguousarray(graph.scores if scores is None else scores, np.float64),
    )


def texts(graph: Hypergraph) -> kernels.Templates:
    """What algorithms on strings need besides: what each edge writes."""
    return kernels.Templates(
        ids=np.ascontiguousarray(graph.template_ids, np.int32), rows=contiguous(graph.templates).for_kernels()
    )


def contiguous(rows: Ragged[np.int32]) -> Ragged[np.int32]:
    """The same rows in arrays that kernels can take."""
    return Ragged(np.ascontiguousarray(rows.values, np.int32), np.ascontiguousarray(rows.offsets, np.int64))


def no_derivation() -> DataError:
    """The error of asking for something that only a hypergraph with derivations has."""
    return DataError("the hypergraph has no derivation")
