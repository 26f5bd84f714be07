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
from dragoman.training import refinements
from dragoman.training.phrase_model import PhraseModel
from dragoman.training.pipeline import TrainRecipe, train_model
from dragoman.training.prepare import PreparedText
from dragoman.training.refinements import Refinements, without_classes
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


ALL = (50, 7, ["sparse-reordering"], "good-turing")
NOTHING = (0, 0, [], None)


def chosen(text, options=Refinements(), recipe=TrainRecipe()):
    """The classes, the order, the features and the smoothing that a text gets, and what was said."""
    listener = Listener()
    found = options.refined(recipe, text, runtime=Runtime(progress=listener))
    classes = 0 if found.clustering is None else found.clustering.classes
    features = [feature.name for feature in found.features]
    return (classes, found.class_lm_order, features, found.phrase_model.smoothing), listener.notes


def test_text_that_is_fit_gets_all_and_says_so():
    found, (said,) = chosen(ENOUGH)
    assert found == ALL
    assert said.startswith(
        "the model gets 50 word classes and a language model of order 7 over them, sparse-reordering and good-turing"
        " smoothing, which"
    )


def test_other_text_gets_nothing(monkeypatch):
    found, (said,) = chosen(FEW)
    assert found == NOTHING
    assert said.startswith("9,990 target words are too few for word classes by default")
    assert chosen(text_of(["▁ a b"] * 9000, units="characters")) == (NOTHING, [])
    monkeypatch.setattr(refinements, "_MOST_WORDS", 9_999)
    found, (said,) = chosen(ENOUGH)
    assert found == (0, 0, [], "good-turing")
    assert "too many" in said


def test_what_is_asked_for_goes_before_what_fits():
    assert chosen(FEW, Refinements(classes=4)) == ((4, *ALL[1:3], None), [])
    assert chosen(FEW, Refinements(class_lm_order=3)) == ((50, 3, ALL[2], None), [])
    assert chosen(ENOUGH, Refinements(classes=0)) == ((0, 0, [], "good-turing"), [])
    assert chosen(ENOUGH, Refinements(class_lm_order=0)) == ((50, 0, *ALL[2:]), [])
    asked = TrainRecipe(
        features=[SparseReordering(sides="target"), WordPair()], phrase_model=PhraseModel(smoothing="kneser-ney")
    )
    found = Refinements().refined(asked, ENOUGH)
    assert found.features == [SparseReordering(sides="target"), WordPair()]
    assert found.phrase_model.smoothing == "kneser-ney"


def test_the_preset_moses_has_nothing_but_what_is_asked_for():
    assert chosen(ENOUGH, Refinements(preset="moses")) == (NOTHING, [])
    assert chosen(ENOUGH, Refinements(preset="moses", classes=9)) == ((9, 0, [], None), [])
    assert chosen(ENOUGH, Refinements(preset="moses", classes=9, class_lm_order=4)) == ((9, 4, [], None), [])
    with pytest.raises(UsageError, match="needs word classes"):
        train_model(FEW, Refinements(preset="moses", class_lm_order=4).refined(TrainRecipe(), FEW))


def test_hierarchical_models_have_neither_reordering_nor_smoothing_of_phrases():
    found, (said,) = chosen(ENOUGH, recipe=TrainRecipe(rule_model=RuleModel()))
    assert found == (50, 7, [], None)
    assert said.startswith("the model gets 50 word classes and a language model of order 7 over them, which")


@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize("lines", [["a"], ["a b", "b"], ["the cat", "a dog sleeps", "the dog"]])
def test_tiny_texts_train_and_translate(lines, hierarchical):
    recipe = TrainRecipe(rule_model=RuleModel() if hierarchical else None)
    text = text_of(lines)
    model = train_model(text, Refinements(classes=50).refined(recipe, text)).model
    assert model.word_classes["target"].number <= 50
    assert [one.text for one in Translator.of(model).translate([*lines, "unknown", ""])] == [*lines, "unknown", ""]


def test_a_model_without_classes_is_the_one_that_never_had_them():
    lines = text_of(["the cat sleeps", "a dog sleeps", "the dog sees a cat"])
    rich, plain = (
        train_model(lines, options.refined(TrainRecipe(features=[WordPair()]), lines)).model
        for options in (Refinements(classes=2), Refinements(preset="moses"))
    )
    found = without_classes(rich)
    assert dict(found.weights) == dict(plain.weights)
    assert (found.feature_names, found.sparse_prefixes) == (plain.feature_names, plain.sparse_prefixes)
    assert (found.word_classes, list(found.language_models)) == ({}, ["lm"])
