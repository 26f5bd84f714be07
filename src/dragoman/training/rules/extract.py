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
from dragoman.training.partitions import Block, Kind, instance_buffer

#: Temporary files are those of rules of up to ten words.
RULES = Kind(
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
    """Put a bitext and its links together, after a check that they fit."""
    return AlignedText(bitext.source.sentences, bitext.target.sentences, check_links(bitext, links))


def extract_rules(
    text: AlignedText, options: RuleExtraction = RuleExtraction(), *, runtime: Runtime = Runtime()
) -> RuleInstances:
    """Find the rules of all initial phrase pairs: the pairs as they are, and with smaller ones in them cut out.

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


def rule_buffer(
    bitext: Bitext, text: AlignedText, options: RuleExtraction, *, target: bool, runtime: Runtime = Runtime()
) -> SpillBuffer:
    """Extract all rules block by block; they are dealt out by their source or target sides."""

    def part(at: slice) -> AlignedText:
        return AlignedText(text.source.part(at), text.target.part(at), text.links.part(at))

    def buckets(rows: Arrays) -> NDArray[np.integer[Any]]:
        return side_buckets(text, rows, target, runtime=runtime)

    return instance_buffer(RULES, bitext, ExtractRules(options), part, buckets, runtime=runtime)


@dataclass(frozen=True)
class ExtractRules:
    """Extracts the rules of some sentences."""

    options: RuleExtraction

    def __call__(self, block: Block[AlignedText], runtime: Runtime) -> Arrays:
        """The columns of the instances."""
        return dict(
            vars(extract_part(block.text, self.options, progress_callback=block.progress_callback, runtime=runtime))
        )


def instances_of(rows: Arrays) -> RuleInstances:
    """Instances that were kept as columns."""
    columns: list[Any] = [rows[name] for name in ("sentence", "begins", "spans", "counts")]
    return RuleInstances(*columns)


def side_buckets(
    text: AlignedText, rows: Arrays, target: bool, *, runtime: Runtime = Runtime()
) -> NDArray[np.integer[Any]]:
    """Deal instances out by one of their sides, any nonterminal like any other: buckets are ranges of hashes."""
    ids, sides = number_sides(text, instances_of(rows), target, lambda done: None, runtime=runtime)
    return (kernels.side_hashes(sides.values, sides.offsets) // np.uint64((1 << 64) // BUCKETS))[ids].astype(np.int64)
