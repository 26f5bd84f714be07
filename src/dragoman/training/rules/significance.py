"""How significant rules are: whether their sides meet in more sentence pairs than chance would have it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import SILENT, Progress
from dragoman.model.rule_instances import AlignedText, RuleInstances


def negative_log_p(
    pairs: PhrasePairs,
    instances: RuleInstances,
    text: AlignedText,
    *,
    threads: int = 1,
    progress: Progress = SILENT,
) -> NDArray[np.float64]:
    """For each rule -log p that its sides would share as many sentence pairs by chance (one-sided Fisher exact test).

    A sentence pair holds a side, or a rule, if it is among what was extracted from it: where words that could be a side
    stand with other links, it is not one. `pairs` are all rules of the instances, or some of them.
    """
    with progress.stage("numbering sides") as share:
        sources, *_ = kernels.number_rule_sides(text.arrays, instances.arrays, False, threads, share)
        targets, symbols, offsets = kernels.number_rule_sides(text.arrays, instances.arrays, True, threads, share)
    # Which nonterminal is which does not matter to what a target side occurs in.
    same = kernels.unpaired_sides(symbols, offsets)
    rules, rule_of_instance = np.unique(_keys(sources, targets), return_inverse=True)
    wanted = np.searchsorted(rules, _keys(pairs.source_ids, pairs.target_ids))
    joint = _sentences(rule_of_instance, instances.sentence)[wanted]
    source = _sentences(sources, instances.sentence)[pairs.source_ids]
    target = _sentences(same[targets], instances.sentence)[same[pairs.target_ids]]
    with progress.stage("testing significance") as share:
        return kernels.fisher_exact(joint, source, target, len(text.source), threads, share)


def _keys(high: NDArray[np.integer], low: NDArray[np.integer]) -> NDArray[np.int64]:
    return high.astype(np.int64) << 32 | low


def _sentences(ids: NDArray[np.integer], sentence: NDArray[np.int32]) -> NDArray[np.int64]:
    """In how many sentences each id is."""
    return np.bincount(np.unique(_keys(ids, sentence)) >> 32)
