"""Lists that know the pairs of mixed tables, or the rules of mixed grammars."""

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.nbest import NBest
from dragoman.metrics.bleu import Bleu
from dragoman.search.translator import Translator
from dragoman.training.mix import Mixing, mix_models
from dragoman.tuning.problems.mixtures import DecodedMixtures, MixedRows, interpolation_groups
from dragoman.tuning.problems.problem import feature_matrix, weight_ranges
from oracles import chart_space, phrase_space
from oracles.mixtures import slopes

LINES = [phrase_space.random_sentence(np.random.default_rng(i), 5) for i in range(6)]


KINDS = {
    "phrases": (phrase_space.random_model, {}),
    "orientations": (phrase_space.random_model, {"mix_reordering": True}),
    "rules": (chart_space.random_model, {}),
}


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    random_model, options = KINDS[request.param]
    rng = np.random.default_rng(5)
    parts = {"in": random_model(rng), "out": random_model(rng)}
    return mix_models(parts, Mixing(weights="uniform", keep_components=True, **options))


def decoded(model, first, size=20):
    weights = model.weights.updated(
        {name: first if name.endswith(".in") else 1 - first for name in model.interpolation_weight_names}
    )
    parts = Translator.of(model, weights).search_batches(LINES, forests=True)
    return DecodedMixtures.of(NBest.concatenate([part.pair_lists(size) for part in parts]), model, weights), weights


def problem_of(lists, model):
    names = [name for name in model.weight_names if name != "unknown_word"]
    scorer = Bleu().scorer([Corpus.from_lines(["a b c"] * len(LINES))])
    return lists.problem(names, weight_ranges(names), scorer), names


@pytest.mark.parametrize("first", [0.2, 0.5])
def test_model_scores_are_those_of_the_search(model, first):
    lists, weights = decoded(model, first)
    problem, names = problem_of(lists, model)
    unknown = lists.nbest.features.restricted(["unknown_word"]).dense()[:, 0] * weights["unknown_word"]
    np.testing.assert_allclose(problem.model_scores(weights.vector(names)) + unknown, lists.nbest.scores, atol=1e-5)


def test_model_scores_under_other_shares_are_those_of_another_search(model):
    """The best of a list is scored as the search under the other shares scores the same derivation."""
    lists, _ = decoded(model, 0.3, size=10_000)
    other, weights = decoded(model, 0.9)
    problem, names = problem_of(lists, model)
    unknown = lists.nbest.features.restricted(["unknown_word"]).dense()[:, 0] * weights["unknown_word"]
    scores = problem.model_scores(weights.vector(names)) + unknown
    ours = [scores[a:b].max() for a, b in zip(lists.nbest.sentences[:-1], lists.nbest.sentences[1:], strict=True)]
    theirs = other.nbest.scores[other.nbest.sentences[:-1]]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_gradients_are_those_of_differences(model):
    """By weights and interpolation weights, of which orientations of one direction share some."""
    lists, weights = decoded(model, 0.3)
    problem, names = problem_of(lists, model)
    rows, vector = MixedRows(feature_matrix(problem), problem.mixtures), weights.vector(names)
    factors = np.random.default_rng(1).normal(size=len(problem.features))
    scores, gradient_of = rows.scored(vector)
    np.testing.assert_allclose(scores, problem.model_scores(vector))
    expected = slopes(lambda place: rows.scored(place)[0] @ factors, vector)
    np.testing.assert_allclose(gradient_of(factors), expected, rtol=1e-4, atol=1e-4)
    assert len(interpolation_groups(problem.mixtures)) == len(model.interpolation_weight_names) / 2


def test_lists_are_merged_with_their_pairs_and_come_back_from_disk(model, tmp_path):
    one, _ = decoded(model, 0.3)
    two, weights = decoded(model, 0.9)
    both = two.merged_with(one)
    assert both.interpolation_weights["mix.tm.fwd.in"] == 0.9
    assert set(one.tables[0].rows) | set(two.tables[0].rows) == set(both.tables[0].rows)
    both.save(tmp_path / "evidence")
    again = DecodedMixtures.load(tmp_path / "evidence")
    vectors = [
        problem_of(lists, model)[0].model_scores(weights.vector(problem_of(lists, model)[1])) for lists in (both, again)
    ]
    np.testing.assert_array_equal(*vectors)
    assert dict(again.interpolation_weights) == dict(both.interpolation_weights)
    assert again.details() == both.details()


def test_a_derivation_is_one_candidate_whatever_the_shares_that_it_was_found_with(model):
    one, two = (decoded(model, first, size=10_000)[0] for first in (0.3, 0.9))
    assert 50 < two.merged_with(one).size == one.merged_with(one).size


def test_where_phrases_are_from(model):
    found = decoded(model, 1.0)[0].details()["phrases_from"]
    assert found == {"tm": {"in": 1.0, "out": 0.0}}
    some = decoded(model, 0.5)[0].details()["phrases_from"]["tm"]
    assert sum(some.values()) == pytest.approx(1, abs=1e-3)
    assert 0 < some["out"] < 1
