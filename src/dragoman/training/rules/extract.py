"""Rule extraction: phrase pairs with holes that are consistent with the word alignment (Chiang 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Links
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.core.spill import BUCKETS, SpillBuffer
from dragoman.core.store import Arrays
from dragoman.model.rule_scores import AlignedText, RuleExtraction, RuleInstances, number_sides
from dragoman.training.lexical import check_links
from dragoman.training.partitions import PairKind, SentenceBlock, extract_instances

#: Measured with rules of up to ten words.
RULE_KIND = PairKind(
    "rules",
    "rule",
    "target sides",
    instance_bytes=260,
    request_bytes=200,
    temporary_bytes=1200,
    instances_per_word=10,
    words_at_once=1 << 21,
)


def aligned_text(bitext: Bitext, links: Links) -> AlignedText:
    """Combine a bitext with its word alignment, after a check that they fit."""
    return AlignedText(bitext.source.sentences, bitext.target.sentences, check_links(bitext, links))


def extract_rules(
    text: AlignedText, options: RuleExtraction = RuleExtraction(), *, runtime: Runtime = Runtime()
) -> RuleInstances:
    """Extract the rules of all initial phrase pairs: the pairs themselves, and with smaller pairs in them as holes.

    An initial pair is a span on each side with a link inside and none that leads outside.

    >>> from dragoman.core.corpus import Corpus
    >>> from dragoman.core.corpus import links_of
    >>> from dragoman.model.rule_scores import ONE
    >>> bitext = Bitext(Corpus.from_lines(["la maison bleue"]), Corpus.from_lines(["the blue house"]))
    >>> text = aligned_text(bitext, links_of([[(0, 0), (1, 2), (2, 1)]]))
    >>> found = extract_rules(text, RuleExtraction(min_hole_source=1))
    >>> len(found), (found.counts.sum() / ONE).round().item()
    (12, 5.0)
    """
    with runtime.stage("extracting rules") as progress_callback:
        return extract_part(text, options, progress_callback=progress_callback, runtime=runtime)


def extract_part(
    text: AlignedText,
    options: RuleExtraction,
    *,
    progress_callback: ProgressCallback | None = None,
    runtime: Runtime = Runtime(),
) -> RuleInstances:
    """Do the same for a part of a text."""
    return RuleInstances(
        *kernels.extract_rules(text.pairs_for_kernels(), options.limits, runtime.threads, progress_callback)
    )


def extract_rule_instances(
    bitext: Bitext, text: AlignedText, options: RuleExtraction, *, target: bool, runtime: Runtime = Runtime()
) -> SpillBuffer:
    """Extract all rules block by block; they are partitioned by their source or target sides."""

    def part(at: slice) -> AlignedText:
        return AlignedText(text.source.part(at), text.target.part(at), text.links.part(at))

    def buckets(rows: Arrays) -> NDArray[np.integer[Any]]:
        return side_buckets(text, rows, target, runtime=runtime)

    return extract_instances(RULE_KIND, bitext, ExtractRules(options), part, buckets, runtime=runtime)


@dataclass(frozen=True)
class ExtractRules:
    """Extraction of rules from a block of sentences."""

    options: RuleExtraction

    def __call__(self, block: SentenceBlock[AlignedText], runtime: Runtime) -> Arrays:
        """Return the columns of the instances."""
        return dict(
            vars(extract_part(block.text, self.options, progress_callback=block.progress_callback, runtime=runtime))
        )


def instances_of(rows: Arrays) -> RuleInstances:
    """Restore instances from their columns."""
    columns: list[Any] = [rows[name] for name in ("sentence", "begins", "spans", "counts")]
    return RuleInstances(*columns)


def side_buckets(
    text: AlignedText, rows: Arrays, target: bool, *, runtime: Runtime = Runtime()
) -> NDArray[np.integer[Any]]:
    """Partition instances by one of their sides, all nonterminals being equal: buckets are ranges of hashes."""
    ids, sides = number_sides(text, instances_of(rows), target, lambda done: None, runtime=runtime)
    return (kernels.side_hashes(sides.values, sides.offsets) // np.uint64((1 << 64) // BUCKETS))[ids].astype(np.int64)
