"""Chains of SampleRank: the same numbers however many run together, and whoever runs them."""

from dataclasses import fields, replace

import numpy as np
import pytest

from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.search.translator import ShardedTranslator, Translator
from dragoman.tuning.methods.method import FeatureSelector
from dragoman.tuning.methods.samplerank.rank_chains import (
    RankChains,
    RankRequest,
    RankResult,
    RankSteps,
    ShardedChains,
    TrainingSentences,
)
from oracles.elsewhere import Elsewhere
from oracles.training_sets import reachable_training_set

STEPS = RankSteps(samples=20, burn_in=5)
PLAN = [[np.array([0, 1])], [np.array([2]), np.array([3])], [np.array([4, 5])], [np.array([6])], [np.array([7])]]


@pytest.fixture(scope="module")
def spread(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "model"
    reachable_training_set().model.save(folder)
    return ShardedTranslator(Translator.of(Model.load(folder)), folder)


@pytest.fixture(scope="module")
def sentences():
    training_set = reachable_training_set()
    return TrainingSentences(
        training_set.lines,
        training_set.scorer,
        training_set.units,
        FeatureSelector(training_set.names, training_set.sparse),
    )


@pytest.mark.parametrize(
    ("runtime", "told"),
    [
        (Runtime(), [0.2, 0.4, 0.6, 0.8, 1.0]),
        (Runtime(threads=2), [0.4, 0.8, 1.0]),
        (Runtime(threads=7), [1.0]),
        (Runtime(threads=3, workers=Elsewhere(2)), [0.2, 0.4, 0.6, 0.8, 1.0]),
    ],
    ids=["one", "two", "seven", "elsewhere"],
)
def test_chains_are_the_same_whoever_runs_them(spread, sentences, runtime, told):
    alone = RankChains.of(STEPS, spread.translator, sentences)
    weights = np.random.default_rng(3).normal(size=(len(PLAN), len(alone.names)))
    asked, shares = RankRequest(seed=5, first_batch=3, trace=True), []
    wanted = alone.run(PLAN, weights, asked)
    chains = ShardedChains(STEPS, spread, sentences)
    found = chains.run(PLAN, weights, replace(asked, progress_callback=shares.append, runtime=runtime))
    assert chains.names == alone.names
    assert shares == told
    for field in fields(RankResult)[:-1]:
        assert np.array_equal(getattr(found, field.name), getattr(wanted, field.name)), field.name
    for ours, theirs in zip(found.traces, wanted.traces, strict=True):
        assert all(map(np.array_equal, ours, theirs))
