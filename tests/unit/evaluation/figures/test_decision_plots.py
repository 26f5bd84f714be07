"""Pictures of posteriors and grids show what they are given."""

import pytest

from dragoman.decision.mbr import Mbr
from dragoman.decision.settings import GridPoint
from dragoman.evaluation.figures.decisions import draw_grid, draw_posterior
from dragoman.evaluation.figures.svg import figure_svg


def test_the_most_probable_translations_are_shown_and_all_that_rules_chose():
    texts = [f"text {i}" for i in range(30)]
    probabilities = [0.001 * (30 - i) for i in range(30)]
    chosen = {"mbr": "text 3", "consensus": "text 25", "elsewhere": "not listed"}
    (axes,) = draw_posterior(texts, probabilities, chosen, source="une phrase", most=5).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [*texts[:5], "text 25", "not listed"]
    assert [bar.get_width() for bar in axes.patches] == [*probabilities[:5], probabilities[25], 0.0]
    notes = [note.get_text() for note in axes.texts]
    assert notes[3].endswith("mbr")
    assert notes[5].endswith("consensus")
    assert notes[0] == "0.03"
    assert axes.get_title("left") == "une phrase"


def test_nothing_to_show_is_a_picture_too():
    assert figure_svg(draw_posterior([], [], {})).startswith("<svg")


@pytest.mark.parametrize(
    ("names", "values", "log"), [("scale", ["0.1", "1", "10"], True), ("metric", ["ter", "bleu", "chrf"], False)]
)
def test_a_grid_is_a_line_for_each_setting_of_the_other_options(names, values, log):
    points = [
        GridPoint(Mbr(), ((names, value), ("p", p)), 10 * i + float(p))
        for i, value in enumerate(values)
        for p in ("1", "2")
    ]
    (axes,) = draw_grid(points, "bleu").axes
    assert [line.get_label() for line in axes.lines] == ["p=1", "p=2"]
    assert [line.get_ydata().tolist() for line in axes.lines] == [[1, 11, 21], [2, 12, 22]]
    assert (axes.get_xscale() == "log") == log
    assert (axes.get_xlabel(), axes.get_ylabel()) == (names, "bleu")
    if not log:
        assert [label.get_text() for label in axes.get_xticklabels()] == values
