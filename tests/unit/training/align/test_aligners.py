"""What every aligner promises, whoever wrote it; and what each of ours finds."""

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus, source_positions, target_positions
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.training.align import ALIGNERS
from dragoman.training.align.auto import Auto
from dragoman.training.align.base import Passes
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.align.hmm import Hmm
from dragoman.training.align.model1 import Model1
from oracles.bitexts import random_bitext

OURS = [name for name in ALIGNERS.names() if name != "eflomal"]


def bitext_of(*pairs):
    return Bitext(Corpus.from_lines(a for a, _ in pairs), Corpus.from_lines(b for _, b in pairs))


def rows_of(links):
    return [[(v >> 16, v & 0xFFFF) for v in row.tolist()] for row in links]


def test_all_are_found_by_name():
    assert ALIGNERS.names() == ["auto", "diagonal", "eflomal", "hmm", "model1"]
    with pytest.raises(UsageError, match="no aligner is called 'giza'"):
        ALIGNERS.get("giza")


@pytest.mark.parametrize("name", OURS)
def test_links_are_sorted_within_bounds_and_single_in_their_direction(name):
    bitext = random_bitext(np.random.default_rng(0), rows=60, longest=9, words=8)
    both = ALIGNERS.get(name)().align(bitext)
    for links, positions in ((both.forward, target_positions), (both.reverse, source_positions)):
        assert len(links) == len(bitext)
        assert len(links.values) > 0
        rows = np.repeat(np.arange(len(links)), links.lengths)
        assert (source_positions(links) < bitext.source.sentences.lengths[rows]).all()
        assert (target_positions(links) < bitext.target.sentences.lengths[rows]).all()
        assert len(np.unique(rows << 16 | positions(links))) == len(links.values)
        assert all((np.diff(row.astype(np.int64)) > 0).all() for row in links)


@pytest.mark.parametrize("name", OURS)
def test_threads_do_not_change_links(name):
    bitext = random_bitext(np.random.default_rng(1), rows=400, longest=12, words=25)
    first, *others = (ALIGNERS.get(name)().align(bitext, runtime=Runtime(threads=threads)) for threads in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(other.forward.values, first.forward.values)
        np.testing.assert_array_equal(other.reverse.values, first.reverse.values)


@pytest.mark.parametrize("name", OURS)
def test_turning_the_bitext_round_exchanges_the_directions(name):
    bitext = random_bitext(np.random.default_rng(2), rows=50, longest=8, words=6)
    both = ALIGNERS.get(name)().align(bitext)
    turned = ALIGNERS.get(name)().align(Bitext(bitext.target, bitext.source))
    assert [sorted((t, s) for s, t in row) for row in rows_of(turned.reverse)] == rows_of(both.forward)
    assert [sorted((t, s) for s, t in row) for row in rows_of(turned.forward)] == rows_of(both.reverse)


@pytest.mark.parametrize("name", OURS)
def test_three_sentences_are_enough(name):
    bitext = bitext_of(("das haus", "the house"), ("das buch", "the book"), ("ein buch", "a book"))
    both = ALIGNERS.get(name)().align(bitext)
    assert rows_of(both.forward) == rows_of(both.reverse) == [[(0, 0), (1, 1)]] * 3


@pytest.mark.parametrize("name", OURS)
def test_empty_sentences_have_no_links_and_do_not_disturb_others(name):
    pairs = [("das haus", "the house"), ("das buch", "the book"), ("ein buch", "a book")]
    plain = ALIGNERS.get(name)().align(bitext_of(*pairs))
    gaps = ALIGNERS.get(name)().align(bitext_of(("", "the nought"), *pairs, ("ein haus", ""), ("", "")))
    for links, expected in ((gaps.forward, plain.forward), (gaps.reverse, plain.reverse)):
        assert rows_of(links) == [[], *rows_of(expected), [], []]


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("lines", [[], [("", "")], [("a", "x")], [("a a a", "x x")] * 2])
def test_hardly_anything_is_something(name, lines):
    both = ALIGNERS.get(name)().align(bitext_of(*lines))
    assert len(both.forward) == len(both.reverse) == len(lines)


@pytest.mark.parametrize("name", OURS)
def test_sentences_that_links_cannot_number_are_refused(name):
    with pytest.raises(DataError, match="target line 2 has 65536 words; expected at most 65535"):
        ALIGNERS.get(name)().align(bitext_of(("a", "x"), ("a", "x " * 65_536)))


def test_model1_ignores_positions_and_the_diagonal_does_not():
    # Every word occurs with every other equally often: only position can tell.
    bitext = bitext_of(*[("a b c", "x y z")] * 3)
    diagonal = [[(0, 0), (1, 1), (2, 2)]] * 3
    assert rows_of(Diagonal().align(bitext).forward) == diagonal
    assert rows_of(Diagonal(favour_diagonal=False).align(bitext).forward) != diagonal
    assert rows_of(Model1().align(bitext).forward) != diagonal


class Listener(Progress):
    def __init__(self):
        self.tensions = []

    def note(self, text):
        self.tensions.append(float(text.split()[-1]))


def test_the_tension_is_learned_from_the_second_pass_on():
    learnt = Listener()
    bitext = random_bitext(np.random.default_rng(3), rows=60, longest=10, words=10)
    for options in ({"iterations": 2}, {"iterations": 4, "optimise_tension": False}, {"iterations": 4}):
        Diagonal(**options).align(bitext, runtime=Runtime(progress=learnt))
    notes = learnt.tensions
    assert notes[:4] == [4.0] * 4
    assert all(tension != 4.0 and 0.1 <= tension <= 14 for tension in notes[4:])
    exact = Listener()
    Diagonal(iterations=4, gradient="exact").align(bitext, runtime=Runtime(progress=exact))
    assert all(0.1 <= tension <= 60 for tension in exact.tensions)
    assert exact.tensions != notes[4:]


def texts_in_order(order, length=12, rows=1000):
    """Many sentences and their words in another order."""
    rng = np.random.default_rng(1)
    drawn = [[f"w{i}" for i in rng.integers(0, 100, length)] for _ in range(rows)]
    return [(" ".join(row), " ".join(order(row)).upper()) for row in drawn]


def backwards(row):
    return row[::-1]


@pytest.mark.parametrize("gradient", ["exact", "fast-align"])
def test_a_tension_at_its_lower_limit_is_said_where_there_is_enough_text(gradient):
    pairs = texts_in_order(backwards)
    with pytest.warns(UserWarning, match="fell to its limit of 0.1"):
        Diagonal(iterations=6, gradient=gradient).align(bitext_of(*pairs))
    Diagonal(iterations=6, gradient=gradient).align(bitext_of(*pairs[:100]))


@pytest.mark.parametrize(("gradient", "steepest"), [("exact", 60), ("fast-align", 14)])
def test_texts_in_the_same_order_are_nothing_to_warn_of(gradient, steepest):
    listener = Listener()  # warnings would be errors
    bitext = bitext_of(*texts_in_order(list, length=24, rows=500))
    Diagonal(iterations=6, gradient=gradient).align(bitext, runtime=Runtime(progress=listener))
    assert listener.tensions == [steepest, steepest]


def test_auto_warns_of_the_tension_only_where_it_keeps_the_links_of_the_diagonal_model():
    with pytest.warns(UserWarning, match="fell to its limit of 0.1"):
        Auto(iterations=6).align(bitext_of(*texts_in_order(backwards)))
    Auto(iterations=6).align(bitext_of(*texts_in_order(lambda row: row[6:] + row[:6])))  # the HMM's


def test_the_hmm_follows_repeated_words_from_left_to_right():
    pairs = [("a b c d", "w x y z"), ("b a d c", "x w z y"), ("c a", "y w"), ("d b", "z x")] * 5
    bitext = bitext_of(*pairs, ("a b a c a d", "w x w y w z"))
    assert rows_of(Hmm().align(bitext).forward)[-1] == [(i, i) for i in range(6)]


@pytest.mark.slow
def test_the_hmm_leaves_out_what_is_too_long_and_says_so():
    long = " ".join(f"w{i}" for i in range(2100))
    bitext = bitext_of(("a b", "x y"), (long, long), ("a", "x"), ("b", "y"))
    with pytest.warns(UserWarning, match="does not align 1 sentence pairs"):
        both = Hmm(iterations=1).align(bitext)
    assert rows_of(both.forward) == [[(0, 0), (1, 1)], [], [(0, 0)], [(0, 0)]]


def test_options_are_checked():
    with pytest.raises(UsageError, match="tension is 20"):
        Diagonal(tension=20.0)
    with pytest.raises(UsageError, match="alpha is 0"):
        Diagonal(alpha=0.0)
    with pytest.raises(UsageError, match="uniform_share is 0"):
        Hmm(uniform_share=0.0)


def test_passes_add_up_to_one_stage():
    shares = []
    passes = Passes(shares.append, 4)
    for _ in range(4):
        kernel_says = passes.next()
        kernel_says(0.0)
        kernel_says(0.5)
    kernel_says(1.0)
    assert shares == [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0]
