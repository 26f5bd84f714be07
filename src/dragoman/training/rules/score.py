"""From rule instances to rules: counts, translation probabilities, lexical weights and links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.progress import SILENT, Progress, ShareDone
from dragoman.core.ragged import Ragged
from dragoman.training.lexical import LexicalTables, word_weights
from dragoman.training.rules.extract import ONE, AlignedText, RuleInstances


def score_rules(
    instances: RuleInstances,
    text: AlignedText,
    lexical: LexicalTables,
    *,
    threads: int = 1,
    progress: Progress = SILENT,
) -> PhrasePairs:
    """Count rules and score them with p(f|e), lexical(f|e), p(e|f), lexical(e|f).

    Probabilities are relative frequencies of the counts. What a target side counts does not depend on which of its
    nonterminals goes with which on the source side, but rules that differ in this are different rules. Links are those
    with the greatest count, ties broken as for phrases. Nonterminals have no part in lexical weights.
    """
    if len(instances) >= 1 << 31:
        raise DataError(f"{len(instances)} rule instances", expected="fewer than 2**31: use shorter spans or less text")
    with progress.stage("numbering source sides") as share:
        source_ids, sources = _number(text, instances, False, threads, share)
    with progress.stage("numbering target sides") as share:
        target_ids, targets = _number(text, instances, True, threads, share)
    with progress.stage("collecting rules") as share:
        order, offsets = kernels.group_pairs(source_ids, target_ids, len(sources), threads, share)
    some = order[offsets[:-1]]
    rule_sources, rule_targets = source_ids[some], target_ids[some]
    del source_ids, target_ids, some
    joint = np.add.reduceat(instances.counts[order], offsets[:-1]) if len(rule_sources) else instances.counts
    counts, scores = _frequencies(rule_sources, rule_targets, joint, len(sources), targets)
    del joint
    place = text.arrays, instances.arrays
    with progress.stage("choosing links") as share:
        forward, backward = kernels.choose_rule_alignments(order, offsets, *place, threads, share)
    del order, offsets
    source_weights, target_weights = word_weights(text.bitext, text.links, lexical)
    scores[:, 1] = kernels.rule_products(backward, *place, source_weights, False, threads)
    scores[:, 3] = kernels.rule_products(forward, *place, target_weights, True, threads)
    del backward
    with progress.stage("sorting rules") as share:
        rows = kernels.order_pairs(
            np.searchsorted(rule_sources, np.arange(len(sources) + 1, dtype=np.int32)),
            rule_targets,
            targets.values,
            targets.offsets,
            scores[:, 2].copy(),
            scores[:, 0].copy(),
            threads,
            share,
        )
    return PhrasePairs(
        text.bitext.source.vocab,
        text.bitext.target.vocab,
        sources,
        targets,
        rule_sources,
        rule_targets[rows],
        scores[rows],
        PHRASE_SCORES,
        Ragged(*kernels.rule_links(forward[rows], *place)),
        counts[rows],
    )


def _number(
    text: AlignedText, instances: RuleInstances, target: bool, threads: int, share: ShareDone
) -> tuple[NDArray[np.int32], Ragged[np.int32]]:
    """Number the distinct sides: the id of each instance, and the sides."""
    ids, symbols, offsets = kernels.number_rule_sides(text.arrays, instances.arrays, target, threads, share)
    return ids, Ragged(symbols, offsets)


def _sums(ids: NDArray[np.int32], counts: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    sums = np.zeros(size, np.uint64)
    np.add.at(sums, ids, counts)
    return sums


def _frequencies(
    source_ids: NDArray[np.int32],
    target_ids: NDArray[np.int32],
    joint: NDArray[np.uint64],
    sources: int,
    targets: Ragged[np.int32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The columns of counts, and those of scores with the relative frequencies filled in."""
    counts = np.empty((len(joint), 3), np.float32)
    scores = np.empty((len(joint), len(PHRASE_SCORES)), np.float32)
    same = kernels.unpaired_sides(targets.values, targets.offsets)
    totals = (
        _sums(same, _sums(target_ids, joint, len(targets)), len(targets))[same],
        _sums(source_ids, joint, sources),
    )
    for column, (ids, total) in enumerate(zip((target_ids, source_ids), totals, strict=True)):
        of_rule = total[ids]
        counts[:, column] = of_rule / ONE
        scores[:, 2 * column] = joint / of_rule
    counts[:, 2] = joint / ONE
    return counts, scores
