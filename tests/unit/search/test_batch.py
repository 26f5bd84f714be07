"""Features of source trees in every search and sampler, against their definition and enumeration."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.samples import Samples
from dragoman.features import FEATURES, SpanFeature
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.translator import Translator
from dragoman.text.source_trees import ParsedLine, SourceTree
from oracles import chart_space, forest, phrase_space, trees

EVERYTHING = SearchLimits(algorithm="exhaustive")
KINDS = ("phrase", "chart")


class Case:
    """A random model with syntax features that weigh something, a sentence with a tree, and all its derivations."""

    def __init__(self, kind, seed):
        rng = np.random.default_rng(seed)
        self.syntax = FEATURES.get("syntax")(
            grain=str(rng.choice(["coarse", "fine"])), labels="+".join(trees.LABELS[: rng.integers(2, 6)])
        )
        if kind == "chart":
            found = chart_space.random_space(rng, most=200)
            plain, sentence = found.model, found.sentence
            dense = [dict(zip(plain.feature_names, row.tolist(), strict=True)) for row in found.rows]
            spans = [[span for span, _ in derivation.steps] for derivation in found.derivations]
            self.space = SpaceLimits()
        else:
            plain, sentence = phrase_space.random_model(rng), phrase_space.random_sentence(rng, 4)
            options = phrase_space.options(plain, sentence, 3)
            limit = int(rng.integers(0, 4))
            listed = list(phrase_space.derivations(options, len(sentence.split()), limit))
            dense = [phrase_space.features(plain, derivation) for derivation in listed]
            spans = [[(option.begin, option.end) for option in derivation] for derivation in listed]
            self.space = SpaceLimits(reordering_limit=limit, table_limit=3)
        self.line = trees.parsed(rng, sentence)
        self.model = plain.with_features([self.syntax])
        names = self.model.features_of(SpanFeature)[0].names
        self.weights = plain.weights.updated({name: float(rng.normal()) for name in names})
        self.syntactic = [self.of_spans(row) for row in spans]
        self.scores = [
            sum(self.weights.get(name, 0.0) * value for name, value in {**row, **syntactic}.items())
            for row, syntactic in zip(dense, self.syntactic, strict=True)
        ]

    def of_spans(self, spans):
        total = Counter()
        for begin, end in spans:
            total.update(
                trees.span_features(self.line.tree, begin, end, self.syntax.chosen, fine=self.syntax.grain == "fine")
            )
        return total

    def translator(self, **settings):
        return Translator.of(self.model, self.weights, space=self.space, **settings)


def syntactic(values):
    return {name: value for name, value in values.items() if name.startswith("syntax.")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(25))
def test_searches_agree_with_enumeration(kind, seed):
    case = Case(kind, seed)
    if not case.scores:
        return
    translator = case.translator(limits=EVERYTHING)
    graph = translator.search(case.line)
    found = [tuple(sorted(syntactic(total).items())) for total in forest.totals(graph, case.weights)]
    assert sorted(found) == sorted(tuple(sorted(values.items())) for values in case.syntactic)
    (best,) = translator.translate([case.line], features=True)
    assert best.score == pytest.approx(max(case.scores), abs=1e-9)
    assert best.score == pytest.approx(sum(case.weights.get(n, 0.0) * v for n, v in best.features.items()), abs=1e-9)
    (lists,) = translator.nbest([case.line], 5)
    np.testing.assert_allclose(lists.scores, sorted(case.scores, reverse=True)[: len(lists.scores)], atol=1e-9)
    np.testing.assert_allclose(lists.features.dot(case.weights), lists.scores, atol=1e-9)
    forced = translator.force(case.line, best.text)
    assert max(one.score for one in forest.derivations(forced)) == pytest.approx(best.score, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_samplers_score_as_searches_do(kind):
    tried = 0
    for seed in range(8):
        case = Case(kind, seed)
        if not case.scores:
            continue
        weights = case.weights.updated({"unknown_word": 0.01})
        sampler = Sampler.of(case.translator().reweighted(weights), Sampling(samples=30, burn_in=5))
        samples = Samples.concatenate(list(sampler.sample([case.line, case.line])))
        np.testing.assert_allclose(samples.scores, samples.features.dot(weights), atol=1e-9)
        expected = {tuple(sorted(values.items())) for values in case.syntactic}
        rows = [samples.features.row(i) for i in range(len(samples.scores))]
        assert {tuple(sorted(syntactic(row).items())) for row in rows} <= expected
        tried += any(map(syntactic, rows))
    assert tried


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_without_its_tree_is_refused(kind):
    case = Case(kind, 1)
    for lines in ([str(case.line)], [case.line, case.line.upper()]):
        with pytest.raises(UsageError, match="looks at trees of the source sentences: give them with `trees=`"):
            list(case.translator().translate(lines))
    with pytest.raises(UsageError, match="give them with `trees=`"):
        list(Sampler.of(case.translator()).sample([str(case.line)]))
    with pytest.raises(DataError, match=r"the tree of 'f0 f0' is over 3 words; expected 2, as the sentence has"):
        list(case.translator().translate([ParsedLine("f0 f0", SourceTree.nothing(3))]))


@pytest.mark.parametrize("kind", KINDS)
def test_other_weights_and_limits_by_score_know_the_trees_too(kind):
    told = 0
    for seed in range(10):
        case = Case(kind, seed)
        space = replace(case.space, table_limit=2, table_limit_by="score")
        translator = Translator.of(case.model, case.weights, limits=EVERYTHING, space=space)
        if not case.scores:
            continue
        batch = translator.batch([case.line])
        again = batch.reweighted(case.weights)
        (found,) = translator.translate([case.line], features=True)
        steps = [phrase.source for phrase in found.phrases]
        if found.tree is not None:
            steps = [rule.source for _, rule in found.tree.rules() if not rule.glue]
        assert syntactic(found.features) == case.of_spans(steps)
        told += bool(syntactic(found.features))
        columns = [name for name in dir(batch.arrays) if not name.startswith("_")]
        assert "local" in columns
        for name in columns:
            np.testing.assert_array_equal(getattr(batch.arrays, name), getattr(again.arrays, name))
    assert told


@pytest.mark.parametrize("kind", KINDS)
def test_marked_up_spans_are_those_of_the_words(kind):
    case = Case(kind, 2)
    tree = trees.tree_of(3, [("NP", 1, 3), ("PP", 0, 2)])
    line = ParsedLine('f0 <x translation="e0">f1 f2</x>', tree)
    (found,) = case.translator(markup=True).translate([line], features=True)
    names = {"syntax.NP.equal", "syntax.PP.cross"} if case.syntax.grain == "fine" else {"syntax.equal", "syntax.cross"}
    assert names <= syntactic(found.features).keys()


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_have_their_part_of_the_tree(kind):
    case = Case(kind, 5)
    words = ["f0", "f1", "f2", "f3", "f0", "f1"]
    tree = trees.tree_of(6, [("NP", 0, 2), ("NP", 3, 5), ("PP", 2, 4), ("PP", 4, 6), ("NP", 0, 6)])
    limits = SearchLimits(max_words=3)
    (found,) = case.translator(limits=limits).translate([ParsedLine(" ".join(words), tree)], features=True)
    parts = [ParsedLine(" ".join(words[a : a + 3]), tree.part(a, a + 3)) for a in (0, 3)]
    single = list(case.translator().translate(parts, features=True))
    assert found.score == pytest.approx(sum(one.score for one in single), abs=1e-9)
    assert syntactic(found.features) == sum((Counter(syntactic(one.features)) for one in single), Counter())
