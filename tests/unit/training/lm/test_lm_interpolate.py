import itertools

import numpy as np
import pytest

from dragoman.core.corpus import BOS, Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import Progress
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.language_model import LanguageModel
from dragoman.model.lm_mixture import interpolate
from dragoman.training.lm.interpolate import estimate_interpolation_weights
from dragoman.training.lm.kneser_ney import KneserNey, estimate


class Notes(Progress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)

    def warn(self, text):
        pass


def model_of(seed, words, order=3, prune="0"):
    random = np.random.default_rng(seed)
    lines = [" ".join(random.choice(words, random.integers(1, 8))) for _ in range(40)]
    corpus = Corpus.from_lines(lines)
    return LanguageModel.from_ngrams(
        estimate(corpus, KneserNey(order=order, prune=prune), runtime=Runtime(progress=Notes()))
    )


def probabilities_after(model, context):
    words = [w for w in range(len(model.vocab)) if w != BOS]
    rows = np.array([[*context, w] for w in words], np.int32)
    offsets = np.arange(len(rows) + 1) * rows.shape[1]
    return 10.0 ** model.logprobs(Ragged(rows.ravel(), offsets), bos=False, eos=False).reshape(rows.shape)[:, -1]


@pytest.mark.parametrize("orders", [(3, 3), (2, 4), (1, 2)])
@pytest.mark.parametrize("prune", ["0", "0,1"])
def test_every_context_sums_to_one(orders, prune):
    if prune != "0" and 1 in orders:
        prune = "0"
    models = [model_of(1, list("abcd"), orders[0], prune), model_of(2, list("cdef"), orders[1], prune)]
    mixed = LanguageModel.from_ngrams(interpolate(models, [0.3, 0.7]))
    assert mixed.order == max(orders)
    contexts = itertools.chain.from_iterable(itertools.product(range(len(mixed.vocab)), repeat=n) for n in (0, 1, 2))
    for context in contexts:
        assert probabilities_after(mixed, context).sum(dtype=float) == pytest.approx(1, abs=5e-6), context


def test_ngrams_have_the_mean_of_the_probabilities():
    models = [model_of(1, list("abcd")), model_of(2, list("cdef"))]
    mixed = interpolate(models, [1, 3])
    for table in mixed.orders:
        for row, logprob in zip(table.words, table.logprobs, strict=True):
            if row[-1] == BOS:
                continue
            words = [mixed.vocab[i] for i in row]
            expected = 0.0
            for model, share in zip(models, (0.25, 0.75), strict=True):
                ids = [model.vocab.id(word) for word in words]
                if ids[-1] or words[-1] == "<unk>":
                    logprobs = model.logprobs(Ragged.of([ids], np.int32), bos=False, eos=False)
                    expected += share * 10.0 ** float(logprobs[-1])
            assert 10.0**logprob == pytest.approx(expected, rel=1e-5), words
    listed = {tuple(mixed.vocab[i] for i in row) for table in mixed.orders for row in table.words}
    for model in models:
        for table in model.to_ngrams().orders:
            assert {tuple(model.vocab[i] for i in row) for row in table.words} <= listed


def test_one_model_mixed_with_itself_is_itself():
    model = model_of(5, list("abcde"))
    mixed = LanguageModel.from_ngrams(interpolate([model, model], [0.5, 0.5]))
    for line in ["a b c", "e e x a", ""]:
        assert mixed.score(line) == pytest.approx(model.score(line), abs=1e-5)


def test_weights_are_the_best_on_the_simplex():
    models = [model_of(1, list("abcd")), model_of(2, list("cdef"))]
    random = np.random.default_rng(7)
    lines = [" ".join(random.choice(list("abcccddeg"), random.integers(1, 8))) for _ in range(50)]
    held_out = Corpus.from_lines(lines)
    progress = Notes()
    weights = estimate_interpolation_weights(
        models, held_out, tolerance=1e-10, iterations=1000, runtime=Runtime(progress=progress)
    )
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0.05).all()
    perplexities = [float(note.split("perplexity ")[1].split()[0]) for note in progress.notes]
    assert perplexities == sorted(perplexities, reverse=True)

    # The same likelihood, written out: no other weight is better.
    def likelihood(weight):
        total = 0.0
        for line in lines:
            columns = [model.full_scores(line) for model in models]
            for first, second in zip(*columns, strict=True):
                p, q = ((not w.oov) * 10.0**w.logprob for w in (first, second))
                if p or q:
                    total += np.log(weight * p + (1 - weight) * q)
        return total

    best = likelihood(weights[0])
    assert all(likelihood(weight) <= best + 1e-6 for weight in np.linspace(0.01, 0.99, 25))


def test_what_makes_no_sense_is_refused():
    model = model_of(1, list("ab"))
    with pytest.raises(UsageError, match="one for each"):
        interpolate([model], [0.5, 0.5])
    with pytest.raises(UsageError, match="at least 0"):
        interpolate([model, model], [1.5, -0.5])
    with pytest.raises(DataError, match="no word"):
        estimate_interpolation_weights([model], Corpus.from_lines([]))
