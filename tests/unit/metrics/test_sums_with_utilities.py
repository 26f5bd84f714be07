"""Weighted sums of metrics and neural metrics, with a stand-in for the neural one."""

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.errors import UsageError
from dragoman.metrics.neural.comet import Comet
from dragoman.metrics.utility import UtilitySum, utility_of
from dragoman.metrics.utility_metric import metric_of

HYPOTHESES = ["the cat sat on the mat", "a dog ran home", "it rains"]
REFERENCES = ["the cat is on the mat", "the dog ran home", "it is raining"]
SOURCES = ["le chat", "un chien", "il pleut"]


@pytest.fixture
def comet(monkeypatch):
    """COMET without a model: longer hypotheses are better."""
    monkeypatch.setattr(Comet, "score", lambda self, ours, theirs, sources: np.array([len(one) / 100 for one in ours]))
    monkeypatch.setattr(Comet, "needs_reference", True)
    monkeypatch.setattr(Comet, "signature", lambda self: f"comet|model:{self.model}")


def test_a_sum_as_metric_has_the_whole_texts_bleu_and_the_mean_of_the_neural_metric(comet):
    found = dm.score(HYPOTHESES, REFERENCES, "0.5*bleu(tokenise=none)+50*comet(model=x)", sources=SOURCES)
    bleu = dm.score(HYPOTHESES, REFERENCES, "bleu:tokenise=none").value
    mean = np.mean([len(one) / 100 for one in HYPOTHESES])
    assert found.value == pytest.approx(0.5 * bleu + 50 * mean)
    assert "+0.5*(bleu|" in found.signature
    assert "+50*(comet|model:x)" in found.signature


def test_a_sum_as_utility_adds_the_scores_of_pairs(comet):
    utility = utility_of("chrf-0.5*ter+10*comet(model=x)")
    assert isinstance(utility, UtilitySum)
    chrf, ter = (utility_of(name).score(HYPOTHESES, REFERENCES, SOURCES) for name in ("chrf", "ter"))
    lengths = np.array([len(one) / 100 for one in HYPOTHESES])
    found = utility.score(HYPOTHESES, REFERENCES, SOURCES)
    assert found == pytest.approx(chrf + 0.5 * ter + 10 * lengths)  # the utility `ter` is the negated error rate
    assert utility.needs_source
    lists = [{"text": text} for text in HYPOTHESES]
    assert dm.mbr([lists], utility="chrf+1000*comet(model=x)", sources=["le chat"]) == ["the cat sat on the mat"]


def test_lists_are_tuned_to_a_sum(comet):
    lists = [["the cat", "a longer cat"], ["dogs", "many longer dogs"]]
    features = {"length": lambda texts: [len(text) for text in texts]}
    weights = dm.tune_reranker(
        lists, ["x", "y"], metric="0.1*chrf+100*comet(model=x)", features=features, sources=["a", "b"], progress=False
    )
    assert dm.rerank(lists, weights, features=features) == ["a longer cat", "many longer dogs"]


def test_what_is_wrong_is_one_sentence(comet):
    with pytest.raises(UsageError, match="no metric is called 'comets'"):
        metric_of("0.5*bleu+comets(model=x)")
    with pytest.raises(UsageError, match="needs the source text"):
        dm.score(HYPOTHESES, REFERENCES, "0.5*bleu+comet(model=x)")
