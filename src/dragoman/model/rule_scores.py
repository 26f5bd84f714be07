"""Instances of rules as columns, and their scores."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Links, Vocab, aligned_rows, links_before
from dragoman.core.errors import DataError
from dragoman.core.options import Options, option
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.counted_pairs import CountedPairs, InstanceGroups

#: A count of one in fixed-point integers, whose sums do not depend on their order.
ONE = 1 << 36


#: Size classes of nonterminals, in source words: 1, 2, .. and this many or more.
HOLE_SIZES = 10


@dataclass(frozen=True)
class RuleExtraction(Options):
    """Limits of rule extraction from word-aligned text; by default those of Moses."""

    max_span: int = option(10, "longest initial phrase, in words, on either side", minimum=1, maximum=255)
    max_source_symbols: int = option(
        5, "maximum number of words and nonterminals on the source side of a rule", minimum=1, maximum=255
    )
    max_target_symbols: int = option(255, "the same on the target side", minimum=1, maximum=255)
    max_nonterminals: int = option(2, "maximum number of nonterminals in a rule", minimum=0, maximum=2)
    min_hole_source: int = option(
        2, "minimum number of source words that a nonterminal covers (Chiang: 1)", minimum=1, maximum=255
    )
    min_hole_target: int = option(1, "the same for target words", minimum=1, maximum=255)
    min_words: int = option(
        1, "minimum number of words on each side of a rule, nonterminals excluded", minimum=1, maximum=255
    )
    adjacent_nonterminals: bool = option(False, "allow nonterminals side by side on the source side")
    linked_word: bool = option(True, "require at least one alignment link between the words of a rule")
    tight: bool = option(
        False, "initial phrases begin and end with linked words, as Chiang's do; Moses tries others too"
    )
    fractional_counts: bool = option(True, "the rules of an initial phrase pair share a count of one, or have one each")

    @property
    def limits(self) -> NDArray[np.int32]:
        """The limits as kernels take them."""
        return np.array([int(getattr(self, field.name)) for field in fields(RuleExtraction)], np.int32)


@dataclass(frozen=True, eq=False)
class AlignedText:
    """A parallel text in words of two vocabularies, with links sorted by source and target position."""

    source: Ragged[np.int32]
    target: Ragged[np.int32]
    links: Links

    @cached_property
    def links_before(self) -> NDArray[np.int64]:
        """The number of links before each source word, and of all."""
        return links_before(self.source.offsets, self.links)

    def for_kernels(self) -> kernels.AlignedText:
        """Return the text for kernels that look up links by word."""
        return aligned_rows(self.source, self.target, self.links, self.links_before)

    def pairs_for_kernels(self, most: int | None = None) -> kernels.AlignedText:
        """Return the first `most` sentence pairs, by default all, for kernels that do not look up links by word."""
        rows = slice(None) if most is None else slice(0, most + 1)
        source = Ragged(self.source.values, self.source.offsets[rows])
        target = Ragged(self.target.values, self.target.offsets[rows])
        return aligned_rows(source, target, Ragged(self.links.values, self.links.offsets[rows]))


@dataclass(frozen=True, eq=False)
class RuleInstances:
    """Occurrences of rules in a bitext, sentence by sentence; within a sentence pair each rule with its links once.

    An instance is a span of words on each side (`begins`, then the first two columns of `spans`) with at most two holes
    in it, in the order of the source side: four columns each, offset and length on the source and on the target side.
    `counts` are multiples of 1 / `ONE`.
    """

    sentence: NDArray[np.int32]
    begins: NDArray[np.uint16]
    spans: NDArray[np.uint8]
    counts: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.sentence)

    def take(self, rows: NDArray[np.integer]) -> RuleInstances:
        """Return the given instances, in that order."""
        return RuleInstances(self.sentence[rows], self.begins[rows], self.spans[rows], self.counts[rows])

    def for_kernels(self) -> kernels.RuleInstances:
        """Return the columns as kernels take them."""
        return kernels.RuleInstances(**vars(self))


def hole_counts(
    text: AlignedText, options: RuleExtraction, *, sentences: int = 0, runtime: Runtime = Runtime()
) -> NDArray[np.float64]:
    """Count reordered and other nonterminals of rules, by the number of source words that they cover.

    The first row counts those that cross neither a link nor another nonterminal, the second row the others; columns are
    1, 2, .. and 10 or more words. Each occurrence of a rule counts, in the first `sentences` pairs, or in all if that
    is 0. Nonterminals of one word count whatever `min_hole_source` and `min_hole_target` say: these keep tables of
    rules small, but any phrase may fill a nonterminal when rules are applied.
    """
    limits = replace(options, min_hole_source=1, min_hole_target=1).limits
    last = min(sentences, len(text.links)) if sentences else len(text.links)
    with runtime.stage("counting reordered nonterminals") as progress_callback:
        return kernels.count_hole_reordering(text.pairs_for_kernels(last), limits, runtime.threads, progress_callback)


class TargetCounts(NamedTuple):
    """Counts of target sides, summed over source sides; keyed by a hash of their symbols, in ascending order."""

    hashes: NDArray[np.uint64]
    counts: NDArray[np.uint64]

    @classmethod
    def of(cls, instances: RuleInstances, text: AlignedText, *, runtime: Runtime = Runtime()) -> TargetCounts:
        """Count the target sides of all instances."""
        with runtime.stage("numbering target sides") as progress_callback:
            ids, targets = number_sides(text, instances, True, progress_callback, runtime=runtime)
        same = kernels.unpaired_sides(targets.values, targets.offsets)
        hashes, number = np.unique(kernels.side_hashes(targets.values, targets.offsets), return_inverse=True)
        if len(hashes) < len(np.unique(same)):
            raise DataError(
                "two target sides of rules have the same hash", expected="a text without such a coincidence"
            )
        return cls(hashes, sums(number, sums(ids, instances.counts, len(targets)), len(hashes)))

    def total(self, targets: Ragged[np.int32]) -> NDArray[np.uint64]:
        """Return the count of each target side; all must have been counted."""
        wanted = kernels.side_hashes(targets.values, targets.offsets)
        rows = np.minimum(np.searchsorted(self.hashes, wanted), max(len(self.hashes) - 1, 0))
        if len(wanted) and (not len(self.hashes) or np.any(self.hashes[rows] != wanted)):
            raise DataError("a target side of a rule was not counted", expected="counts of the same text")
        return self.counts[rows] if len(wanted) else np.empty(0, np.uint64)


class CountedRules(CountedPairs[RuleInstances]):
    """Distinct rules of some instances; counts are in units of 1 / `ONE`."""

    def target_sums(self) -> NDArray[np.uint64]:
        """Return the count of each target side, with its nonterminals distinguished."""
        return sums(self.target_ids, self.joint, len(self.targets))

    def target_totals(self) -> NDArray[np.uint64]:
        """Return the count of each target side, without distinguishing its nonterminals."""
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
    """Group the instances of each rule, and choose its links."""
    if len(instances) >= 1 << 31:
        raise DataError(f"{len(instances)} rule instances", expected="fewer than 2**31: use shorter spans or less text")
    with runtime.stage("numbering source sides") as share:
        sources = number_sides(text, instances, False, share, runtime=runtime)
    with runtime.stage("numbering target sides") as share:
        targets = number_sides(text, instances, True, share, runtime=runtime)
    with runtime.stage("collecting rules") as share:
        groups = InstanceGroups.of(sources, targets, share, runtime)
    sides = sources[1], targets[1]
    del sources, targets
    order, offsets = groups.order, groups.offsets
    joint = np.add.reduceat(instances.counts[order], offsets[:-1]) if len(offsets) > 1 else instances.counts
    place = text.for_kernels(), instances.for_kernels()
    with runtime.stage("choosing links") as share:
        forward, backward = kernels.choose_rule_alignments(order, offsets, *place, runtime.threads, share)
    return CountedRules(
        *sides,
        groups.source_ids,
        groups.target_ids,
        joint,
        kernels.rule_products(backward, *place, word_weights[0], False, runtime.threads).astype(np.float32),
        kernels.rule_products(forward, *place, word_weights[1], True, runtime.threads).astype(np.float32),
        instances.take(forward),
        groups.pair_of_instance(),
    )


def score_counted(
    counted: CountedRules,
    target_totals: NDArray[np.uint64],
    text: AlignedText,
    vocabs: tuple[Vocab, Vocab],
    *,
    runtime: Runtime = Runtime(),
) -> tuple[PhrasePairs, NDArray[np.int64]]:
    """Score counted rules, given the counts of target sides, and sort them.

    Returns also the rows in `counted` that they come from.
    """
    source_ids, target_ids = counted.source_ids, counted.target_ids
    source_totals = sums(source_ids, counted.joint, len(counted.sources))
    counts, scores = _frequencies(counted.joint, target_totals[target_ids], source_totals[source_ids])
    scores[:, 1], scores[:, 3] = counted.backward_weights, counted.forward_weights
    with runtime.stage("sorting rules") as share:
        rows = counted.best_first(scores, share, runtime)
    links = kernels.rule_links(rows.astype(np.uint32), text.for_kernels(), counted.chosen.for_kernels())
    return counted.table(vocabs, rows, scores, counts, Ragged(*links)), rows


def number_sides(
    text: AlignedText,
    instances: RuleInstances,
    target: bool,
    progress_callback: ProgressCallback,
    *,
    runtime: Runtime = Runtime(),
) -> tuple[NDArray[np.int32], Ragged[np.int32]]:
    """Number the distinct sides: return the id of each instance, and the sides."""
    ids, symbols, offsets = kernels.number_rule_sides(
        text.for_kernels(), instances.for_kernels(), target, runtime.threads, progress_callback
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
    """Return the columns of counts, and those of scores with relative frequencies."""
    counts = np.empty((len(joint), 3), np.float32)
    scores = np.empty((len(joint), len(PHRASE_SCORES)), np.float32)
    for column, total in enumerate((target, source)):
        counts[:, column] = total / ONE
        # A count that stands for places that were not looked at may be too great.
        scores[:, 2 * column] = np.minimum(joint / total, 1)
    counts[:, 2] = joint / ONE
    return counts, scores
