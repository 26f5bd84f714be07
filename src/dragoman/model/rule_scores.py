"""From rule instances to rules: counts, translation probabilities, lexical weights and links."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.progress import SILENT, Progress, ShareDone
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab
from dragoman.model.rule_instances import ONE, AlignedText, RuleInstances


class TargetCounts(NamedTuple):
    """What target sides count, whatever their source sides: by a hash of their symbols, which rises."""

    hashes: NDArray[np.uint64]
    counts: NDArray[np.uint64]

    @classmethod
    def of(
        cls, instances: RuleInstances, text: AlignedText, *, threads: int = 1, progress: Progress = SILENT
    ) -> TargetCounts:
        """Count the target sides of all instances."""
        with progress.stage("numbering target sides") as share:
            ids, targets = _number(text, instances, True, threads, share)
        same = kernels.unpaired_sides(targets.values, targets.offsets)
        hashes, number = np.unique(kernels.side_hashes(targets.values, targets.offsets), return_inverse=True)
        if len(hashes) < len(np.unique(same)):
            raise DataError(
                "two target sides of rules have the same hash", expected="a text without such a coincidence"
            )
        return cls(hashes, _sums(number, _sums(ids, instances.counts, len(targets)), len(hashes)))

    def total(self, targets: Ragged[np.int32]) -> NDArray[np.uint64]:
        """What each of these counts; they must be among those that were counted."""
        wanted = kernels.side_hashes(targets.values, targets.offsets)
        rows = np.minimum(np.searchsorted(self.hashes, wanted), max(len(self.hashes) - 1, 0))
        if len(wanted) and (not len(self.hashes) or np.any(self.hashes[rows] != wanted)):
            raise DataError("a target side of a rule was not counted", expected="counts of the same text")
        return self.counts[rows] if len(wanted) else np.empty(0, np.uint64)


def score_instances(
    instances: RuleInstances,
    text: AlignedText,
    vocabs: tuple[Vocab, Vocab],
    word_weights: tuple[NDArray[np.float64], NDArray[np.float64]],
    *,
    target_counts: TargetCounts | None = None,
    threads: int = 1,
    progress: Progress = SILENT,
) -> PhrasePairs:
    """Count rules and score them with p(f|e), lexical(f|e), p(e|f), lexical(e|f).

    Probabilities are relative frequencies of the counts. What a target side counts does not depend on which of its
    nonterminals goes with which on the source side, but rules that differ in this are different rules. Links are those
    with the greatest count, ties broken as for phrases. Nonterminals have no part in lexical weights, which are
    products of `word_weights`, one a running word of source and target. If the instances are not all that there are of
    a target side, `target_counts` say what it counts.
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
    if target_counts is None:
        same = kernels.unpaired_sides(targets.values, targets.offsets)
        target_totals = _sums(same, _sums(rule_targets, joint, len(targets)), len(targets))[same]
    else:
        target_totals = target_counts.total(targets)
    source_totals = _sums(rule_sources, joint, len(sources))
    counts, scores = _frequencies(joint, target_totals[rule_targets], source_totals[rule_sources])
    del joint
    place = text.arrays, instances.arrays
    with progress.stage("choosing links") as share:
        forward, backward = kernels.choose_rule_alignments(order, offsets, *place, threads, share)
    del order, offsets
    scores[:, 1] = kernels.rule_products(backward, *place, word_weights[0], False, threads)
    scores[:, 3] = kernels.rule_products(forward, *place, word_weights[1], True, threads)
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
        *vocabs,
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


def _sums(ids: NDArray[np.integer], counts: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    sums = np.zeros(size, np.uint64)
    np.add.at(sums, ids, counts)
    return sums


def _frequencies(
    joint: NDArray[np.uint64], target: NDArray[np.uint64], source: NDArray[np.uint64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The columns of counts, and those of scores with the relative frequencies filled in."""
    counts = np.empty((len(joint), 3), np.float32)
    scores = np.empty((len(joint), len(PHRASE_SCORES)), np.float32)
    for column, total in enumerate((target, source)):
        counts[:, column] = total / ONE
        # A count that stands for places that were not looked at may be too great.
        scores[:, 2 * column] = np.minimum(joint / total, 1)
    counts[:, 2] = joint / ONE
    return counts, scores
