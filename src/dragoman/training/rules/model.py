"""Scored rules of an aligned text: as a grammar, or as a text to extract from on demand.

A partition becomes a grammar of its own; `training/merge.py` merges them.

A side is identified by a rule that has it, and compared symbol by symbol; all nonterminals are equal. If sentence pairs
are counted, a partition requests a side once for each sentence pair that contains it.

A sentence pair contains a side, or a rule, if it was extracted from it: the same words with another word alignment do
not count. Two target sides that differ only in the numbers of their nonterminals count as the same.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Links, Vocab
from dragoman.core.errors import UsageError
from dragoman.core.options import option
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import within
from dragoman.core.runtime import Runtime
from dragoman.core.spill import spill_arrays
from dragoman.core.store import Arrays, ArrayWriter, load_arrays
from dragoman.core.workspace import Workspace
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.grammar import Grammar
from dragoman.model.rule_scores import (
    AlignedText,
    CountedRules,
    RuleExtraction,
    RuleInstances,
    TargetCounts,
    count_instances,
    hole_counts,
    number_sides,
    score_counted,
    sums,
)
from dragoman.training.lexical import lexical_tables, word_weights
from dragoman.training.partitions import PairKind, PartitionWork, ScoredParts, score_parts
from dragoman.training.rules.extract import RULE_KIND, aligned_text, extract_rule_instances, instances_of, side_buckets
from dragoman.training.table_pruning import least_significance, prune_pairs


class SentenceCounts(NamedTuple):
    """Numbers of sentence pairs that contain each rule, and its source side."""

    rule: NDArray[np.int64]
    source: NDArray[np.int64]

    @classmethod
    def of(cls, counted: CountedRules, sentence: NDArray[np.int32]) -> SentenceCounts:
        """Count sentence pairs; `sentence` is the sentence pair of each instance."""
        rule = counted.pair_of_instance
        return cls(
            sentences_with(rule, sentence), sentences_with(counted.source_ids[rule], sentence)[counted.source_ids]
        )


def target_sentences(counted: CountedRules, sentence: NDArray[np.int32]) -> NDArray[np.int64]:
    """Count the sentence pairs that contain each target side, if these are all instances of the text."""
    same = kernels.unpaired_sides(counted.targets.values, counted.targets.offsets)
    return sentences_with(same[counted.target_ids[counted.pair_of_instance]], sentence, len(same))[same]


def rule_significance(
    counts: SentenceCounts, target: NDArray[np.int64], sentence_pairs: int, *, runtime: Runtime = Runtime()
) -> NDArray[np.float64]:
    """Return -log p of each rule: that its sides co-occur as often by chance (one-sided Fisher exact test).

    `target` has the number of sentence pairs that contain the target side of each rule.
    """
    with runtime.stage("testing significance") as progress_callback:
        return kernels.fisher_exact(
            counts.rule, counts.source, target, sentence_pairs, runtime.threads, progress_callback
        )


def sentences_with(ids: NDArray[np.integer], sentence: NDArray[np.int32], size: int = 0) -> NDArray[np.int64]:
    """Count the sentences of each id."""
    return np.bincount(np.unique(ids.astype(np.int64) << 32 | sentence) >> 32, minlength=size)


def own_counts(counted: CountedRules, instances: RuleInstances, *, sentences: bool) -> Arrays:
    """Count each target side and, with `sentences`, its sentence pairs, in a partition that has all rules."""
    responses: Arrays = {"total": counted.target_totals()}
    return responses | ({"sentences": target_sentences(counted, instances.sentence)} if sentences else {})


def side_requests(counted: CountedRules, instances: RuleInstances, *, sentences: bool) -> Arrays:
    """Return a partition's requests about its target sides; with `sentences`, one per side and sentence pair."""
    if sentences:
        sides = counted.target_ids[counted.pair_of_instance]
        _, some = np.unique(sides.astype(np.int64) << 32 | instances.sentence, return_index=True)
        sides, places = sides[some], instances.take(some)
    else:
        sides, some = np.unique(counted.target_ids, return_index=True)
        places = counted.chosen.take(some)
    # The count of a side is in its first request only.
    first = np.concatenate([[True], sides[1:] != sides[:-1]])
    counts = np.where(first, counted.target_sums()[sides], np.uint64(0))
    return {
        "thing": sides,
        "sentence": places.sentence,
        "begins": places.begins,
        "spans": places.spans,
        "counts": counts,
    }


def sum_target_counts(text: AlignedText, requests: Arrays, *, sentences: bool, runtime: Runtime = Runtime()) -> Arrays:
    """Sum up the counts of the side of each request over all partitions."""
    instances = instances_of(requests)
    ids, sides = number_sides(text, instances, True, lambda done: None, runtime=runtime)
    side = kernels.unpaired_sides(sides.values, sides.offsets)[ids]
    responses: Arrays = {"total": sums(side, instances.counts, len(sides))[side]}
    return responses | ({"sentences": sentences_with(side, instances.sentence)[side]} if sentences else {})


@dataclass(frozen=True)
class RuleModel(RuleExtraction):
    """Extraction, scoring and pruning of rules."""

    min_count: float = option(0.0, "drop rules with a lower count", minimum=0)
    prune_limit: int = option(
        0, "keep at most this many targets per source side, best p(e|f) first; 0 keeps all", minimum=0
    )
    prune_score: float = option(0.0, "drop rules with a lower p(e|f)", minimum=0, maximum=1)
    prune_significance: str | None = option(
        None, "drop rules with a lower -log p-value (Fisher's exact test): a+e, a-e or a number"
    )

    reordering_sentences: int = option(
        10_000,
        "number of sentence pairs to count reordered nonterminals in, for structural distortion; 0 is all",
        minimum=0,
    )
    sample: int = option(
        0, "occurrences of a source side to use when rules are extracted on demand; 0 is all", minimum=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prune_significance is not None:
            least_significance(self.prune_significance)

    def unpruned(self) -> RuleModel:
        """Return the options of extraction without pruning."""
        return replace(self, min_count=0.0, prune_limit=0, prune_score=0.0, prune_significance=None)

    @property
    def prunes(self) -> bool:
        """True if some rules are dropped."""
        return bool(self.min_count or self.prune_limit or self.prune_score) or self.prune_significance is not None


def grammar(bitext: Bitext, links: Links, options: RuleModel = RuleModel(), *, runtime: Runtime = Runtime()) -> Grammar:
    """Index the rules of an aligned text, with counts of reordered nonterminals, in memory."""
    found = rules(bitext, links, options, runtime=runtime)
    return Grammar.from_pairs(found, reordered_nonterminals(bitext, links, options, runtime=runtime))


def reordered_nonterminals(
    bitext: Bitext, links: Links, options: RuleModel, *, runtime: Runtime = Runtime()
) -> NDArray[np.float64]:
    """Count reordered nonterminals of rules in as much of a text as the options say."""
    return hole_counts(aligned_text(bitext, links), options, sentences=options.reordering_sentences, runtime=runtime)


def rules(
    bitext: Bitext, links: Links, options: RuleModel = RuleModel(), *, runtime: Runtime = Runtime()
) -> PhrasePairs:
    """Extract, score and prune the rules of an aligned text, in memory.

    >>> from dragoman.core.corpus import Corpus
    >>> from dragoman.core.corpus import links_of
    >>> bitext = Bitext(Corpus.from_lines(["ne va pas"]), Corpus.from_lines(["not go"]))
    >>> found = rules(bitext, links_of([[(0, 0), (1, 1), (2, 0)]]), RuleModel(min_hole_source=1))
    >>> [source.tolist() for source in found.sources]
    [[3, 4, 5], [3, -1, 5], [4]]
    """
    found = rule_parts(bitext, links, options, runtime=replace(runtime.here(), workspace=Workspace()))
    assert found.whole is not None
    return found.whole


def rule_parts(bitext: Bitext, links: Links, options: RuleModel, *, runtime: Runtime = Runtime()) -> ScoredParts:
    """Do the same in the memory of a workspace; the result is in parts if it does not fit or workers are several."""
    text = aligned_text(bitext, links)
    with runtime.stage("counting aligned words") as progress_callback:
        lexical = lexical_tables(bitext, text.links, within(progress_callback, 0, 0.5))
        source, target = word_weights(bitext, text.links, lexical, within(progress_callback, 0.5, 1))
        mapped: dict[str, Any] = spill_arrays(runtime.workspace, "rule-weights", {"source": source, "target": target})
        weights = mapped["source"], mapped["target"]
        del source, target, lexical
    buffer = extract_rule_instances(bitext, text, options, target=False, runtime=runtime)
    work = RuleWork(text, weights, (bitext.source.vocab, bitext.target.vocab), options)
    return score_parts(work, buffer, runtime=runtime)


@dataclass(frozen=True, eq=False)
class RuleWork(PartitionWork):
    """Work on a partition of rules."""

    kind: ClassVar[PairKind] = RULE_KIND

    text: AlignedText
    weights: tuple[NDArray[np.float64], NDArray[np.float64]]
    vocabs: tuple[Vocab, Vocab]
    options: RuleModel

    @property
    def tests(self) -> bool:
        """True if rules are tested for significance."""
        return self.options.prune_significance is not None

    def count(self, rows: Arrays, *, alone: bool, runtime: Runtime = Runtime()) -> tuple[Arrays, Arrays]:
        """Count rules and, if they are tested for significance, the sentence pairs that contain them."""
        instances = instances_of(rows)
        counted = count_instances(instances, self.text, self.weights, runtime=runtime)
        arrays = counted.arrays() | vars(counted.chosen)
        if self.tests:
            arrays |= SentenceCounts.of(counted, instances.sentence)._asdict()
        return arrays, (own_counts if alone else side_requests)(counted, instances, sentences=self.tests)

    @property
    def counting_only(self) -> tuple[NDArray[Any], ...]:
        """Word weights: they are part of the lexical weights already."""
        return self.weights

    def buckets(self, requests: Arrays, *, runtime: Runtime = Runtime()) -> NDArray[np.integer]:
        """Partition requests by target side."""
        return side_buckets(self.text, requests, True, runtime=runtime)

    def resolve(self, requests: Arrays, *, runtime: Runtime = Runtime()) -> tuple[Arrays, Arrays]:
        """Sum up the counts of each target side."""
        return sum_target_counts(self.text, requests, sentences=self.tests, runtime=runtime), {}

    def score(
        self, arrays: Arrays, responses: Arrays, totals: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> PhrasePairs:
        """Score and prune the rules of a partition."""
        known, target = dict[str, Any](arrays), dict[str, Any](responses)
        counted = CountedRules.from_arrays(arrays, instances_of(arrays))
        pairs, order = score_counted(counted, target["total"], self.text, self.vocabs, runtime=runtime)
        if self.options.min_count and pairs.counts is not None:
            often = np.flatnonzero(pairs.counts[:, 2] >= self.options.min_count)
            pairs, order = pairs.take(often), order[often]

        def log_p(rows: NDArray[np.intp]) -> NDArray[np.float64]:
            at = order[rows]
            sentences = SentenceCounts(known["rule"][at], known["source"][at])
            of_target = target["sentences"][counted.target_ids[at]]
            return rule_significance(sentences, of_target, len(self.text.source), runtime=runtime)

        return prune_pairs(pairs, self.options, len(self.text.source), log_p)


def corpus_grammar(
    bitext: Bitext, links: Links, options: RuleModel = RuleModel(), *, runtime: Runtime = Runtime()
) -> CorpusGrammar:
    """Index an aligned text for rules on demand. All rules are extracted once, to count their target sides.

    The counts are mapped from disk if the memory of the workspace does not suffice.
    """
    if options.prunes:
        raise UsageError("rules on demand cannot be pruned beforehand; expected neither min-count nor a prune option")
    text = aligned_text(bitext, links)
    counts = _target_counts(bitext, text, options, runtime)
    with runtime.stage("counting aligned words"):
        weights = word_weights(bitext, text.links, lexical_tables(bitext, links))
    limits = RuleExtraction(**{field.name: getattr(options, field.name) for field in fields(RuleExtraction)})
    return CorpusGrammar.of(text, limits, weights, counts, sample=options.sample, runtime=runtime)


def _target_counts(bitext: Bitext, text: AlignedText, options: RuleModel, runtime: Runtime) -> TargetCounts:
    """Count target sides; each partition has its own range of hashes."""
    buffer, workspace = extract_rule_instances(bitext, text, options, target=True, runtime=runtime), runtime.workspace
    writers: dict[str, ArrayWriter] = {}
    done = 0
    with runtime.stage("counting target sides") as progress_callback:
        for rows in buffer.partitions():
            instances = instances_of(rows)
            done += len(instances)
            part = TargetCounts.of(instances, text, runtime=runtime.quiet())
            if len(instances) == buffer.rows:
                return part
            with workspace.writing():
                for name, values in part._asdict().items():
                    if name not in writers:
                        writers[name] = ArrayWriter(workspace.folder / "targets" / f"{name}.npy", np.uint64)
                    writers[name].write(values)
            progress_callback(done / buffer.rows)
    with workspace.writing():
        for writer in writers.values():
            writer.finish()
    arrays: dict[str, Any] = load_arrays(workspace.folder / "targets")
    return TargetCounts(**arrays)
