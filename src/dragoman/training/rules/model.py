"""From an aligned text to the rules of a hierarchical model."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dragoman.core.corpus import Bitext
from dragoman.core.errors import DataError, UsageError
from dragoman.core.links import Links
from dragoman.core.options import option
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import SILENT, Progress
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.grammar import Grammar
from dragoman.model.rule_instances import RuleExtraction, hole_counts
from dragoman.model.rule_scores import TargetCounts
from dragoman.training import prune
from dragoman.training.lexical import lexical_tables, word_weights
from dragoman.training.rules.extract import aligned_text, extract_rules
from dragoman.training.rules.score import score_rules
from dragoman.training.rules.significance import negative_log_p


@dataclass(frozen=True)
class RuleModel(RuleExtraction):
    """From words to rules: which are extracted, and which of them are kept."""

    min_count: float = option(0.0, "drop rules with a count below", minimum=0)
    prune_limit: int = option(0, "keep so many targets a source side, best p(e|f) first; 0 keeps all", minimum=0)
    prune_score: float = option(0.0, "drop rules with p(e|f) below", minimum=0, maximum=1)
    prune_significance: str | None = option(None, "drop rules whose -log p-value is below: a+e, a-e or a number")

    reordering_sentences: int = option(
        10_000,
        "sentence pairs in which reordered nonterminals are counted, for structural distortion; 0 is all",
        minimum=0,
    )
    sample: int = option(
        0, "places of a source side that rules on demand are taken from; 0 takes them from all", minimum=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prune_significance is not None:
            prune.significance_threshold(self.prune_significance)

    @property
    def prunes(self) -> bool:
        """Whether some rules are dropped."""
        return bool(self.min_count or self.prune_limit or self.prune_score) or self.prune_significance is not None


def corpus_grammar(
    bitext: Bitext,
    links: Links,
    options: RuleModel = RuleModel(),
    *,
    threads: int = 1,
    progress: Progress = SILENT,
) -> CorpusGrammar:
    """Index an aligned text for rules on demand. All rules are extracted once, to count their target sides."""
    if options.prunes:
        raise UsageError("rules on demand cannot be pruned beforehand; expected neither min-count nor a prune option")
    text = aligned_text(bitext, links)
    instances = extract_rules(text, options, threads=threads, progress=progress)
    if not len(instances):
        raise DataError("no rule could be extracted", expected="a parallel text with some word links")
    counts = TargetCounts.of(instances, text, threads=threads, progress=progress)
    with progress.stage("counting linked words"):
        weights = word_weights(bitext, text.links, lexical_tables(bitext, links))
    limits = RuleExtraction(**{field.name: getattr(options, field.name) for field in fields(RuleExtraction)})
    return CorpusGrammar.of(text, limits, weights, counts, sample=options.sample, threads=threads, progress=progress)


def grammar(
    bitext: Bitext, links: Links, options: RuleModel = RuleModel(), *, threads: int = 1, progress: Progress = SILENT
) -> Grammar:
    """Index the rules of an aligned text, with counts of how often their nonterminals are reordered."""
    found = rules(bitext, links, options, threads=threads, progress=progress)
    sentences = options.reordering_sentences
    counts = hole_counts(aligned_text(bitext, links), options, sentences=sentences, threads=threads, progress=progress)
    with progress.stage("indexing the rules"):
        return Grammar.from_pairs(found, counts)


def rules(
    bitext: Bitext,
    links: Links,
    options: RuleModel = RuleModel(),
    *,
    threads: int = 1,
    progress: Progress = SILENT,
) -> PhrasePairs:
    """Extract, score and prune the rules of an aligned text.

    >>> from dragoman.core.corpus import Corpus
    >>> from dragoman.core.links import links_of
    >>> bitext = Bitext(Corpus.from_lines(["ne va pas"]), Corpus.from_lines(["not go"]))
    >>> found = rules(bitext, links_of([[(0, 0), (1, 1), (2, 0)]]), RuleModel(min_hole_source=1))
    >>> [source.tolist() for source in found.sources]
    [[3, 4, 5], [3, -1, 5], [4]]
    """
    text = aligned_text(bitext, links)
    instances = extract_rules(text, options, threads=threads, progress=progress)
    with progress.stage("counting linked words"):
        lexical = lexical_tables(bitext, links)
    pairs = score_rules(instances, bitext, text, lexical, threads=threads, progress=progress)
    if not len(pairs):
        raise DataError("no rule could be extracted", expected="a parallel text with some word links")
    if options.prune_significance is not None:
        least = prune.least_significance(prune.significance_threshold(options.prune_significance), len(bitext))
        significance = negative_log_p(pairs, instances, text, threads=threads, progress=progress)
        pairs = pairs.take(np.flatnonzero(significance >= least))
    del instances
    if options.min_count and pairs.counts is not None:
        pairs = pairs.take(np.flatnonzero(pairs.counts[:, 2] >= options.min_count))
    if options.prune_score:
        pairs = prune.minimum_score(pairs, "fwd", options.prune_score)
    if options.prune_limit:
        pairs = prune.table_limit(pairs, options.prune_limit)
    if not len(pairs):
        raise UsageError("pruning left no rule; prune less")
    return pairs
