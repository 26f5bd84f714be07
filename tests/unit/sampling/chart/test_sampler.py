"""From lines to Samples with a hierarchical model: batches, starts, features, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.core.weights import Weights
from dragoman.features import FEATURES
from dragoman.sampling.diagnostics.diagnosis import Diagnosis, diagnose
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SearchLimits
from dragoman.tuning.methods.samplerank.chains import RankChains, RankedSentences, RankSteps
from oracles import chart_space

FEW = Sampling(samples=20, burn_in=3)


def translator_and_lines(seed, lines=20, **settings):
    rng = np.random.default_rng(seed)
    model = chart_space.random_model(rng, language_models=2)
    weights = model.weights.updated({"unknown_word": 0.01})
    translator = ChartTranslator(model, weights, **settings)
    return translator, ["", *(chart_space.random_sentence(rng, 7) for _ in range(lines - 1))]


@pytest.mark.parametrize("initial", ["gloss", "random", "beam"])
def test_samples_fit_together(initial):
    translator, lines = translator_and_lines(1)
    samples = Samples.concatenate(
        list(Sampler.of(translator, Sampling(samples=20, burn_in=3, initial=initial)).sample(lines))
    )
    assert len(samples) == 20
    assert samples.chains == 2
    assert samples.counts.sum() == 20 * 2 * 20
    assert samples.scores == pytest.approx(samples.features.dot(translator.weights), abs=1e-9)
    sentence = np.repeat(np.arange(20), np.diff(samples.sentences))
    for row, ranges in enumerate(samples.segmentations):
        source = [word for begin, end, *_ in ranges.tolist() for word in range(begin, end)]
        target = [word for *_, begin, end in ranges.tolist() for word in range(begin, end)]
        assert source == list(range(len(lines[sentence[row]].split())))
        assert target == list(range(len(samples.hypotheses[row])))


def test_starts_that_the_search_gave_up_are_glosses():
    translator, lines = translator_and_lines(1, limits=SearchLimits(max_size=1))
    samples = next(Sampler.of(translator, FEW).sample(lines))
    assert samples.counts.sum() == len(samples) * 2 * 20


def test_batches_do_not_matter():
    translator, lines = translator_and_lines(2)
    sampler = Sampler.of(translator, FEW)
    more = Sampler.of(translator.reweighted(translator.weights, runtime=Runtime(threads=2)), FEW)
    one, two = (Samples.concatenate(list(chains.sample(lines, seed=9))) for chains in (sampler, more))
    assert one.scores.tobytes() == two.scores.tobytes()
    assert one.counts.tobytes() == two.counts.tobytes()
    other = Samples.concatenate(list(sampler.sample(lines, seed=10)))
    assert other.scores.tobytes() != one.scores.tobytes()


def test_features_can_be_left_out():
    translator, lines = translator_and_lines(3)
    with_features, without = (next(Sampler.of(translator, FEW).sample(lines, features=flag)) for flag in (True, False))
    assert with_features.scores.tobytes() == without.scores.tobytes()
    assert without.features.names == ()
    assert len(without.features) == len(without.scores)


def test_a_proposal_gives_other_samples_of_the_same_scores():
    translator, lines = translator_and_lines(4)
    proposal = translator.weights.updated({"lm2": 0.0, "tm.fwd": 1.0})
    samples = next(Sampler.of(translator, FEW, proposal_weights=proposal).sample(lines))
    assert samples.scores == pytest.approx(samples.features.dot(translator.weights), abs=1e-9)
    assert samples.scores.tobytes() != next(Sampler.of(translator, FEW).sample(lines)).scores.tobytes()


def test_the_time_that_was_over_is_told():
    translator, lines = translator_and_lines(5)
    sampler = Sampler.of(translator, Sampling(samples=10**8, burn_in=0, max_seconds=0.001, chains=1))
    with pytest.warns(DragomanWarning, match="the time was over for"):
        samples = next(sampler.sample(lines[:4]))
    assert (np.diff(samples.sentences) > 0).all()


def test_nothing_to_sample():
    translator, _ = translator_and_lines(6)
    assert list(Sampler.of(translator, FEW).sample([])) == []
    (samples,) = Sampler.of(translator, FEW).sample([""])
    assert samples.counts.tolist() == [[20, 20]]
    assert samples.line(0) == ""


def test_sentence_features_have_values_and_take_part():
    translator, lines = translator_and_lines(7)
    model = translator.model.with_features([FEATURES.get("length_ratio")()])
    for weight in (0.0, 50.0):
        weights = translator.weights.updated({"length_ratio": weight})
        sampler = Sampler.of(ChartTranslator(model, weights), Sampling(samples=100, burn_in=20))
        samples = Samples.concatenate(list(sampler.sample(lines)))
        assert samples.scores == pytest.approx(samples.features.dot(weights), abs=1e-9)
        values = samples.features.restricted(["length_ratio"]).dense()[:, 0]
        mean = float((values * samples.probabilities).sum() / len(samples))
        if weight == 0:
            without = mean
    assert without < mean - 0.02


def test_diagnoses_of_tiny_models():
    translator, lines = translator_and_lines(8)
    line = max(lines, key=lambda text: len(text.split()))
    (found,) = diagnose(translator, [(1, line)], Diagnosis(samples=2000, nbest=1000))
    assert found.exact
    assert found.r_hat < 1.05
    for run in found.runs:
        assert list(run.accepted) == ["subtree", "rule", "glue", "jump"]
        assert run.curves.derivations.divergence[-1] < run.curves.derivations.divergence[0]
        assert run.curves.derivations.divergence[-1] < 2 * found.independent.derivations.divergence[-1] + 0.05
    exact, *others = found.expectations
    samples = [row for row in others if row.evidence == "samples, beam"][-1]
    assert samples.values == pytest.approx(exact.values, abs=0.4)


def test_what_is_refused():
    translator, lines = translator_and_lines(9)
    with pytest.raises(UsageError, match="weight of lm is nan"):
        Sampler.of(ChartTranslator(translator.model, Weights({"lm": float("nan")})))
    infinite = ChartTranslator(translator.model, translator.weights.updated({"word_penalty": 1e300}))
    with pytest.raises(DataError, match="word_penalty"):
        list(Sampler.of(infinite, FEW).sample(lines))
    documents = translator.model.with_features([FEATURES.get("lexical_consistency")()])
    felt = translator.weights.updated({"lexical_consistency": 1.0})
    with pytest.raises(UsageError, match="lexical_consistency sees documents"):
        Sampler.of(ChartTranslator(documents, felt))
    next(Sampler.of(ChartTranslator(documents, translator.weights), FEW).sample(lines, features=False))
    with pytest.raises(UsageError, match="samplerank lists all neighbours that differ in one or two phrases"):
        RankChains.of(RankSteps(), translator, RankedSentences(lines, None, np.arange(21), lambda names: names))
