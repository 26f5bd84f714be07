"""How significant rules are: whether their sides meet in more sentence pairs than chance would have it.

A sentence pair holds a side, or a rule, if it is among what was extracted from it: where words that could be a side
stand with other links, it is not one. Which nonterminal is which does not matter to what a target side occurs in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.runtime import Runtime
from dragoman.model.rule_scores import CountedRules


class SentenceCounts(NamedTuple):
    """In how many sentence pairs each rule is, and its source side."""

    rule: NDArray[np.int64]
    source: NDArray[np.int64]

    @classmethod
    def of(cls, counted: CountedRules, sentence: NDArray[np.int32]) -> SentenceCounts:
        """Count; `sentence` is that of each instance."""
        rule = counted.rule_of_instance
        return cls(
            sentences_with(rule, sentence), sentences_with(counted.source_ids[rule], sentence)[counted.source_ids]
        )


def target_sentences(counted: CountedRules, sentence: NDArray[np.int32]) -> NDArray[np.int64]:
    """In how many sentence pairs each target side is, if the instances are all that there are."""
    same = kernels.unpaired_sides(counted.targets.values, counted.targets.offsets)
    return sentences_with(same[counted.target_ids[counted.rule_of_instance]], sentence, len(same))[same]


def negative_log_p(
    counts: SentenceCounts, target: NDArray[np.int64], sentence_pairs: int, *, runtime: Runtime = Runtime()
) -> NDArray[np.float64]:
    """For each rule -log p that its sides would share as many sentence pairs by chance (one-sided Fisher exact test).

    `target` is in how many of the text's sentence pairs the target side of each rule is.
    """
    with runtime.stage("testing significance") as share:
        return kernels.fisher_exact(counts.rule, counts.source, target, sentence_pairs, runtime.threads, share)


def sentences_with(ids: NDArray[np.integer], sentence: NDArray[np.int32], size: int = 0) -> NDArray[np.int64]:
    """In how many sentences each id is."""
    return np.bincount(np.unique(ids.astype(np.int64) << 32 | sentence) >> 32, minlength=size)
