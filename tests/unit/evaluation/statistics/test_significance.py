import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.evaluation.statistics.comparison import instability
from dragoman.evaluation.statistics.significance import (
    approximate_randomisation,
    bootstrap_scores,
    conclusive_shares,
    confidence_interval,
    paired_bootstrap,
    system_score,
)
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.metric import Scorer


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return parse_metric("bleu").scorer([Corpus.from_lines(["a"])])


Array = NDArray[np.float64]


def simulated(rng: np.random.Generator, quality: float, difficulty: Array) -> Array:
    """BLEU statistics of a system whose n-grams are right with a chance that depends on the sentence."""
    lengths = rng.integers(5, 15, len(difficulty))
    totals = lengths[:, None] - np.arange(4)
    chances = np.clip(quality + difficulty[:, None], 0.05, 0.95) ** np.arange(1, 5)
    return np.column_stack([lengths, lengths, rng.binomial(totals, chances), totals]).astype(np.float64)


def systems(seed: int, sentences: int, *qualities: float) -> list[Array]:
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0, 0.1, sentences)
    return [simulated(rng, quality, difficulty) for quality in qualities]


def test_resamples_are_what_a_loop_would_draw(scorer: Scorer) -> None:
    first, second = systems(1, 40, 0.6, 0.5)
    found = bootstrap_scores(scorer, [first, second], resamples=25, seed=3)
    draws = np.random.default_rng(3).integers(0, 40, (25, 40), np.int32)
    expected = [[float(scorer.score(system[draw].sum(axis=0))) for draw in draws] for system in (first, second)]
    assert found == pytest.approx(np.array(expected), rel=1e-12)


def test_large_test_sets_are_done_in_pieces(scorer: Scorer) -> None:
    (system,) = systems(2, 70_000, 0.6)
    found = bootstrap_scores(scorer, [system], resamples=70)
    assert found.shape == (1, 70)
    assert found.std() < 0.5
    assert abs(found.mean() - system_score(scorer, system)) < 0.2


def test_seeds(scorer: Scorer) -> None:
    pair = systems(3, 100, 0.6, 0.58)
    for test in (
        lambda seed: bootstrap_scores(scorer, pair, resamples=20, seed=seed).tolist(),
        lambda seed: approximate_randomisation(scorer, *pair, trials=200, seed=seed),
        lambda seed: conclusive_shares(scorer, pair, size=50, samples=10, resamples=100, seed=seed).tolist(),
    ):
        assert test(1) == test(1)
        assert test(1) != test(2)


def test_an_interval_covers_the_truth_as_often_as_it_says(scorer: Scorer) -> None:
    truth = system_score(scorer, systems(99, 200_000, 0.6)[0])
    covered = 0
    for seed in range(200):
        scores = bootstrap_scores(scorer, systems(seed, 150, 0.6), resamples=200, seed=seed)
        low, high = confidence_interval(scores[0])
        covered += low <= truth <= high
    assert 178 <= covered <= 199  # 190 expected, standard deviation 3; percentile intervals are a little short


@pytest.mark.parametrize("runs", [1, 3])
def test_p_values_are_uniform_if_there_is_no_difference(scorer: Scorer, runs: int) -> None:
    values = []
    for seed in range(300):
        pool = np.stack(systems(seed, 60, *[0.6] * (2 * runs)))
        values.append(approximate_randomisation(scorer, pool[:runs], pool[runs:], trials=99, seed=seed))
    # Kolmogorov's distance to the uniform distribution; 1.63 / sqrt(n) is its 1 % point.
    distance = np.abs(np.sort(values) - np.arange(1, 301) / 300).max()
    assert distance < 1.63 / np.sqrt(300)
    assert 0.02 <= np.mean(np.array(values) <= 0.05) <= 0.09


def test_the_share_of_resamples_is_uniform_if_there_is_no_difference(scorer: Scorer) -> None:
    shares = [
        paired_bootstrap(scorer, systems(seed, 100, 0.6, 0.6), resamples=100, seed=seed).share_better(0, 1)
        for seed in range(300)
    ]
    assert np.abs(np.sort(shares) - np.arange(1, 301) / 300).max() < 1.63 / np.sqrt(300) + 0.01


def test_a_real_difference_is_found(scorer: Scorer) -> None:
    good, bad, same = systems(5, 400, 0.65, 0.55, 0.65)
    assert approximate_randomisation(scorer, good, bad, trials=999) == 0.001
    assert approximate_randomisation(scorer, good, same, trials=999) > 0.05
    found = paired_bootstrap(scorer, [bad, good, same])
    assert found.share_better(1, 0) == 1.0
    assert found.p_value(1, 0) == found.p_value(0, 1) == 1 / 1001
    assert found.order()[-1] == 0
    first, second = ("good", "same") if found.scores[1] > found.scores[2] else ("same", "good")
    assert found.order_line(["bad", "good", "same"]) == f"{first} ≥ {second} > bad"
    shares = conclusive_shares(scorer, [bad, good], size=100, samples=50, resamples=200)
    assert shares[1, 0] > 0.9
    assert shares[0, 1] == shares[0, 0] == 0
    assert shares[1, 0] >= conclusive_shares(scorer, [bad, good], size=20, samples=50, resamples=200)[1, 0]


def test_where_lower_is_better(scorer: Scorer) -> None:
    good, bad = systems(5, 300, 0.65, 0.55)
    up, down = (paired_bootstrap(scorer, [good, bad], higher_is_better=flag) for flag in (True, False))
    assert up.order_line(["a", "b"]) == "a > b"
    assert down.order_line(["a", "b"]) == "b > a"
    assert up.share_better(0, 1) == down.share_better(1, 0)
    shares = conclusive_shares(scorer, [good, bad], size=200, samples=5, resamples=50, higher_is_better=False)
    assert shares[1, 0] == 1


def test_a_system_against_itself(scorer: Scorer) -> None:
    (system,) = systems(6, 50, 0.6)
    assert approximate_randomisation(scorer, system, system, trials=100) == 1.0
    found = paired_bootstrap(scorer, [system, system])
    assert (found.share_better(0, 1), found.p_value(0, 1)) == (0.0, 1.0)
    assert found.order_line(["a", "b"]) == "a ≥ b"


def test_runs_are_averaged_and_may_differ_in_number(scorer: Scorer) -> None:
    runs = np.stack(systems(7, 80, 0.6, 0.55, 0.5))
    scores = [system_score(scorer, run) for run in runs]
    assert system_score(scorer, runs) == pytest.approx(np.mean(scores))
    alone = bootstrap_scores(scorer, list(runs), resamples=30, seed=1)
    assert bootstrap_scores(scorer, [runs], resamples=30, seed=1)[0] == pytest.approx(alone.mean(axis=0))
    found = instability(scorer, runs, resamples=30, seed=1)
    assert found.scores == pytest.approx(scores)
    assert found.run_deviation == pytest.approx(np.std(scores, ddof=1))
    assert found.selection_deviation == pytest.approx(alone.std(axis=1, ddof=1).mean())
    assert np.isnan(instability(scorer, runs[:1]).run_deviation)
    (far,) = systems(7, 80, 0.3)
    assert approximate_randomisation(scorer, runs, far, trials=500) < 0.01


def test_different_test_sets_are_refused(scorer: Scorer) -> None:
    first, second = systems(1, 10, 0.6, 0.6)
    with pytest.raises(UsageError, match="same sentences"):
        paired_bootstrap(scorer, [first, second[:9]])
    with pytest.raises(UsageError, match="at least one"):
        bootstrap_scores(scorer, [first[:0]])
