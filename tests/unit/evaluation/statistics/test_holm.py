"""Holm's correction, against an example that was computed by hand."""

import numpy as np
import pytest

from dragoman.evaluation.statistics.comparison import corrected_order, with_holm
from dragoman.evaluation.statistics.significance import draws_needed, holm


def test_an_example_by_hand():
    # Sorted 0.001, 0.012, 0.02, 0.022, 0.4, times 5, 4, 3, 2, 1: 0.005, 0.048, 0.06, 0.044 -> 0.06, 0.4.
    p_values = [0.02, 0.4, 0.001, 0.022, 0.012]
    assert holm(p_values) == pytest.approx([0.06, 0.4, 0.005, 0.06, 0.048])


def test_nothing_exceeds_1_and_a_single_test_stays():
    assert holm([0.7, 0.9, 0.6]) == [1.0, 1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_what_is_rejected_is_what_the_step_down_procedure_rejects():
    rng = np.random.default_rng(1)
    for _ in range(50):
        p_values = rng.beta(0.3, 3, 8)
        rejected = set()
        for step, test in enumerate(np.argsort(p_values).tolist()):
            if p_values[test] > 0.05 / (8 - step):
                break
            rejected.add(test)
        assert {i for i, p in enumerate(holm(p_values.tolist())) if p <= 0.05} == rejected


def test_with_fewer_draws_nothing_could_be_significant():
    for tests in (1, 3, 66):
        smallest = 1 / (draws_needed(tests) + 1)
        assert holm([smallest] + [1.0] * (tests - 1))[0] == pytest.approx(0.05)


def test_each_kind_of_test_is_a_family_and_raw_values_stay():
    pairs = [
        {"better": "a", "worse": "b", "p_bootstrap": 0.03, "p_randomisation": 0.01},
        {"better": "a", "worse": "c", "p_bootstrap": 0.01, "p_randomisation": 0.5},
        {"better": "b", "worse": "c", "p_bootstrap": 0.02, "p_randomisation": 0.02},
    ]
    found = with_holm(pairs)
    assert [pair["p_bootstrap_holm"] for pair in found] == pytest.approx([0.04, 0.03, 0.04])
    assert [pair["p_randomisation_holm"] for pair in found] == pytest.approx([0.03, 0.5, 0.04])
    assert [pair["p_bootstrap"] for pair in found] == [0.03, 0.01, 0.02]
    assert corrected_order(found) == "a > b > c"
    found[0]["p_bootstrap_holm"] = 0.051
    assert corrected_order(found) == "a ≥ b > c"
