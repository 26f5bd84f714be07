"""Generated pairs that copy words, beside a model that has them in further tables or grammars."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Vocab
from dragoman.core.feature_rows import Weights
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.features.rule_class import RuleClass
from dragoman.forest.inside_outside import log_partition, max_inside
from dragoman.model.bundle import Model
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.phrase_table import PhraseTable
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.translator import Translator
from oracles.tiny_grammar import tiny_ngrams

#: Rules and their probabilities; 12, zoo and obama are words that no pair translates alone, 7 is.
RULES = [
    ("un", "a", 0.7),
    ("un", "one", 0.3),
    ("chat", "cat", 1.0),
    ("7", "seven", 0.6),
    ("chat 12", "black cat", 0.5),
    ("un zoo", "a cat", 0.2),
]
HOLES = [("X1 chat", "cat X1", 0.4), ("un X1 12", "X1 dog a", 0.3)]
WORDS = ["un", "chat", "7", "12", "zoo", "obama"]
LINES = ["un chat 12", "7 zoo un chat", "obama 12 chat", "zoo 7"]
#: The classes of words that a model does not translate, and of those that it does.
UNKNOWN = {"12": "number", "zoo": "identity", "obama": "name"}
EVERY = UNKNOWN | {"7": "number", "un": "identity", "chat": "identity"}


def vocabularies() -> tuple[Vocab, Vocab]:
    """Those of the training text, whose target side has obama, but not zoo."""
    targets = sorted(
        {word for row in [*RULES, *HOLES] for word in row[1].split() if word != "X1"} | {"obama", "sleeps"}
    )
    return Vocab.of(sorted({"un", "chat", "7"})), Vocab.of(targets)


def pairs_of(vocabs, rows, names=("fwd",)):
    sides = [
        [[-1 if w == "X1" else vocab.id(w) for w in row[k].split()] for row in rows] for k, vocab in enumerate(vocabs)
    ]
    numbers = np.arange(len(rows), dtype=np.int32)
    scores = np.array([[row[2]] for row in rows], np.float32)
    return PhrasePairs(
        *vocabs, Ragged.of(sides[0], np.int32), Ragged.of(sides[1], np.int32), numbers, numbers, scores, names
    )


def model_of(*, chart, further=None, vocabs=None):
    """The model of these rules; `further` are classes of words that it copies, as further tables or grammars."""
    vocabs = vocabs or vocabularies()
    parts = {"tm": pairs_of(vocabs, RULES + HOLES * chart)}
    for name in ("identity", "number", "name"):
        rows = [(word, word, np.e) for word, one in (further or {}).items() if one == name]
        if rows:
            parts[name] = pairs_of(vocabs, rows, ("count",))
    made = {name: (Grammar if chart else PhraseTable).from_pairs(pairs) for name, pairs in parts.items()}
    grammars, tables = (made, {}) if chart else ({}, made)
    lm = LanguageModel.from_ngrams(tiny_ngrams())
    model = Model(*vocabs, tables, {"lm": lm}, Weights(), grammars=grammars)
    return replace(model, weights=Weights(dict.fromkeys(model.feature_names, 0.0)))


WEIGHTS = {"lm": 0.3, "tm.fwd": 0.4, "word_penalty": -0.2, "glue": 0.1, "distortion": 0.2}
COPIES = {"identity": -0.9, "number": 0.3, "name": -0.4}
RULE = 0.25


def systems(generate, *, chart, **limits):
    """The model with generated pairs, and the model that has them as parts."""
    words = UNKNOWN if generate == "unknown" else EVERY
    penalty = "rule_penalty" if chart else "phrase_penalty"
    ours = model_of(chart=chart).with_features([RuleClass(generate=generate)])
    own = {f"rc.{one}": weight for one, weight in COPIES.items()}
    every = vocabularies()
    every = Vocab.of(sorted(WORDS)), Vocab.of([*list(every[1])[3:], *sorted(set(WORDS) - {"obama"})])
    theirs = model_of(chart=chart, further=words, vocabs=every)
    # In that model copies count as rules, too.
    counted = {f"{one}.count": weight - RULE for one, weight in COPIES.items()}
    return [
        Translator.of(
            model,
            Weights(dict.fromkeys(model.feature_names, 0.0) | WEIGHTS | {penalty: RULE} | more),
            limits=SearchLimits(**limits),
        )
        for model, more in ((ours, own), (theirs, {n: w for n, w in counted.items() if n in theirs.weights}))
    ]


def lists(translator):
    return [
        sorted((round(score, 4), text) for score, text in zip(one.scores.tolist(), one.texts(), strict=True))
        for one in translator.nbest(LINES, 100_000)
    ]


@pytest.mark.parametrize("generate", ["unknown", "all"])
@pytest.mark.parametrize("chart", [False, True], ids=["phrases", "rules"])
def test_derivations_are_those_of_a_model_that_has_the_copies_as_pairs(generate, chart):
    ours, theirs = systems(generate, chart=chart, algorithm="exhaustive")
    assert lists(ours) == lists(theirs)
    for line in LINES:
        assert log_partition(ours.search(line)) == pytest.approx(log_partition(theirs.search(line)), abs=1e-4)


@pytest.mark.parametrize(
    ("algorithm", "chart"), [("cube", True), ("incremental", True), ("cube", False), ("stack", False)]
)
def test_searches_samples_and_forced_decoding_agree(algorithm, chart):
    exact, _ = systems("all", chart=chart, algorithm="exhaustive")
    searched, _ = systems("all", chart=chart, algorithm=algorithm, pop_limit=10_000)
    best = [*exact.translate(LINES, features=True)]
    for wanted, found in zip(best, searched.translate(LINES, features=True), strict=True):
        assert (found.text, found.features) == (wanted.text, pytest.approx(wanted.features))
        assert found.score == pytest.approx(sum(exact.weights.get(n, 0) * v for n, v in found.features.items()))
        forced = exact.force(found.source, found.text)
        assert max_inside(forced)[forced.root] == pytest.approx(wanted.score)
    for samples in Sampler.of(exact, Sampling(samples=50, burn_in=10)).sample(LINES, seed=3):
        rows = samples.features
        np.testing.assert_allclose(rows.dot(exact.weights), samples.scores, rtol=1e-6)
        assert any(name.startswith("rc.") for name in rows.names)


@pytest.mark.parametrize("chart", [False, True], ids=["phrases", "rules"])
def test_a_copy_is_of_one_class_and_neither_unknown_nor_a_rule(chart, tmp_path):
    feature = RuleClass(generate="unknown", classes="number+name")
    model_of(chart=chart).with_features([feature]).save(tmp_path / "model")
    model = Model.load(tmp_path / "model")
    assert {name: weight for name, weight in model.weights.items() if weight} == {"rc.number": -1.0, "rc.name": -1.0}
    expected = {
        "12": {"rc.number": 1},
        "obama": {"rc.name": 1},
        "zoo": {"unknown_word": -100, "rule_penalty" if chart else "phrase_penalty": 1},
    }
    for word, values in expected.items():
        (found,) = Translator.of(model).translate([word], features=True)
        assert found.text == word
        assert found.phrases[0].unknown == (word == "zoo")
        assert found.phrases[0].links == ((0, 0),)
        own = {name: value for name, value in found.features.items() if name not in {"lm", "glue"} and value}
        assert own == {"word_penalty": -1} | values
    dropping = Translator.of(model, space=SpaceLimits(unknown_words="drop"))
    assert [one.text for one in dropping.translate(["zoo 12 obama"])] == ["12 obama"]


@pytest.mark.parametrize("chart", [False, True], ids=["phrases", "rules"])
def test_words_with_a_given_translation_are_not_copied(chart):
    model = model_of(chart=chart).with_features([RuleClass(generate="all")])
    eager = Weights({**model.weights, "rc.identity": 50.0, "rc.number": 50.0, "distortion": 9.0})
    translator = Translator.of(model, eager, markup=True)
    line = '<np translation="dog">chat</np> 12 <np translation="a cat">un chat</np> 7'
    assert [one.text for one in translator.translate([line])] == ["dog 12 a cat 7"]


def test_names_are_told_by_capitals_where_there_are_any():
    source, target = Vocab.of(["Paris", "menu", "rome"]), Vocab.of(["Paris", "menu", "rome"])
    words = Vocab.of(["Rome", "rome", "paris", "12", "7th", "x"])
    wanted = {"cased": ["name", "identity", "identity"], "lower-cased": ["identity", "name", "identity"]}
    rows = [("menu", "menu", 1.0)]
    for name, sides in (("cased", (source, target)), ("lower-cased", (Vocab.of(["menu"]), target))):
        grammars = {"tm": Grammar.from_pairs(pairs_of(sides, rows))}
        model = Model(*sides, {}, {}, Weights(), grammars=grammars).with_features([RuleClass(generate="all")])
        found = model.copy_feature.copy_classes(words, translated=False)[3:].tolist()
        classes = ["identity", "number", "name"]
        assert [classes[one] for one in found] == [*wanted[name], "number", "number", "identity"]
        known = model.copy_feature.copy_classes(words, translated=True)[3:].tolist()
        assert [classes[one] for one in known][:3] == [wanted["cased"][0] if name == "cased" else "identity"] + [
            "identity"
        ] * 2
    assert model_of(chart=True).with_features([RuleClass()]).copy_feature is None
