"""What a model gets over word classes: as asked for, or by the text."""

from __future__ import annotations

import pytest

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import UsageError
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.features.sparse_reordering import SparseReordering
from dragoman.features.word_pair import WordPair
from dragoman.model.parts import Settings
from dragoman.search.translator import Translator
from dragoman.training import recipe as recipes
from dragoman.training.pipeline import TrainRecipe, train_model
from dragoman.training.prepare import PreparedText
from dragoman.training.recipe import ClassParts, without_classes
from dragoman.training.rules.model import RuleModel

pytestmark = pytest.mark.filterwarnings("ignore:too little text")


class Listener(Progress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def text_of(lines, **settings):
    return PreparedText(Bitext(Corpus.from_lines(lines), Corpus.from_lines(lines)), Settings(**settings))


ENOUGH = text_of(["a b c d e f g h i j"] * 1000)
FEW = text_of(["a b c d e f g h i j"] * 999)


def chosen(text, parts=ClassParts(), recipe=TrainRecipe()):
    """The classes, the order and the features that a text gets, and what was said."""
    listener = Listener()
    found = parts.added_to(recipe, text, runtime=Runtime(progress=listener))
    classes = 0 if found.clustering is None else found.clustering.classes
    return classes, found.class_lm_order, [feature.name for feature in found.features], listener.notes


def test_text_that_is_fit_gets_all_and_says_so():
    classes, order, features, (said,) = chosen(ENOUGH)
    assert (classes, order, features) == (50, 7, ["sparse-reordering"])
    assert said.startswith(
        "the model gets 50 word classes, a language model of order 7 over them and sparse-reordering"
    )


def test_other_text_gets_nothing(monkeypatch):
    classes, order, features, (said,) = chosen(FEW)
    assert (classes, order, features) == (0, 0, [])
    assert said.startswith("9,990 target words are too few for word classes by default")
    assert chosen(text_of(["▁ a b"] * 9000, units="characters")) == (0, 0, [], [])
    monkeypatch.setattr(recipes, "_MOST_WORDS", 9_999)
    classes, order, features, (said,) = chosen(ENOUGH)
    assert (classes, order, features) == (0, 0, [])
    assert "too many" in said


def test_what_is_asked_for_goes_before_what_fits():
    assert chosen(FEW, ClassParts(classes=4)) == (4, 7, ["sparse-reordering"], [])
    assert chosen(FEW, ClassParts(class_lm_order=3)) == (50, 3, ["sparse-reordering"], [])
    assert chosen(ENOUGH, ClassParts(classes=0)) == (0, 0, [], [])
    assert chosen(ENOUGH, ClassParts(class_lm_order=0))[:3] == (50, 0, ["sparse-reordering"])
    one_side = TrainRecipe(features=[SparseReordering(sides="target"), WordPair()])
    found = ClassParts().added_to(one_side, ENOUGH)
    assert found.features == [SparseReordering(sides="target"), WordPair()]


def test_the_preset_moses_has_nothing_but_what_is_asked_for():
    assert chosen(ENOUGH, ClassParts(preset="moses")) == (0, 0, [], [])
    assert chosen(ENOUGH, ClassParts(preset="moses", classes=9)) == (9, 0, [], [])
    assert chosen(ENOUGH, ClassParts(preset="moses", classes=9, class_lm_order=4)) == (9, 4, [], [])
    with pytest.raises(UsageError, match="needs word classes"):
        train_model(FEW, ClassParts(preset="moses", class_lm_order=4).added_to(TrainRecipe(), FEW))


def test_hierarchical_models_have_no_reordering_of_phrases():
    classes, order, features, (said,) = chosen(ENOUGH, recipe=TrainRecipe(rule_model=RuleModel()))
    assert (classes, order, features) == (50, 7, [])
    assert "sparse-reordering" not in said


@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize("lines", [["a"], ["a b", "b"], ["the cat", "a dog sleeps", "the dog"]])
def test_tiny_texts_train_and_translate(lines, hierarchical):
    recipe = TrainRecipe(rule_model=RuleModel() if hierarchical else None)
    text = text_of(lines)
    model = train_model(text, ClassParts(classes=50).added_to(recipe, text)).model
    assert model.word_classes["target"].number <= 50
    assert [one.text for one in Translator.of(model).translate([*lines, "unknown", ""])] == [*lines, "unknown", ""]


def test_a_model_without_classes_is_the_one_that_never_had_them():
    lines = text_of(["the cat sleeps", "a dog sleeps", "the dog sees a cat"])
    rich, plain = (
        train_model(lines, parts.added_to(TrainRecipe(features=[WordPair()]), lines)).model
        for parts in (ClassParts(classes=2), ClassParts(preset="moses"))
    )
    found = without_classes(rich)
    assert dict(found.weights) == dict(plain.weights)
    assert (found.feature_names, found.sparse_prefixes) == (plain.feature_names, plain.sparse_prefixes)
    assert (found.word_classes, list(found.language_models)) == ({}, ["lm"])
