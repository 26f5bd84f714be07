import xml.etree.ElementTree as ElementTree

from dragoman.evaluation.figures.derivations import draw_alignment, text_alignment
from dragoman.evaluation.figures.svg import figure_svg

NASTY = ["<b>", "&amp;", '"x"', "$x_1^2$", "]]>", "{", "日本"]


def test_text_has_a_row_a_source_word_and_a_column_a_target_word():
    drawn = text_alignment(["la", "maison"], ["the", "house"], [(0, 0), (1, 1)])
    assert drawn.split("\n")[-2:] == ["la     █·", "maison ·█"]
    columns = [line[7:] for line in drawn.split("\n")[:-2]]
    assert ["".join(line[i : i + 1] for line in columns).strip() for i in range(2)] == ["the", "house"]


def test_text_of_nothing():
    assert text_alignment([], [], []) == ""
    assert text_alignment(["a"], [], []) == "a "


def test_text_with_repeated_and_missing_links():
    assert text_alignment(["a", "b"], ["x", "y"], [(0, 1), (0, 1)]).split("\n") == ["  xy", "a ·█", "b ··"]


def test_words_come_through_unharmed_in_the_picture():
    svg = figure_svg(draw_alignment(["<b>", "&amp;", "a"], ["]]>", '"x"'], [(0, 0), (2, 1)]))
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    # matplotlib draws letters as outlines and keeps the words in comments.
    assert "<b>" not in svg.replace("<!-- <b> -->", "")


def test_a_picture_has_a_cell_for_each_link():
    links = [(0, 0), (1, 2), (2, 1)]
    axes = draw_alignment(["a", "b", "c"], ["x", "y", "z"], links).axes[0]
    cells = {(round(patch.get_y() + 0.5), round(patch.get_x() + 0.5)) for patch in axes.patches}
    assert cells == set(links)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["x", "y", "z"]


def test_the_same_picture_is_the_same_text():
    pictures = {figure_svg(draw_alignment(["a", "b"], ["x"], [(0, 0)])) for _ in range(2)}
    assert len(pictures) == 1


def test_words_that_mean_something_to_a_drawing_program():
    figure_svg(draw_alignment(NASTY[:6], NASTY[:6], [(0, 0)]))
    figure_svg(draw_alignment(["$", "a$b$", "_", "$\\nothing$"], ["\\frac", "$^$"], []))


def test_a_picture_of_nothing():
    assert figure_svg(draw_alignment([], [], [])).startswith("<svg")
