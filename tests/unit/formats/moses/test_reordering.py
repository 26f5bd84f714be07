from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.formats.moses.phrase_table import read_phrase_table
from dragoman.formats.moses.reordering import attach_reordering, read_reordering, write_reordering

TABLE = """\
la maison ||| house ||| 0.6 0.2 0.2 0.714286 0.142857 0.142857
la maison ||| the house ||| 0.1 0.2 0.7 0.3 0.3 0.4
une ||| a ||| 0.846154 0.0769231 0.0769231 0.2 0.2 0.6
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="reordering"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def phrase_table(write, text, **options):
    return read_phrase_table(write(text, "phrases"), **options)


def test_tables_are_joined_by_both_phrases(write):
    # Another order of pairs, other vocabularies, and a pair that the phrase table does not have.
    pairs = phrase_table(write, "une ||| a ||| 1\nla maison ||| the house ||| 1\nla maison ||| house ||| 1\n")
    table = read_reordering(write("la ||| house ||| 1 0 0 0 0 0\n" + TABLE))
    assert len(table) == 4
    joined = attach_reordering(pairs, table, "lex")
    expected = np.array([line.split("|||")[2].split() for line in TABLE.splitlines()], np.float32)
    np.testing.assert_array_equal(joined.reordering["lex"], expected[[2, 1, 0]])
    assert joined.reordering["lex"].dtype == np.float32
    assert pairs.reordering == {}


def test_missing_pairs_score_nothing_and_are_counted(write):
    pairs = phrase_table(write, "une ||| a ||| 1\nune ||| an ||| 1\ndeux ||| two ||| 1\n")
    with pytest.warns(DragomanWarning, match="2 of 3 phrase pairs are not in the reordering table"):
        joined = attach_reordering(pairs, read_reordering(write(TABLE)), "lex")
    assert joined.reordering["lex"][1:].tolist() == [[1] * 6] * 2
    assert joined.reordering["lex"][0, 0] == np.float32(0.846154)


def test_an_unknown_word_is_not_the_word_unk(write):
    pairs = phrase_table(write, "<unk> ||| x ||| 1\n")
    with pytest.warns(DragomanWarning, match="1 of 1"):
        attach_reordering(pairs, read_reordering(write("y ||| x ||| 0.5\n")), "lex")
    assert attach_reordering(pairs, read_reordering(write("<unk> ||| x ||| 0.5\n")), "lex").reordering["lex"] == 0.5


def test_an_empty_reordering_table(write):
    pairs = phrase_table(write, "a ||| b ||| 1\n")
    with pytest.warns(DragomanWarning, match="is empty"):
        table = read_reordering(write(""))
    with pytest.warns(DragomanWarning, match="1 of 1"):
        assert attach_reordering(pairs, table, "lex").reordering["lex"].shape == (1, 0)


def test_the_join_agrees_with_a_dictionary(write):
    rng = np.random.default_rng(5)

    def some(count):
        phrases = [" ".join(rng.choice(list("abc"), rng.integers(1, 4))) for _ in range(2 * count)]
        return list(dict.fromkeys(zip(phrases[:count], phrases[count:], strict=True)))

    ours, theirs = some(300), some(300)
    given = {pair: float(np.float32(rng.random())) for pair in theirs}
    pairs = phrase_table(write, "".join(f"{s} ||| {t} ||| 1\n" for s, t in ours))
    table = read_reordering(write("".join(f"{s} ||| {t} ||| {p!r}\n" for (s, t), p in given.items())))
    with pytest.warns(DragomanWarning):
        joined = attach_reordering(pairs, table, "lex")
    for i in range(len(joined)):
        source = joined.source_vocab.text(joined.sources[joined.source_ids[i]])
        target = joined.target_vocab.text(joined.targets[joined.target_ids[i]])
        assert joined.reordering["lex"][i, 0] == given.get((source, target), 1.0)


def test_repeated_pairs(write):
    with pytest.warns(DragomanWarning, match="1 phrase pairs occur more than once"):
        table = read_reordering(write("a ||| b ||| 0.25\na ||| b ||| 0.5\n"))
    assert table.scores.tolist() == [[0.25]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a ||| b", "fewer than three fields"),
        ("a ||| b ||| 1 1 ||| 0-0", "more than three fields"),
        ("a ||| b ||| 1", "found the scores '1'; expected as many as on line 1"),
        ("a ||| b ||| 1 -1", "not negative"),
    ],
)
def test_malformed_lines_are_named(write, line, message):
    with pytest.raises(DataError, match=r"reordering:2: .*" + message):
        read_reordering(write("x ||| y ||| 1 1\n" + line))


def test_writing_gives_the_same_bytes(write, tmp_path):
    pairs = phrase_table(write, "une ||| a ||| 1\nla maison ||| the house ||| 1\nla maison ||| house ||| 1\n")
    joined = attach_reordering(pairs, read_reordering(write(TABLE)), "lex")
    write_reordering(tmp_path / "out", joined, "lex")
    assert (tmp_path / "out").read_text() == TABLE


def test_writing_a_model_that_is_not_there(write, tmp_path):
    pairs = replace(phrase_table(write, "a ||| b ||| 1\n"), reordering={"lex": np.ones((1, 6), np.float32)})
    with pytest.raises(UsageError, match="no reordering model 'other'; they have lex"):
        write_reordering(tmp_path / "out", pairs, "other")
