"""The pictures of methods and decisions show every system, whatever the others score."""

import numpy as np
import pytest

from dragoman.evaluation.figures.decisions import scale_curves, system_chart


def centres(axes):
    """Where means are: the markers of error bars."""
    return [tuple(bar[0].get_xydata()[0]) for bar in axes.containers]


def test_methods_are_side_by_side_and_decisions_are_coloured():
    scores = {
        "max": {"untuned": np.array([40.0]), "mert": np.array([44.0, 46.0]), "mira": np.array([45.0, 45.5])},
        "mbr": {"untuned": np.array([41.0]), "mert": np.array([45.0, 47.0]), "mira": np.array([46.0, 46.5])},
    }
    figure = system_chart({"bleu on test": scores})
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["untuned", "mert", "mira"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["max", "mbr"]
    found = centres(axes)
    assert [y for _, y in found] == [40.0, 45.0, 45.25, 41.0, 46.0, 46.25]
    assert [round(x) for x, _ in found] == [0, 1, 2, 0, 1, 2]
    assert found[0][0] < found[3][0]
    _, _, (bars,) = axes.containers[1]
    (segment,) = bars.get_segments()
    sd = np.sqrt(2)
    np.testing.assert_allclose(segment[:, 1], [45 - sd, 45 + sd])


@pytest.mark.parametrize("far", [3.0, 140.0])
def test_a_system_far_away_is_a_number_at_the_edge(far):
    near = {f"m{i}": np.array([45.0 + 0.1 * i, 45.2 + 0.1 * i]) for i in range(5)}
    (axes,) = system_chart({"test": {"max": {**near, "broken": np.array([far, far])}}}).axes
    assert [text.get_text() for text in axes.texts] == [f"{far:.1f}"]
    assert len(axes.containers) == 5
    low, high = axes.get_ylim()
    assert 44 < low < 45
    assert 45.5 < high < 47


def test_equal_scores_are_a_picture_too():
    (axes,) = system_chart({"test": {"max": {"mert": np.array([0.0])}}}).axes
    assert len(axes.containers) == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_scales_are_drawn_in_order_and_terrible_ones_are_out_of_sight(sign):
    lost = {
        4.0: sign * np.array([-0.2, -0.4]),
        0.5: sign * np.array([-40.0, -50.0]),
        1.0: np.array([0.0, 0.0]),
        2.0: sign * np.array([-0.5, -0.5]),
    }
    (axes,) = scale_curves({"MBR": {"mert": lost}}, "bleu").axes
    (line,) = [line for line in axes.lines if line.get_label() == "mert"]
    assert line.get_xdata().tolist() == [0.5, 1, 2, 4]
    np.testing.assert_allclose(line.get_ydata(), sign * np.array([-45, 0, -0.5, -0.3]))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.5", "1", "2", "4"]
    limits = np.array(axes.get_ylim())
    assert limits[0] < 0 < limits[1]
    assert 0.5 < np.abs(limits).max() < 10


def test_scales_that_make_no_difference_are_a_picture_too():
    (axes,) = scale_curves({"MBR": {"mert": {1.0: np.zeros(1), 2.0: np.zeros(1)}}}, "bleu").axes
    assert axes.get_title() == "MBR"
