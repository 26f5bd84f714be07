"""How often nonterminals are reordered, against plain counting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus, links_of
from dragoman.core.runtime import Runtime
from dragoman.model.rule_scores import HOLE_SIZES, RuleExtraction, hole_counts
from dragoman.training.rules.extract import aligned_text
from oracles.phrase_table import random_bitext
from oracles.rule_table import holed_rules_of, is_reordered

OPTIONS = [
    RuleExtraction(max_span=5),
    RuleExtraction(max_span=5, min_hole_source=3, min_hole_target=2),
    RuleExtraction(min_hole_source=1, max_span=4, adjacent_nonterminals=True, linked_word=False),
    RuleExtraction(tight=True, min_hole_source=1, max_span=4, fractional_counts=False),
]


def counted(sides, options):
    options = replace(options, min_hole_source=1, min_hole_target=1)  # holes of one word count whatever extraction has
    counts = np.zeros((2, HOLE_SIZES))
    for sentence in zip(*sides, strict=True):
        for holes, source, target, links, count in holed_rules_of(*sentence, options):
            for number, ((begin, end), _) in enumerate(holes):
                reordered = is_reordered(source, target, links, number)
                counts[int(reordered), min(end - begin, HOLE_SIZES) - 1] += float(count)
    return counts


@pytest.mark.parametrize("number", range(len(OPTIONS)))
def test_counts_are_those_of_plain_counting(number):
    bitext, links, sides = random_bitext(np.random.default_rng(number), 30, words=3, longest=6, links=0.9)
    text = aligned_text(bitext, links)
    found = hole_counts(text, OPTIONS[number])
    assert (found.sum(axis=1) > 0).all()
    np.testing.assert_allclose(found, counted(sides, OPTIONS[number]), rtol=1e-12)
    few = hole_counts(text, OPTIONS[number], sentences=12)
    np.testing.assert_allclose(few, counted([side[:12] for side in sides], OPTIONS[number]), rtol=1e-12)
    np.testing.assert_array_equal(hole_counts(text, OPTIONS[number], sentences=99), found)


def test_holes_of_one_word_count_whatever_extraction_allows():
    bitext, links, _ = random_bitext(np.random.default_rng(5), 30, words=3, longest=6, links=0.9)
    text = aligned_text(bitext, links)
    one, two = (hole_counts(text, RuleExtraction(min_hole_source=size)) for size in (1, 2))
    assert (two[:, 0] > 0).all()
    np.testing.assert_array_equal(two, one)


def test_large_holes_are_counted_together():
    words = [f"w{i}" for i in range(13)]
    bitext = Bitext(Corpus.from_lines([" ".join(words)]), Corpus.from_lines([" ".join([*words[1:], words[0]])]))
    links = links_of([[(0, 12), *((i, i - 1) for i in range(1, 13))]])
    options = RuleExtraction(max_span=13, max_nonterminals=1)
    found = hole_counts(aligned_text(bitext, links), options)
    sides = ([words], [[*words[1:], words[0]]], [{(0, 12), *((i, i - 1) for i in range(1, 13))}])
    np.testing.assert_allclose(found, counted(sides, options), rtol=1e-12)
    assert found[1, 9] > 0


def test_threads_do_not_change_anything():
    bitext, links, _ = random_bitext(np.random.default_rng(6), 1000, words=9)
    text = aligned_text(bitext, links)
    one, two = (hole_counts(text, RuleExtraction(), runtime=Runtime(threads=threads)) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)
