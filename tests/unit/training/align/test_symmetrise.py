from typing import get_args

import numpy as np
import pytest

from dragoman.core.corpus import links_of
from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.training.align import Directions
from dragoman.training.align.base import Symmetrisation, symmetrise
from oracles import symmetrise as oracle

METHODS = get_args(Symmetrisation)


def random_links(rng, rows, length, density):
    return [[(i, j) for i in range(length) for j in range(length) if rng.random() < density] for _ in range(rows)]


def rows_of(links):
    return [[(v >> 16, v & 0xFFFF) for v in row.tolist()] for row in links]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("density", [0.02, 0.1, 0.3])
def test_result_is_that_of_the_description(method, density):
    rng = np.random.default_rng(METHODS.index(method))
    forward, reverse = random_links(rng, 150, 9, density), random_links(rng, 150, 9, density)
    found = rows_of(symmetrise(Directions(links_of(forward), links_of(reverse)), method))
    for ours, a, b in zip(found, forward, reverse, strict=True):
        assert ours == sorted(oracle.symmetrise(set(a), set(b), method))


@pytest.mark.parametrize("method", METHODS)
def test_order_and_repetition_of_links_do_not_matter(method):
    rng = np.random.default_rng(1)
    forward, reverse = random_links(rng, 50, 6, 0.2), random_links(rng, 50, 6, 0.2)
    expected = symmetrise(Directions(links_of(forward), links_of(reverse)), method)
    shuffled = [[row[i] for i in rng.permutation(len(row))] + row[:1] for row in forward]
    found = symmetrise(Directions(links_of(shuffled), links_of(reverse)), method)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.offsets, expected.offsets)


def test_threads_do_not_change_the_result():
    rng = np.random.default_rng(2)
    both = Directions(links_of(random_links(rng, 3000, 4, 0.3)), links_of(random_links(rng, 3000, 4, 0.3)))
    one, three = (symmetrise(both, runtime=Runtime(threads=n)) for n in (1, 3))
    np.testing.assert_array_equal(one.values, three.values)
    np.testing.assert_array_equal(one.offsets, three.offsets)


def test_the_corners_of_the_longest_sentences():
    corner = 65_535
    forward = links_of([[(0, 0), (corner, corner)]])
    reverse = links_of([[(0, 0), (corner - 1, corner), (corner, corner), (0, corner)]])
    assert rows_of(symmetrise(Directions(forward, reverse))) == [[(0, 0), (corner - 1, corner), (corner, corner)]]


def test_no_rows_and_empty_rows():
    assert len(symmetrise(Directions(links_of([]), links_of([])))) == 0
    assert symmetrise(Directions(links_of([[], []]), links_of([[], []]))).offsets.tolist() == [0, 0, 0]


def test_what_does_not_fit_is_refused():
    with pytest.raises(DataError, match="have 2 and 1 lines"):
        symmetrise(Directions(links_of([[], []]), links_of([[]])))
    with pytest.raises(UsageError, match="'grow'; there are intersection, union"):
        symmetrise(Directions(links_of([]), links_of([])), "grow")
