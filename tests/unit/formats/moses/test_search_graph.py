import gzip

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.forest.derivation import best_derivation
from dragoman.formats.moses import search_graph as moses_search_graph
from dragoman.formats.moses.search_graph import read_search_graph
from oracles.forest import derivations

TEXT = """\
7 hyp=0 stack=0
7 hyp=4 stack=1 back=0 score=-1.5 transition=-1.5 forward=9 fscore=-3 covered=1-1 out=house
7 hyp=2 stack=1 back=0 score=-1 transition=-1.000 forward=8 fscore=-1.75 covered=0-0 out=the
7 hyp=9 stack=2 back=4 score=-3 transition=-1.5 recombined=8 forward=-1 fscore=0.000 covered=0-0 out=the red
7 hyp=8 stack=2 back=2 score=-1.75 transition=-0.75 forward=-1 fscore=0.000 covered=1-1 out=house
7 hyp=10 stack=2 back=0 score=-2.25 transition=-2.25e+00 forward=-1 fscore=0.000 covered=0-1 out=
8 hyp=0 stack=0
"""


def test_recombined_hypotheses_are_edges_into_their_winner(tmp_path):
    (tmp_path / "graph").write_text(TEXT)
    first, second = read_search_graph(tmp_path / "graph")
    assert (first.nodes, first.edges) == (6, 8)
    found = sorted((d.score, first.vocab.text(d.words)) for d in derivations(first))
    assert found == [(-3.0, "house the red"), (-2.25, ""), (-1.75, "the house")]
    best = best_derivation(first)
    assert first.spans[best.edges].tolist() == [[2, 2], [1, 2], [0, 1], [0, 0]]
    assert [(d.score, d.words) for d in derivations(second)] == [(0.0, ())]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("7 hyp=0 stack=0\n", "", ":1: hypothesis 0 is missing"),
        ("back=4", "back=44", "hypothesis 44 is referred to"),
        ("recombined=8", "recombined=10 ", ":4: found '7 hyp=9"),
        ("back=0 score=-1 ", "back=9 score=-1 ", "hypothesis 9 is referred to"),
        ("back=0 score=-1 ", "back=8 score=-1 ", "tails that do not come before their heads"),
        ("hyp=2", "hyp=4", "two hypotheses have the same number"),
        ("covered=1-1 out=house\n7 hyp=2", "covered=1-1\n7 hyp=2", ":2: found '7 hyp=4"),
        ("transition=-0.75", "transition=nan", ":5: found '7 hyp=8"),
        ("hyp=4 stack", "hyp=99999999999999999999 stack", ":2: found"),
    ],
)
def test_bad_graphs_are_named(tmp_path, old, new, message):
    path = tmp_path / "graph"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(DataError, match=message):
        list(read_search_graph(path))


def test_sentences_may_be_cut_by_chunks(tmp_path, monkeypatch):
    path = tmp_path / "graph.gz"
    path.write_bytes(gzip.compress((TEXT * 3).encode()))
    whole = list(read_search_graph(path))
    chunks = moses_search_graph.read_chunks
    monkeypatch.setattr(moses_search_graph, "read_chunks", lambda path: chunks(path, 100))
    cut = list(read_search_graph(path))
    assert len(cut) == 6
    for one, two in zip(whole, cut, strict=True):
        assert np.array_equal(one.tails, two.tails)
        assert np.array_equal(one.scores, two.scores)
        assert np.array_equal(one.templates.values, two.templates.values)
