"""Mixtures of language models that keep their components."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import BOS, EOS, Vocab
from dragoman.core.errors import DataError
from dragoman.model.edit import bake
from dragoman.model.language_model import LanguageModel
from dragoman.model.lm_mixture import component_probabilities, interpolate, remixed
from dragoman.search.translator import Translator
from oracles.language_models import lm_of
from oracles.phrase_space import random_model, random_sentence

TEXTS = {"in": ["a b c", "a b", "b c a", "a c"], "out": ["c b d", "d d b", "b a d", "a b d"]}


@pytest.fixture(scope="module")
def parts():
    return {name: lm_of(lines, 3) for name, lines in TEXTS.items()}


def mixture(parts, shares):
    mixed = LanguageModel.from_ngrams(interpolate([*parts.values()], shares))
    return replace(mixed, components=parts, shares=tuple(shares))


def test_probabilities_of_components_are_those_of_queries(parts):
    vocab = Vocab.of(["d", "a", "c", "b", "zebra"])
    sentence = "a b d zebra c"
    words = [BOS, *(vocab.id(word) for word in sentence.split()), EOS]
    windows = np.array([([-1, -1, *words[: i + 1]])[-3:] for i in range(1, len(words))], np.int32)
    found = component_probabilities([*parts.values()], vocab, windows)
    for t, (name, model) in enumerate(parts.items()):
        known = {word for line in TEXTS[name] for word in line.split()} | {"zebra", None}  # nobody knows the zebra
        scores = model.full_scores(sentence)
        expected = [
            10**score.logprob if word in known else 0.0
            for word, score in zip([*sentence.split(), None], scores, strict=True)
        ]
        assert found[:, t] == pytest.approx(expected, rel=1e-5)


def test_a_mixture_is_mixed_again_only_for_other_weights(parts):
    model = mixture(parts, [0.5, 0.5])
    assert remixed(model, [0.5, 0.5]) is model
    other = remixed(model, [0.9, 0.1])
    assert remixed(model, [0.9, 0.1]) is other
    assert other.shares == (0.9, 0.1)
    assert other.score("a b d") == mixture(parts, [0.9, 0.1]).score("a b d") != model.score("a b d")


def test_a_mixture_comes_back_from_its_arrays(parts):
    model = mixture(parts, [0.25, 0.75])
    again = LanguageModel.rebuild(model.about(), model.arrays())
    again.check(model.vocab, model.vocab)
    assert again.shares == model.shares
    assert {name: part.score("a b d") for name, part in again.components.items()} == {
        name: part.score("a b d") for name, part in parts.items()
    }
    with pytest.raises(DataError, match="components without shares"):
        LanguageModel.rebuild({**model.about(), "shares": [1.0]}, model.arrays())
    with pytest.raises(DataError, match="language model"):
        LanguageModel.rebuild({**model.about(), "components": ["in", "other"]}, model.arrays())


def test_searches_use_the_mixture_that_the_weights_say():
    rng = np.random.default_rng(3)
    one, two = random_model(rng), random_model(rng)
    lm = mixture({"in": one.language_models["lm"], "out": two.language_models["lm"]}, [0.5, 0.5])
    model = replace(one, language_models={"lm": lm})
    model = replace(model, weights=one.weights.updated({"mix.lm.in": 0.5, "mix.lm.out": 0.5}))
    assert model.interpolation_weight_names == ["mix.lm.in", "mix.lm.out"]
    lines = [random_sentence(np.random.default_rng(i), 5) for i in range(10)]
    scores = []
    for share in (0.5, 0.05):
        weights = model.weights.updated({"mix.lm.in": share, "mix.lm.out": 1 - share})
        plain = bake(model, weights)
        assert not plain.language_models["lm"].components
        ours, again, theirs = (
            [t.score for t in translator.translate(lines)]
            for translator in (
                Translator.of(model, weights),
                Translator.of(model).reweighted(weights),
                Translator.of(plain, weights),
            )
        )
        assert ours == again == theirs
        scores.append(ours)
    assert scores[0] != scores[1]
