"""The scale that is chosen is the best one, and of equally good ones the one that changes least."""

import pytest

from dragoman.decision.mbr import Mbr
from dragoman.decision.settings import GridPoint
from dragoman.evaluation.experiments.scale_choice import best_scale
from dragoman.metrics.combined import parse_metric


@pytest.mark.parametrize(
    ("metric", "scores", "best"),
    [
        ("bleu", {0.25: 30.0, 1.0: 31.0, 4.0: 32.0}, 4.0),
        ("ter", {0.25: 30.0, 1.0: 31.0, 4.0: 32.0}, 0.25),
        ("bleu", {0.25: 32.0, 0.5: 32.0, 1.0: 31.0, 8.0: 32.0}, 0.5),
        ("bleu", {0.1: 32.0, 8.0: 32.0}, 8.0),
        ("bleu", {0.5: 32.0, 1.0: 32.0, 2.0: 32.0}, 1.0),
    ],
)
def test_ties_go_to_the_scale_nearest_to_1(metric, scores, best):
    points = {scale: GridPoint(Mbr(scale=scale), (), score) for scale, score in scores.items()}
    assert best_scale(points, parse_metric(metric)) == best
