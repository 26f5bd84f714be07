from dragoman.core.phrases import PHRASE_SCORES, REORDERING_SCORES
from dragoman.model.parts import CORE_FEATURES, initial_weights, phrase_features, reordering_features


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
