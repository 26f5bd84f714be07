"""Phrases and rules of another model as an added grammar: its features, and errors."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.features import FEATURES
from dragoman.front.system import System
from dragoman.model.bundle import Model
from dragoman.model.edit import with_grammar
from dragoman.model.phrase_table import PhraseTable
from dragoman.search.translator import Translator
from oracles.rules import rules_as_dict
from oracles.tiny_grammar import SOURCE, TARGET, tiny_model


def renamed(model, words):
    """The model with some words spelt otherwise, whose vocabularies are in another order."""
    pairs = model.grammars["tm"].to_pairs(model.source_vocab, model.target_vocab)
    vocab = type(model.source_vocab).of([words.get(word, word) for word in [*model.source_vocab][3:]][::-1])
    ids = [vocab.id(words.get(word, word)) for word in model.source_vocab]
    values = [symbol if symbol < 0 else ids[symbol] for symbol in pairs.sources.values.tolist()]
    sources = replace(pairs.sources, values=np.array(values, np.int32))
    pairs = replace(pairs, source_vocab=vocab, sources=sources)
    return replace(model, source_vocab=vocab, grammars={"tm": type(model.grammars["tm"]).from_pairs(pairs)})


def phrase_based(model):
    """A phrase-based model of those rules that have no holes."""
    pairs = model.grammars["tm"].to_pairs(model.source_vocab, model.target_vocab)
    words = np.array([min(pairs.sources[int(side)]) >= 0 for side in pairs.source_ids])
    return replace(model, grammars={}, tables={"tm": PhraseTable.from_pairs(pairs.take(np.flatnonzero(words)))})


@pytest.mark.parametrize("form", [lambda model: model, phrase_based], ids=["rules", "phrases"])
def test_translations_use_both(form):
    model = tiny_model()
    other = form(renamed(model, {"chien": "toutou", "chat": "minou"}))
    both = with_grammar(model, "more", other)
    system = System(both, threads=1)
    assert system.translate(SOURCE) == TARGET
    assert system.translate(["le toutou ne dort pas"]) == ["the dog does not sleep"]
    line = "le toutou ne dort pas"
    (found,), (alone,) = (Translator.of(one).translate([line], features=True) for one in (both, model))
    assert found.features["more.penalty"] >= 1
    assert found.features["tm.fwd"] < 0
    assert found.features["more.fwd"] <= 0
    assert "unknown_word" not in found.features
    assert alone.features["unknown_word"] < 0


def test_the_rules_are_those_of_the_other_model():
    model = tiny_model()
    other = renamed(model, {"chien": "toutou"})
    both = with_grammar(model, "more", other)
    here, there = (
        rules_as_dict(grammar.to_pairs(one.source_vocab, one.target_vocab))
        for one, grammar in ((both, both.grammars["more"]), (other, other.grammars["tm"]))
    )
    assert here == there
    assert [*both.grammars] == ["tm", "more"]
    assert [*both.source_vocab][: len(model.source_vocab)] == [*model.source_vocab]
    for name, value in model.weights.items():
        assert both.weights[name] == value
    assert {name for name in both.weights if name not in model.weights} == {
        *(f"more.{score}" for score in other.grammars["tm"].score_names),
        "more.penalty",
    }


def test_a_model_with_sparse_features_goes_through_the_disk(tmp_path):
    model = tiny_model().with_features([FEATURES.get("word-pair")()])
    with_grammar(model, "more", renamed(model, {"chien": "toutou"})).save(tmp_path / "both")
    both = Model.load(tmp_path / "both")
    assert System(both, threads=1).translate(["le toutou dort"]) == ["the dog sleeps"]


@pytest.mark.parametrize(
    ("name", "part", "expected"),
    [
        ("tm", None, "the model has a grammar tm already; expected another name"),
        ("lm", None, "the features of a model have the name lm already; expected another name"),
        ("wp", None, "the features of a model have the name wp already; expected another name"),
        ("a b", None, "'a b' cannot name a grammar; expected letters, digits, _ and -, a letter first"),
        ("../x", None, "'../x' cannot name a grammar; expected letters, digits, _ and -, a letter first"),
        ("more", "lr", "the other model has no table or grammar lr; expected tm"),
    ],
)
def test_names_that_cannot_be(name, part, expected):
    with pytest.raises(UsageError) as refused:
        with_grammar(tiny_model(), name, tiny_model(), part=part)
    assert str(refused.value) == expected


def test_models_that_do_not_fit():
    model = tiny_model()
    with pytest.raises(UsageError, match="the model is phrase-based; expected a hierarchical one"):
        with_grammar(phrase_based(model), "more", model)
    with pytest.raises(UsageError, match="the other model has neither a phrase table nor a grammar"):
        with_grammar(model, "more", replace(model, grammars={}))
    several = with_grammar(model, "more", model)
    with pytest.raises(UsageError, match="the other model has tm, more; say which to take"):
        with_grammar(model, "third", several)
    assert [*with_grammar(several, "third", several, part="more").grammars] == ["tm", "more", "third"]


def test_text_that_was_prepared_otherwise_is_a_warning():
    model = tiny_model()
    other = replace(model, settings=replace(model.settings, lowercase=not model.settings.lowercase))
    with pytest.warns(DragomanWarning, match="'lowercase' is True there and False here"):
        with_grammar(model, "more", other)
