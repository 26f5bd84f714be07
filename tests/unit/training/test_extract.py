import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus, links_of
from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.training.extract import MONOTONE, OTHER, SWAP, PhraseInstances, extract_phrases
from oracles.phrase_table import extract, random_bitext


def rows_of(found: PhraseInstances) -> list[tuple[int, ...]]:
    source_end = found.source_begin.astype(int) + found.source_length
    target_end = found.target_begin.astype(int) + found.target_length
    columns = (found.sentence, found.source_begin, source_end, found.target_begin, target_end)
    return list(zip(*(c.tolist() for c in (*columns, found.previous, found.next)), strict=True))


@pytest.mark.parametrize("max_length", [1, 2, 3, 7, 255])
@pytest.mark.parametrize("density", [0.3, 0.8, 1.5])
def test_finds_what_trying_all_spans_finds(max_length: int, density: float) -> None:
    bitext, links, sides = random_bitext(np.random.default_rng(max_length), 60, links=density)
    expected = [
        (row, *pair)
        for row, (source, target, linked) in enumerate(zip(*sides, strict=True))
        for pair in extract(len(source), len(target), linked, max_length)
    ]
    assert len(expected) > 30
    assert sorted(rows_of(extract_phrases(bitext, links, max_length=max_length))) == sorted(expected)


def test_threads_do_not_change_anything() -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(0), 3000)
    one, two, three = (extract_phrases(bitext, links, runtime=Runtime(threads=n)) for n in (1, 2, 3))
    for name, column in vars(one).items():
        assert column.tobytes() == getattr(two, name).tobytes() == getattr(three, name).tobytes()


def test_orientation_of_a_swap() -> None:
    bitext = Bitext(Corpus.from_lines(["a b c"]), Corpus.from_lines(["a c b"]))
    found = {row[1:5]: row[5:] for row in rows_of(extract_phrases(bitext, links_of([[(0, 0), (1, 2), (2, 1)]])))}
    assert found[0, 1, 0, 1] == (MONOTONE, OTHER)
    assert found[2, 3, 1, 2] == (OTHER, SWAP)
    assert found[1, 2, 2, 3] == (SWAP, OTHER)
    assert found[1, 3, 1, 3] == (MONOTONE, MONOTONE)


def test_empty_sentences_and_no_links_give_nothing() -> None:
    bitext = Bitext(Corpus.from_lines(["", "a", "", "a"]), Corpus.from_lines(["", "", "b", "b"]))
    assert len(extract_phrases(bitext, links_of([[], [], [], []]))) == 0
    empty = Bitext(Corpus.from_lines([]), Corpus.from_lines([]))
    assert len(extract_phrases(empty, links_of([]))) == 0


def test_order_and_repetition_of_links_do_not_matter() -> None:
    bitext = Bitext(Corpus.from_lines(["a b c", "a b"]), Corpus.from_lines(["x y z", "x y"]))
    tidy = extract_phrases(bitext, links_of([[(0, 0), (1, 2), (2, 1)], [(0, 1), (1, 0)]]))
    untidy = extract_phrases(bitext, links_of([[(2, 1), (0, 0), (1, 2), (0, 0)], [(1, 0), (0, 1), (1, 0)]]))
    assert rows_of(tidy) == rows_of(untidy)


def test_a_sentence_longer_than_links_can_reach() -> None:
    long = " ".join(["a"] * 70_000)
    bitext = Bitext(Corpus.from_lines([long]), Corpus.from_lines([long]))
    found = extract_phrases(bitext, links_of([[(0, 0), (65_535, 65_535)]]), max_length=2)
    # Around the first link unaligned words only follow, around the last they stand on both sides.
    assert sorted(set(found.source_begin.tolist())) == [0, 65_534, 65_535]
    assert len(found) == 2 * 2 + 3 * 3


@pytest.mark.parametrize("links", [[[(0, 0)], [(2, 0)]], [[(0, 0)], [(0, 1)]]])
def test_links_outside_their_sentence_are_refused(links: list[list[tuple[int, int]]]) -> None:
    bitext = Bitext(Corpus.from_lines(["a", "a b"]), Corpus.from_lines(["x y", "x"]))
    s, t = links[1][0]
    with pytest.raises(DataError, match=f"line 2 has the link {s}-{t} in a pair of 2 source and 1 target") as error:
        extract_phrases(bitext, links_of(links))
    assert error.value.line == 2


def test_the_number_of_lines_of_links_is_checked() -> None:
    bitext = Bitext(Corpus.from_lines(["a", "b"]), Corpus.from_lines(["x", "y"]))
    with pytest.raises(DataError, match="1 lines of word alignment; expected 2"):
        extract_phrases(bitext, links_of([[(0, 0)]]))


@pytest.mark.parametrize("max_length", [0, 256])
def test_lengths_that_alignments_cannot_hold_are_refused(max_length: int) -> None:
    bitext = Bitext(Corpus.from_lines(["a"]), Corpus.from_lines(["x"]))
    with pytest.raises(UsageError, match=f"{max_length}; expected between 1 and 255"):
        extract_phrases(bitext, links_of([[(0, 0)]]), max_length=max_length)
