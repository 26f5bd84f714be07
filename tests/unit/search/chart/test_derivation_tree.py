"""The best derivation as a tree."""

from itertools import pairwise

import numpy as np
import pytest

from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator
from oracles import chart_space, linked_rules


def found(seed, *, features=False):
    rng = np.random.default_rng(seed)
    model = linked_rules.with_random_links(chart_space.random_model(rng, grammars=2, rules=30), rng)
    lines = ["", *(chart_space.random_sentence(rng, 9) for _ in range(10))]
    return model, list(Translator.of(model).translate(lines, features=features))


@pytest.mark.parametrize("seed", range(10))
def test_the_parts_of_a_tree_cover_the_sentence_from_left_to_right(seed):
    _, translations = found(seed)
    for translation in translations:
        tree, lengths = translation.tree, [len(text.split()) for text in (translation.source, translation.text)]
        assert tree.glue
        assert [tree.source, tree.target] == [(0, lengths[0]), (0, lengths[1])]
        for side, length in zip(("source", "target"), lengths, strict=True):
            bounds = [0, *(at for part in tree.children for at in getattr(part, side)), length]
            assert bounds[::2] == bounds[1::2]
        assert [(part.source, part.target, part.all_links()) for part in tree.children] == [
            (phrase.source, phrase.target, phrase.links) for phrase in translation.phrases
        ]


def known_rules(model):
    """Both sides of all rules as text, and links between their symbols."""
    known = set()
    for grammar in model.grammars.values():
        for row, rule in enumerate(linked_rules.sides(grammar)):
            links = tuple((link >> 8, link & 255) for link in grammar.alignments[row].tolist())
            spelt = [
                " ".join(vocab.text(np.array([s])) if s >= 0 else f"[X{-s}]" for s in side)
                for vocab, side in zip((model.source_vocab, model.target_vocab), rule, strict=True)
            ]
            known.add((*spelt, links))
    return known


def test_every_word_is_of_one_rule_and_rules_are_in_the_model():
    holes = 0
    for model, translation in ((model, one) for model, some in map(found, range(10)) for one in some):
        known, source, target = known_rules(model), translation.source.split(), translation.text.split()
        rules = [rule for _, rule in translation.tree.rules()]
        for side, words in (("source", source), ("target", target)):
            assert sorted(s for rule in rules for s in rule.symbols(side) if s >= 0) == list(range(len(words)))
        for rule in rules:
            assert all(a.source[1] <= b.source[0] for a, b in pairwise(rule.children))
            spelt = rule.spelt("source", source), rule.spelt("target", target)
            if rule.unknown:
                assert spelt[0] == spelt[1]
                assert rule.links == ((rule.source[0], rule.target[0]),)
                continue
            if len(rule.children) == 2 and len({child.target for child in rule.children}) == 1:
                continue  # Both write nothing, so that nobody can say in which order.
            at = [{s: i for i, s in enumerate(rule.symbols(side))} for side in ("source", "target")]
            assert (*spelt, tuple((at[0][s], at[1][t]) for s, t in rule.links)) in known
            holes += len(rule.children)
    assert holes > 20


@pytest.mark.parametrize("seed", range(5))
def test_features_of_rules_and_glue_add_up(seed):
    _, translations = found(seed, features=True)
    for translation in translations:
        nodes = [translation.tree, *(rule for _, rule in translation.tree.rules())]
        sums = {}
        for node in nodes:
            for name, value in node.features.items():
                sums[name] = sums.get(name, 0.0) + value
        assert sums == pytest.approx(translation.features, abs=1e-9)
        assert all(node.features["rule_penalty"] == 1 for node in nodes[1:])
        assert translation.tree.features.get("glue", 0.0) == len(translation.tree.children)
        html = translation._repr_html_()
        assert all(f"<th>{name}</th>" in html for name in translation.features)
        assert html.count("<tr>") == 1 + len(nodes)
    assert "<th>" not in found(seed)[1][1]._repr_html_()


def test_a_sentence_may_be_long():
    model = chart_space.random_model(np.random.default_rng(1), span_limit=1)
    line = " ".join(chart_space.SOURCE * 400)
    (translation,) = Translator.of(model).translate([line], features=True)
    assert len(translation.tree.children) == 2000
    assert repr(translation)
    assert translation._repr_html_()


def test_a_target_without_a_derivation_is_nothing():
    model, _ = found(2)
    (part,) = Translator.of(model).search_batches(["f0", "f1"], forests=True, targets=["no such words", "nor these"])
    assert [(t.text, t.phrases, t.tree) for t in part.translations(features=True)] == [("", (), None)] * 2


def test_notebooks_show_boxes_in_boxes():
    _, translations = found(3)
    nested = [t for t in translations if any(rule.children for _, rule in t.tree.rules())]
    for translation in nested:
        html = translation._repr_html_()
        shown = sum((r.source[0] < r.source[1]) + (r.target[0] < r.target[1]) for _, r in translation.tree.rules())
        assert html.count("<span") == html.count("</span>") == shown
    assert nested


def test_trees_of_pieces_are_joined():
    model, _ = found(4)
    line = " ".join(np.random.default_rng(4).choice(chart_space.SOURCE, 40).tolist())
    translator = Translator.of(model, limits=SearchLimits(max_words=7))
    (translation,) = translator.translate([line], features=True)
    tree, words = translation.tree, (translation.source.split(), translation.text.split())
    assert (tree.source, tree.target) == ((0, len(words[0])), (0, len(words[1])))
    rules = [rule for _, rule in tree.rules()]
    assert any(rule.children for rule in rules)
    for side, length in zip(("source", "target"), map(len, words), strict=True):
        assert sorted(s for rule in rules for s in rule.symbols(side) if s >= 0) == list(range(length))
    assert sorted(link for phrase in translation.phrases for link in phrase.links) == [*tree.all_links()]
    sums = {}
    for name, value in (row for node in [tree, *rules] for row in node.features.items()):
        sums[name] = sums.get(name, 0.0) + value
    assert sums == pytest.approx(translation.features, abs=1e-9)
