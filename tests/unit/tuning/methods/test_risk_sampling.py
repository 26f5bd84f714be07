"""Minimum risk by sampling: gradients have no bias, schedules end, learning goes uphill and can be interrupted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.progress import Progress
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.features import FEATURES
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.ter import Ter
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.lattice import option_features
from dragoman.search.phrase.translator import PhraseTranslator
from dragoman.tuning.methods.method import TrainingSet
from dragoman.tuning.methods.risk_corpus import RiskCorpus, resample_corpora, resampled_shares
from dragoman.tuning.methods.risk_sentence import RiskSentence
from dragoman.tuning.problems.sample_statistics import SampleStatistics
from oracles.phrase_documents import Document
from oracles.risk import NAMES, TinyCorpus
from oracles.sampler import probabilities
from oracles.training_sets import reachable_training_set

pytestmark = pytest.mark.slow

WEIGHTS = np.array([0.7, -0.4, 0.2])


def objective(corpus, method, temperature):
    if isinstance(method, RiskSentence):
        sentences = 3 if method.objective == "sum" else 1
        return lambda weights: sentences * (corpus.sentence_gain(weights) + temperature * corpus.entropy(weights))
    share = 1 / 3 if method.corpus_features == "mean" else 1
    return lambda weights: share * corpus.corpus_gain(weights) + temperature * corpus.entropy(weights)


METHODS = [
    RiskSentence(),
    RiskSentence(objective="sum"),
    RiskCorpus(corpus_samples=5),
    RiskCorpus(corpus_samples=5, corpus_features="mean"),
]


@pytest.mark.parametrize("temperature", [0.0, 0.1])
@pytest.mark.parametrize("metric", [Bleu(), Ter()], ids=["bleu", "ter"])
@pytest.mark.parametrize("method", METHODS, ids=["sentence-mean", "sentence-sum", "corpus-sum", "corpus-mean"])
def test_gradients_have_no_bias(method, metric, temperature):
    rng = np.random.default_rng(7)
    corpus = TinyCorpus(metric, rng)
    exact = corpus.gradient(objective(corpus, method, temperature), WEIGHTS)
    assert np.abs(exact).max() > 1e-3
    found = []
    for _ in range(4000):
        drawn = corpus.draw(WEIGHTS, 4, rng)
        estimate = method.estimate(drawn, corpus.scorer, corpus.sign, temperature, rng)
        found.append(drawn.weighted_features(NAMES, estimate.shares))
    z = (np.mean(found, axis=0) - exact) / stats.sem(found)
    assert np.abs(z).max() < 3.9  # three features, sixteen cases: exceeded in one of 200 runs of this file


def test_corpora_alone_give_the_gradient_without_bias():
    rng = np.random.default_rng(8)
    corpus = TinyCorpus(Bleu(), rng)
    exact = corpus.gradient(corpus.corpus_gain, WEIGHTS)
    found = []
    for _ in range(4000):
        drawn = corpus.draw(WEIGHTS, 4, rng)
        rows = resample_corpora(drawn, 20, rng)
        gains = corpus.scorer.score(drawn.statistics[rows].sum(axis=0)) / 100
        found.append(drawn.weighted_features(NAMES, resampled_shares(drawn, rows, gains)))
    z = (np.mean(found, axis=0) - exact) / stats.sem(found)
    assert np.abs(z).max() < 3.9


def test_the_entropy_is_that_of_relative_frequencies():
    rng = np.random.default_rng(3)
    corpus = TinyCorpus(Bleu(), rng)
    drawn = corpus.draw(WEIGHTS, 1_000_000, rng)
    assert drawn.entropies.mean() == pytest.approx(corpus.entropy(WEIGHTS), abs=2e-3)
    p = drawn.probabilities[: drawn.bounds[1]]
    assert drawn.entropies[0] == pytest.approx(-(p * np.log(p)).sum())


@pytest.mark.parametrize(("kind", "more"), [(RiskSentence, {}), (RiskCorpus, {"corpus_samples": 100_000})])
def test_the_entropy_by_frequencies_is_that_of_the_sampled_distribution(kind, more):
    """Many samples give the exact gradient; where all differ, the entropy cannot grow, and its gradient is 0."""
    rng = np.random.default_rng(4)
    corpus = TinyCorpus(Bleu(), rng)
    risk = kind(entropy_by="frequency", **more)
    exact = corpus.gradient(objective(corpus, risk, 0.3), WEIGHTS)
    drawn = corpus.draw(WEIGHTS, 4_000_000, rng)
    found = drawn.weighted_features(NAMES, risk.estimate(drawn, corpus.scorer, 1, 0.3, rng).shares)
    assert found == pytest.approx(exact, abs=1e-3)
    single = replace(drawn, counts=np.ones_like(drawn.counts))
    cold, hot = (
        risk.estimate(single, corpus.scorer, 1, temperature, np.random.default_rng(1)).shares
        for temperature in (0.0, 100.0)
    )
    assert hot == pytest.approx(cold, abs=1e-9)


@pytest.mark.parametrize("objective", ["mean", "sum"])
def test_the_gradient_of_the_prior_is_that_of_its_density(objective, training_set):
    """Against finite differences, and in the step of an update: with and without a prior."""
    risk = RiskSentence(
        **{**QUICK, "objective": objective, "minibatch": 3}, deviation=0.05, ascent="sgd", rate=1.0, start="given"
    )
    size = len(training_set)
    exact = [
        (risk.prior(WEIGHTS + 1e-5 * unit, size)[0] - risk.prior(WEIGHTS - 1e-5 * unit, size)[0]) / 2e-5
        for unit in np.eye(3)
    ]
    assert risk.prior(WEIGHTS, size)[1] == pytest.approx(np.array(exact))
    start = training_set.model.weights
    with_prior, without = (
        next(replace(risk, deviation=deviation, evaluate_every=1).learn(training_set, start)).weights
        for deviation in (0.05, 0.0)
    )
    names = training_set.names
    change = with_prior.vector(names) - without.vector(names)
    sentences = 3 if objective == "sum" else 1
    assert change == pytest.approx(sentences * risk.prior(start.vector(names), size)[1])
    assert np.abs(change).max() > 0.01
    assert RiskSentence().prior(WEIGHTS, size)[0] == 0


def test_many_samples_give_the_exact_gradient():
    rng = np.random.default_rng(3)
    corpus = TinyCorpus(Bleu(), rng)
    exact = corpus.gradient(objective(corpus, RiskCorpus(), 0.05), WEIGHTS)
    drawn = corpus.draw(WEIGHTS, 4_000_000, rng)
    estimate = RiskCorpus(corpus_samples=200_000).estimate(drawn, corpus.scorer, 1, 0.05, rng)
    assert drawn.weighted_features(NAMES, estimate.shares) == pytest.approx(exact, abs=5e-4)
    assert estimate.gain == pytest.approx(corpus.corpus_gain(WEIGHTS), abs=1e-3)


def test_the_linear_part_takes_most_of_the_noise_away():
    rng = np.random.default_rng(5)
    corpus = TinyCorpus(Bleu(), rng, sentences=30)
    drawn = corpus.draw(WEIGHTS, 50, rng)
    noisy, calm = [], []
    for _ in range(50):
        calm.append(drawn.weighted_features(NAMES, RiskCorpus().estimate(drawn, corpus.scorer, 1, 0.0, rng).shares))
        rows = resample_corpora(drawn, 200, rng)
        gains = corpus.scorer.score(drawn.statistics[rows].sum(axis=0)) / 100
        features = drawn.features.dense()[rows].sum(axis=0)
        noisy.append(((gains - gains.mean())[:, None] * features).sum(axis=0) / 199)
    assert np.std(calm, axis=0).max() * 5 < np.std(noisy, axis=0).min()


def test_resampling_follows_the_counts():
    rng = np.random.default_rng(1)
    drawn = TinyCorpus(Bleu(), rng).draw(WEIGHTS, 20, rng)
    rows = resample_corpora(drawn, 20_000, rng)
    for u in range(len(drawn)):
        part = slice(drawn.bounds[u], drawn.bounds[u + 1])
        found = np.bincount(rows[u] - part.start, minlength=part.stop - part.start)
        assert stats.chisquare(found, drawn.probabilities[part] * 20_000).pvalue > 1e-4


def test_temperatures_fall_and_end():
    risk = RiskCorpus(temperature=8.0, coldest=1.0, updates_per_temperature=2)
    assert [risk.temperature_of(update) for update in range(8)] == [8, 8, 4, 4, 2, 2, 1, 1]
    assert risk.reason_to_stop(7) is None
    assert risk.reason_to_stop(8) == "the temperature is below 1"
    assert replace(risk, annealing="slow").temperature_of(2) == pytest.approx(7.2)
    assert replace(risk, decay=0.8).temperature_of(4) == pytest.approx(8 * 0.64)
    still = RiskCorpus(annealing="none")
    assert (still.temperature_of(0), still.reason_to_stop(299), still.reason_to_stop(300)) == (
        0.0,
        None,
        "300 updates are done",
    )


def test_the_preset_has_the_schedules_of_the_thesis():
    sentence, corpus = RiskSentence(preset="paper"), RiskCorpus(preset="paper")
    for risk in (sentence, corpus):
        assert (risk.rate, risk.meta_rate, risk.max_growth, risk.start) == (2.0, 2.0, 0.0, "zero")
        assert (risk.chains * risk.samples, risk.burn_in, risk.initial) == (4000, 100, "random")
        assert risk.temperature_of(0) == 100
    assert sentence.temperature_of(20) == pytest.approx(90)
    assert corpus.temperature_of(10) == pytest.approx(80)
    # Twenty updates for each of the temperatures above 0.0001, by a factor of 0.9; ten for each, by 0.8.
    for risk, updates in ((sentence, 132 * 20), (corpus, 62 * 10)):
        assert risk.reason_to_stop(updates - 1) is None
        assert risk.reason_to_stop(updates) == "the temperature is below 0.0001"
    assert RiskCorpus(preset="paper", samples=7).samples == 7


@pytest.fixture(scope="module")
def training_set():
    return reachable_training_set()


QUICK = {"minibatch": 4, "samples": 40, "burn_in": 5, "updates": 12, "evaluate_every": 4, "annealing": "none"}


@pytest.mark.parametrize("name", ["eg", "sgd", "adam"])
@pytest.mark.parametrize("kind", [RiskSentence, RiskCorpus])
def test_the_expected_gain_rises(kind, name, training_set):
    learner = kind(**{**QUICK, "minibatch": 8, "updates": 32}, ascent=name)
    checkpoints = list(learner.learn(training_set, training_set.model.weights))
    gains = [checkpoint.report["objective"] for checkpoint in checkpoints]
    assert len(gains) == 8
    assert gains[-1] > gains[0] + 3
    assert checkpoints[-1].stop == "32 updates are done"
    assert set(checkpoints[-1].weights) == set(training_set.model.weights)


@pytest.mark.parametrize("options", [{"ascent": "eg"}, {"order": "sequence"}, {"average": False, "start": "given"}])
def test_going_on_from_a_checkpoint_is_as_if_nothing_had_happened(options, training_set):
    learner = RiskCorpus(**QUICK, **options)
    whole = list(learner.learn(training_set, training_set.model.weights, seed=3))
    first = next(learner.learn(training_set, training_set.model.weights, seed=3))
    rest = list(learner.learn(training_set, first.weights, first.state, seed=3))
    assert [checkpoint.weights for checkpoint in [first, *rest]] == [checkpoint.weights for checkpoint in whole]


class Voice(Progress):
    """Remembers what it was told."""

    def __init__(self):
        self.said = []

    def warn(self, text):
        self.said.append(text)


def test_sentences_that_a_chain_cannot_cross_are_counted():
    training_set = reachable_training_set(13, longest=6)
    quick = {**QUICK, "minibatch": 8, "evaluate_every": 2, "updates": 6}
    for jump_every, said in ((0, 1), (2, 0)):
        voice = Voice()
        learner = RiskSentence(**quick, jump_every=jump_every)
        list(learner.learn(training_set, training_set.model.weights, runtime=Runtime(progress=voice)))
        assert len(voice.said) == said
    voice = Voice()
    next(RiskSentence(**quick).learn(training_set, training_set.model.weights, runtime=Runtime(progress=voice)))
    assert voice.said[0].startswith("the derivations of 1 of 8 sentences fall into parts")


def test_heating_and_jumps_are_those_of_the_sampler(training_set):
    weights, units = training_set.model.weights, np.arange(len(training_set))
    for options in ({"start_temperature": 3.0}, {"jump_every": 4}, {}):
        learner = RiskSentence(samples=30, burn_in=20, initial="random", **options)
        found = learner._draw(training_set, weights, units, 5, Runtime())
        schedule = {"start_temperature": 1.0, "jump_every": 0, **options}
        sampling = Sampling(samples=30, chains=1, burn_in=20, initial="random", **schedule)
        same = Sampler.of(training_set.translator.reweighted(weights), sampling).batches(training_set.lines, seed=5)
        for ours, theirs in zip(found, same, strict=True):
            assert ours.tried.tolist() == theirs.tried.tolist()
            assert ours.samples.counts.tolist() == theirs.samples.counts.tolist()
        jumps = sum(batch.counts("jump")[0] for batch in found)
        assert (jumps > 0) == ("jump_every" in options)


def test_minibatches_come_in_turn_or_at_random():
    rng = np.random.default_rng(0)
    turn = RiskCorpus(minibatch=3, order="sequence")
    assert [turn.minibatch_of(np.arange(8), update, rng).tolist() for update in range(3)] == [
        [0, 1, 2],
        [3, 4, 5],
        [0, 1, 6],
    ]
    drawn = [RiskCorpus(minibatch=3).minibatch_of(np.arange(8), 0, rng) for _ in range(3000)]
    assert all(len(set(batch.tolist())) == 3 for batch in drawn)
    assert stats.chisquare(np.bincount(np.concatenate(drawn))).pvalue > 1e-4
    documents = np.array([0, 2, 3, 7, 8])
    assert [turn.minibatch_of(documents, update, rng).tolist() for update in range(3)] == [[0, 1], [2], [2]]
    assert RiskCorpus(minibatch=30).minibatch_of(np.arange(8), 0, rng).tolist() == list(range(7))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"decay": 1.0}, "the decay is 1, so that the temperature never falls"),
        ({"coldest": 0.0}, "the temperature never falls to 0"),
        ({"temperature": 1e-9}, "the temperature begins at 1e-09, below the coldest, 1e-05"),
        ({"max_growth": 0.5}, "max_growth is 0.5, so that rates only fall"),
    ],
)
def test_schedules_that_never_end_or_begin_are_refused(options, said, training_set):
    with pytest.raises(UsageError, match=said):
        next(RiskSentence(**options).learn(training_set, training_set.model.weights))
    ends = RiskSentence(**{**QUICK, "annealing": "fast", "coldest": 0.0, "updates": 4})
    assert next(ends.learn(training_set, training_set.model.weights)).stop == "4 updates are done"


def test_gradients_of_document_features_are_those_of_whole_documents():
    """Against finite differences of exact expectations over all derivations of a document."""
    document = Document(3)
    plain = document.cases[0].model
    model = plain.with_features([FEATURES.get("lexical_consistency")(min_length=1)])
    weights = plain.weights.updated({"lexical_consistency": 2.0})
    lines = [case.sentence for case in document.cases]
    scorer = Bleu().scorer([Corpus.from_lines(["e0 e1 e2", "e1 e3", "e0 e4"])])
    space = SpaceLimits(reordering_limit=document.limit, table_limit=0)
    names = model.feature_names
    translator = PhraseTranslator(model, space=space)
    training_set = TrainingSet(translator, lines * 2, _Twice(scorer), names, documents=np.array([0, 3, 6]))
    learner = RiskSentence(samples=20_000, burn_in=100)
    batches = learner._draw(training_set, weights, np.arange(2), 5, Runtime())
    samples = Samples.concatenate([batch.samples for batch in batches])
    drawn = SampleStatistics.of(samples, training_set.scorer, np.arange(6), weights)
    assert len(drawn) == 2
    estimate = learner.estimate(drawn, scorer, 1, 0.02, np.random.default_rng(0))
    found = drawn.weighted_features(names, estimate.shares)

    features, gains = [], []
    for rows in document.scores:
        total = dict.fromkeys(names, 0.0)
        for case, row in zip(document.cases, rows, strict=True):
            derivation = Ragged.of([row], np.int32)
            for name, value in option_features(case.batch, derivation, np.zeros(1, np.int64)).row(0).items():
                total[name] += value
        total["lexical_consistency"] = document.values(rows)["lexical_consistency"]
        features.append([total[name] for name in names])
        texts = Corpus.from_lines([" ".join(words) for words in document.words(rows)])
        gains.append(scorer.sentence_scores(scorer.statistics(texts).sum(axis=0)) / 100)
    matrix, gain = np.array(features), np.array(gains, float)

    def objective(values):
        p = probabilities(matrix @ values, 1.0)
        return p @ gain - 0.02 * (p @ np.log(p))

    start = weights.vector(names)
    exact = np.array([(objective(start + 1e-4 * u) - objective(start - 1e-4 * u)) / 2e-4 for u in np.eye(len(start))])
    assert abs(exact[names.index("lexical_consistency")]) > 0.004
    assert found == pytest.approx(exact, abs=1.5e-3)


class _Twice:
    """A scorer that knows the references of one document for two copies of it."""

    def __init__(self, scorer):
        self._scorer = scorer

    def statistics(self, hypotheses, sentences, *, runtime=Runtime()):
        return self._scorer.statistics(hypotheses, sentences % 3, runtime=runtime)
