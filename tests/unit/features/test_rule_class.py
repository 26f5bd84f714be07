"""Pairs and rules that copy words."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.features import PairFeature
from dragoman.features.rule_class import RuleClass
from dragoman.model.bundle import Model
from dragoman.model.grammar import Grammar
from dragoman.model.phrase_table import PhraseTable
from dragoman.search.translator import Translator

WORDS = ["la", "Paris", "12", "3,5", "12/11/2008", "1st", "menu", "Élysée", "-7.5", "x2"]


def pairs_of(rows):
    """Columns of rows given as text; X1 is a nonterminal."""
    source_vocab, target_vocab = Vocab.of(WORDS), Vocab.of([*reversed(WORDS), "the"])

    def ids(vocab, side):
        return [-1 if word == "X1" else vocab.id(word) for word in side.split()]

    sides = [[ids(vocab, row[i]) for row in rows] for i, vocab in enumerate((source_vocab, target_vocab))]
    sources = [list(side) for side in dict.fromkeys(map(tuple, sides[0]))]
    return PhrasePairs(
        source_vocab,
        target_vocab,
        Ragged.of(sources, np.int32),
        Ragged.of(sides[1], np.int32),
        np.array([sources.index(side) for side in sides[0]], np.int32),
        np.arange(len(rows), dtype=np.int32),
        np.full((len(rows), 1), 0.5, np.float32),
        ("fwd",),
    )


def model_of(rows, *, chart, feature=RuleClass()):
    pairs = pairs_of(rows)
    grammars, tables = {"tm": Grammar.from_pairs(pairs)}, {"tm": PhraseTable.from_pairs(pairs)}
    parts = {"tables": {}, "grammars": grammars} if chart else {"tables": tables}
    model = Model(pairs.source_vocab, pairs.target_vocab, language_models={}, weights=Weights(), **parts)
    weights = Weights(dict.fromkeys(model.feature_names, 0.0))
    return replace(model, weights=weights).with_features([feature])


@pytest.mark.parametrize("chart", [False, True], ids=["phrases", "rules"])
@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("menu", "menu", {"rc.identity": 1}),
        ("la", "the", {}),
        ("la", "", {}),
        ("12", "12", {"rc.identity": 1, "rc.number": 1}),
        ("3,5", "3,5", {"rc.identity": 1, "rc.number": 1}),
        ("12/11/2008", "12/11/2008", {"rc.identity": 1, "rc.number": 1}),
        ("1st", "1st", {"rc.identity": 1, "rc.number": 1}),
        ("-7.5", "-7.5", {"rc.identity": 1, "rc.number": 1}),
        ("x2", "x2", {"rc.identity": 1}),
        ("12", "3,5", {}),
        ("Élysée", "Élysée", {"rc.identity": 1, "rc.name": 1}),
        ("Paris Élysée", "Paris Élysée", {"rc.name": 1}),
        ("Paris Élysée", "Élysée Paris", {}),
        ("Paris 12", "Paris 12", {}),
        ("Paris menu", "Paris menu", {}),
        ("12", "12 12", {}),
        ("new", "new", {}),
    ],
)
def test_copied_words_are_counted_by_their_classes(source, target, expected, chart):
    rows = [(source, target)] if source != "new" else [("la", "the")]
    (found,) = Translator.of(model_of(rows, chart=chart)).translate([source], features=True)
    assert found.text == target
    assert {name: value for name, value in found.features.items() if name.startswith("rc.")} == expected


def test_of_rules_their_own_words_are_looked_at():
    rows = [("X1 12", "X1 12"), ("la", "the")]
    (found,) = Translator.of(model_of(rows, chart=True)).translate(["la 12"], features=True)
    assert found.features["rc.number"] == 1


def test_classes_and_patterns_are_options():
    feature = RuleClass(classes="number+name", number_pattern=r"x\d", name_pattern="menu|12")
    model = model_of([("x2", "x2")], chart=True, feature=feature)
    names = ["rc.identity", "rc.number", "rc.name", "rc.other"]
    assert [name for name in names if model.can_weigh(name)] == ["rc.number", "rc.name"]
    for word, expected in (("x2", {"rc.number": 1}), ("12", {"rc.name": 1}), ("Paris", {})):
        model = model_of([(word, word)], chart=True, feature=feature)
        (found,) = Translator.of(model).translate([word], features=True)
        assert {name: value for name, value in found.features.items() if name.startswith("rc.")} == expected
    with pytest.raises(UsageError, match=re.escape("classes has 'all'; expected some of identity+number+name")):
        RuleClass(classes="all")
    with pytest.raises(UsageError, match=re.escape("the pattern '(' is no regular expression")):
        RuleClass(number_pattern="(")


def test_damaged_arrays_are_refused():
    model = model_of([("12", "12")], chart=True)
    ((feature, learnt),) = model.sparse_features.items()
    for wrong in (
        {"classes": learnt["classes"][:-1]},
        {"copies": learnt["copies"] + 99},
        {"copies": learnt["classes"]},
    ):
        with pytest.raises(DataError, match="rule-class of the model: the array"):
            _ = replace(model, features={feature: learnt | wrong}).features_of(PairFeature)
