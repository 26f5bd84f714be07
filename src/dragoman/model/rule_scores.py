"""From rule instances to rules: counts, translation probabilities, lexical weights and links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.progress import ShareDone
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.vocab import Vocab
from dragoman.model.rule_instances import ONE, AlignedText, RuleInstances


class TargetCounts(NamedTuple):
    """What target sides count, whatever their source sides: by a hash of their symbols, which rises."""

    hashes: NDArray[np.uint64]
    counts: NDArray[np.uint64]

    @classmethod
    def of(cls, instances: RuleInstances, text: AlignedText, *, runtime: Runtime = Runtime()) -> TargetCounts:
        """Count the target sides of all instances."""
        with runtime.stage("numbering target sides") as share:
            ids, targets = number_sides(text, instances, True, share, runtime=runtime)
        same = kernels.unpaired_sides(targets.values, targets.offsets)
        hashes, number = np.unique(kernels.side_hashes(targets.values, targets.offsets), return_inverse=True)
        if len(hashes) < len(np.unique(same)):
            raise DataError(
                "two target sides of rules have the same hash", expected="a text without such a coincidence"
            )
        return cls(hashes, sums(number, sums(ids, instances.counts, len(targets)), len(hashes)))

    def total(self, targets: Ragged[np.int32]) -> NDArray[np.uint64]:
        """What each of these counts; they must be among those that were counted."""
        wanted = kernels.side_hashes(targets.values, targets.offsets)
        rows = np.minimum(np.searchsorted(self.hashes, wanted), max(len(self.hashes) - 1, 0))
        if len(wanted) and (not len(self.hashes) or np.any(self.hashes[rows] != wanted)):
            raise DataError("a target side of a rule was not counted", expected="counts of the same text")
        return self.counts[rows] if len(wanted) else np.empty(0, np.uint64)


@dataclass(frozen=True, eq=False)
class CountedRules:
    """The distinct rules of some instances, sorted by source and target, with all that needs the instances.

    Sides are numbered in order of first occurrence. `chosen` are the instances whose links the rules have, and
    `joint` what the rules count, in units of 1 / `ONE`.
    """

    sources: Ragged[np.int32]
    targets: Ragged[np.int32]
    source_ids: NDArray[np.int32]
    target_ids: NDArray[np.int32]
    joint: NDArray[np.uint64]
    backward_weights: NDArray[np.float32]
    forward_weights: NDArray[np.float32]
    chosen: RuleInstances
    rule_of_instance: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.joint)

    def target_sums(self) -> NDArray[np.uint64]:
        """What each target side counts here, its nonterminals told apart."""
        return sums(self.target_ids, self.joint, len(self.targets))

    def target_totals(self) -> NDArray[np.uint64]:
        """What each target side counts here, whichever of its nonterminals is which."""
        same = kernels.unpaired_sides(self.targets.values, self.targets.offsets)
        return sums(same, self.target_sums(), len(same))[same]


def score_instances(
    instances: RuleInstances,
    text: AlignedText,
    vocabs: tuple[Vocab, Vocab],
    word_weights: tuple[NDArray[np.float64], NDArray[np.float64]],
    *,
    target_counts: TargetCounts | None = None,
    runtime: Runtime = Runtime(),
) -> PhrasePairs:
    """Count rules and score them with p(f|e), lexical(f|e), p(e|f), lexical(e|f).

    Probabilities are relative frequencies of the counts. What a target side counts does not depend on which of its
    nonterminals goes with which on the source side, but rules that differ in this are different rules. Links are those
    with the greatest count, ties broken as for phrases. Nonterminals have no part in lexical weights, which are
    products of `word_weights`, one a running word of source and target. If the instances are not all that there are of
    a target side, `target_counts` say what it counts.
    """
    counted = count_instances(instances, text, word_weights, runtime=runtime)
    totals = counted.target_totals() if target_counts is None else target_counts.total(counted.targets)
    return score_counted(counted, totals, text, vocabs, runtime=runtime)[0]


def count_instances(
    instances: RuleInstances,
    text: AlignedText,
    word_weights: tuple[NDArray[np.float64], NDArray[np.float64]],
    *,
    runtime: Runtime = Runtime(),
) -> CountedRules:
    """Bring the instances of each rule together, and choose its links."""
    if len(instances) >= 1 << 31:
        raise DataError(f"{len(instances)} rule instances", expected="fewer than 2**31: use shorter spans or less text")
    with runtime.stage("numbering source sides") as share:
        source_ids, sources = number_sides(text, instances, False, share, runtime=runtime)
    with runtime.stage("numbering target sides") as share:
        target_ids, targets = number_sides(text, instances, True, share, runtime=runtime)
    with runtime.stage("collecting rules") as share:
        order, offsets = kernels.group_pairs(source_ids, target_ids, len(sources), runtime.threads, share)
    some = order[offsets[:-1]]
    rule_sources, rule_targets = source_ids[some], target_ids[some]
    del source_ids, target_ids, some
    joint = np.add.reduceat(instances.counts[order], offsets[:-1]) if len(rule_sources) else instances.counts
    place = text.for_kernels(), instances.for_kernels()
    with runtime.stage("choosing links") as share:
        forward, backward = kernels.choose_rule_alignments(order, offsets, *place, runtime.threads, share)
    rule_of_instance = np.empty(len(instances), np.int32)
    rule_of_instance[order] = np.repeat(np.arange(len(joint), dtype=np.int32), np.diff(offsets))
    del order, offsets
    return CountedRules(
        sources,
        targets,
        rule_sources,
        rule_targets,
        joint,
        kernels.rule_products(backward, *place, word_weights[0], False, runtime.threads).astype(np.float32),
        kernels.rule_products(forward, *place, word_weights[1], True, runtime.threads).astype(np.float32),
        instances.take(forward),
        rule_of_instance,
    )


def score_counted(
    counted: CountedRules,
    target_totals: NDArray[np.uint64],
    text: AlignedText,
    vocabs: tuple[Vocab, Vocab],
    *,
    runtime: Runtime = Runtime(),
) -> tuple[PhrasePairs, NDArray[np.int64]]:
    """Score counted rules, given what each target side counts, and put them in order.

    Returns also the rows in `counted` that they come from.
    """
    source_ids, target_ids = counted.source_ids, counted.target_ids
    source_totals = sums(source_ids, counted.joint, len(counted.sources))
    counts, scores = _frequencies(counted.joint, target_totals[target_ids], source_totals[source_ids])
    scores[:, 1], scores[:, 3] = counted.backward_weights, counted.forward_weights
    with runtime.stage("sorting rules") as share:
        rows = kernels.order_pairs(
            np.searchsorted(source_ids, np.arange(len(counted.sources) + 1, dtype=np.int32)),
            target_ids,
            counted.targets.values,
            counted.targets.offsets,
            scores[:, 2].copy(),
            scores[:, 0].copy(),
            runtime.threads,
            share,
        )
    links = kernels.rule_links(rows.astype(np.uint32), text.for_kernels(), counted.chosen.for_kernels())
    pairs = PhrasePairs(
        *vocabs,
        counted.sources,
        counted.targets,
        source_ids,
        target_ids[rows],
        scores[rows],
        PHRASE_SCORES,
        Ragged(*links),
        counts[rows],
    )
    return pairs, rows


def number_sides(
    text: AlignedText, instances: RuleInstances, target: bool, share: ShareDone, *, runtime: Runtime = Runtime()
) -> tuple[NDArray[np.int32], Ragged[np.int32]]:
    """Number the distinct sides: the id of each instance, and the sides."""
    ids, symbols, offsets = kernels.number_rule_sides(
        text.for_kernels(), instances.for_kernels(), target, runtime.threads, share
    )
    return ids, Ragged(symbols, offsets)


def sums(ids: NDArray[np.integer], counts: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Add up the counts of each id."""
    added = np.zeros(size, np.uint64)
    np.add.at(added, ids, counts)
    return added


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
