from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged


@pytest.fixture
def graph():
    """Two leaves, a node that joins them in either order, and a root."""
    vocab = Vocab.of(["a", "b"])
    features = FeatureRows.from_dense(["x", "y"], np.array([[1.0, 0], [0, 1.0], [2.0, 0], [0, 2.0], [1.0, 1.0]]))
    return Hypergraph(
        vocab=vocab,
        root=3,
        first_edge=np.array([0, 1, 2, 4, 5]),
        tails=np.array([[-1, -1], [-1, -1], [0, 1], [0, 1], [2, -1]], np.int32),
        template_ids=np.array([0, 1, 2, 3, 4], np.int32),
        templates=Ragged.of([[3], [4], [-1, -2], [-2, -1], [-1]], np.int32),
        spans=np.array([[0, 1], [1, 2], [0, 2], [0, 2], [0, 2]], np.int32),
        scores=np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
        features=features,
    )


def test_sizes_and_heads(graph):
    graph.check()
    assert (graph.nodes, graph.edges) == (4, 5)
    assert graph.heads.tolist() == [0, 1, 2, 2, 3]


def test_weighing_again(graph):
    other = graph.reweighted(Weights({"x": 1.0, "y": 10.0}))
    assert other.scores.tolist() == [1, 10, 2, 20, 11]
    assert graph.scores.tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(UsageError, match="made without features"):
        replace(graph, features=None).reweighted(Weights({}))


def test_scaling(graph):
    assert graph.scaled(0.5).scores.tolist() == [0.5, 1, 1.5, 2, 2.5]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first_edge": np.array([0])}, "no nodes"),
        ({"first_edge": np.array([1, 1, 2, 4, 5])}, "no nodes"),
        ({"first_edge": np.array([0, 2, 1, 4, 5])}, "edges that are not grouped by head"),
        ({"first_edge": np.array([0, 1, 2, 4, 4])}, "edges without a head"),
        ({"tails": np.full((5, 3), -1, np.int32)}, "tails that are not two columns"),
        ({"scores": np.zeros(4)}, "columns of unequal length"),
        ({"root": 4}, "root 4, which is not a node"),
        ({"root": -1}, "root -1, which is not a node"),
        (
            {"tails": np.array([[-1, -1], [-1, -1], [0, 2], [0, 1], [2, -1]], np.int32)},
            "do not come before their heads",
        ),
        (
            {"tails": np.array([[-2, -1], [-1, -1], [0, 1], [0, 1], [2, -1]], np.int32)},
            "do not come before their heads",
        ),
        ({"tails": np.array([[-1, -1], [-1, 0], [0, 1], [0, 1], [2, -1]], np.int32)}, "a second tail but no first"),
        ({"template_ids": np.array([0, 1, 2, 3, 5], np.int32)}, "edges without a template"),
        ({"template_ids": np.array([0, 1, -1, 3, 4], np.int32)}, "edges without a template"),
        ({"templates": Ragged.of([[3], [4], [-1, -3], [-2, -1], [-1]], np.int32)}, "more than two tails"),
        ({"templates": Ragged.of([[5], [4], [-1, -2], [-2, -1], [-1]], np.int32)}, "not in its vocabulary"),
        ({"scores": np.array([1, 2, np.nan, 4, 5])}, "scores that are not finite"),
    ],
)
def test_graphs_that_do_not_fit_together(graph, changes, message):
    with pytest.raises(DataError, match=message):
        replace(graph, **changes).check()


def test_a_graph_without_edges():
    empty = np.empty((0, 2), np.int32)
    Hypergraph(Vocab.of(), 0, np.array([0, 0]), empty, empty[:, 0], Ragged.of([], np.int32), empty, np.empty(0)).check()
