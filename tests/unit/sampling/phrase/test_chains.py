"""Chains: the same numbers whatever the threads, starts, jumps, bounds, and what is refused."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.sampling.phrase.chains import run_chains
from dragoman.sampling.schedule import Schedule, cooling
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.batch import PhraseBatch
from dragoman.search.phrase.lattice import derivation_features
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space
from oracles.phrase_case import Case
from oracles.phrase_chains import NARROW, NO_BURN_IN, run

NO_JUMPS = Schedule(jump_every=0)


def test_moves_in_charts_are_refused():
    with pytest.raises(UsageError, match="subtree is 0, which chains of a phrase-based model do not know"):
        sampled(random_batch(1), Schedule(subtree=0))


def random_batch(seed, sentences=12, limit=3):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, tables=2, language_models=2)
    translator = PhraseTranslator(model, space=SpaceLimits(reordering_limit=limit, table_limit=0))
    return translator.batch(["", *(phrase_space.random_sentence(rng, 9) for _ in range(sentences - 1))])


def sampled(batch, schedule=NO_JUMPS, **settings):
    given = {"reordering_limit": 3, "seed": 4, "samples": 30, "chains": 2, "burn_in": cooling(3.0, 1.0, 5)}
    return run_chains(batch, schedule, **(given | settings))


def same(one, other):
    for name in ("sentences", "scores", "counts", "best_scores", "steps", "changes", "jumps", "trace"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert one.derivations.values.tobytes() == other.derivations.values.tobytes()


@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_threads_change_nothing(scan):
    batch = random_batch(1)
    schedule = Schedule(scan=scan, jump_every=3)
    lattices = batch.search(NARROW, 3, lattice=True)
    first = sampled(batch, schedule, lattices=lattices, trace=True)
    for threads in (2, 3):
        same(first, sampled(batch, schedule, lattices=lattices, trace=True, runtime=Runtime(threads=threads)))


def test_the_first_samples_are_those_of_a_longer_run_and_of_more_chains():
    batch = random_batch(2)
    short, long = (sampled(batch, samples=n, chains=c, trace=True) for n, c in ((10, 2), (40, 3)))
    for s in range(len(short.sentences) - 1):
        a = [short.derivations[int(short.sentences[s]) + row].tolist() for row in short.trace[s, 1]]
        b = [long.derivations[int(long.sentences[s]) + row].tolist() for row in long.trace[s, 1, :10]]
        assert a == b


def test_a_sentence_has_the_same_samples_in_any_batch():
    batch = random_batch(3)
    together = sampled(batch, trace=True)
    lines = [batch.options.source.line(i) for i in range(12)]
    translator = PhraseTranslator(batch.model, space=SpaceLimits(reordering_limit=3, table_limit=0))
    alone = sampled(translator.batch(lines[7:]), first_number=7, trace=True)
    assert alone.trace.tobytes() == together.trace[7:].tobytes()


def test_scores_are_those_of_features_and_the_best_is_the_best():
    batch = random_batch(4)
    visited = sampled(batch, samples=50, burn_in=NO_BURN_IN)
    sentences = np.repeat(np.arange(12), np.diff(visited.sentences))
    rows = derivation_features(batch, visited.derivations, sentences)
    assert visited.scores == pytest.approx(rows.dot(batch.weights), abs=1e-9)
    highest = np.maximum.reduceat(visited.scores, visited.sentences[:-1])
    assert (visited.best_scores.max(axis=1) >= highest - 1e-12).all()
    best = derivation_features(batch, visited.best, np.repeat(np.arange(12), 2)).dot(batch.weights)
    assert visited.best_scores.ravel() == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("collect", ["scan", "pass"])
def test_counts_and_traces_agree(collect):
    visited = sampled(random_batch(5), per_pass=collect == "pass", thin=2, trace=True)
    assert (visited.collected == 30).all()
    for s, (first, last) in enumerate(zip(visited.sentences[:-1], visited.sentences[1:], strict=True)):
        for chain in range(2):
            counts = np.bincount(visited.trace[s, chain], minlength=last - first)
            assert counts.tolist() == visited.counts[first:last, chain].tolist()


def test_a_pass_is_a_third_of_a_scan():
    batch = random_batch(6)
    scans, passes = (sampled(batch, samples=30, burn_in=NO_BURN_IN, per_pass=flag).steps for flag in (False, True))
    assert (passes[:, :, 0] * 3 == scans[:, :, 0]).all()


@pytest.mark.parametrize("seed", range(8))
def test_jumps_alone_stay_in_the_lattice_and_never_lead_into_it_from_outside(seed):
    case = next(c for c in map(Case, range(100 * seed, 100 * seed + 100)) if len(c.scores) > 30)
    only = Schedule(merge_split=0, reorder=0, retranslate=0, jump_every=1, forward_share=0.0)
    inside = case.batch.search(NARROW, case.limit, lattice=True).derivations
    visited = run(case, only, starts=inside)
    reached = {tuple(row.tolist()) for row in visited.derivations}
    outside = next(row for row in case.scores if row not in reached)
    stuck = run(case, only, starts=Ragged.of([outside], np.int32))
    assert [tuple(row.tolist()) for row in stuck.derivations] == [outside]
    assert stuck.jumps[0, 0].tolist() == [1000, 0]


@pytest.mark.parametrize("seed", range(5))
def test_jumps_that_lead_anywhere_reach_everything(seed):
    case = Case(600 + seed, longest=3)
    only = Schedule(merge_split=0, reorder=0, retranslate=0, jump_every=1, forward_share=0.5)
    visited = run(case, only, samples=30_000, temperature=30.0)
    assert {tuple(row.tolist()) for row in visited.derivations} == set(case.scores)


def test_random_starts_are_derivations_of_all_kinds():
    case = next(c for c in map(Case, range(50)) if 20 < len(c.scores) < 100)
    batch = case.translator.batch([case.sentence] * 3000)
    visited = run_chains(
        batch,
        replace(NO_JUMPS, max_seconds=0.0),  # nothing but the start
        reordering_limit=case.limit,
        seed=1,
        samples=1,
        burn_in=np.ones(1),
    )
    assert {tuple(row.tolist()) for row in visited.best} <= set(case.scores)
    assert len({tuple(row.tolist()) for row in visited.best}) > 15


def test_time_is_over_with_what_there_is():
    batch = random_batch(7)
    begin = time.process_time()
    visited = sampled(batch, replace(NO_JUMPS, max_seconds=0.05), samples=10**9, chains=1)
    assert time.process_time() - begin < 12 * 0.05 + 2
    assert (visited.collected >= 1).all()
    assert (np.diff(visited.sentences) >= 1).all()


def test_a_long_run_can_be_interrupted():
    rng = np.random.default_rng(8)
    model = phrase_space.random_model(rng, language_models=2)
    batch = PhraseTranslator(model).batch([" ".join(rng.choice(phrase_space.SOURCE[:-1], 3000))])
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.process_time()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run_chains(batch, NO_JUMPS, reordering_limit=-1, seed=1, samples=10**9, burn_in=NO_BURN_IN)
    assert time.process_time() - begin < 4


def test_monotone_spaces_and_single_words():
    batch = random_batch(9, limit=0)
    visited = sampled(batch, Schedule(jump_every=2), reordering_limit=0)
    begin = [batch.options.begin[batch.options.offsets[s] + visited.best[2 * s]] for s in range(12)]
    assert all((np.diff(row) > 0).all() for row in begin)
    assert visited.derivations.lengths[0] == 0  # the empty sentence
    assert visited.counts[0].tolist() == [30, 30]


@pytest.mark.parametrize("size", [1e3, 1e12, 1e90])
def test_steep_distributions_are_safe(size):
    rng = np.random.default_rng(10)
    model = phrase_space.random_model(rng, language_models=1)
    weights = Weights({name: value * size for name, value in model.weights.items()})
    batch = PhraseTranslator(model, weights).batch(["f0 f1 f2 f3 f0 f1", "f4 f4"])
    lattices = batch.search(NARROW, 6, lattice=True)
    visited = sampled(batch, Schedule(jump_every=1), lattices=lattices, reordering_limit=6)
    assert np.isfinite(visited.scores).all()


def test_what_is_refused():
    batch = random_batch(11)
    with pytest.raises(UsageError, match="no operator and no jumps"):
        sampled(batch, Schedule(merge_split=0, reorder=0, retranslate=0, jump_every=0))
    with pytest.raises(UsageError, match="and no operator"):
        sampled(batch, Schedule(merge_split=0, reorder=0, retranslate=0), per_pass=True)
    with pytest.raises(UsageError, match="the temperature is 0"):
        sampled(batch, temperature=0.0)
    with pytest.raises(UsageError, match="the seed is -1"):
        sampled(batch, seed=-1)
    with pytest.raises(UsageError, match="weight of lm is nan"):
        sampled(batch.reweighted(batch.weights.updated({"lm": float("nan")})))
    with pytest.raises(DataError, match=r"sentence 2: the option .* scores"):
        sampled(batch.reweighted(batch.weights.updated({"phrase_penalty": 1e200})))
    with pytest.raises(ValueError, match="1 derivations to start from for 12"):
        sampled(batch, starts=Ragged.of([[]], np.int32))
    with pytest.raises(ValueError, match="no derivation"):
        sampled(random_batch(11, sentences=2), starts=Ragged.of([[], [0, 0]], np.int32))


def test_a_sentence_without_an_option_for_a_word_is_named():
    model = phrase_space.random_model(np.random.default_rng(6), language_models=1)
    options = PhraseTranslator(model).batch(["f4 f4", "f4"]).options
    lm_ids = [lm.ids_of(model.target_vocab) for lm in model.language_models.values()]
    batch = PhraseBatch(model, model.weights, options.take(np.array([0, 2])), lm_ids)
    with pytest.raises(DataError, match=r"sentence 1 \('f4 f4'\) has no derivation"):
        sampled(batch)
