import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dragoman.core.corpus import BOS, UNK, Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import DragomanWarning, Progress
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.language_model import LanguageModel
from dragoman.training.lm.kneser_ney import KneserNey, estimate
from oracles.language_models import kneser_ney

texts = st.lists(st.lists(st.sampled_from("abcde"), max_size=8), min_size=1, max_size=25).filter(any)


class Heard(Progress):
    def __init__(self):
        self.warnings = []

    def warn(self, text):
        self.warnings.append(text)


def corpus_of(sentences):
    return Corpus.from_lines([" ".join(sentence) for sentence in sentences])


def as_dict(ngrams):
    words = list(ngrams.vocab)
    return {
        tuple(words[i] for i in row): numbers
        for table in ngrams.orders
        for row, *numbers in zip(table.words.tolist(), table.logprobs.tolist(), table.backoffs.tolist(), strict=True)
    }


def random_sentences(seed, lines, vocabulary):
    random = np.random.default_rng(seed)
    draw = lambda: np.minimum(random.geometric(0.15, random.integers(0, 12)), vocabulary)  # noqa: E731
    return [[f"w{i}" for i in draw()] for _ in range(lines)]


def assert_same(ours, expected):
    assert ours.keys() == expected.keys()
    for ngram, numbers in expected.items():
        assert ours[ngram] == pytest.approx(numbers, abs=2e-6), ngram


@settings(deadline=None, max_examples=60)
@given(texts, st.integers(1, 9))
def test_equals_the_formulas(sentences, order):
    ngrams = estimate(corpus_of(sentences), KneserNey(order=order), runtime=Runtime(progress=Heard()))
    assert_same(as_dict(ngrams), kneser_ney(sentences, order))


@pytest.mark.parametrize("prune", ["0,0,1", "0,1", "0,1,1,2"])
def test_pruning_equals_the_formulas(prune):
    sentences = random_sentences(3, 60, 12)
    options = KneserNey(order=4, prune=prune)
    pruned = as_dict(estimate(corpus_of(sentences), options, runtime=Runtime(progress=Heard())))
    assert_same(pruned, kneser_ney(sentences, 4, options.thresholds))
    assert len(pruned) < len(kneser_ney(sentences, 4))


def test_enough_text_needs_no_fallback():
    heard = Heard()
    sentences = random_sentences(5, 300, 40)
    ngrams = estimate(corpus_of(sentences), KneserNey(order=2), runtime=Runtime(progress=heard))
    assert heard.warnings == []
    assert_same(as_dict(ngrams), kneser_ney(sentences, 2))


@pytest.mark.parametrize("prune", ["0", "0,1,2"])
@pytest.mark.parametrize("vocabulary", ["open", "closed"])
def test_every_context_sums_to_one(prune, vocabulary):
    sentences = random_sentences(8, 40, 15)
    options = KneserNey(order=3, prune=prune, vocabulary=vocabulary)
    model = LanguageModel.from_ngrams(estimate(corpus_of(sentences), options, runtime=Runtime(progress=Heard())))
    words = [w for w in range(len(model.vocab)) if w != BOS]
    for context in [[], [1], *([a] for a in words), *([1, a] for a in words), *([a, b] for a in words for b in words)]:
        rows = np.array([[*context, w] for w in words], np.int32)
        offsets = np.arange(len(rows) + 1) * rows.shape[1]
        logprobs = model.logprobs(Ragged(rows.ravel(), offsets), bos=False, eos=False)
        total = (10.0 ** logprobs.reshape(rows.shape)[:, -1].astype(float)).sum()
        assert total == pytest.approx(1, abs=2e-6), context


def test_closed_vocabulary_leaves_nothing_to_unknown_words():
    lines = ["a b c", "a b", "c"]
    closed = estimate(Corpus.from_lines(lines), KneserNey(vocabulary="closed"), runtime=Runtime(progress=Heard()))
    assert closed.orders[0].logprobs[UNK] == -100
    with_unk = Corpus.from_lines([*lines, "a <unk>"])
    counted = estimate(with_unk, KneserNey(vocabulary="closed"), runtime=Runtime(progress=Heard()))
    assert -2 < counted.orders[0].logprobs[UNK] < 0


def test_word_list_turns_other_words_into_unk(tmp_path):
    (tmp_path / "words").write_text("a c\nnever\n")
    corpus = Corpus.from_lines(["a b c", "c b", "d a"])
    limited = estimate(corpus, KneserNey(order=2, word_list=tmp_path / "words"), runtime=Runtime(progress=Heard()))
    assert list(limited.vocab) == ["<unk>", "<s>", "</s>", "a", "c"]
    by_hand = [["a", "<unk>", "c"], ["c", "<unk>"], ["<unk>", "a"]]
    assert_same(as_dict(limited), kneser_ney(by_hand, 2))


def test_words_that_do_not_occur_are_left_out():
    corpus = Corpus.from_lines(["a b", "c d", "b a"])
    part = estimate(corpus.take(np.array([2, 0])), KneserNey(order=2), runtime=Runtime(progress=Heard()))
    assert list(part.vocab) == ["<unk>", "<s>", "</s>", "a", "b"]


def test_rows_are_sorted_and_threads_change_nothing():
    corpus = corpus_of(random_sentences(9, 20000, 300))
    one, two, three = (estimate(corpus, KneserNey(order=4), runtime=Runtime(threads=t)) for t in (1, 2, 3))
    for tables in zip(one.orders, two.orders, three.orders, strict=True):
        rows = [tuple(row) for row in tables[0].words.tolist()]
        assert rows == sorted(rows)
        for other in tables[1:]:
            assert other.words.tobytes() == tables[0].words.tobytes()
            assert other.logprobs.tobytes() == tables[0].logprobs.tobytes()
            assert other.backoffs.tobytes() == tables[0].backoffs.tobytes()


@pytest.mark.parametrize("lines", [["a"], ["one two three", "one", "two one"], ["", "a", ""]])
def test_tiny_text_works_with_one_warning(lines):
    heard = Heard()
    ngrams = estimate(Corpus.from_lines(lines), KneserNey(order=5), runtime=Runtime(progress=heard))
    assert ngrams.order == 5
    assert len(heard.warnings) == 1
    assert "order 1" in heard.warnings[0]
    assert "0.5,1,1.5" in heard.warnings[0]
    assert np.isfinite(LanguageModel.from_ngrams(ngrams).score("one a nothing"))


def test_warns_through_python_by_default():
    with pytest.warns(DragomanWarning, match="too little text"):
        estimate(Corpus.from_lines(["a"]))


def test_much_text_that_repeats_itself_is_not_called_too_little():
    """Every n-gram of the highest order occurs twice or more: there is none that occurs once."""
    words = np.random.default_rng(1).integers(300, size=(1500, 10))
    corpus = Corpus.from_lines([" ".join(map(str, row)) for row in words] * 2)
    heard = Heard()
    ngrams = estimate(corpus, KneserNey(order=3), runtime=Runtime(progress=heard))
    (warning,) = heard.warnings
    assert warning.startswith("the text repeats itself: of 303 1-grams 0 / 0 / 0 / 0; ")
    assert f"of {len(ngrams.orders[2]):,} 3-grams 0 / " in warning
    assert "too little" not in warning
    assert "0.5,1,1.5 are used instead" in warning
    other = estimate(corpus, KneserNey(order=3, discount_fallback="0.5,0.9,1.5"), runtime=Runtime(progress=heard))
    assert not np.array_equal(ngrams.orders[2].logprobs, other.orders[2].logprobs)


@pytest.mark.parametrize("lines", [[], ["", ""]])
def test_empty_corpus_is_refused(lines):
    with pytest.raises(DataError, match="no words"):
        estimate(Corpus.from_lines(lines))


@pytest.mark.parametrize("mark", ["<s>", "</s>"])
def test_marks_in_text_are_refused_with_their_line(mark):
    with pytest.raises(DataError, match=f"line 3 of the corpus contains the word {mark}"):
        estimate(Corpus.from_lines(["a", "", f"b {mark}"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 17}, "order is 17"),
        ({"prune": "1"}, "expected 0 for words"),
        ({"prune": "0,2,1"}, "do not decrease"),
        ({"prune": "0,0,0,1"}, "at most 3"),
        ({"prune": "x"}, "separated by commas"),
        ({"prune": ""}, "separated by commas"),
        ({"prune": "0,0.5"}, "whole numbers"),
        ({"discount_fallback": "0.5,1"}, "three numbers"),
        ({"discount_fallback": "0.5,1,4"}, "at most 1, 2 and 3"),
        ({"discount_fallback": "nan,1,1"}, "three numbers"),
        ({"vocabulary": "half"}, "open, closed"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(UsageError, match=message):
        KneserNey(**options)


def test_silent_when_there_is_nothing_to_say():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate(corpus_of(random_sentences(9, 3000, 300)), KneserNey(order=3))
