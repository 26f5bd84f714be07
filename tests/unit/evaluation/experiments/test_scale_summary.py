"""What a report says about the scales of a system's runs."""

import pytest

from dragoman.evaluation.experiments.scale_choice import ChosenScale, ScaleSummary


def test_losses_are_against_the_best_scale_of_the_same_run():
    runs = [ChosenScale(4.0, {1.0: 30.0, 2.0: 31.0, 4.0: 33.0}), ChosenScale(1.0, {1.0: 40.0, 2.0: 39.5, 4.0: 20.0})]
    found = ScaleSummary(runs)
    assert {scale: lost.tolist() for scale, lost in found.lost.items()} == {
        1.0: [-3.0, 0.0],
        2.0: [-2.0, -0.5],
        4.0: [0.0, -20.0],
    }
    assert found.at_the_edge == 2
    scale, edge, loss = found.row()
    assert (scale, edge) == ("2 (1 to 4)", "2 of 2 runs")
    assert loss.split() == ["-1.50", "±", "2.12"]


@pytest.mark.parametrize(("scales", "edge"), [((0.5, 2.0), 1), ((0.5, 2.0, 4.0), 0)])
def test_a_scale_in_the_middle_is_not_at_the_edge_and_1_may_not_be_offered(scales, edge):
    found = ScaleSummary([ChosenScale(2.0, dict.fromkeys(scales, 30.0))])
    assert found.row() == ("2", f"{edge} of 1 runs", "")
