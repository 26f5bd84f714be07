"""Features and language models over word classes in searches, against their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.features import FEATURES
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from dragoman.training.classes import class_language_model
from dragoman.training.lm.kneser_ney import KneserNey
from oracles import chart_space, forest, phrase_space, word_classes

EVERYTHING = SearchLimits(algorithm="exhaustive")
PREFIXES = ("sr.", "cp.")


def over_classes(model, rng, words):
    """The model with word classes, and a language model over those of the target."""
    model = word_classes.with_random_classes(model, rng)
    text = Corpus.from_lines([" ".join(rng.choice(words, rng.integers(1, 8))) for _ in range(15)])
    made = class_language_model(text, model.word_classes["target"], KneserNey(order=int(rng.integers(2, 5))))
    return replace(
        model,
        language_models={**model.language_models, "class_lm": made},
        weights=model.weights.updated({"class_lm": float(rng.normal(0.3, 0.4))}),
    )


class Case:
    """A random phrase-based model with features of classes, and a sentence with all its derivations."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        plain = phrase_space.random_model(
            rng,
            tables=int(rng.integers(1, 3)),
            language_models=int(rng.integers(0, 2)),
            reordering=bool(rng.integers(2)),
        )
        longest = int(rng.integers(1, 4))
        chosen = [FEATURES.get("sparse-reordering")(), FEATURES.get("class-pair")(max_length=longest)]
        self.model = over_classes(plain, rng, phrase_space.TARGET).with_features(chosen)
        self.sentence = phrase_space.random_sentence(rng, 4)
        limit = int(rng.integers(-1, 4))
        self.space = SpaceLimits(reordering_limit=limit, table_limit=3)
        options = phrase_space.options(self.model, self.sentence, 3)
        self.derivations = [
            (derivation, word_classes.derivation_features(self.model, self.sentence, derivation, longest))
            for derivation in phrase_space.derivations(options, len(self.sentence.split()), limit)
        ]
        names = sorted({name for _, values in self.derivations for name in values})
        self.weights = self.model.weights.updated({name: float(rng.normal()) for name in names})

    def translator(self, weights=None):
        return PhraseTranslator(self.model, weights or self.weights, space=self.space, limits=EVERYTHING)

    def score(self, derivation, sparse):
        dense = phrase_space.features(self.model, derivation)
        return sum(self.weights.get(name, 0.0) * value for name, value in {**dense, **sparse}.items())


@pytest.mark.parametrize("seed", range(40))
def test_hypergraphs_hold_what_the_definitions_say_whatever_the_weights(seed):
    case = Case(seed)
    expected = sorted(tuple(sorted(values.items())) for _, values in case.derivations)
    # Options that score alike under some weights may differ in their features.
    for weights in (case.weights, case.model.weights):
        graph = case.translator(weights).search(case.sentence)
        found = [
            tuple(sorted((name, value) for name, value in total.items() if name.startswith(PREFIXES)))
            for total in forest.totals(graph, weights)
        ]
        assert sorted(found) == expected


@pytest.mark.parametrize("seed", range(40))
def test_the_best_derivation_and_lists_agree_with_enumeration(seed):
    case = Case(seed)
    every = sorted((case.score(*one) for one in case.derivations), reverse=True)
    (found,) = case.translator().translate([case.sentence], features=True)
    assert found.score == pytest.approx(every[0], abs=1e-6)
    assert sum(case.weights.get(name, 0.0) * value for name, value in found.features.items()) == pytest.approx(
        found.score, abs=1e-9
    )
    (lists,) = case.translator().nbest([case.sentence], 5)
    np.testing.assert_allclose(lists.scores, every[: len(lists.scores)], atol=1e-6)
    np.testing.assert_allclose(lists.features.dot(case.weights), lists.scores, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_charts_score_language_models_over_classes(seed):
    rng = np.random.default_rng(seed)
    model = over_classes(chart_space.random_model(rng), rng, chart_space.TARGET)
    translator = ChartTranslator(model, limits=SearchLimits(algorithm="exhaustive"))
    (found,) = translator.translate([chart_space.random_sentence(rng, 4)], features=True)
    score = model.language_models["class_lm"].score(found.text)
    assert found.features["class_lm"] == pytest.approx(score * np.log(10), abs=1e-5)
