"""What target sides count in all partitions of a text's rules, each of which has some of their rules only.

A side is known by a rule that has it, and compared symbol by symbol, any nonterminal like any other. If it is asked in
how many sentence pairs sides are, each is asked for once for each sentence pair that has it.
"""

from __future__ import annotations

import numpy as np

from dragoman import kernels
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.model.rule_instances import AlignedText, RuleInstances
from dragoman.model.rule_scores import CountedRules, number_sides, sums
from dragoman.training.rules.extract import instances_of
from dragoman.training.rules.significance import sentences_with, target_sentences


def own_counts(counted: CountedRules, instances: RuleInstances, *, sentences: bool) -> Arrays:
    """For each target side what it counts and, with `sentences`, in how many it is, if a partition has all rules."""
    answers: Arrays = {"total": counted.target_totals()}
    return answers | ({"sentences": target_sentences(counted, instances.sentence)} if sentences else {})


def questions_of(counted: CountedRules, instances: RuleInstances, *, sentences: bool) -> Arrays:
    """What a partition asks, and says, of its target sides; with `sentences` once for each that has them."""
    if sentences:
        sides = counted.target_ids[counted.rule_of_instance]
        _, some = np.unique(sides.astype(np.int64) << 32 | instances.sentence, return_index=True)
        sides, places = sides[some], instances.take(some)
    else:
        sides, some = np.unique(counted.target_ids, return_index=True)
        places = counted.chosen.take(some)
    # What a side counts is said once.
    first = np.concatenate([[True], sides[1:] != sides[:-1]])
    counts = np.where(first, counted.target_sums()[sides], np.uint64(0))
    return {
        "thing": sides,
        "sentence": places.sentence,
        "begins": places.begins,
        "spans": places.spans,
        "counts": counts,
    }


def put_together(text: AlignedText, questions: Arrays, *, sentences: bool, runtime: Runtime = Runtime()) -> Arrays:
    """What all partitions say of the side of each question."""
    instances = instances_of(questions)
    ids, sides = number_sides(text, instances, True, lambda share: None, runtime=runtime)
    side = kernels.unpaired_sides(sides.values, sides.offsets)[ids]
    answers: Arrays = {"total": sums(side, instances.counts, len(sides))[side]}
    return answers | ({"sentences": sentences_with(side, instances.sentence)[side]} if sentences else {})
