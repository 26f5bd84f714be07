"""Lists that know the probability of each word in each component of a mixed language model."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.nbest import NBest
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.model.language_model import LanguageModel
from dragoman.model.lm_mixture import interpolate
from dragoman.tuning.methods.pro_mix import ProMix
from dragoman.tuning.problems.mixtures import DecodedMixtures, MixedRows
from dragoman.tuning.problems.problem import feature_matrix, weight_ranges
from oracles.language_models import lm_of
from oracles.mixtures import slopes

PARTS = {"in": ["a b c", "a b", "b c a", "a c", "c a b"], "out": ["c b d", "d d b", "b a d", "a b d"]}
TEXTS = ["a b c", "d b zebra", "", "a b c a b c", "a b d", "b a d"]
NAMES = ["lm", "mix.lm.in", "mix.lm.out"]


@pytest.fixture(scope="module")
def model():
    parts = {name: lm_of(lines, 3) for name, lines in PARTS.items()}
    lm = LanguageModel.from_ngrams(interpolate([*parts.values()], [0.5, 0.5]))
    lm = replace(lm, components=parts, shares=(0.5, 0.5))
    return Model(Vocab.of([]), Vocab.of([]), {}, {"lm": lm}, Weights(dict.fromkeys(NAMES, 0.5)))


def lists(model, texts=TEXTS, sentences=(0, 3, 6), vocab=None, weights=None):
    nbest = NBest.of_texts(texts, [0.0] * len(texts), np.array(sentences), vocab)
    features = FeatureRows.from_dense(["lm"], np.full((len(texts), 1), -7.0))
    return DecodedMixtures.of(replace(nbest, features=features), model, weights or model.weights)


def problem_of(found, references=("a b c", "a b d")):
    scorer = Bleu().scorer([Corpus.from_lines(references)])
    return found.problem(NAMES, weight_ranges(NAMES), scorer)


def brute_force(model, text, shares):
    """Σ log Σ λ p over words, word by word; what one component does not know has probability 0 there."""
    words, total = [*text.split(), None], 0.0
    parts = model.language_models["lm"].components
    known = {name: {word for line in PARTS[name] for word in line.split()} for name in parts}
    for i, word in enumerate(words):
        somebody = word is None or any(word in each for each in known.values())
        p = sum(
            share * 10 ** part.full_scores(text)[i].logprob
            for (name, part), share in zip(parts.items(), shares, strict=True)
            if word is None or not somebody or word in known[name]
        )
        total += np.log(p)
    return total


@pytest.mark.parametrize("share", [0.2, 0.7, 0.999])
def test_scores_are_sums_over_words_of_logarithms_of_mixtures(model, share):
    found = problem_of(lists(model)).model_scores(np.array([1.5, share, 1 - share]))
    assert found == pytest.approx([1.5 * brute_force(model, text, (share, 1 - share)) for text in TEXTS], rel=1e-5)


def test_gradients_are_those_of_differences(model):
    problem, vector = problem_of(lists(model)), np.array([0.7, 0.4, 0.6])
    rows = MixedRows(feature_matrix(problem), problem.mixtures)
    factors = np.random.default_rng(1).normal(size=len(TEXTS))
    expected = slopes(lambda place: rows.scored(place)[0] @ factors, vector)
    np.testing.assert_allclose(rows.scored(vector)[1](factors), expected, rtol=1e-5)


def test_lists_of_other_vocabularies_are_merged_and_come_back_from_disk(model, tmp_path):
    one, two = lists(model), lists(model, TEXTS[::-1], vocab=Vocab.of(["zebra", "d", "c"]))
    both = two.merged_with(one)
    assert both.size == len(set(TEXTS[:3] + TEXTS[3:][::-1])) + len(set(TEXTS[3:] + TEXTS[:3][::-1]))
    both.save(tmp_path / "evidence")
    again = DecodedMixtures.load(tmp_path / "evidence")
    vector = np.array([1.0, 0.3, 0.7])
    np.testing.assert_array_equal(*(problem_of(each).model_scores(vector) for each in (both, again)))
    assert again.details() == both.details()


def test_pro_mix_finds_the_language_model_that_ranks_as_the_metric_does(model):
    """References are what `in` prefers; `out` prefers the other candidates, all of the same length."""
    texts = ["a b c", "a b d", "d d b", "b c a", "b a d", "c b d", "c a b", "d b d", "b a d"] * 10
    found = lists(model, texts, tuple(range(0, len(texts) + 1, 3)))
    problem = problem_of(found, ["a b c", "b c a", "c a b"] * 10)
    optimum = ProMix().optimise(problem, np.array([0.5, 0.5, 0.5]), rng=np.random.default_rng(1))
    weight, share, other = optimum.weights
    assert weight > 0
    assert share > 0.95
    assert share + other == pytest.approx(1)
