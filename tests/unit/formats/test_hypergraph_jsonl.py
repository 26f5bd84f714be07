import json

import numpy as np
import pytest

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import open_output
from dragoman.formats.hypergraph_jsonl import format_hypergraph, parse_hypergraph, read_hypergraphs
from oracles.forest import RandomHypergraphs

CASES = [graph for graph, _ in RandomHypergraphs(60, seed=21, derivable=False)]


def write(path):
    with open_output(path) as stream:
        stream.writelines(f"{format_hypergraph(graph, i)}\n".encode() for i, graph in enumerate(CASES))


@pytest.mark.parametrize("name", ["graphs.jsonl", "graphs.jsonl.gz"])
def test_hypergraphs_are_read_as_they_were_written(tmp_path, name):
    write(tmp_path / name)
    again = list(read_hypergraphs(tmp_path / name))
    assert len(again) == len(CASES)
    for old, new in zip(CASES, again, strict=True):
        assert (new.root, new.nodes) == (old.root, old.nodes)
        for field in ("first_edge", "tails", "template_ids", "spans", "scores"):
            ours, theirs = getattr(new, field), getattr(old, field)
            assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes())
        for ours, theirs in zip(new.templates, old.templates, strict=True):
            assert [new.vocab[w] if w >= 0 else w for w in ours] == [old.vocab[w] if w >= 0 else w for w in theirs]
        assert new.features.names == old.features.names
        assert new.features.dense().tolist() == old.features.dense().tolist()


def test_a_word_has_one_number_in_all_hypergraphs_of_a_file(tmp_path):
    write(tmp_path / "graphs")
    graphs = list(read_hypergraphs(tmp_path / "graphs"))
    last = list(graphs[-1].vocab)
    assert all(list(graph.vocab) == last[: len(graph.vocab)] for graph in graphs)


def test_a_line_by_hand():
    line = """{"root":2, "nodes":3, "templates":[["la maison 0"], ["[1]"], [1, "et", 0, "\u00a0"], []],
        "edges":[[0,-1,-1,0,0,2,-0.1], [1,-1,-1,1,2,3,-1], [2,0,1,2,0,3,1e-5]]}"""
    graph = parse_hypergraph(line, Vocab.of())
    graph.check()
    words = [[graph.vocab[w] if w >= 0 else int(w) for w in row] for row in graph.templates]
    assert words == [["la", "maison", "0"], ["[1]"], [-2, "et", -1, "\u00a0"], []]
    assert graph.scores.tolist() == [-0.1, -1.0, 1e-5]
    assert graph.features is None
    again = json.loads(format_hypergraph(graph, 7))
    assert again["id"] == 7
    assert again["templates"] == json.loads(line)["templates"]


GOOD = {
    "root": 1,
    "nodes": 2,
    "templates": [["a"], [0]],
    "edges": [[0, -1, -1, 0, 0, 1, -1.0], [1, 0, -1, 1, 0, 1, 0.0]],
    "features": {"names": ["lm"], "rows": [[0, 1.5], []]},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "no edges, nodes, root, templates"),
        ({"nodes": 0}, "0 nodes"),
        ({"nodes": 1.5}, "whole number"),
        ({"root": 2}, "root 2"),
        ({"root": 10**20}, "whole number"),
        ({"root": None}, "whole number"),
        ({"edges": [[0, -1, -1, 0, 0, 1]]}, "7 values"),
        ({"edges": {"a": 1}}, "list of lists"),
        ({"edges": [[1, 0, -1, 1, 0, 1, 0.0], [0, -1, -1, 0, 0, 1, -1.0]]}, "not in order"),
        ({"edges": [[5, -1, -1, 0, 0, 1, 0.0]]}, "not nodes"),
        ({"edges": [[0, -1, -1, 0, 0, 1, float("nan")]]}, "a score"),
        ({"edges": [[0, -1, -1, 0, 0, 1, "x"]]}, "a score"),
        ({"edges": [[0, -1, -1, 0, 0, [1], 0.0]]}, "source position"),
        ({"edges": [[1, 1, -1, 1, 0, 1, 0.0]]}, "before their heads"),
        ({"edges": [[0, -1, -1, 1, 0, 1, 0.0]]}, "mention each tail"),
        ({"edges": [[0, -1, -1, 9, 0, 1, 0.0]]}, "without a template"),
        ({"templates": [["a\nb"], [0]]}, "expected words, 0 and 1"),
        ({"templates": [["a"], [True]]}, "expected words, 0 and 1"),
        ({"templates": [["a"], [2]]}, "expected words, 0 and 1"),
        ({"templates": [["\ud800"], [0]]}, "surrogate"),
        ({"features": {"names": ["lm"]}}, "no names or rows"),
        ({"features": {"names": [1], "rows": []}}, "not strings"),
        ({"features": {"names": ["lm"], "rows": [[]]}}, "1 feature rows; expected 2"),
        ({"features": {"names": ["lm"], "rows": [[0], []]}}, "in turn"),
        ({"features": {"names": ["lm"], "rows": [[1, 2.0], []]}}, "without a name"),
    ],
)
def test_bad_lines_are_named(tmp_path, change, message):
    path = tmp_path / "graphs.jsonl"
    plain = {name: value for name, value in GOOD.items() if name != "features"}
    bad = change if isinstance(change, str) else json.dumps(plain | change)
    path.write_text(f"{json.dumps(GOOD)}\n{bad}\n", encoding="utf-8")
    graphs = read_hypergraphs(path)
    assert next(graphs).edges == 2
    with pytest.raises(DataError, match=message) as caught:
        next(graphs)
    assert str(caught.value).startswith(f"{path}:2: ")


def test_numbers_that_are_not_finite_are_not_written():
    graph = parse_hypergraph(json.dumps(GOOD), Vocab.of())
    graph.features.values[0] = np.inf
    with pytest.raises(DataError, match="not finite"):
        format_hypergraph(graph)
