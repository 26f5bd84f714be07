import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus, links_of
from dragoman.core.errors import DataError
from dragoman.training.lexical import NULL, lexical_tables, word_weights
from oracles.phrase_table import lexical, random_bitext


def test_probabilities_are_those_of_plain_counting() -> None:
    bitext, links, sides = random_bitext(np.random.default_rng(5), 80, words=9)
    tables = lexical_tables(bitext, links)
    forward, backward = lexical(sides)
    assert len(tables) == len(forward)
    for row in range(len(tables)):
        s, t = int(tables.source_words[row]), int(tables.target_words[row])
        pair = (None if s == NULL else bitext.source.vocab[s], None if t == NULL else bitext.target.vocab[t])
        assert tables.target_given_source[row] == float(forward[pair])
        assert tables.source_given_target[row] == float(backward[pair])


def test_a_repeated_link_counts_once() -> None:
    bitext = Bitext(Corpus.from_lines(["a a"]), Corpus.from_lines(["x y"]))
    tables = lexical_tables(bitext, links_of([[(0, 0), (0, 0), (1, 1)]]))
    assert tables.target_given_source.tolist() == [0.5, 0.5]


def test_a_word_of_text_that_looks_special_is_not_null() -> None:
    bitext = Bitext(Corpus.from_lines(["<unk> NULL"]), Corpus.from_lines(["x"]))
    tables = lexical_tables(bitext, links_of([[(0, 0)]]))
    assert list(zip(tables.source_words.tolist(), tables.target_words.tolist(), strict=True)) == [(0, 3), (3, NULL)]


def test_rounding() -> None:
    bitext = Bitext(Corpus.from_lines(["a", "a", "a"]), Corpus.from_lines(["x", "y", "y"]))
    tables = lexical_tables(bitext, links_of([[(0, 0)]] * 3)).rounded(3)
    assert tables.target_given_source.tolist() == [0.333, 0.667]
    assert tables.source_given_target.tolist() == [1, 1]


def test_word_weights_average_over_links() -> None:
    bitext = Bitext(Corpus.from_lines(["a b c", "b"]), Corpus.from_lines(["x", "y"]))
    links = links_of([[(0, 0), (1, 0)], [(0, 0)]])
    source, target = word_weights(bitext, links, lexical_tables(bitext, links))
    assert source.tolist() == [0.5, 0.5, 1, 1]
    assert target.tolist() == [(1 + 0.5) / 2, 0.5]


def test_tables_of_other_text_are_refused() -> None:
    bitext = Bitext(Corpus.from_lines(["a b"]), Corpus.from_lines(["x y"]))
    straight, crossed = links_of([[(0, 0), (1, 1)]]), links_of([[(0, 1), (1, 0)]])
    with pytest.raises(DataError, match="lack a word pair"):
        word_weights(bitext, crossed, lexical_tables(bitext, straight))


def test_nothing_gives_nothing() -> None:
    empty = Bitext(Corpus.from_lines([""]), Corpus.from_lines([""]))
    tables = lexical_tables(empty, links_of([[]]))
    assert len(tables) == 0
    assert [len(side) for side in word_weights(empty, links_of([[]]), tables)] == [0, 0]
