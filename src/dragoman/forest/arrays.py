"""A hypergraph as the arguments that kernels take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.hypergraph import Hypergraph

Structure = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
Texts = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]


def structure(graph: Hypergraph) -> Structure:
    """What every algorithm needs: the edges of each node, their tails and their scores."""
    return (
        np.ascontiguousarray(graph.first_edge, np.int64),
        np.ascontiguousarray(graph.tails, np.int32),
        np.ascontiguousarray(graph.scores, np.float64),
    )


def texts(graph: Hypergraph) -> Texts:
    """What algorithms on strings need besides: what each edge writes."""
    return (
        np.ascontiguousarray(graph.template_ids, np.int32),
        np.ascontiguousarray(graph.templates.values, np.int32),
        np.ascontiguousarray(graph.templates.offsets, np.int64),
    )


def no_derivation() -> DataError:
    """The error of asking for something that only a hypergraph with derivations has."""
    return DataError("the hypergraph has no derivation")
