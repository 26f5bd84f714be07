"""Samples of hierarchical derivations against all derivations of tiny models; what is wrong in a ratio is noticed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from dragoman.core.feature_rows import Weights
from dragoman.core.runtime import Runtime
from dragoman.features import SentenceFeature
from dragoman.sampling.chart.forest import ChartText
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.schedule import Schedule
from oracles.chains import counts_of, ends_of_scans, other_weights, run_case, stationary_p_value
from oracles.chart_chains import Case, Moves, only, random_schedule
from oracles.sampler import p_value, probabilities

pytestmark = pytest.mark.slow

COPIES = 1500
KINDS = ("subtree", "rule", "glue", "jump")


class LongWords(SentenceFeature):
    """A global feature that no sum over rules is: the square of the number of words."""

    name = "long_words"

    def value(self, source, target, changed):
        return -(len(target[0]) ** 2) / (1 + len(source[0]))


def cases(first_seed, least=3, **settings):
    """Cases in which some derivations have more than a hundredth each."""
    made = (Case(seed, **settings) for seed in itertools.count(first_seed))
    return (case for case in made if case.scores and least <= (exact(case, 1.0) > 0.01).sum())


def exact(case, temperature):
    return probabilities(np.array(list(case.scores.values())), temperature)


def assert_uniform(p_values, least):
    p_values = [p for p in p_values if p is not None]
    assert len(p_values) >= least
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3
    assert min(p_values) > 1e-3 / len(p_values)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_move_leaves_the_distribution_as_it_is_by_its_definition(kind):
    changes = 0
    for seed, case in enumerate(itertools.islice(cases(31_000), 12)):
        temperature = float(np.random.default_rng(seed).uniform(0.5, 3))
        expected = exact(case, temperature)
        matrix = Moves(case, temperature).matrix(kind)
        assert expected @ matrix == pytest.approx(expected, abs=1e-12)
        changes += np.count_nonzero(matrix) > len(matrix)
    assert changes >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_moves_as_the_definition_says(kind):
    found = []
    for seed, case in enumerate(itertools.islice(cases(32_000), 40)):
        if kind == "glue" and not case.model.settings.glue:
            continue
        rng = np.random.default_rng(seed)
        temperature = float(rng.uniform(0.5, 3))
        matrix = np.linalg.matrix_power(Moves(case, temperature).matrix(kind), 1 if kind == "jump" else case.length)
        rows = list(case.scores)
        start = int(rng.integers(len(rows)))
        counts = ends_of_scans(case, only(kind), [rows[start]] * COPIES, temperature, seed=seed)
        found.append(p_value(counts, matrix[start] * COPIES))
    assert_uniform(found, 15)


def test_features_of_holes_take_part():
    found = []
    for seed, case in enumerate(itertools.islice(cases(39_000, least=6, holes=True, span_limit=5, table_limit=0), 6)):
        temperature = float(np.random.default_rng(seed).uniform(0.5, 3))
        expected, rows = exact(case, temperature), list(case.scores)
        for kind in ("subtree", "rule", "jump"):
            matrix = Moves(case, temperature).matrix(kind)
            assert expected @ matrix == pytest.approx(expected, abs=1e-12)
            matrix = np.linalg.matrix_power(matrix, 1 if kind == "jump" else case.length)
            start = seed % len(rows)
            counts = ends_of_scans(case, only(kind), [rows[start]] * COPIES, temperature, seed=seed)
            found.append(p_value(counts, matrix[start] * COPIES))
    assert_uniform(found, 14)


def test_features_of_glue_take_part():
    found = []
    settings = {"parts": True, "glue": True, "span_limit": 3, "table_limit": 0}
    for seed, case in enumerate(itertools.islice(cases(39_500, least=6, **settings), 6)):
        temperature = float(np.random.default_rng(seed).uniform(0.5, 3))
        expected, rows = exact(case, temperature), list(case.scores)
        for kind in KINDS:
            matrix = Moves(case, temperature).matrix(kind)
            assert expected @ matrix == pytest.approx(expected, abs=1e-12)
            matrix = np.linalg.matrix_power(matrix, 1 if kind == "jump" else case.length)
            start = seed % len(rows)
            counts = ends_of_scans(case, only(kind), [rows[start]] * COPIES, temperature, seed=seed)
            found.append(p_value(counts, matrix[start] * COPIES))
    assert_uniform(found, 18)


@pytest.mark.parametrize(("kind", "broken"), [("subtree", "nodes"), ("glue", "parts"), ("jump", "proposal")])
def test_what_is_left_out_of_a_ratio_is_noticed(kind, broken):
    found = []
    for seed, case in enumerate(cases(33_000, least=5)):
        matrix = np.linalg.matrix_power(Moves(case, 1.5, broken).matrix(kind), 1 if kind == "jump" else case.length)
        expected, rows = exact(case, 1.5), list(case.scores)
        if np.abs(expected @ matrix - expected).max() < 0.02:
            continue
        starts = [rows[i] for i in np.random.default_rng(seed).choice(len(rows), 10 * COPIES, p=expected)]
        counts = ends_of_scans(case, only(kind), starts, 1.5, seed=seed)
        assert p_value(counts, expected * len(starts)) > 1e-4
        found.append(p_value(counts, expected @ matrix * len(starts)))
        if len(found) == 2:
            break
    assert max(found) < 1e-6


def test_scans_leave_the_distribution_as_it_is():
    """Looked into with other seeds, after one p-value of 6.7e-6 under an earlier version of the sampler.

    2,600 p-values (26 seeds a case) have a mean of 0.509 (0.500 +- 0.006), p = 0.03 by Kolmogorov and Smirnov. The
    least is 3.5e-6, from a derivation that was expected 5.9 times and came 21 times; 400 other seeds of that case have
    p = 0.56, and 1.2 million chains together agree with all its 38 derivations (p = 0.66). Where much is expected about
    5 times, fair draws have p-values below 0.001 twice as often as they should: chi-square is an approximation there.
    """
    found = []
    for seed, case in enumerate(itertools.islice(cases(34_000), 100)):
        rng = np.random.default_rng(seed)
        found.append(stationary_p_value(case, random_schedule(rng), float(rng.uniform(0.5, 3)), COPIES, 11 * seed))
    assert_uniform(found, 90)


def test_draws_by_other_weights_leave_the_distribution_as_it_is():
    found = []
    for seed, case in enumerate(itertools.islice(cases(35_000), 40)):
        rng = np.random.default_rng(seed)
        weights, temperature = other_weights(case, rng), float(rng.uniform(0.5, 3))
        found.append(stationary_p_value(case, random_schedule(rng), temperature, COPIES, 7 * seed, proposal=weights))
    assert_uniform(found, 30)


def test_global_features_take_part():
    found = []
    for seed, case in enumerate(itertools.islice(cases(36_000), 12)):
        rng = np.random.default_rng(seed)
        functions = GlobalFunctions([LongWords()], Weights({"long_words": 0.7}))
        rows = list(case.scores)
        words = ChartText.of(case.batch, np.zeros(len(rows), np.int64), case.forest.best(len(rows)).derivations).words
        values = {row: -0.7 * n**2 / (1 + case.length) for row, n in zip(rows, words.lengths.tolist(), strict=True)}
        temperature = float(rng.uniform(0.5, 3))
        schedule = random_schedule(rng)
        found.append(stationary_p_value(case, schedule, temperature, 400, seed, functions=functions, values=values))
    assert_uniform(found, 7)


def test_a_wrong_temperature_is_noticed():
    found = [
        stationary_p_value(case, Schedule(), 1.0, 3 * COPIES, seed, drawn_at=1.2)
        for seed, case in enumerate(itertools.islice(cases(37_000, least=8), 4))
    ]
    assert min(found) < 1e-6


def test_many_thinned_samples_agree_with_enumeration():
    found = []
    for seed, case in enumerate(itertools.islice(cases(38_000, least=10, most=500, longest=7), 4)):
        temperature = float(np.random.default_rng(seed).uniform(0.5, 3))
        visited = run_case(
            case,
            Schedule(jump_every=1, scan="random" if seed % 2 else "systematic"),
            seed=seed,
            samples=5000,
            chains=4,
            thin=8,
            burn_in=np.full(50, 3.0),
            temperature=temperature,
            runtime=Runtime(threads=2),
        )
        expected = exact(case, temperature)
        found.append(p_value(counts_of(visited, list(case.scores)), expected * visited.counts.sum()))
    assert min(found) > 1e-3
