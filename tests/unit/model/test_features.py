from dataclasses import replace

import numpy as np

from dragoman.core.phrases import PHRASE_SCORES, REORDERING_SCORES
from dragoman.features.phrase_length import PhraseLength
from dragoman.features.structural_distortion import StructuralDistortion
from dragoman.model.parts import CORE_FEATURES, initial_weights, phrase_features, reordering_features
from oracles.phrase_space import random_model
from oracles.tiny_grammar import tiny_model


def test_every_feature_has_a_weight_and_every_weight_a_feature():
    weights = initial_weights({"tm": PHRASE_SCORES, "tm2": ("fwd",)}, ["lr"], ["lm", "lm2"])
    expected = {*CORE_FEATURES, "lm", "lm2", "tm2.fwd"}
    expected |= {f"tm.{name}" for name in PHRASE_SCORES} | {f"lr.{name}" for name in REORDERING_SCORES}
    assert set(weights) == expected


def test_the_weights_are_those_that_moses_starts_with():
    weights = initial_weights({"tm": PHRASE_SCORES}, ["lr"], ["lm"])
    assert {weights[f"tm.{name}"] for name in PHRASE_SCORES} == {0.2}
    assert {weights[name] for name in reordering_features("lr")} == {0.3}
    assert (weights["lm"], weights["distortion"], weights["word_penalty"]) == (0.5, 0.3, -1.0)
    assert (weights["phrase_penalty"], weights["unknown_word"]) == (0.2, 1.0)


def test_names():
    assert phrase_features("tm", ("fwd", "bwd")) == ["tm.fwd", "tm.bwd"]
    assert reordering_features("lr")[:2] == ["lr.bwd.mono", "lr.bwd.swap"]
    assert len(reordering_features("lr")) == 6


def test_logarithms_of_probabilities_are_told_from_counts():
    rng = np.random.default_rng(5)
    phrases = random_model(rng, tables=1, language_models=2).with_features([PhraseLength()])
    table = phrases.tables["tm"]
    scores = np.concatenate([table.log_scores, np.full((len(table), 2), [-1, 1], np.float32)], axis=1)
    table = replace(table, score_names=(*table.score_names, "from_out", "penalty"), log_scores=scores)
    phrases = replace(phrases, tables={"tm": table})
    expected = {"lm", "lm2", *phrase_features("tm", PHRASE_SCORES), *reordering_features("lr")}
    assert {name for name in phrases.feature_names if phrases.is_log_probability(name)} == expected
    assert not phrases.is_log_probability("pl.s1")
    rules = tiny_model()
    counts = np.ones((2, 10))
    rules = replace(rules, grammars={name: replace(rules.grammars["tm"], hole_counts=counts) for name in ("tm", "tm2")})
    for grain, names in (("coarse", {"sd.log_p"}), ("fine", set())):
        found = rules.with_features([StructuralDistortion(grain=grain)])
        every = [*found.feature_names, "sd.log_p", "sd.reordered.3"]
        expected = {"lm", *phrase_features("tm", PHRASE_SCORES), *phrase_features("tm2", PHRASE_SCORES), *names}
        assert {name for name in every if found.can_weigh(name) and found.is_log_probability(name)} == expected
