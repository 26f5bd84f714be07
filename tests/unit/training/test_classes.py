"""Word classes by exchange: every change of the criterion against recomputation, and the end against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.checkpoint import StageCheckpoint
from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.runtime import Runtime
from dragoman.training.classes import Clustering, class_language_model, estimate_classes
from dragoman.training.lm.kneser_ney import KneserNey, estimate_model
from oracles import word_classes


def neighbours(lines, order):
    """The counts that the kernel takes, of words in this order, from plain dictionaries."""
    number = {word: i for i, word in enumerate(["", *order])}
    after = [{} for _ in number]
    before = [{} for _ in number]
    for line in lines:
        text = [0, *(number[word] for word in line.split()), 0]
        for v, w in itertools.pairwise(text) if len(text) > 2 else ():
            after[v][w] = after[v].get(w, 0) + 1
            before[w][v] = before[w].get(v, 0) + 1
    columns = {}
    for name, rows in (("after", after), ("before", before)):
        columns[f"{name}_offsets"] = np.cumsum([0, *map(len, rows)])
        columns[name] = np.array([w for row in rows for w in row], np.int32)
        columns[f"{name}_counts"] = np.array([n for row in rows for n in row.values()], np.int32)
    return kernels.Neighbours(**columns)


@pytest.mark.parametrize("seed", range(20))
def test_every_change_of_the_criterion_is_what_recomputation_says(seed):
    rng = np.random.default_rng(seed)
    lines = word_classes.random_lines(rng, words=int(rng.integers(1, 9)), sentences=15)
    order = sorted({word for line in lines for word in line.split()})
    number = int(rng.integers(1, 5))
    classes = np.append(0, rng.integers(1, number + 1, len(order))).astype(np.int32)
    text = neighbours(lines, order)

    def likelihood(numbers):
        return word_classes.log_likelihood(lines, dict(zip(order, numbers[1:].tolist(), strict=True)))

    for i in range(1, len(order) + 1):
        gains = kernels.exchange_gains(text, classes, number, i)
        for its in range(1, number + 1):
            moved = classes.copy()
            moved[i] = its
            assert gains[its] == pytest.approx(likelihood(moved) - likelihood(classes), abs=1e-8)
    after, _, criterion = kernels.exchange_pass(text, classes, number)
    alone, _, reference = kernels.exchange_pass(text, after, number)
    assert criterion - reference == pytest.approx(likelihood(after) - likelihood(alone), abs=1e-8)
    assert likelihood(after) >= likelihood(classes) - 1e-8


@pytest.mark.parametrize("seed", range(12))
def test_no_single_move_improves_the_end_and_brute_force_is_hardly_better(seed):
    rng = np.random.default_rng(seed)
    lines = word_classes.random_lines(rng, words=6, sentences=20)
    found = estimate_classes(Corpus.from_lines(lines), Clustering(classes=3, starts=3, rounds=3))
    classes = word_classes.as_dict(found)
    here = word_classes.log_likelihood(lines, classes)
    assert found.log_likelihood == pytest.approx(here, abs=1e-8)
    for word in classes:
        for its in range(1, found.number + 1):
            assert word_classes.log_likelihood(lines, {**classes, word: its}) <= here + 1e-5
    assert here == pytest.approx(word_classes.best_likelihood(lines, 3), abs=1e-6)


def test_counts_of_neighbours_are_those_of_the_text():
    rng = np.random.default_rng(3)
    text = np.concatenate([[0], rng.integers(0, 7, 200), [0]]).astype(np.int32)
    for after in (True, False):
        offsets, words, counts = kernels.count_neighbours(text, 8, after)
        found = np.zeros((8, 8), int)
        for word in range(8):
            row = slice(offsets[word], offsets[word + 1])
            assert len(set(words[row].tolist())) == offsets[word + 1] - offsets[word]
            found[word, words[row]] = counts[row]
        expected = np.zeros((8, 8), int)
        np.add.at(expected, (text[:-1], text[1:]) if after else (text[1:], text[:-1]), 1)
        np.testing.assert_array_equal(found, expected)


def test_kernels_refuse_what_would_lead_them_astray():
    text = neighbours(["a b"], ["a", "b"])
    for classes, number in (([0, 1], 2), ([1, 1, 1], 2), ([0, 3, 1], 2), ([0, 0, 1], 2)):
        with pytest.raises(ValueError, match="class"):
            kernels.exchange_pass(text, np.array(classes, np.int32), number)
    with pytest.raises(ValueError, match="no such word"):
        kernels.exchange_gains(text, np.array([0, 1, 1], np.int32), 1, 3)
    good = {name: getattr(text, name) for name in ("after_offsets", "after", "after_counts")}
    good |= {name: getattr(text, name) for name in ("before_offsets", "before", "before_counts")}
    for name, wrong in (("after", np.array([9, 9, 9], np.int32)), ("before_counts", np.ones(1, np.int32))):
        with pytest.raises(ValueError, match=r"neighbour"):
            kernels.Neighbours(**{**good, name: wrong})


@pytest.fixture
def corpus():
    rng = np.random.default_rng(5)
    return Corpus.from_lines(word_classes.random_lines(rng, words=60, sentences=300))


OPTIONS = Clustering(classes=8, starts=3, rounds=2)


def test_the_same_seed_gives_the_same_classes_whatever_the_threads(corpus):
    one, two = (estimate_classes(corpus, OPTIONS, runtime=Runtime(threads=threads)) for threads in (1, 3))
    assert one.classes.tobytes() == two.classes.tobytes()
    assert one.log_likelihood == two.log_likelihood
    other = estimate_classes(corpus, Clustering(classes=8, starts=3, rounds=2, seed=9))
    assert other.classes.tobytes() != one.classes.tobytes()


def test_more_starts_and_rounds_are_never_worse(corpus):
    def likelihood(**options):
        return estimate_classes(corpus, Clustering(classes=8, **options)).log_likelihood

    assert likelihood(starts=1, rounds=0) <= likelihood(starts=1, rounds=3) <= likelihood(starts=2, rounds=3)
    assert likelihood(starts=1, rounds=0, passes=1) <= likelihood(starts=1, rounds=0, passes=50)


class Killed(StageCheckpoint):
    """A checkpoint of an estimation that is killed after so many passes."""

    def __init__(self, out, passes):
        super().__init__(out)
        self.left = passes

    def save(self, stage, key, write):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return super().save(stage, key, write)


@pytest.mark.parametrize("passes", [1, 7, 20])
def test_an_estimation_that_was_killed_continues_after_its_last_pass(corpus, tmp_path, passes):
    whole = estimate_classes(corpus, OPTIONS)
    count = Killed(tmp_path / "count", 10_000)
    estimate_classes(corpus, OPTIONS, runtime=Runtime(checkpoint=count))
    total = 10_000 - count.left
    assert total > 20
    with pytest.raises(KeyboardInterrupt):
        estimate_classes(corpus, OPTIONS, runtime=Runtime(checkpoint=Killed(tmp_path / "out", passes)))
    rest = Killed(tmp_path / "out", total - passes)  # which would not do for one pass more
    again = estimate_classes(corpus, OPTIONS, runtime=Runtime(checkpoint=rest))
    assert rest.left == 0
    assert again.classes.tobytes() == whole.classes.tobytes()


def test_rare_words_move_together_and_special_words_have_no_class():
    lines = ["a b a b c", "a b <unk> d", "b a <s> e"]
    found = estimate_classes(Corpus.from_lines(lines), Clustering(classes=5, min_count=2))
    assert found["c"] == found["d"] == found["e"] != 0
    assert found["<unk>"] == found["<s>"] == found["never"] == 0
    assert found.number == 3  # no more classes than there are words
    assert found["a"] != found["b"]
    with pytest.raises(DataError, match="no words"):
        estimate_classes(Corpus.from_lines(["", "<unk>"]))


def test_a_language_model_over_classes_scores_the_classes_of_words(corpus, recwarn):
    classes = estimate_classes(corpus, OPTIONS)
    over = class_language_model(corpus, classes, KneserNey(order=4))
    assert not recwarn.list  # few classes have no discounts, which is no news
    plain = estimate_model(classes.text(corpus), KneserNey(order=4), runtime=Runtime().quiet(warns=False))
    sentence = "w1 w0 w7 never w3"
    names = " ".join(str(classes[word]) if classes[word] else "never" for word in sentence.split())
    assert over.score(sentence) == pytest.approx(plain.score(names), abs=1e-6)
    assert [word.oov for word in over.full_scores(sentence)] == [False, False, False, True, False, False]
    assert over.perplexity(corpus) == plain.perplexity(classes.text(corpus))
    assert over.cut(2).score(sentence) == pytest.approx(plain.cut(2).score(names), abs=1e-6)
