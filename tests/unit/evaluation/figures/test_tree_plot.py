"""Pictures of hierarchical derivations."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict

import numpy as np
import pytest

from dragoman.evaluation.figures.derivations import draw_translation, text_translation
from dragoman.evaluation.figures.svg import figure_svg
from dragoman.search.translation import Phrase, Subtree, Translation
from dragoman.search.translator import Translator
from oracles import chart_space, linked_rules

SOURCE, TARGET = "il ne dort pas ici $5 $", "he does not sleep $5 $"
INNER = Subtree((2, 3), (3, 4), (), ((2, 3),), False)
AROUND = Subtree((1, 4), (1, 4), (INNER,), ((1, 1), (3, 2)), False)
#: "ici" becomes nothing, "$5 $" is not known.
DROPPED = Subtree((4, 5), (4, 4), (), (), False)
TREE = Subtree(
    (0, 7),
    (0, 6),
    (Subtree((0, 1), (0, 1), (), ((0, 0),), False), AROUND, DROPPED, Subtree((5, 7), (4, 6), (), ((5, 4),), True)),
    (),
    False,
    glue=True,
)
SHOWN = Translation(SOURCE, TARGET, -1.5, (), {}, TREE)


def test_rules_as_text_have_what_fills_their_holes_below_them():
    assert text_translation(SHOWN).splitlines() == [
        "0-0  il           he",
        "1-3  ne [X1] pas  does not [X1]",
        "2-2    dort         sleep",
        "4-4  ici",
        "5-6  $5 $         $5 $  (unknown)",
    ]


def test_phrases_are_shown_as_before():
    plain = Translation("a b", "c", 0.0, (Phrase((0, 2), (0, 1), (), False),), {})
    assert text_translation(plain) == "0-1  a b  c"
    assert "a b" in {text.get_text() for text in draw_translation(plain).axes[0].texts}


def test_a_rule_is_a_bar_over_its_words_and_holes_have_the_colour_of_what_fills_them():
    axes = draw_translation(SHOWN).axes[0]
    texts = [(text.get_text(), *text.get_position()) for text in axes.texts]
    middle = {word: y for word, _, y in texts if word in ("il", "he")}
    assert middle["il"] > 0 > middle["he"]
    # The words of a rule with a hole stand in their row, and again in its bar further out.
    assert sorted({round(y, 3) for word, _, y in texts if word == "ne"})[0] == round(middle["il"], 3)
    assert len({round(y, 3) for word, _, y in texts if word == "ne"}) == 2
    assert [word for word, _, _ in texts].count("X1") == 2
    boxes = [patch for patch in axes.patches if patch.get_facecolor()[3] > 0]

    def colours(x, y):
        return {
            patch.get_facecolor() for patch in boxes if patch.get_bbox().contains(x, y) and patch.get_linewidth() == 0
        }

    for sign, word in ((1, "dort"), (-1, "sleep")):
        ((x, y),) = [(x, y) for text, x, y in texts if text == word]
        ((hole_x, hole_y),) = [(x, y) for text, x, y in texts if text == "X1" and y * sign > 0]
        assert hole_x == pytest.approx(x)
        assert abs(hole_y) > abs(y)
        assert colours(x, y) == colours(hole_x, hole_y) != set()
    links = [line for line in axes.lines if line.get_ydata()[0] == -line.get_ydata()[1]]
    assert len(links) == len(TREE.all_links()) == 5


@pytest.mark.slow
def test_no_box_hides_another_and_nothing_leaves_the_picture():
    rng = np.random.default_rng(4)
    model = linked_rules.with_random_links(chart_space.random_model(rng, grammars=2, rules=40), rng)
    lines = ["", *(chart_space.random_sentence(rng, 30) for _ in range(5))]
    for translation in Translator.of(model).translate(lines):
        figure = draw_translation(translation)
        (axes,) = figure.axes
        outlines = [patch.get_bbox() for patch in axes.patches if patch.get_linewidth() > 0]
        for i, one in enumerate(outlines):
            assert axes.get_xlim()[0] <= one.x0 < one.x1 <= axes.get_xlim()[1]
            assert axes.get_ylim()[0] <= one.y0 < one.y1 <= axes.get_ylim()[1]
            for other in outlines[:i]:
                apart = one.x1 <= other.x0 or other.x1 <= one.x0 or one.y1 <= other.y0 or other.y1 <= one.y0
                assert apart, translation
        assert ElementTree.fromstring(figure_svg(figure)).tag.endswith("svg")


def deep(levels):
    """A derivation as deep as it has words: each rule has one word before its hole."""
    words = [f"w{i}" for i in range(levels)]
    tree = Subtree((levels - 1, levels), (levels - 1, levels), (), ((levels - 1, levels - 1),), False)
    for i in reversed(range(levels - 1)):
        tree = Subtree((i, levels), (i, levels), (tree,), ((i, i),), False, features={"tm": -1.0})
    root = Subtree((0, levels), (0, levels), (tree,), (), False, glue=True)
    return Translation(" ".join(words), " ".join(words), 0.0, (), {}, root)


def test_trees_may_be_deeper_than_calls_can_be():
    shown = deep(5000)
    lines = text_translation(shown).splitlines()
    assert len(lines) == 5000
    assert lines[2].split() == ["2-4999", "w2", "[X1]", "w2", "[X1]"]
    assert [len(line) - len(line.split(" ", 1)[1].lstrip()) for line in lines[:3]] == [11, 13, 15]
    assert lines[4999].split() == ["4999-4999", "(4999)", "w4999", "(4999)", "w4999"]
    html = shown._repr_html_()
    assert html.count("<span") == html.count("</span>") == 200
    assert "w98 <span" in html
    assert "… w100 w101 " in html
    assert html.count("w4999") == 4
    assert shown.tree == deep(5000).tree
    assert shown.tree != deep(4999).tree
    assert repr(shown.tree) == "Subtree(source=(0, 5000), target=(0, 5000), rules=5000, glue=True)"
    written = shown.tree.json()
    assert written.count('"children": [') == written.count("[{") + 1 == 5001
    assert json.loads(deep(100).tree.json()) == json.loads(json.dumps(asdict(deep(100).tree)))


def test_pictures_of_deep_trees_leave_out_the_outermost_rules_and_count_them():
    tree = Subtree((1, 2), (1, 2), (), ((1, 1),), False)
    for _ in range(4998):
        tree = Subtree((1, 2), (1, 2), (tree,), (), False)  # a thousand words would take long to draw
    tree = Subtree((0, 2), (0, 2), (tree,), ((0, 0),), False)
    axes = draw_translation(Translation("ne dort", "not sleep", 0.0, (), {}, tree)).axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("X1") == 2 * 60
    assert "… 4,939 more rules around these" in texts
    assert {"ne", "dort", "not", "sleep"} <= {*texts}
    low, high = axes.get_ylim()
    assert all(low < text.get_position()[1] < high for text in axes.texts)
