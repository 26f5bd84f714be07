"""Lines that carry their trees."""

import copy
import pickle

import numpy as np
import pytest

from dragoman.text.source_trees import ParsedLine, SourceTree
from oracles.trees import tree_of

TREE = tree_of(4, [("NP", 0, 2), ("VP", 2, 4), ("S", 0, 4)])


def test_a_line_is_its_text_and_keeps_its_tree():
    line = ParsedLine("a man sleeps here", TREE)
    assert line == "a man sleeps here"
    assert {line: 1}["a man sleeps here"] == 1
    for other in (pickle.loads(pickle.dumps(line)), copy.deepcopy(line), copy.copy(line)):
        assert isinstance(other, ParsedLine)
        assert (other, other.tree.words, other.tree.labels) == (line, 4, TREE.labels)
        np.testing.assert_array_equal(other.tree.spans, TREE.spans)


def test_nothing_can_be_changed():
    line = ParsedLine("a man sleeps here", TREE)
    with pytest.raises(AttributeError, match="cannot be changed"):
        line.tree = SourceTree.nothing(4)
    with pytest.raises(ValueError, match="read-only"):
        line.tree.spans[0, 0] = 1


def test_text_that_is_made_of_it_has_no_tree():
    assert type(ParsedLine("A man", SourceTree.nothing(2)).lower()) is str


def test_a_piece_has_the_constituents_inside_it():
    part = TREE.part(1, 4)
    assert (part.words, part.labels, part.spans.tolist()) == (3, ("VP",), [[1, 3]])
    assert TREE.part(0, 1).labels == ()


@pytest.mark.parametrize("row", [("NP", -1, 2), ("NP", 2, 2), ("NP", 3, 5)])
def test_constituents_outside_the_sentence_are_refused(row):
    with pytest.raises(ValueError, match="empty or outside the sentence of 4 words"):
        tree_of(4, [row])
    with pytest.raises(ValueError, match="1 spans for 2 labels"):
        SourceTree(4, ("NP", "VP"), np.array([[0, 1]]))
