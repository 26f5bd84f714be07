import json

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.formats.nbest.format import read_nbest
from dragoman.tuning.runs.rerank import first_weights, with_features

EXTRA = {"quality": np.array([0.1, 0.9])}


@pytest.fixture
def lists(tmp_path):
    """A list of two hypotheses with these numbers each."""

    def read(*hypotheses):
        path = tmp_path / "lists"
        path.write_text(json.dumps({"id": 0, "hyps": [{"text": "a", **h} for h in hypotheses]}) + "\n")
        return read_nbest(path, "jsonl")

    return read


def test_the_score_is_kept_beside_features_that_are_added(lists):
    scored = lists({"score": -1.0}, {"score": -2.0})
    found = with_features(scored, EXTRA)
    assert dict(zip(found.features.names, found.features.dense().T.tolist(), strict=True)) == {
        "quality": [0.1, 0.9],
        "score": [-1.0, -2.0],
    }
    assert dict(first_weights(found)) == pytest.approx({"quality": 0, "score": 1})
    assert with_features(scored, {}).features.names == ("score",)


def test_log_probabilities_or_features_stand_for_the_score(lists):
    both = lists({"score": -1.0, "logprob": -3.0}, {"score": -2.0, "logprob": -4.0})
    assert set(with_features(both, EXTRA).features.names) == {"quality", "logprob"}
    summed = lists({"score": -1.0, "features": {"lm": -1.0}}, {"score": -2.0, "features": {"lm": -2.0}})
    assert set(with_features(summed, EXTRA).features.names) == {"quality", "lm"}


def test_a_name_is_taken_once(lists):
    scored = lists({"score": -1.0}, {"score": -2.0})
    assert with_features(scored, {"score": np.array([5.0, 6.0])}).features.dense().T.tolist() == [[5.0, 6.0]]
    with pytest.raises(DataError, match="a feature 'lm' already"):
        with_features(lists({"features": {"lm": 1.0}}, {"features": {"lm": 2.0}}), {"lm": np.array([1.0, 2.0])})
