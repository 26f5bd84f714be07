import os

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import DataError
from dragoman.core.phrases import NGrams, NGramTable
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import load_arrays, save_arrays
from dragoman.model.language_model import MISSING_UNKNOWN, LanguageModel
from oracles.language_models import kneser_ney, score

WORDS = "abcd"
sentences_of_words = st.lists(st.lists(st.sampled_from([*WORDS, "oov"]), max_size=9), min_size=1, max_size=30)


def ngrams_of(model, order, vocab=None):
    """Turn {n-gram: (logprob, back-off)} into tables, in the order of the dictionary."""
    vocab = vocab or Vocab.of(sorted({word for ngram in model for word in ngram}))
    tables = []
    for n in range(1, order + 1):
        rows = [(ngram, numbers) for ngram, numbers in model.items() if len(ngram) == n]
        words = np.array([[vocab.id(word) for word in ngram] for ngram, _ in rows], np.int32).reshape(-1, n)
        logprobs, backoffs = (np.array([numbers[i] for _, numbers in rows], np.float32) for i in (0, 1))
        tables.append(NGramTable(words, logprobs, backoffs if n < order else 0 * backoffs))
    return NGrams(vocab, tuple(tables))


def written(ngrams, path):
    words = list(ngrams.vocab)
    with path.open("w", encoding="utf-8") as out:
        print("\\data\\", *(f"ngram {n}={len(t)}" for n, t in enumerate(ngrams.orders, 1)), sep="\n", file=out)
        for n, table in enumerate(ngrams.orders, 1):
            print(f"\n\\{n}-grams:", file=out)
            for row, logprob, backoff in zip(table.words, table.logprobs, table.backoffs, strict=True):
                tail = f"\t{backoff:.9g}" if n < ngrams.order else ""
                print(f"{logprob:.9g}\t{' '.join(words[i] for i in row)}{tail}", file=out)
        print("\n\\end\\", file=out)
    return path


@st.composite
def broken_models(draw):
    """Any n-grams at all: without prefixes, suffixes, <unk>, or order."""
    order = draw(st.integers(1, 5))
    numbers = st.tuples(st.floats(-5, 0, width=32), st.sampled_from([0.0, -0.0, -0.25, -1.5, 0.5]))
    words = [*WORDS, "<s>", "</s>"]
    unigrams = st.dictionaries(st.tuples(st.sampled_from([*words, "<unk>"])), numbers, min_size=1)
    model = draw(unigrams)
    known = st.sampled_from(sorted(word for (word,) in model))
    longer = st.lists(known, min_size=2, max_size=max(order, 2)).map(tuple)
    if order > 1:
        model |= draw(st.dictionaries(longer, numbers, max_size=25))
    return order, model


@pytest.mark.slow
@settings(deadline=None, max_examples=80)
@given(broken_models(), sentences_of_words, st.booleans(), st.booleans())
def test_any_ngrams_give_what_backing_off_means(built, text, bos, eos):
    order, model = built
    lm = LanguageModel.from_ngrams(ngrams_of(model, order, Vocab.of(WORDS)))
    for sentence in text:
        found = [word.logprob for word in lm.full_scores(" ".join(sentence), bos=bos, eos=eos)]
        assert found == pytest.approx(score(model, order, sentence, bos, eos), abs=3e-5, rel=1e-6)


@settings(deadline=None, max_examples=60)
@given(broken_models())
def test_ngrams_come_back_as_they_were(built):
    order, model = built
    ngrams = ngrams_of(dict(sorted(model.items(), key=lambda item: [Vocab.of(WORDS).id(w) for w in item[0]])), order,
                       Vocab.of(WORDS))  # fmt: skip
    back = LanguageModel.from_ngrams(ngrams).to_ngrams()
    assert back.order == order
    for before, after in zip(ngrams.orders, back.orders, strict=True):
        assert after.words.tolist() == before.words.tolist()
        assert after.logprobs.tobytes() == before.logprobs.tobytes()
        assert after.backoffs.tolist() == before.backoffs.tolist()


@pytest.fixture(scope="module")
def text():
    random = np.random.default_rng(4)
    return [[f"w{i}" for i in np.minimum(random.geometric(0.2, random.integers(1, 12)), 14)] for _ in range(60)]


@pytest.mark.parametrize("order", [2, 3, 4, 5, 6])
def test_scores_as_kenlm_does(order, text, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    ngrams = ngrams_of(kneser_ney(text, order), order)
    silent = kenlm.Config()
    silent.show_progress = False
    theirs = kenlm.Model(os.fspath(written(ngrams, tmp_path / "model.arpa")), silent)
    ours = LanguageModel.from_ngrams(ngrams)
    random = np.random.default_rng(order)
    for _ in range(200):
        sentence = " ".join(f"w{i}" for i in random.integers(1, 17, random.integers(0, 10)))
        for bos, eos in [(True, True), (False, True), (True, False), (False, False)]:
            assert ours.score(sentence, bos=bos, eos=eos) == pytest.approx(theirs.score(sentence, bos, eos), abs=1e-5)
            for mine, (logprob, length, oov) in zip(
                ours.full_scores(sentence, bos=bos, eos=eos), theirs.full_scores(sentence, bos, eos), strict=True
            ):
                assert mine.logprob == pytest.approx(logprob, abs=1e-5)
                assert (mine.ngram_length, mine.oov) == (length, oov)


@pytest.mark.parametrize("order", [1, 2])
def test_a_model_cut_to_an_order_has_its_ngrams_up_to_it(text, order):
    whole = LanguageModel.from_ngrams(ngrams_of(kneser_ney(text, 3), 3))
    cut = whole.cut(order)
    assert (cut.order, cut.sizes) == (order, whole.sizes[:order])
    for before, after in zip(whole.to_ngrams().orders[:order], cut.to_ngrams().orders, strict=True):
        np.testing.assert_array_equal(after.words, before.words)
        np.testing.assert_array_equal(after.logprobs, before.logprobs)
    assert whole.cut(whole.order) is whole
    assert whole.cut(order) is cut
    for ngram, sentence in [(["w1"], "w1"), (["w1", "w2"], "w1 w2"), (["w1", "w2", "w3"], "w1 w2 w3")]:
        scores = cut.full_scores(sentence, bos=False, eos=False)
        assert [word.ngram_length for word in scores] == [min(word, order) for word in range(1, len(ngram) + 1)]


def test_perplexity_counts_ends_and_oovs(text):
    lm = LanguageModel.from_ngrams(ngrams_of(kneser_ney(text, 3), 3))
    lines = ["w1 w2 nothing", "", "w3 else w1", "w2"]
    found = lm.perplexity(Corpus.from_lines(lines), runtime=Runtime(threads=2))
    words = [word for line in lines for word in lm.full_scores(line)]
    assert (found.tokens, found.oovs) == (7 + 4, 2)
    assert found.logprob == pytest.approx(sum(word.logprob for word in words), abs=1e-6)
    known = [word.logprob for word in words if not word.oov]
    assert found.including_oovs == pytest.approx(10 ** (-found.logprob / 11))
    assert found.excluding_oovs == pytest.approx(10 ** (-sum(known) / 9))


def test_stored_models_are_the_same_model(text, tmp_path):
    lm = LanguageModel.from_ngrams(ngrams_of(kneser_ney(text, 4), 4))
    save_arrays(tmp_path, lm.arrays())
    again = LanguageModel.from_arrays(load_arrays(tmp_path))
    assert isinstance(again.slots.base, np.memmap)
    assert again.order == 4
    assert again.begin_state == lm.begin_state != 0
    assert again.score("w1 w2 w3 x") == lm.score("w1 w2 w3 x")


def test_arrays_that_do_not_fit_are_refused(text):
    arrays = LanguageModel.from_ngrams(ngrams_of(kneser_ney(text, 2), 2)).arrays()
    with pytest.raises(DataError, match="'slots' is missing"):
        LanguageModel.from_arrays({name: array for name, array in arrays.items() if name != "slots"})
    with pytest.raises(DataError, match="do not fit"):
        LanguageModel.from_arrays(arrays | {"slots": arrays["slots"][:-1]})
    with pytest.raises(DataError, match="do not fit"):
        LanguageModel.from_arrays(arrays | {"states": arrays["states"][:-1]})


def test_unknown_words_without_unk():
    lm = LanguageModel.from_ngrams(ngrams_of({("a",): (-0.5, 0.0), ("</s>",): (-0.5, 0.0)}, 1))
    assert lm.score("a b", eos=False) == -0.5 + MISSING_UNKNOWN
    assert [len(table) for table in lm.to_ngrams().orders] == [2]


def test_marks_in_text_are_unknown_words(text):
    lm = LanguageModel.from_ngrams(ngrams_of(kneser_ney(text, 3), 3))
    assert lm.score("w1 <s> w2 </s>") == lm.score("w1 x w2 y")


def test_threads_change_nothing(text):
    lm = LanguageModel.from_ngrams(ngrams_of(kneser_ney(text, 3), 3))
    corpus = Corpus.from_lines([" ".join(sentence) for sentence in text * 60])
    one, two, three = (lm.logprobs(lm.sentences(corpus), runtime=Runtime(threads=t)).tobytes() for t in (1, 2, 3))
    assert one == two == three


def test_bad_ngrams_and_ids_are_refused(text):
    table = NGramTable(np.array([[3], [3]], np.int32), np.zeros(2, np.float32), np.zeros(2, np.float32))
    with pytest.raises(DataError, match="'a' occurs twice"):
        LanguageModel.from_ngrams(NGrams(Vocab.of("a"), (table,)))
    with pytest.raises(DataError, match="not in their vocabulary"):
        LanguageModel.from_ngrams(NGrams(Vocab.of(), (table,)))
    with pytest.raises(DataError, match="order 1 have 2 words"):
        LanguageModel.from_ngrams(NGrams(Vocab.of("a"), (NGramTable(table.words.T.copy(), *[table.logprobs[:1]] * 2),)))
    lm = LanguageModel.from_ngrams(ngrams_of(kneser_ney(text, 2), 2))
    with pytest.raises(IndexError, match="word ids"):
        lm.logprobs(Ragged.of([[999]], np.int32))
