import numpy as np
import pytest

from dragoman.metrics.bleu import smooth_bleu
from oracles.tuning_sampling_opt import SmoothBleu

LENGTHS = [(50.0, 80.0), (50.0, 50.1), (50.0, 50.0), (50.1, 50.0), (80.0, 50.0), (1.0, 1e6)]


@pytest.mark.parametrize(("hypothesis", "reference"), LENGTHS)
def test_derivatives_are_those_of_finite_differences(hypothesis, reference):
    point = np.array([30.5, 12.25, 49.0, 45.0, hypothesis, reference])
    score, slopes = SmoothBleu().smooth_score(point)
    step = 1e-6
    for k in range(6):
        up, down = (SmoothBleu().smooth_score(point + sign * step * np.eye(6)[k])[0] for sign in (1, -1))
        assert slopes[k] == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-6)
    assert score >= 0


def test_is_bleu_but_for_a_little_where_lengths_are_equal():
    for hypothesis, reference in LENGTHS:
        point = np.array([30.0, 12.0, 49.0, 45.0, hypothesis, reference])
        smooth, hard = SmoothBleu().smooth_score(point)[0], SmoothBleu().score(point)
        assert hard * 2 ** (-1 / 1000) * (1 - 1e-12) <= smooth <= hard
        if abs(hypothesis / reference - 1) > 0.05:
            assert smooth == pytest.approx(hard, rel=1e-12)


def test_no_match_no_slope():
    bleu = smooth_bleu(np.array([3.0, 0.0]), np.array([5.0, 4.0]), 5.0, 5.0)
    assert bleu.score == 0
    assert not bleu.by_matches.any()
