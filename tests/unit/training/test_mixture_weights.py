import numpy as np
import pytest

from dragoman.training.mix import fit_mixture_weights


@pytest.mark.parametrize("seed", range(3))
def test_no_other_mixture_is_likelier(seed):
    rng = np.random.default_rng(seed)
    probabilities, counts = rng.random((4, 30)) ** 3, rng.integers(1, 9, 30).astype(float)
    found = fit_mixture_weights(probabilities, counts, iterations=10_000, tolerance=1e-13)
    assert found.sum() == pytest.approx(1)
    # Of a concave function on the simplex: no distribution's slope is above the mean slope, which is 1.
    slopes = (probabilities / (found @ probabilities)) @ (counts / counts.sum())
    assert slopes.max() <= 1 + 1e-5
    assert slopes[found > 1e-3] == pytest.approx(1, abs=1e-5)


def test_each_iteration_is_told_and_never_worse():
    rng = np.random.default_rng(5)
    told = []
    fit_mixture_weights(rng.random((3, 20)), iterations=7, tolerance=0, note=lambda *said: told.append(said))
    assert [iteration for iteration, _, _ in told] == [1, 2, 3, 4, 5, 6, 7]
    assert (np.diff([likelihood for _, likelihood, _ in told]) >= 0).all()
    assert told[0][2].tolist() == [1 / 3] * 3
