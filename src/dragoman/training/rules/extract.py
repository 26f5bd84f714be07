"""Rule extraction: phrase pairs with holes that are consistent with the word alignment (Chiang 2007)."""

from __future__ import annotations

from dragoman import kernels
from dragoman.core.corpus import Bitext
from dragoman.core.links import Links
from dragoman.core.progress import SILENT, Progress
from dragoman.model.rule_instances import AlignedText, RuleExtraction, RuleInstances
from dragoman.training.lexical import check_links


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
        return RuleInstances(*kernels.extract_rules(text.arrays, text.links.offsets, options.limits, threads, share))
