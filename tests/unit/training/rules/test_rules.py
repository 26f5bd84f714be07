from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus, links_of
from dragoman.core.errors import DataError, UsageError
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.runtime import Runtime
from dragoman.model.grammar import Grammar
from dragoman.model.rule_scores import ONE, AlignedText, RuleExtraction, RuleInstances, count_instances, score_instances
from dragoman.training.lexical import LexicalTables, lexical_tables, word_weights
from dragoman.training.rules.extract import aligned_text, extract_rules
from dragoman.training.rules.model import RuleModel, SentenceCounts, rule_significance, rules, target_sentences
from oracles.fisher import negative_log_p as exact_negative_log_p
from oracles.phrase_table import random_bitext
from oracles.rule_table import rule_table, rules_of, unpaired

CHIANG = RuleExtraction(tight=True, min_hole_source=1, max_span=4)
OPTIONS = [
    RuleExtraction(max_span=5),
    CHIANG,
    RuleExtraction(min_hole_source=1, max_span=4, max_source_symbols=3),
    RuleExtraction(min_hole_source=1, max_span=4, max_target_symbols=3),
    RuleExtraction(min_hole_source=1, max_span=4, adjacent_nonterminals=True),
    RuleExtraction(min_hole_source=1, max_span=4, linked_word=False),
    RuleExtraction(min_hole_source=1, min_hole_target=2, max_span=5),
    RuleExtraction(min_hole_source=1, min_words=2, max_span=5),
    RuleExtraction(min_hole_source=1, max_nonterminals=1, max_span=4),
    RuleExtraction(max_nonterminals=0, max_span=4),
    RuleExtraction(min_hole_source=1, fractional_counts=False, max_span=4),
]


def spelt(pairs: PhrasePairs, row: int) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """The two sides in words, nonterminals as their numbers from 0."""
    sides = []
    for vocab, rows, ids in (
        (pairs.source_vocab, pairs.sources, pairs.source_ids),
        (pairs.target_vocab, pairs.targets, pairs.target_ids),
    ):
        symbols = rows[int(ids[row])]
        sides.append(tuple(-1 - int(s) if s < 0 else vocab.text(np.array([s], np.int32)) for s in symbols))
    return sides[0], sides[1]


def score_rules(
    instances: RuleInstances, bitext: Bitext, text: AlignedText, lexical: LexicalTables, threads: int = 1
) -> PhrasePairs:
    """Count and score the rules of all instances of a text."""
    vocabs = bitext.source.vocab, bitext.target.vocab
    weights = word_weights(bitext, text.links, lexical)
    return score_instances(instances, text, vocabs, weights, runtime=Runtime(threads=threads))


def scored(bitext: Bitext, links, options: RuleExtraction, threads: int = 1) -> PhrasePairs:
    text = aligned_text(bitext, links)
    instances = extract_rules(text, options, runtime=Runtime(threads=threads))
    return score_rules(instances, bitext, text, lexical_tables(bitext, links), threads=threads)


@pytest.mark.parametrize("number", range(len(OPTIONS)))
@pytest.mark.parametrize("seed", range(2))
def test_the_rules_are_those_of_plain_counting(number: int, seed: int) -> None:
    rng = np.random.default_rng([seed, number])
    bitext, links, sides = random_bitext(rng, 40, words=2 + seed, longest=6, links=0.9)
    expected = rule_table(sides, OPTIONS[number])
    pairs = scored(bitext, links, OPTIONS[number])
    assert pairs.score_names == PHRASE_SCORES
    assert pairs.alignments is not None
    assert pairs.counts is not None
    assert {spelt(pairs, row) for row in range(len(pairs))} == expected.keys()
    assert len(pairs) == len(expected)
    for row in range(len(pairs)):
        scores, alignment, counts = expected[spelt(pairs, row)]
        np.testing.assert_allclose(pairs.scores[row], np.array(scores, float), rtol=5e-7)
        np.testing.assert_allclose(pairs.counts[row], np.array(counts, float), rtol=2e-7)
        assert pairs.alignments[row].tolist() == [256 * s + t for s, t in alignment]
    Grammar.from_pairs(pairs).check(pairs.source_vocab, pairs.target_vocab)


def test_instances_are_the_rules_of_their_sentence_pair_once_each() -> None:
    bitext, links, sides = random_bitext(np.random.default_rng(5), 30, words=2, longest=7, links=0.9)
    instances = extract_rules(aligned_text(bitext, links), CHIANG)
    for number, sentence in enumerate(zip(*sides, strict=True)):
        expected: dict[object, float] = {}
        for source, target, inner, count in rules_of(*sentence, CHIANG):
            expected[source, target, inner] = expected.get((source, target, inner), 0) + float(count)
        mine = instances.counts[instances.sentence == number] / ONE
        np.testing.assert_allclose(sorted(mine), sorted(expected.values()), rtol=1e-8)


def test_a_pairing_of_nonterminals_makes_another_rule_but_not_another_target_side() -> None:
    lines = ["a b c", "a b c"]
    bitext = Bitext(Corpus.from_lines(lines), Corpus.from_lines(["x y z", "z y x"]))
    straight, crossed = [(0, 0), (1, 1), (2, 2)], [(0, 2), (1, 1), (2, 0)]
    pairs = scored(bitext, links_of([straight, crossed]), RuleExtraction(min_hole_source=1))
    assert pairs.counts is not None
    both = [row for row in range(len(pairs)) if spelt(pairs, row)[0] == (0, "b", 1)]
    assert sorted(spelt(pairs, row)[1] for row in both) == [(0, "y", 1), (1, "y", 0)]
    for row in both:
        assert pairs.scores[row, [0, 2]].tolist() == [0.5, 0.5]
        assert pairs.counts[row, 0] == 2 * pairs.counts[row, 2]


def test_sums_that_differ_by_rounding_only_are_ties() -> None:
    # "a b" with two alignments: the first counts 1, the second 1/2 + 1/3 + 1/6, from other sentences; the greater wins.
    bitext = Bitext(Corpus.from_lines(["a b"] * 4), Corpus.from_lines(["x y"] * 4))
    text = aligned_text(bitext, links_of([[(0, 0), (0, 1), (1, 1)], *[[(0, 1), (1, 0)]] * 3]))
    instances = extract_rules(text, RuleExtraction(max_nonterminals=0))
    whole = instances.spans[:, 0] == 2
    counts = np.where(whole, 0, instances.counts)
    counts[whole] = [ONE, ONE // 2, round(ONE / 3), ONE // 6]
    pairs = score_rules(
        replace(instances, counts=counts.astype(np.uint64)), bitext, text, lexical_tables(bitext, text.links)
    )
    assert pairs.alignments is not None
    row = next(row for row in range(len(pairs)) if spelt(pairs, row) == (("a", "b"), ("x", "y")))
    assert pairs.alignments[row].tolist() == [1, 256]


def test_threads_do_not_change_anything() -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(6), 3000, words=9)
    found = [scored(bitext, links, CHIANG, threads) for threads in (1, 2, 3)]
    for one, other in pairwise(found):
        assert one.alignments is not None
        assert other.alignments is not None
        assert one.counts is not None
        assert other.counts is not None
        for a, b in (
            (one.source_ids, other.source_ids),
            (one.target_ids, other.target_ids),
            (one.targets.values, other.targets.values),
            (one.scores, other.scores),
            (one.counts, other.counts),
            (one.alignments.values, other.alignments.values),
        ):
            np.testing.assert_array_equal(a, b)


def test_pruning() -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(7), 100, words=4)
    whole = rules(bitext, links, RuleModel())
    assert whole.counts is not None
    often = rules(bitext, links, RuleModel(min_count=1))
    assert 0 < len(often) == np.count_nonzero(whole.counts[:, 2] >= 1) < len(whole)
    likely = rules(bitext, links, RuleModel(prune_score=0.3))
    assert 0 < len(likely) == np.count_nonzero(whole.scores[:, 2] >= 0.3) < len(whole)
    best = rules(bitext, links, RuleModel(prune_limit=1))
    assert len(best) == len(whole.sources)
    with pytest.raises(UsageError, match="prune less"):
        rules(bitext, links, RuleModel(min_count=1e9))


@pytest.mark.slow
def test_significance_is_that_of_what_was_extracted() -> None:
    options = RuleModel(min_hole_source=1, max_span=4)
    bitext, links, lists = random_bitext(np.random.default_rng(9), 60, words=3, longest=5)
    pairs, text = rules(bitext, links, options), aligned_text(bitext, links)
    instances = extract_rules(text, options)
    weights = np.ones(bitext.source.words), np.ones(bitext.target.words)
    counted = count_instances(instances, text, weights)
    target = target_sentences(counted, instances.sentence)[counted.target_ids]
    ps = rule_significance(SentenceCounts.of(counted, instances.sentence), target, len(bitext))
    of_rule = dict(zip(zip(counted.source_ids.tolist(), counted.target_ids.tolist(), strict=True), ps, strict=True))
    found = np.array([of_rule[rule] for rule in zip(pairs.source_ids.tolist(), pairs.target_ids.tolist(), strict=True)])
    held = [{rule[:2] for rule in rules_of(*sentence, options)} for sentence in zip(*lists, strict=True)]
    for row in range(0, len(pairs), 7):
        source, target = spelt(pairs, row)
        joint = sum((source, target) in rules for rules in held)
        left = sum(any(rule[0] == source for rule in rules) for rules in held)
        right = sum(any(unpaired(rule[1]) == unpaired(target) for rule in rules) for rules in held)
        assert found[row] == pytest.approx(exact_negative_log_p(joint, left, right, len(bitext)), rel=1e-9, abs=1e-12)
    kept = rules(bitext, links, replace(options, prune_significance="a-e"))
    assert 0 < len(kept) == np.count_nonzero(found >= np.log(60) - 1e-6) < len(pairs)
    with pytest.raises(UsageError, match="prune_significance"):
        RuleModel(prune_significance="often")


def test_without_links_there_is_no_rule() -> None:
    bitext = Bitext(Corpus.from_lines(["a b"]), Corpus.from_lines(["x y"]))
    with pytest.raises(DataError, match="no rule could be extracted"):
        rules(bitext, links_of([[]]))
