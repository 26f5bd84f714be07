"""Chains in charts: the same numbers whatever the threads and batches, starts, scores, and what is refused."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.features.lexical_consistency import LexicalConsistency
from dragoman.sampling.chart.chains import MOVES, gloss, run_chains
from dragoman.sampling.chart.forest import Spelled, best_derivations
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.schedule import Sampling, Schedule, cooling
from dragoman.search.chart.translator import ChartTranslator
from oracles import chart_space
from oracles.chart_chains import NO_BURN_IN, Case, only


def random_translator(seed, **settings):
    model = chart_space.random_model(np.random.default_rng(seed), grammars=2, language_models=2, **settings)
    return ChartTranslator(model, model.weights.updated({"unknown_word": 0.01}))


def random_lines(seed, sentences=12, longest=9):
    rng = np.random.default_rng(seed)
    return ["", *(chart_space.random_sentence(rng, longest) for _ in range(sentences - 1))]


def sampled(batch, schedule=Schedule(jump_every=3), **settings):
    given = {"seed": 4, "samples": 30, "chains": 2, "burn_in": cooling(3.0, 1.0, 5)}
    return run_chains(batch, schedule, **(given | settings))


def sentences_of(visited):
    return np.repeat(np.arange(len(visited.sentences) - 1), np.diff(visited.sentences))


@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_threads_change_nothing(scan):
    batch = random_translator(1).batch(random_lines(1))
    first = sampled(batch, Schedule(scan=scan, jump_every=3), trace=True)
    for threads in (2, 3):
        other = sampled(batch, Schedule(scan=scan, jump_every=3), trace=True, runtime=Runtime(threads=threads))
        for name in ("sentences", "scores", "counts", "best_scores", "tried", "changed", "trace"):
            assert getattr(first, name).tobytes() == getattr(other, name).tobytes(), name
        assert first.derivations.values.tobytes() == other.derivations.values.tobytes()
    assert sampled(batch, seed=5).scores.tobytes() != first.scores.tobytes()


def test_the_first_samples_are_those_of_a_longer_run_and_of_more_chains():
    batch = random_translator(2).batch(random_lines(2))
    short, long = (sampled(batch, samples=n, chains=c, trace=True) for n, c in ((10, 2), (40, 3)))
    for s in range(len(short.sentences) - 1):
        a = [short.derivations[int(short.sentences[s]) + row].tolist() for row in short.trace[s, 1]]
        b = [long.derivations[int(long.sentences[s]) + row].tolist() for row in long.trace[s, 1, :10]]
        assert a == b


def test_a_sentence_has_the_same_samples_in_any_batch():
    translator, lines = random_translator(3), random_lines(3)
    together = sampled(translator.batch(lines), trace=True)
    alone = sampled(translator.batch(lines[7:]), first_number=7, trace=True)
    assert alone.trace.tobytes() == together.trace[7:].tobytes()
    first = together.derivations.offsets[together.sentences[7]]
    assert alone.derivations.values.tobytes() == together.derivations.values[first:].tobytes()


@pytest.mark.parametrize("language_models", [0, 1, 2])
def test_scores_after_many_changes_are_those_of_features(language_models):
    model = chart_space.random_model(np.random.default_rng(4), language_models=language_models, rules=30)
    batch = ChartTranslator(model, model.weights.updated({"unknown_word": 0.01})).batch(random_lines(4))
    visited = sampled(batch, samples=200, temperature=3.0, burn_in=NO_BURN_IN)
    assert (visited.changed.sum(axis=(0, 1)) > 100).all()
    rows = Spelled.of(batch, sentences_of(visited), visited.derivations).features()
    assert visited.scores == pytest.approx(rows.dot(batch.weights), abs=1e-9)
    highest = np.maximum.reduceat(visited.scores, visited.sentences[:-1])
    assert (visited.best_scores.max(axis=1) >= highest - 1e-12).all()
    best = Spelled.of(batch, np.repeat(np.arange(12), 2), visited.best).features().dot(batch.weights)
    assert visited.best_scores.ravel() == pytest.approx(best, abs=1e-9)


def test_counts_and_traces_agree():
    visited = sampled(random_translator(5).batch(random_lines(5)), thin=2, trace=True)
    assert (visited.collected == 30).all()
    for s, (first, last) in enumerate(zip(visited.sentences[:-1], visited.sentences[1:], strict=True)):
        for chain in range(2):
            counts = np.bincount(visited.trace[s, chain], minlength=last - first)
            assert counts.tolist() == visited.counts[first:last, chain].tolist()


def test_a_scan_has_a_move_of_each_kind_for_each_word():
    lines = random_lines(6)
    lengths = np.array([len(line.split()) for line in lines])
    batch = random_translator(6).batch(lines)
    systematic = sampled(batch, samples=10, burn_in=NO_BURN_IN, chains=1)
    assert (systematic.tried[:, 0, :3] == 10 * lengths[:, None]).all()
    assert (systematic.tried[:, 0, 3] == 3).all()
    anyhow = sampled(batch, Schedule(scan="random", rule=3.0, glue=0.0), samples=100, burn_in=NO_BURN_IN, chains=1)
    assert (anyhow.tried[:, 0, :3].sum(axis=1) == 200 * lengths).all()
    assert (anyhow.tried[:, 0, 2] == 0).all()
    assert anyhow.tried[:, 0, 1].sum() / anyhow.tried[:, 0, 0].sum() == pytest.approx(3, rel=0.1)


@pytest.mark.parametrize("schedule", [only("glue"), only("jump")])
def test_glue_alone_and_jumps_alone_reach_everything(schedule):
    reached = 0
    for seed in range(20):
        case = Case(600 + seed, longest=3, most=30, glue=True)
        if len(case.scores) < 3:
            continue
        visited = run_chains(case.batch, schedule, seed=seed, samples=20_000, burn_in=NO_BURN_IN, temperature=1e6)
        found = {tuple(row.tolist()): score for row, score in zip(visited.derivations, visited.scores, strict=True)}
        assert found == pytest.approx(case.scores, abs=1e-9)
        reached += 1
    assert reached >= 5


def test_starts():
    case = next(c for c in map(Case, range(700, 800)) if len(c.scores) > 20)
    rows = list(case.scores)
    still = Schedule(subtree=0, rule=1e-9, glue=0, jump_every=0, scan="random")
    for row in (rows[0], rows[-1]):
        visited = run_chains(
            case.batch,
            still,
            seed=1,
            samples=1,
            burn_in=NO_BURN_IN,
            temperature=1e-6,
            starts=Ragged.of([row], np.int32),
        )
        assert visited.best_scores[0, 0] >= case.scores[row] - 1e-9
    copies = case.translator.batch([case.sentence] * 4000)
    anywhere = run_chains(copies, only("jump"), seed=1, samples=0, burn_in=NO_BURN_IN)
    starts = {tuple(row.tolist()) for row in anywhere.best}
    assert starts == set(rows)  # random ones are anything, and nothing was done to them


def test_the_gloss_is_the_best_without_a_look_at_context():
    for seed in range(30):
        case = Case(800 + seed)
        plain = ChartTranslator(
            case.model, case.translator.weights.updated(dict.fromkeys(case.model.language_models, 0.0))
        )
        batch = plain.batch([case.sentence])
        (row,) = gloss(batch)
        (best,) = best_derivations(batch, batch.search(plain.limits))
        assert len(row) == len(best)
        if len(row):
            scores = Spelled.of(batch, np.zeros(2, np.int64), Ragged.of([row, best], np.int32)).graphs.scores
            half = len(scores) // 2
            assert scores[:half].sum() == pytest.approx(scores[half:].sum(), abs=1e-9)


def test_the_time_is_over():
    batch = random_translator(7).batch(random_lines(7))
    visited = sampled(batch, Schedule(max_seconds=0.01), samples=10**9)
    assert (visited.collected > 0).all()
    assert (visited.collected < 10**9).all()


def test_chains_can_be_interrupted():
    batch = random_translator(8).batch(random_lines(8))
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        sampled(batch, samples=10**9)
    assert time.process_time() - start < 10


def test_what_is_refused():
    translator = random_translator(9)
    batch = translator.batch(random_lines(9))
    with pytest.raises(UsageError, match="no moves and no jumps; expected subtree, rule, glue or jumps"):
        sampled(batch, Schedule(subtree=0, rule=0, glue=0, jump_every=0))
    with pytest.raises(UsageError, match=r"merge-split is 0\.5, which chains of a hierarchical model do not know"):
        sampled(batch, Schedule(merge_split=0.5))
    with pytest.raises(UsageError, match="collect is pass, which chains of a hierarchical model do not know"):
        sampled(batch, Sampling(collect="pass"))
    with pytest.raises(UsageError, match="the temperature is nan"):
        sampled(batch, temperature=float("nan"))
    with pytest.raises(UsageError, match="the seed is -1"):
        sampled(batch, seed=-1)
    with pytest.raises(ValueError, match="1 derivations to start from for 12 sentences"):
        sampled(batch, starts=Ragged.of([[0]], np.int32))
    documents = GlobalFunctions([LexicalConsistency()], Weights({"lexical_consistency": 1.0}))
    with pytest.raises(UsageError, match="lexical_consistency sees documents, and chains of a hierarchical model"):
        sampled(batch, functions=documents)
    large = batch.reweighted(batch.weights.updated({"rule_penalty": 1e300}))
    with pytest.raises(DataError, match="rule_penalty"):
        sampled(large)
    with pytest.raises(DataError, match="rule_penalty"):
        sampled(batch, proposal=large)
    apart = random_translator(9, glue=False, span_limit=2).batch(["f0 f1 f2 f3 f0"])
    with pytest.raises(DataError, match=r"sentence 1 \('f0 f1 f2 f3 f0'\) has no derivation"):
        sampled(apart)


def test_moves_have_names():
    visited = sampled(random_translator(10).batch(random_lines(10)))
    assert visited.tried.shape == visited.changed.shape == (12, 2, len(MOVES))
