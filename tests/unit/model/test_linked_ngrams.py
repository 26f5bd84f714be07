"""N-grams that are indexed in blocks: the arrays of an index in one go, whatever the memory."""

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.core.workspace import Workspace
from dragoman.model.language_model import LanguageModel
from dragoman.model.linked_ngrams import LinkedNGrams, index_ngrams
from dragoman.training.lm.kneser_ney import KneserNey, estimate, estimate_model

pytestmark = pytest.mark.slow


class Calm(Progress):
    def warn(self, text):
        pass


def text(seed, lines):
    random = np.random.default_rng(seed)
    draw = lambda: np.minimum(random.geometric(0.03, random.integers(0, 12)), 300)  # noqa: E731
    return Corpus.from_lines([" ".join(f"w{i}" for i in draw()) for _ in range(lines)])


def everything(model):
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in model.arrays().items()}


@pytest.mark.parametrize(("order", "prune"), [(1, "0"), (2, "0"), (3, "0"), (4, "0,0,1"), (6, "0,1")])
def test_arrays_are_those_of_from_ngrams(order, prune, tmp_path):
    corpus, options = text(order, 120), KneserNey(order=order, prune=prune)
    expected = everything(LanguageModel.from_ngrams(estimate(corpus, options, runtime=Runtime(progress=Calm()))))
    mapped = []
    for memory, threads in ((None, 1), (10_000_000, 2), (300_000, 1), (40_000, 2)):
        with Workspace(memory, tmp_path) as workspace:
            model = estimate_model(
                corpus, options, runtime=Runtime(threads=threads, progress=Calm(), workspace=workspace)
            )
            assert everything(model) == expected
            mapped.append(isinstance(model.slots.base, np.memmap))
    assert mapped[:2] == [False, False]
    assert mapped[3] == (order > 1)
    assert list(tmp_path.iterdir()) == []


def test_the_language_model_that_comes_of_it_is_sound(tmp_path):
    with Workspace(40_000, tmp_path) as workspace:
        model = estimate_model(text(9, 60), runtime=Runtime(progress=Calm(), workspace=workspace))
        model.check(model.vocab, model.vocab)


def test_logarithms_of_nothing_become_the_least():
    words = np.arange(3, dtype=np.int32)[:, None]
    none, numbers = np.zeros(3, np.int32), np.array([-np.inf, -1, -2], np.float32)
    table = LinkedNGrams(words, none, none, numbers, np.zeros(3, np.float32), np.ones(3, bool))
    model = index_ngrams(Corpus.from_lines([]).vocab, [table])
    assert np.isfinite(model.to_ngrams().orders[0].logprobs).all()
