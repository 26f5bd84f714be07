"""Rule extraction: phrase pairs with holes that are consistent with the word alignment (Chiang 2007)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext
from dragoman.core.links import Links
from dragoman.core.progress import SILENT, Progress, ShareDone, within
from dragoman.core.runs import BUCKETS, Runs
from dragoman.core.store import Arrays
from dragoman.core.work.parts import parts_at_once
from dragoman.core.work.workers import Workers
from dragoman.core.workspace import Workspace
from dragoman.model.rule_instances import AlignedText, RuleExtraction, RuleInstances
from dragoman.model.rule_scores import number_sides
from dragoman.training.lexical import check_links

#: What the work on an instance takes, in bytes, and about how many instances a word of either side gives.
INSTANCE, INSTANCES_PER_WORD = 260, 10

#: Words of both sides that rules are extracted from together, if there is memory for their instances.
_WORDS_AT_ONCE = 1 << 21


def aligned_text(bitext: Bitext, links: Links) -> AlignedText:
    """Put a bitext and its links together, after a check that they fit."""
    return AlignedText(bitext.source.sentences, bitext.target.sentences, check_links(bitext, links))


def extract_rules(
    text: AlignedText, options: RuleExtraction = RuleExtraction(), *, threads: int = 1, progress: Progress = SILENT
) -> RuleInstances:
    """Find the rules of all initial phrase pairs: the pairs as they are, and with smaller ones in them cut out.

    An initial pair is a span on each side with a link inside and none that leads outside.

    >>> from dragoman.core.corpus import Corpus
    >>> from dragoman.core.links import links_of
    >>> from dragoman.model.rule_instances import ONE
    >>> bitext = Bitext(Corpus.from_lines(["la maison bleue"]), Corpus.from_lines(["the blue house"]))
    >>> text = aligned_text(bitext, links_of([[(0, 0), (1, 2), (2, 1)]]))
    >>> found = extract_rules(text, RuleExtraction(min_hole_source=1))
    >>> len(found), (found.counts.sum() / ONE).round().item()
    (12, 5.0)
    """
    with progress.stage("extracting rules") as share:
        return extract_block(text, slice(0, len(text.source)), options, threads=threads, share=share)


def extract_block(
    text: AlignedText, at: slice, options: RuleExtraction, *, threads: int = 1, share: ShareDone | None = None
) -> RuleInstances:
    """Do the same for a range of sentence pairs."""
    found = kernels.extract_rules(text.part(at), options.limits, threads, share)
    found[0][:] += np.int32(at.start)
    return RuleInstances(*found)


def instance_runs(
    bitext: Bitext,
    text: AlignedText,
    options: RuleExtraction,
    workspace: Workspace,
    *,
    target: bool,
    workers: Workers,
    threads: int,
    progress: Progress,
) -> Runs:
    """Extract all rules block by block, whoever works; they are dealt out by their source or target sides."""
    runs = Runs(
        workspace,
        "instances",
        lambda rows: side_buckets(text, rows, target, threads),
        bytes_per_row=INSTANCE,
        order="sentence",
    )
    words = workspace.room() // (2 * INSTANCE * INSTANCES_PER_WORD)
    with progress.stage("extracting rules") as share:
        blocks = bitext.blocks(max(min(words, _WORDS_AT_ONCE) // parts_at_once(workers), 1))
        for found in _extracted(text, options, blocks, workers, threads, share):
            runs.add({"sentence": found.sentence, "begins": found.begins, "spans": found.spans, "counts": found.counts})
    return runs


@dataclass(frozen=True, eq=False)
class ExtractRules:
    """Extracts the rules of some sentences on a worker, which gets these only."""

    options: RuleExtraction

    def __call__(self, block: tuple[int, AlignedText]) -> RuleInstances:
        """Extract from a block: the number of its first sentence, and its text."""
        first, text = block
        found = extract_block(text, slice(0, len(text.source)), self.options)
        found.sentence[:] += np.int32(first)
        return found


def _extracted(
    text: AlignedText,
    options: RuleExtraction,
    blocks: Iterable[slice],
    workers: Workers,
    threads: int,
    share: ShareDone,
) -> Iterator[RuleInstances]:
    """Extract block by block, whoever works."""
    sentences = max(len(text.source), 1)
    if not workers.remote:
        for at in blocks:
            part = within(share, at.start / sentences, at.stop / sentences)
            yield extract_block(text, at, options, threads=threads, share=part)
        return
    items = ((at.start, AlignedText(text.source.part(at), text.target.part(at), text.links.part(at))) for at in blocks)
    for found in workers.map(ExtractRules(options), items, window=parts_at_once(workers)):
        yield found
        if len(found):
            share(min(int(found.sentence[-1]) / sentences, 1.0))


def instances_of(rows: Arrays) -> RuleInstances:
    """Instances that were kept as columns."""
    columns: list[Any] = [rows[name] for name in ("sentence", "begins", "spans", "counts")]
    return RuleInstances(*columns)


def side_buckets(text: AlignedText, rows: Arrays, target: bool, threads: int) -> NDArray[np.integer[Any]]:
    """Deal instances out by one of their sides, any nonterminal like any other: buckets are ranges of hashes."""
    ids, sides = number_sides(text, instances_of(rows), target, threads, lambda share: None)
    return (kernels.side_hashes(sides.values, sides.offsets) // np.uint64((1 << 64) // BUCKETS))[ids].astype(np.int64)
