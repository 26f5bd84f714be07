"""Samples against enumeration: the chains have the distribution that they should, and a wrong ratio is noticed."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dragoman.core.feature_rows import Weights
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.features import SentenceFeature
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.schedule import Schedule
from oracles.chains import counts_of, other_weights, run_case, stationary_p_value
from oracles.phrase_case import Case, random_schedule
from oracles.phrase_documents import Document
from oracles.sampler import Blocks, p_value, probabilities, scan

pytestmark = pytest.mark.slow

COPIES = 2000
OPERATORS = ("merge_split", "reorder", "retranslate")


class LongWords(SentenceFeature):
    """A global feature that no sum over phrases is: the square of the number of words."""

    name = "long_words"

    def value(self, source, target, changed):
        return -(len(target[0]) ** 2) / (1 + len(source[0]))


def word_counts(case):
    lengths = case.batch.options.words.lengths
    return {row: -(float(lengths[list(row)].sum()) ** 2) / (1 + len(case.sentence.split())) for row in case.scores}


def large_cases(first_seed):
    """Cases with some dozens of derivations at least, and few enough for all to be sampled."""
    return (case for case in map(Case, itertools.count(first_seed)) if 30 <= len(case.scores) <= 600)


def assert_uniform(p_values, least):
    p_values = [p for p in p_values if p is not None]
    assert len(p_values) >= least
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3
    assert min(p_values) > 1e-3 / len(p_values)


def test_steps_and_jumps_leave_the_distribution_as_it_is():
    found = []
    for seed in range(220):
        case = Case(20_000 + seed)
        rng = np.random.default_rng(seed)
        found.append(stationary_p_value(case, random_schedule(rng), float(rng.uniform(0.5, 3)), COPIES, 7 * seed))
    assert_uniform(found, 120)


def test_steps_drawn_from_other_weights_leave_the_distribution_as_it_is():
    found = []
    for seed in range(60):
        case = Case(21_000 + seed)
        rng = np.random.default_rng(seed)
        schedule, weights = random_schedule(rng), other_weights(case, rng)
        found.append(stationary_p_value(case, schedule, float(rng.uniform(0.5, 3)), COPIES, 7 * seed, proposal=weights))
    assert_uniform(found, 35)


@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_whole_scans_drawn_from_other_weights_or_lower_orders_leave_the_distribution_as_it_is(scan):
    found = []
    for seed in range(60):
        case = Case(27_000 + seed)
        rng = np.random.default_rng(seed)
        # Half of the proposals have other weights, without the language model; half have it cut to unigrams.
        proposal = {"proposal": other_weights(case, rng)} if seed % 2 else {"proposal_order": 1}
        found.append(
            stationary_p_value(
                case,
                replace(random_schedule(rng), scan=scan),
                float(rng.uniform(0.5, 3)),
                COPIES,
                7 * seed,
                settings={"whole_scans": True},
                **proposal,
            )
        )
    assert_uniform(found, 35)


def test_whole_scans_see_global_features():
    found = []
    for seed in range(12):
        case = Case(22_000 + seed)
        rng = np.random.default_rng(seed)
        functions = GlobalFunctions([LongWords()], Weights({"long_words": 0.7}))
        values = {row: 0.7 * value for row, value in word_counts(case).items()}
        found.append(
            stationary_p_value(
                case,
                random_schedule(rng),
                float(rng.uniform(0.5, 3)),
                500,
                seed,
                functions=functions,
                values=values,
                proposal=other_weights(case, rng),
                settings={"whole_scans": True},
            )
        )
    assert_uniform(found, 6)


def test_a_whole_scan_that_is_accepted_at_a_wrong_temperature_is_noticed():
    found = []
    for seed in range(12):
        case = Case(27_000 + seed)
        settings = {"whole_scans": True}
        found.append(
            stationary_p_value(
                case, Schedule(jump_every=0), 1.0, COPIES, seed, drawn_at=2.0, proposal_order=1, settings=settings
            )
        )
    assert min(p for p in found if p is not None) < 1e-6


def test_positions_by_changes_leave_the_distribution_as_it_is():
    found = []
    for seed in range(60):
        case = Case(28_000 + seed)
        rng = np.random.default_rng(seed)
        schedule, temperature = replace(random_schedule(rng), scan="random"), float(rng.uniform(0.5, 3))
        settings = {"by_changes": True, "burn_in": np.full(8, temperature)}
        found.append(stationary_p_value(case, schedule, temperature, COPIES, 7 * seed, settings=settings))
    assert_uniform(found, 35)


def test_adaptive_jumps_sample_the_distribution():
    found = []
    for seed, case in enumerate(itertools.islice(large_cases(29_000), 6)):
        temperature = float(np.random.default_rng(seed).uniform(0.2, 1.5))
        visited = run_case(
            case,
            Schedule(jump_every=10, forward_share=0.3),
            samples=20_000,
            chains=4,
            thin=6,
            burn_in=np.full(50, 3 * temperature),
            temperature=temperature,
            adaptive_jumps=True,
            runtime=Runtime(threads=2),
        )
        rows = list(case.scores)
        expected = probabilities(np.array([case.scores[row] for row in rows]), temperature)
        counts = counts_of(visited, rows)
        found.append(p_value(counts, expected * counts.sum()))
    assert_uniform(found, 5)


def test_global_features_take_part():
    found = []
    for seed in range(12):
        case = Case(22_000 + seed)
        rng = np.random.default_rng(seed)
        functions = GlobalFunctions([LongWords()], Weights({"long_words": 0.7}))
        values = {row: 0.7 * value for row, value in word_counts(case).items()}
        found.append(
            stationary_p_value(
                case, random_schedule(rng), float(rng.uniform(0.5, 3)), 500, seed, functions=functions, values=values
            )
        )
    assert_uniform(found, 6)


def test_features_of_documents_take_part_in_the_joint_distribution():
    found = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        schedule, temperature = random_schedule(rng), float(rng.uniform(0.5, 3))
        found.append(Document(26_000 + seed).stationary_p_value(schedule, temperature, 400, seed))
    assert_uniform(found, 15)


@pytest.mark.parametrize("name", ["lexical_consistency", "same"])
def test_a_wrong_weight_of_a_document_feature_is_noticed(name):
    found = []
    for seed in range(6):
        document = Document(26_000 + seed)
        assert document.scores  # computed with the right weights, before they change
        document.weights[name] = 0.0
        found.append(document.stationary_p_value(Schedule(), 1.0, 400, seed))
    assert min(found) < 1e-6


def test_a_hundred_thousand_thinned_samples_agree_with_enumeration():
    found = []
    for seed, case in enumerate(itertools.islice(large_cases(23_000), 5)):
        temperature = float(np.random.default_rng(seed).uniform(0.5, 3))
        visited = run_case(
            case,
            Schedule(jump_every=1, forward_share=0.5, scan="random" if seed % 2 else "systematic"),
            samples=25_000,
            chains=4,
            thin=6,
            burn_in=np.full(50, 3.0),
            temperature=temperature,
            runtime=Runtime(threads=2),
        )
        rows = list(case.scores)
        expected = probabilities(np.array([case.scores[row] for row in rows]), temperature)
        found.append(p_value(counts_of(visited, rows), expected * 100_000))
    assert_uniform(found, 5)


@pytest.mark.parametrize("seed", range(15))
def test_a_subset_of_operators_has_the_distribution_of_what_it_can_reach(seed):
    case = Case(24_000 + seed, longest=3)
    rng = np.random.default_rng(seed)
    chosen = {name for name in OPERATORS if rng.random() < 0.6} or {"merge_split"}
    blocks = Blocks(case)
    start = case.derivations[rng.integers(len(case.derivations))]
    rates = {name: float(name in chosen) for name in OPERATORS}
    schedule = Schedule(jump_every=0, scan="random" if seed % 2 else "systematic", **rates)
    rows = [case.row(derivation) for derivation in blocks.component(start, chosen)]
    visited = run_case(case, schedule, samples=20_000, thin=5, starts=Ragged.of([case.row(start)], np.int32))
    expected = probabilities(np.array([case.scores[row] for row in rows]), 1.0)
    p = p_value(counts_of(visited, rows), expected * 20_000)
    assert p is None or p > 1e-4


def test_a_wrong_temperature_is_noticed():
    found = []
    for seed in range(40):
        p = stationary_p_value(Case(20_000 + seed), Schedule(jump_every=0), 1.0, COPIES, seed, drawn_at=1.15)
        found += [] if p is None else [p]
    assert min(found) < 1e-6
    assert stats.kstest(found, "uniform").pvalue < 1e-3


@pytest.mark.parametrize("broken", [None, *OPERATORS])
def test_a_broken_ratio_is_noticed(broken):
    """The slow twin passes the test that the kernel passes, and fails it when one of its operators is wrong."""
    found = []
    operators = {broken} if broken else set(OPERATORS)
    for case in itertools.islice(large_cases(25_000), 4):
        blocks, rng = Blocks(case), np.random.default_rng(5)
        scores = {derivation: case.scores[case.row(derivation)] for derivation in case.derivations}
        expected = probabilities(np.array(list(scores.values())), 1.0)
        number = {derivation: i for i, derivation in enumerate(scores)}
        counts = np.zeros(len(scores))
        for start in rng.choice(len(scores), COPIES, p=expected):
            end = scan(blocks, case.derivations[start], scores.__getitem__, operators, 1.0, rng, broken)
            counts[number[end]] += 1
        found.append(p_value(counts, expected * COPIES) or 1.0)
    assert (min(found) < 1e-6) == (broken is not None)
