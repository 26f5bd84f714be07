from collections.abc import Callable

import numpy as np
import pytest

from dragoman.core.progress import DragomanWarning
from dragoman.training.score import PairCounts, Probabilities, good_turing, kneser_ney, relative_frequency


def counts_of(joint: list[list[int]]) -> PairCounts:
    """Counts of a matrix with a row for each source and a column for each target."""
    matrix = np.array(joint)
    source, target = np.nonzero(matrix)
    return PairCounts.of(source.astype(np.int32), target.astype(np.int32), matrix[source, target])


MATRIX = [[1, 0, 2, 0, 3], [1, 1, 0, 0, 0], [0, 2, 1, 1, 0], [4, 0, 0, 1, 20]]


def test_marginals() -> None:
    counts = counts_of([[1, 2], [0, 3]])
    assert counts.source.tolist() == [3, 3, 3]
    assert counts.target.tolist() == [1, 5, 5]
    assert counts.distinct_source.tolist() == [2, 2, 1]
    assert counts.distinct_target.tolist() == [1, 2, 2]


def test_relative_frequencies_sum_to_one() -> None:
    counts = counts_of(MATRIX)
    given_target, given_source = relative_frequency(counts)
    assert given_source[:3].tolist() == [1 / 6, 2 / 6, 3 / 6]
    assert given_target.sum() == pytest.approx(5)
    assert given_source.sum() == pytest.approx(4)


def test_good_turing_by_hand() -> None:
    # Of the pairs 6 occur once, 2 twice, 1 three times, 1 four times and 1 twenty times.
    given_target, given_source = good_turing(counts_of(MATRIX))
    once = 2 * 2.1 / 6.1
    twice = max(once, 3 / 2 * 1.1 / 2.1)
    thrice = max(twice, min(1, 4 / 3 * 1.1 / 1.1))
    assert given_source[:3] == pytest.approx([once / 6, 2 * twice / 6, 3 * thrice / 6], rel=1e-12)
    assert given_target[0] == pytest.approx(once / 6, rel=1e-12)
    assert given_source[-1] == 20 / 25


def test_good_turing_leaves_counts_above_eight() -> None:
    counts = counts_of([[1, 1, 1, 1, 2, 8, 9]])
    ratio = good_turing(counts)[1] * counts.source / counts.joint
    assert ratio[-1] == 1
    assert ratio[0] == pytest.approx(2 * 1.1 / 4.1)
    # 9/8 (n(9) + 0.1) / (n(8) + 0.1) is above one, and a discount never falls.
    assert ratio[-2] == 1
    assert np.all(np.diff(ratio) >= 0)


def test_kneser_ney_by_hand() -> None:
    given_target, given_source = kneser_ney(counts_of(MATRIX))
    y = 6 / (6 + 2 * 2)
    d1, d2, d3 = 1 - 2 * y * 2 / 6, 2 - 3 * y * 1 / 2, min(3 - 4 * y * 1 / 1, 2.9)
    # Source 0 has 3 distinct targets, which have 3, 2 and 2 distinct sources; there are 11 pairs.
    expected = [1 - d1 + d1 * 3 * 3 / 11, 2 - d2 + d2 * 3 * 2 / 11, 3 - d3 + d3 * 3 * 2 / 11]
    assert given_source[:3] == pytest.approx([c / 6 for c in expected], rel=1e-12)
    assert given_target[:3] == pytest.approx([expected[0] / 6, expected[1] / 3, expected[2] / 23], rel=1e-12)


@pytest.mark.parametrize(
    ("smooth", "joint"),
    [
        (good_turing, [[1, 1], [1, 3]]),
        (good_turing, [[2, 2], [2, 3]]),
        (kneser_ney, [[1, 1], [2, 4]]),
        (kneser_ney, [[1, 3], [3, 3]]),
        (kneser_ney, [[1, 1, 1, 1], [2, 3, 3, 3]]),
    ],
)
def test_too_little_data_falls_back_with_a_warning(
    smooth: Callable[[PairCounts], Probabilities], joint: list[list[int]]
) -> None:
    counts = counts_of(joint)
    with pytest.warns(DragomanWarning, match="unsmoothed"):
        probabilities = smooth(counts)
    assert np.array_equal(probabilities, relative_frequency(counts))


@pytest.mark.parametrize("smooth", [good_turing, kneser_ney])
def test_no_pairs(smooth: Callable[[PairCounts], Probabilities]) -> None:
    with pytest.warns(DragomanWarning, match="unsmoothed"):
        given_target, given_source = smooth(counts_of([[0]]))
    assert len(given_target) == len(given_source) == 0
