"""What every global feature promises; a new file in `sampling/features/` inherits these tests."""

import numpy as np
import pytest

from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.core.vocab import Vocab
from dragoman.sampling.global_features import GLOBAL_FEATURES
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space

LINES = ["", "f0 f1 f2", "f0", "", "f3 f4 f1 f0", "f2 f2"]
LABELS = [0, 0, 0, 1, 1, 1]


def samples_of(name, weight, *, in_model=True, threads=1):
    feature = GLOBAL_FEATURES.get(name)()
    model = phrase_space.random_model(np.random.default_rng(4))
    if in_model:
        model = model.with_global_features({name: feature.to_dict()})
    space = SpaceLimits(reordering_limit=2, table_limit=0)
    translator = PhraseTranslator(
        model, model.weights.updated({name: weight}), space=space, runtime=Runtime(threads=threads)
    )
    sampler = Sampler.of(translator, Sampling(samples=30, burn_in=3), global_features=[] if in_model else [feature])
    return Samples.concatenate(list(sampler.sample(LINES, documents=LABELS, trace=True)))


@pytest.mark.parametrize("name", GLOBAL_FEATURES.names())
def test_samples_are_the_same_whatever_the_threads_and_where_the_feature_comes_from(name):
    one, two, by_hand = samples_of(name, 2.0), samples_of(name, 2.0, threads=2), samples_of(name, 2.0, in_model=False)
    for other in (two, by_hand):
        assert one.trace.tobytes() == other.trace.tobytes()
        assert one.scores.tobytes() == other.scores.tobytes()
    assert np.isfinite(one.scores).all()


@pytest.mark.parametrize("name", GLOBAL_FEATURES.names())
def test_values_are_of_sentences_or_of_documents(name):
    samples = samples_of(name, 0.0)
    if GLOBAL_FEATURES.get(name).level == "document":
        assert samples.documents.names == (name,)
        assert samples.documents.values.shape == (2, 2, 30, 1)
        assert np.isfinite(samples.documents.values).all()
        assert name not in samples.features.names
    else:
        assert samples.documents is None
        assert name in samples.features.names
        assert GLOBAL_FEATURES.get(name)().incremental is None


@pytest.mark.parametrize("name", GLOBAL_FEATURES.names())
def test_every_word_has_a_symbol(name):
    vocab = Vocab.of(["house", "é", "(", "日本語", "&quot;"])
    symbols = GLOBAL_FEATURES.get(name)().symbols(vocab)
    assert (symbols.dtype, symbols.shape) == (np.dtype(np.int32), (len(vocab),))
