"""The metric along each weight, against evaluations at single weights."""

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.evaluation.figures.surfaces import draw_surfaces
from dragoman.evaluation.statistics.error_surfaces import error_surfaces, outline
from dragoman.tuning.problems.problem import Problem
from oracles.tuning_mert import ToyBleu, random_problem


def brute_force(problem, weights, feature, value):
    """The metric of the best candidates where one weight has another value."""
    moved = weights.copy()
    moved[feature] = value
    return float(problem.scorer.score(problem.statistics[problem.best(moved)].sum(axis=0)))


@pytest.mark.parametrize("seed", range(8))
def test_the_metric_is_right_at_random_values_and_on_both_sides_of_every_break(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 12, 3)
    weights = rng.normal(size=3)
    surfaces = error_surfaces(problem, weights)
    assert [surface.name for surface in surfaces] == ["f0", "f1", "f2"]
    for feature, surface in enumerate(surfaces):
        breaks = surface.line.breaks
        assert len(breaks) > 3
        assert (np.diff(surface.line.scores) != 0).all()
        assert surface.at(weights[feature]) == pytest.approx(brute_force(problem, weights, feature, weights[feature]))
        for value in weights[feature] + rng.uniform(-3, 3, 40):
            if np.abs(breaks - (value - weights[feature])).min() > 1e-9:
                assert surface.at(value) == pytest.approx(brute_force(problem, weights, feature, value))
        ends = np.concatenate([[breaks[0] - 1], breaks, [breaks[-1] + 1]])
        for i, width in enumerate(np.diff(ends)):
            if width > 1e-9:
                for value in weights[feature] + ends[i] + width * np.array([1e-3, 1 - 1e-3]):
                    assert surface.line.scores[i] == pytest.approx(brute_force(problem, weights, feature, value))


def test_a_range_has_all_its_steps_and_no_others():
    rng = np.random.default_rng(3)
    problem = random_problem(rng, 40, 2, most=20)
    (surface, _) = error_surfaces(problem, np.array([0.4, 0.6]))
    edges, scores = surface.within(-0.1, 0.9)
    assert (edges[0], edges[-1]) == (-0.1, 0.9)
    assert len(scores) == len(edges) - 1 > 20
    wide = np.diff(edges) > 1e-9  # features on a grid have breaks that only rounding tells apart
    middles = ((edges[1:] + edges[:-1]) / 2)[wide]
    assert [surface.at(value) for value in middles] == scores[wide].tolist()
    low, high = surface.zoom(5, 1.0)
    inside = surface.within(low + 1e-9, high - 1e-9)[0][1:-1]
    assert (inside < 0.4).sum() >= 4
    assert (inside > 0.4).sum() >= 4
    assert surface.zoom(10_000, 0.7) == pytest.approx((-0.3, 1.1))


def test_an_outline_reaches_from_the_lowest_to_the_highest_step_of_each_column():
    rng = np.random.default_rng(1)
    edges = np.sort(rng.uniform(size=2001))
    scores = rng.normal(size=2000)
    grid, least, most = outline(edges, scores, 37)
    for low, high, floor, top in zip(grid, grid[1:], least, most, strict=False):
        there = scores[(edges[1:] > low) & (edges[:-1] < high)]
        assert (floor, top) == (there.min(), there.max())


def test_features_without_a_surface_of_their_own_still_count():
    features = FeatureRows.from_dense(["a", "fixed"], np.array([[1.0, 0.0], [0.0, 2.0]]))
    statistics = np.array([[1.0, 1.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]])
    problem = Problem(np.array([0, 2]), features, statistics, ToyBleu(), np.zeros((2, 2)))
    (surface,) = error_surfaces(problem, np.array([0.5, 0.4]), ["a"])
    assert surface.weight + surface.line.breaks == pytest.approx([0.8])
    assert surface.line.scores.tolist() == [100.0, 50.0]


def test_too_many_features_are_refused():
    names = [f"f{i}" for i in range(201)]
    features = FeatureRows.from_dense(names, np.ones((1, 201)))
    problem = Problem(np.array([0, 1]), features, np.ones((1, 4)), ToyBleu(), np.ones((201, 2)))
    with pytest.raises(UsageError, match="201 features; surfaces can be drawn of at most 200"):
        error_surfaces(problem, np.ones(201))


@pytest.mark.parametrize("sentences", [5, 900])
def test_each_feature_has_a_panel_and_a_zoom(sentences):
    surfaces = error_surfaces(random_problem(np.random.default_rng(1), sentences, 3), np.array([0.2, -0.5, 0.3]))
    axes = draw_surfaces(surfaces, "bleu").axes
    assert [ax.get_title() for ax in axes] == [f"f{i}{zoom}" for i in range(3) for zoom in ("", ", zoom")]
    assert axes[0].get_xlim() == pytest.approx((-0.3, 0.7))
    (low, high), (inner_low, inner_high) = axes[2].get_xlim(), axes[3].get_xlim()
    assert low <= inner_low < -0.5 < inner_high <= high
