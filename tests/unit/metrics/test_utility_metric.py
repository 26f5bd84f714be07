"""Utilities as metrics of whole texts: means of sentence scores."""

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.intervals import full_signature
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.tokeniser_choice import metrics_for
from dragoman.metrics.utility_metric import UtilityMetric, metric_of

REFERENCES = [Corpus.from_lines(["the cat sat", "a dog"]), Corpus.from_lines(["a cat", "the dog ran"])]
HYPOTHESES = Corpus.from_lines(["the cat", "a dog"])


class Overlap:
    """A utility that remembers what it was asked for."""

    name = "overlap"

    def __init__(self, *, source=False, reference=True):
        self.needs_source, self.needs_reference, self.asked = source, reference, []

    def score(self, hypotheses, references, sources):
        pairs = [*zip(hypotheses, references, sources, strict=True)]
        self.asked += pairs
        return [len({*a.split()} & {*(b or c).split()}) / 10 for a, b, c in pairs]

    def signature(self):
        return "overlap|model:tiny"


def score_of(metric, references=REFERENCES[:1], hypotheses=HYPOTHESES):
    scorer = metric.scorer(references)
    return scorer.statistics(hypotheses), scorer


def test_the_score_is_the_mean_of_sentence_scores():
    statistics, scorer = score_of(UtilityMetric(Overlap()))
    assert statistics.tolist() == [[0.2, 1.0], [0.2, 1.0]]
    assert float(scorer.score(statistics.sum(axis=0))) == pytest.approx(0.2)
    assert scorer.sentence_scores(statistics).tolist() == [0.2, 0.2]


def test_of_several_references_the_best_one_counts():
    statistics, _ = score_of(UtilityMetric(Overlap()), REFERENCES, Corpus.from_lines(["the cat", "the dog"]))
    assert statistics[:, 0].tolist() == [0.2, 0.2]


def test_hypotheses_of_lists_have_the_reference_and_source_of_their_sentence():
    utility = Overlap(source=True)
    scorer = UtilityMetric(utility, ["le chat", "un chien"]).scorer(REFERENCES[:1])
    scorer.statistics(Corpus.from_lines(["x", "y", "z"]), np.array([0, 1, 1]))
    assert utility.asked == [("x", "the cat sat", "le chat"), ("y", "a dog", "un chien"), ("z", "a dog", "un chien")]


def test_equal_pairs_are_scored_once_for_all_systems_and_kept_on_disk(tmp_path):
    utility = Overlap()
    metric = UtilityMetric(utility, cache=ScoreCache(tmp_path / "scores"))
    first, _ = score_of(metric)
    again, _ = score_of(metric)
    assert len(utility.asked) == 2
    assert np.array_equal(first, again)
    other = Overlap()
    score_of(UtilityMetric(other, cache=ScoreCache(tmp_path / "scores")))
    assert other.asked == []


def test_a_quality_estimate_needs_sources_only():
    utility = Overlap(source=True, reference=False)
    statistics, _ = score_of(UtilityMetric(utility, ["the cat", "dogs"]), [])
    assert statistics[:, 0].tolist() == [0.2, 0.0]
    with_reference, _ = score_of(UtilityMetric(utility, ["the cat", "dogs"]))
    assert np.array_equal(statistics, with_reference)
    assert len(utility.asked) == 4  # the two metrics share nothing but the utility
    assert {pair[1] for pair in utility.asked} == {""}


@pytest.mark.parametrize(
    ("utility", "sources", "references", "error", "said"),
    [
        (Overlap(source=True), None, REFERENCES, UsageError, "overlap needs the source text"),
        (Overlap(), ["a", "b"], [], UsageError, "overlap needs at least one reference"),
        (Overlap(source=True), ["a"], REFERENCES, DataError, "there are 1 source lines for 2 sentences"),
    ],
)
def test_missing_texts_are_refused(utility, sources, references, error, said):
    with pytest.raises(error, match=said):
        score_of(UtilityMetric(utility, sources), references)


def test_signatures_show_the_utility_and_the_number_of_references():
    assert full_signature(UtilityMetric(Overlap()), 2) == "overlap|nrefs:2|model:tiny"

    def shared(hypotheses, references):
        return [0.0 for _ in hypotheses]

    assert full_signature(metric_of(shared), 1).startswith("shared|nrefs:1|version:dragoman-")


def test_progress_counts_pairs():
    class Seen(Progress):
        def counter(self, name, total, unit):
            self.total, self.name, self.unit = total, name, unit
            return super().counter(name, total, unit)

    seen = Seen()
    scorer = UtilityMetric(Overlap()).scorer(REFERENCES)
    scorer.statistics(HYPOTHESES, runtime=Runtime(progress=seen))
    assert (seen.name, seen.total, seen.unit) == ("scoring with overlap", 4, "pairs")


def test_metrics_of_all_kinds_are_chosen_together():
    found = metrics_for(["bleu", Overlap(), "chrf"], REFERENCES[:1])
    assert [*found.metrics] == ["bleu", "overlap", "chrf"]
    assert [*found.notes] == ["bleu"]
    with pytest.raises(UsageError, match=r"no metric is called 'commet'.*neural metrics are bertscore, bleurt, comet"):
        metrics_for(["commet"], REFERENCES[:1])
    with pytest.raises(UsageError, match=r"comet needs a library|comet needs a model"):
        metrics_for(["comet"], REFERENCES[:1])


def test_slopes_of_means_are_those_of_finite_differences():
    scorer, at = UtilityMetric(Overlap()).scorer(REFERENCES), np.array([3.0, 7.0])
    value, slopes = scorer.smooth_score(at)
    assert value == pytest.approx(float(scorer.score(at)))
    for i in range(2):
        step = np.eye(2)[i] * 1e-6
        assert slopes[i] == pytest.approx(float(scorer.score(at + step) - scorer.score(at - step)) / 2e-6, rel=1e-6)
