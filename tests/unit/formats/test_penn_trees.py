"""Trees in brackets: what they say, what is wrong with them, and whose words they have."""

import gzip

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.formats.penn_trees import TreeFile, parse_tree, with_trees
from oracles import trees


def rows(line):
    found = parse_tree(line)
    return list(found.leaves), {
        (label, *span) for label, span in zip(found.tree.labels, found.tree.spans.tolist(), strict=True)
    }


@pytest.mark.parametrize("seed", range(30))
def test_trees_are_what_was_written(seed):
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(rng.integers(1, 12))]
    node = trees.random_node(rng, words)
    leaves, found = rows(trees.bracketed(node))
    assert (leaves, found) == (words, set(trees.constituents(node)[1]))
    assert rows(trees.bracketed(node).replace("(", " ( ").replace(")", "\t) ")) == (leaves, found)


def test_function_tags_indices_and_traces_are_left_out():
    line = "(TOP (S (NP-SBJ-1 (PRP I)) (VP|X (VBD ate) (NP=2 (-NONE- *T*-1)) (-LRB- -LRB-) (NP-TMP (NN now)))))"
    assert rows(line) == (
        ["I", "ate", "-LRB-", "now"],
        {("TOP", 0, 4), ("S", 0, 4), ("NP", 0, 1), ("VP", 1, 4), ("NP", 3, 4)},
    )


def test_other_ways_to_write_trees():
    assert rows("( (S (NN a) (NN b)) )") == (["a", "b"], {("S", 0, 2)})  # as the Penn treebank does
    assert rows("(NP a b)") == (["a", "b"], {("NP", 0, 2)})  # words without parts of speech
    assert rows("(NP (DT a) b)") == (["a", "b"], {("NP", 0, 2)})
    assert rows("(NP (X a)) (VP (Y b))") == (["a", "b"], {("NP", 0, 1), ("VP", 1, 2)})  # two sentences in a line


@pytest.mark.parametrize("line", ["", "()", "  ( ) ", "(())", "(TOP)"])
def test_lines_without_a_parse(line):
    (parsed,) = with_trees(["a man"], TreeFile([line]))
    assert (parsed.tree.words, parsed.tree.labels) == (2, ())


@pytest.mark.slow
def test_trees_may_be_deep():
    depth = 100_000
    leaves, found = rows("(NP " * depth + "(NN a)" + ")" * depth)
    assert (leaves, found) == (["a"], {("NP", 0, 1)})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(S (NP a b) (VP c)", "f:2: the bracket at column 1 is not closed; expected balanced brackets"),
        ("(S (NP (NN a)", "f:2: the bracket at column 4 is not closed"),
        ("(S (NN a)))", "f:2: at column 11 ')' closes what was not opened"),
        ("(S (NN a)) b", "f:2: at column 12 'b' is in no bracket"),
        ("a b", "f:2: at column 1 'a' is in no bracket"),
    ],
)
def test_brackets_that_are_not_balanced(line, message):
    with pytest.raises(DataError) as error:
        list(with_trees(["a", "a"], TreeFile(["(NN a)", line], "f")))
    assert str(error.value).startswith(message)


def test_another_text_is_shown_beside_the_sentence():
    file = TreeFile(["()", "(S (A one) (B two) (C three) (D four) (E five) (F six))"], "f.gz")
    with pytest.raises(DataError) as error:
        list(with_trees(["x", "One two three for five six"], file))
    assert str(error.value) == (
        "f.gz:2: the tree has 'one two three four five six' where the sentence has 'One two three for five six'; "
        "expected a tree of the same text"
    )
    words = [f"w{i}" for i in range(20)]
    line = "".join(f"(A {'other' if i == 10 else word})" for i, word in enumerate(words))
    with pytest.raises(DataError, match=r"tree has '\.\.\. w7 w8 w9 other w11 w12 w13 \.\.\.' where the sentence has"):
        TreeFile([f"(S {line})"]).attach(" ".join(words))


def test_there_must_be_as_many_trees_as_lines():
    with pytest.raises(DataError, match="f: there are 1 trees, and more sentences; expected a tree a line"):
        list(with_trees(["a", "a"], TreeFile(["(NN a)"], "f")))
    with pytest.raises(DataError, match="f: there are more trees than sentences, which are 1; expected as many"):
        list(with_trees(["a"], TreeFile(["(NN a)", "()"], "f")))


def test_words_may_be_cut_in_another_way():
    tree = "(S (NP (PRP I)) (VP (VBP 'm) (ADJP (RB n't) (JJ well-known))))"
    (whole,) = with_trees(["I &apos;m n't well @-@ known"], TreeFile([tree]))
    assert sorted(zip(whole.tree.labels, whole.tree.spans.tolist(), strict=True)) == [
        ("ADJP", [2, 6]),
        ("NP", [0, 1]),
        ("S", [0, 6]),
        ("VP", [1, 6]),
    ]
    # What begins or ends inside a word is left out.
    (joined,) = with_trees(["I'm n't well-known"], TreeFile([tree]))
    assert dict(zip(joined.tree.labels, joined.tree.spans.tolist(), strict=True)) == {"ADJP": [1, 3], "S": [0, 3]}


def test_files_may_be_compressed_and_damaged(tmp_path):
    file = tmp_path / "trees.gz"
    data = gzip.compress("(NP (NN été))\n".encode() * 500, mtime=0)
    file.write_bytes(data)
    assert [line.tree.labels for line in with_trees(["été"] * 500, TreeFile.read(file))] == [("NP",)] * 500
    file.write_bytes(data[:-20])
    with pytest.raises(DataError, match=r"trees\.gz"):
        list(with_trees(["été"] * 500, TreeFile.read(file)))
    file.write_bytes(b"(NN a)\n(NN \xff)\n")
    with pytest.raises(DataError, match=r"trees.gz:2: byte 0xff is not UTF-8"):
        list(with_trees(["a", "a"], TreeFile.read(file)))
