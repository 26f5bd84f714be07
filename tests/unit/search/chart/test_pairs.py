"""Rules as features of phrase pairs see them."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import UNK
from dragoman.core.errors import UsageError
from dragoman.features.boundary_tags import BoundaryTags
from dragoman.features.phrase_length import PhraseLength
from dragoman.features.unlinked_words import WordDeletion, WordInsertion
from dragoman.features.word_pair import WordPair
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.translator import Translator
from oracles import chart_space, linked_rules

FEATURES = [PhraseLength(longest=2), WordPair(target_words=2), WordInsertion(target_words=0), WordDeletion()]


def linked_model(seed, *, features=()):
    rng = np.random.default_rng(seed)
    model = linked_rules.with_random_links(chart_space.random_model(rng, grammars=2, rules=30), rng)
    return model.with_features(features), [*(chart_space.random_sentence(rng, 7) for _ in range(5)), ""]


@pytest.mark.parametrize("seed", range(10))
def test_holes_are_left_out_and_links_numbered_anew(seed):
    model, lines = linked_model(seed)
    translator = ChartTranslator(model, markup=True)
    rules = translator.batch([*lines, 'f0 <x translation="e1 new">f1 f9</x>']).rules
    every = [linked_rules.sides(grammar) for grammar in rules.grammars]
    pairs, holes = rules.pairs, 0
    for i, (grammar, row) in enumerate(zip(rules.grammar.tolist(), rules.row.tolist(), strict=True)):
        assert pairs.linked[i] == (grammar >= 0)
        if grammar < 0:
            assert len(pairs.links[i]) == 0
            continue
        source, target = every[grammar][row]
        links = rules.grammars[grammar].alignments[row].tolist()
        assert [side[i].tolist() for side in (pairs.source_words, pairs.words, pairs.links)] == [
            *linked_rules.in_words(source, target, links)
        ]
        holes += min(target, default=0) < 0
    assert holes > 0
    given = pairs.source_words[len(rules) - 1].tolist()
    assert given == [model.source_vocab.id("f1"), UNK]
    assert rules.vocab.text(pairs.words[len(rules) - 1]) == "e1 new"


@pytest.mark.parametrize("seed", range(5))
def test_translations_have_the_features_of_their_rules(seed):
    model, lines = linked_model(seed, features=FEATURES)
    rng = np.random.default_rng(seed)
    plain = next(Translator.of(model).nbest(lines, 50))
    names = [name for name in plain.features.names if name.startswith(model.sparse_prefixes)]
    assert {name.partition(".")[0] for name in names} == {"pl", "wp", "twi", "swd"}
    weights = model.weights.updated({name: float(rng.normal()) for name in names})
    translator = Translator.of(model, weights)
    for part in translator.search_batches(lines, forests=True):
        lists = part.nbest(20)
        np.testing.assert_allclose(lists.features.dot(weights), lists.scores, atol=1e-9)
        for i, found in enumerate(part.translations(features=True)):
            expected = {}
            for _, rule in found.tree.rules():
                source, target = ([s for s in rule.symbols(side) if s >= 0] for side in ("source", "target"))
                name = f"pl.s{min(2, len(source))}t{min(2, len(target))}"
                expected[name] = expected.get(name, 0.0) + 1
                linked = {t for _, t in rule.links}
                for word in (found.text.split()[t] for t in target if t not in linked):
                    expected[f"twi.{word}"] = expected.get(f"twi.{word}", 0.0) + 1
            assert {name: v for name, v in found.features.items() if name.startswith(("pl.", "twi."))} == expected
            assert lists.scores[lists.sentences[i]] == pytest.approx(found.score, abs=1e-9)


def test_words_count_as_often_as_rules_were_extracted():
    model, _ = linked_model(3)
    richer = model.with_features([WordPair(source_words=1, target_words=1)])
    learnt = richer.sparse_features[WordPair(source_words=1, target_words=1)]
    for side, at in (("source", 0), ("target", 1)):
        counts = {}
        for grammar in model.grammars.values():
            for rule, times in zip(linked_rules.sides(grammar), grammar.counts[:, 2].tolist(), strict=True):
                for word in rule[at]:
                    if word >= 0:
                        counts[word] = counts.get(word, 0) + times
        assert learnt[side].tolist() == [max(sorted(counts), key=counts.get)]


def test_features_that_no_chart_can_score_or_without_links_are_refused():
    model, _ = linked_model(1)
    with pytest.raises(UsageError, match="boundary-tags is about neighbours, and the rules of a hierarchical"):
        model.with_features([BoundaryTags()])
    first = next(iter(model.grammars))
    bare = {**model.grammars, first: replace(model.grammars[first], alignments=None)}
    with pytest.raises(UsageError, match=f"word-pair needs word links, which the grammar '{first}' has not"):
        replace(model, grammars=bare).with_features([WordPair()])
