import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.grammar import Grammar
from dragoman.model.rule_scores import TargetCounts
from dragoman.training.rules.model import RuleModel, corpus_grammar, rules
from oracles.phrase_table import random_bitext

pytestmark = pytest.mark.slow

OPTIONS = [
    RuleModel(max_span=6),
    RuleModel(min_hole_source=1, max_span=5),
    RuleModel(min_hole_source=1, max_span=5, tight=True, linked_word=False),
    RuleModel(min_hole_source=1, max_span=5, max_target_symbols=4, max_source_symbols=4),
    RuleModel(min_hole_source=1, min_hole_target=2, min_words=2, max_span=6),
    RuleModel(min_hole_source=1, max_nonterminals=1, fractional_counts=False),
    RuleModel(max_nonterminals=0, max_span=4),
]


def fits(side: list[int], sentence: list[int], span: int) -> bool:
    """Whether a source side matches so many words of a sentence, a nonterminal at least one."""
    pattern = "".join("(?:<\\d+>)+" if symbol < 0 else f"<{symbol}>" for symbol in side)
    text = "".join(f"<{word}>" for word in sentence)
    starts = [match.start() for match in re.finditer("<", text)]
    ends = [*starts[1:], len(text)]
    return any(
        re.fullmatch(pattern, text[starts[i] : ends[j]])
        for i in range(len(starts))
        for j in range(i, min(len(starts), i + span))
    )


def listed(grammar: Grammar) -> dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[object, ...]]:
    """Rules by their sides, with scores, counts and links as they are."""
    nodes = np.repeat(np.arange(len(grammar.symbols)), np.diff(grammar.first_rule))
    assert grammar.counts is not None
    assert grammar.alignments is not None
    return {
        (tuple(source.tolist()), tuple(target.tolist())): (scores.tolist(), counts.tolist(), links.tolist())
        for source, target, scores, counts, links in zip(
            grammar.sides(nodes), grammar.targets, grammar.log_scores, grammar.counts, grammar.alignments, strict=True
        )
    }


@pytest.mark.parametrize("number", range(len(OPTIONS)))
def test_rules_are_those_of_the_table_that_fit(number: int) -> None:
    options = OPTIONS[number]
    rng = np.random.default_rng(number)
    bitext, links, _ = random_bitext(rng, 60, words=4, longest=9, links=0.9)
    table = listed(Grammar.from_pairs(rules(bitext, links, options)))
    grammar = corpus_grammar(bitext, links, options)
    assert listed(grammar.whole()) == table
    sentences = [rng.integers(3, 8, size=rng.integers(9)).tolist() for _ in range(4)]
    for batch, span in ((sentences, None), (sentences[:1], None), (sentences, 3)):
        found = grammar.for_sentences(Ragged.of(batch, np.int32), span_limit=span)
        longest = span or options.max_span
        expected = {
            rule: row for rule, row in table.items() if any(fits([*rule[0]], sentence, longest) for sentence in batch)
        }
        assert listed(found) == expected


def test_threads_do_not_change_anything() -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(3), 1000, words=20)
    grammar = corpus_grammar(bitext, links, RuleModel(sample=20))
    one, two = (grammar.for_sentences(bitext.source.sentences, runtime=Runtime(threads=threads)) for threads in (1, 2))
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, two.arrays()[name])


def test_a_sample_of_places_stands_for_all() -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(4), 2000, words=3)
    sentences = bitext.source.sentences.take(np.arange(20))
    whole = listed(corpus_grammar(bitext, links).for_sentences(sentences))
    some = listed(corpus_grammar(bitext, links, RuleModel(sample=400)).for_sentences(sentences))
    assert len(some) < len(whole)
    assert some.keys() <= whole.keys()
    source_counts = {source: row[1][1] for (source, _), row in whole.items()}
    sampled = {source: row[1][1] for (source, _), row in some.items()}
    # Some counts are too great and some too small, but all together they are about right.
    assert sum(sampled.values()) == pytest.approx(sum(source_counts.values()), rel=0.05)
    assert sampled != {source: source_counts[source] for source in sampled}
    # Lexical weights and what target sides count are exact; probabilities are at most 1.
    assert all(whole[rule][1][0] == row[1][0] for rule, row in some.items())
    assert all(max(row[0]) <= 0 for row in some.values())


def test_it_can_be_kept() -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(5), 50)
    grammar = corpus_grammar(bitext, links, RuleModel(sample=7))
    again = CorpusGrammar.rebuild(grammar.about(), grammar.arrays())
    again.check(bitext.source.vocab, bitext.target.vocab)
    sentences = bitext.source.sentences
    assert listed(again.for_sentences(sentences)) == listed(grammar.for_sentences(sentences))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("source", lambda a: a + 1000),
        ("target", lambda a: a - 1000),
        ("links", lambda a: a + 70),
        ("links", lambda a: a[::-1].copy()),
        ("suffixes", lambda a: a + 1),
        ("rule_counts", lambda a: a + 1),
        ("pair_offsets", lambda a: np.concatenate([[0], a[:-1]])),
        ("source_weights", lambda a: a * np.nan),
        ("target_counts", lambda a: a * 0),
        ("target_hashes", lambda a: a[::-1].copy()),
    ],
)
def test_what_could_lead_a_kernel_astray_is_refused(name: str, change) -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(6), 50)
    grammar = corpus_grammar(bitext, links)
    arrays = {**grammar.arrays(), name: change(grammar.arrays()[name])}
    with pytest.raises(DataError):
        CorpusGrammar.rebuild(grammar.about(), arrays).check(bitext.source.vocab, bitext.target.vocab)


def test_what_cannot_be_had_on_demand() -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(7), 50)
    with pytest.raises(UsageError, match="side by side"):
        corpus_grammar(bitext, links, RuleModel(adjacent_nonterminals=True))
    pruning: list[dict[str, Any]] = [
        {"min_count": 1},
        {"prune_limit": 1},
        {"prune_score": 0.1},
        {"prune_significance": "a+e"},
    ]
    for options in pruning:
        with pytest.raises(UsageError, match="pruned"):
            corpus_grammar(bitext, links, RuleModel(**options))
    grammar = corpus_grammar(bitext, links)
    empty = replace(grammar.target_counts and grammar, target_counts=TargetCounts(*[np.empty(0, np.uint64)] * 2))
    with pytest.raises(DataError, match="not counted"):
        empty.for_sentences(bitext.source.sentences)


def test_a_table_of_rules_is_all_that_sentences_need() -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(8), 20)
    grammar = Grammar.from_pairs(rules(bitext, links))
    assert grammar.for_sentences(bitext.source.sentences) is grammar
    assert grammar.whole() is grammar
