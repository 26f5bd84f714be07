"""Units of features: steps stay as long, and rare features are not taken for more than they are."""

from __future__ import annotations

import numpy as np

from dragoman.core.feature_rows import FeatureRows
from dragoman.tuning.optimise.online import LEAST_SHARE, squares_within, units_of


def test_in_its_units_a_feature_deviates_by_the_root_of_what_it_did():
    rng = np.random.default_rng(3)
    deviations = np.array([4.0, 1.0, 0.5])
    sentences = [FeatureRows.from_dense(["a", "b", "c"], rng.normal(size=(50, 3)) * deviations) for _ in range(40)]
    units = units_of(squares_within(rows, ["a", "b", "c"]) for rows in sentences)
    measured = deviations / units
    np.testing.assert_allclose(measured / measured[0], np.sqrt(deviations / deviations[0]), rtol=0.05)
    np.testing.assert_allclose(np.mean(measured**2), np.mean(deviations**2), rtol=0.1)


def test_the_mean_of_a_sentence_does_not_count():
    rows = [FeatureRows.from_dense(["a"], np.array([[mean - 1.0], [mean + 1.0]])) for mean in (0.0, 100.0)]
    assert sum(squares_within(one, ["a"]) for one in rows).tolist() == [4.0, 4.0]


def test_features_that_hardly_ever_differ_have_a_least_unit_and_none_at_all_has_ones():
    units = units_of([np.array([100.0, 1e-9, 0.0, 1.0])])
    assert units[1] == units[2]
    np.testing.assert_allclose(units[1] / units[0], np.sqrt(LEAST_SHARE / np.sqrt(3)))
    assert units_of([np.array([0.0, 0.0, 5.0])]).tolist() == [1.0, 1.0]
    assert units_of([np.array([0.0])]).tolist() == []
