"""Rules of an aligned text, scored: as a grammar, or as a text to extract from on demand.

What target sides count in all partitions is put together in `marginals.py`. A partition becomes a grammar of its own,
and `training/merge.py` makes one of them.

A side is known by a rule that has it, and compared symbol by symbol, any nonterminal like any other. If it is asked in
how many sentence pairs sides are, each is asked for once for each sentence pair that has it.

A sentence pair holds a side, or a rule, if it is among what was extracted from it: where words that could be a side
stand with other links, it is not one. Which nonterminal is which does not matter to what a target side occurs in.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Links
from dragoman.core.errors import UsageError
from dragoman.core.options import option
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import within
from dragoman.core.runtime import Runtime
from dragoman.core.spill import spill_arrays
from dragoman.core.store import Arrays, ArrayWriter, load_arrays
from dragoman.core.vocab import Vocab
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
from dragoman.training import prune
from dragoman.training.lexical import lexical_tables, word_weights
from dragoman.training.partitions import Kind, Parts, PartWork, counted_arrays, counted_columns, score_parts
from dragoman.training.rules.extract import RULES, aligned_text, instances_of, rule_buffer, side_buckets


class SentenceCounts(NamedTuple):
    """In how many sentence pairs each rule is, and its source side."""

    rule: NDArray[np.int64]
    source: NDArray[np.int64]

    @classmethod
    def of(cls, counted: CountedRules, sentence: NDArray[np.int32]) -> SentenceCounts:
        """Count; `sentence` is that of each instance."""
        rule = counted.rule_of_instance
        return cls(
            sentences_with(rule, sentence), sentences_with(counted.source_ids[rule], sentence)[counted.source_ids]
        )


def target_sentences(counted: CountedRules, sentence: NDArray[np.int32]) -> NDArray[np.int64]:
    """In how many sentence pairs each target side is, if the instances are all that there are."""
    same = kernels.unpaired_sides(counted.targets.values, counted.targets.offsets)
    return sentences_with(same[counted.target_ids[counted.rule_of_instance]], sentence, len(same))[same]


def negative_log_p(
    counts: SentenceCounts, target: NDArray[np.int64], sentence_pairs: int, *, runtime: Runtime = Runtime()
) -> NDArray[np.float64]:
    """For each rule -log p that its sides would share as many sentence pairs by chance (one-sided Fisher exact test).

    `target` is in how many of the text's sentence pairs the target side of each rule is.
    """
    with runtime.stage("testing significance") as progress_callback:
        return kernels.fisher_exact(
            counts.rule, counts.source, target, sentence_pairs, runtime.threads, progress_callback
        )


def sentences_with(ids: NDArray[np.integer], sentence: NDArray[np.int32], size: int = 0) -> NDArray[np.int64]:
    """In how many sentences each id is."""
    return np.bincount(np.unique(ids.astype(np.int64) << 32 | sentence) >> 32, minlength=size)


def own_counts(counted: CountedRules, instances: RuleInstances, *, sentences: bool) -> Arrays:
    """For each target side what it counts and, with `sentences`, in how many it is, if a partition has all rules."""
    responses: Arrays = {"total": counted.target_totals()}
    return responses | ({"sentences": target_sentences(counted, instances.sentence)} if sentences else {})


def requests_of(counted: CountedRules, instances: RuleInstances, *, sentences: bool) -> Arrays:
    """What a partition asks, and says, of its target sides; with `sentences` once for each that has them."""
    if sentences:
        sides = counted.target_ids[counted.rule_of_instance]
        _, some = np.unique(sides.astype(np.int64) << 32 | instances.sentence, return_index=True)
        sides, places = sides[some], instances.take(some)
    else:
        sides, some = np.unique(counted.target_ids, return_index=True)
        places = counted.chosen.take(some)
    # What a side counts is said once.
    first = np.concatenate([[True], sides[1:] != sides[:-1]])
    counts = np.where(first, counted.target_sums()[sides], np.uint64(0))
    return {
        "thing": sides,
        "sentence": places.sentence,
        "begins": places.begins,
        "spans": places.spans,
        "counts": counts,
    }


def put_together(text: AlignedText, requests: Arrays, *, sentences: bool, runtime: Runtime = Runtime()) -> Arrays:
    """What all partitions say of the side of each question."""
    instances = instances_of(requests)
    ids, sides = number_sides(text, instances, True, lambda done: None, runtime=runtime)
    side = kernels.unpaired_sides(sides.values, sides.offsets)[ids]
    responses: Arrays = {"total": sums(side, instances.counts, len(sides))[side]}
    return responses | ({"sentences": sentences_with(side, instances.sentence)[side]} if sentences else {})


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


def grammar(bitext: Bitext, links: Links, options: RuleModel = RuleModel(), *, runtime: Runtime = Runtime()) -> Grammar:
    """Index the rules of an aligned text, with counts of how often their nonterminals are reordered, in memory."""
    found = rules(bitext, links, options, runtime=runtime)
    return Grammar.from_pairs(found, reordered_nonterminals(bitext, links, options, runtime=runtime))


def reordered_nonterminals(
    bitext: Bitext, links: Links, options: RuleModel, *, runtime: Runtime = Runtime()
) -> NDArray[np.float64]:
    """How often nonterminals of rules are reordered in as much of a text as the options say."""
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


def rule_parts(bitext: Bitext, links: Links, options: RuleModel, *, runtime: Runtime = Runtime()) -> Parts:
    """Do the same in the memory of a workspace; the result is in parts if it does not fit, or workers are elsewhere."""
    text = aligned_text(bitext, links)
    with runtime.stage("counting linked words") as progress_callback:
        lexical = lexical_tables(bitext, text.links, within(progress_callback, 0, 0.5))
        source, target = word_weights(bitext, text.links, lexical, within(progress_callback, 0.5, 1))
        mapped: dict[str, Any] = spill_arrays(runtime.workspace, "rule-weights", {"source": source, "target": target})
        weights = mapped["source"], mapped["target"]
        del source, target, lexical
    buffer = rule_buffer(bitext, text, options, target=False, runtime=runtime)
    work = RuleWork(text, weights, (bitext.source.vocab, bitext.target.vocab), options)
    return score_parts(work, buffer, runtime=runtime)


@dataclass(frozen=True, eq=False)
class RuleWork(PartWork):
    """What is done with a partition of rules."""

    kind: ClassVar[Kind] = RULES

    text: AlignedText
    weights: tuple[NDArray[np.float64], NDArray[np.float64]]
    vocabs: tuple[Vocab, Vocab]
    options: RuleModel

    @property
    def tests(self) -> bool:
        """Whether rules are tested for their significance."""
        return self.options.prune_significance is not None

    def count(self, rows: Arrays, *, alone: bool, runtime: Runtime = Runtime()) -> tuple[Arrays, Arrays]:
        """Count rules and, if they are tested, the sentence pairs that they are in."""
        instances = instances_of(rows)
        counted = count_instances(instances, self.text, self.weights, runtime=runtime)
        arrays = counted_arrays(counted) | vars(counted.chosen)
        if self.tests:
            arrays |= SentenceCounts.of(counted, instances.sentence)._asdict()
        return arrays, (own_counts if alone else requests_of)(counted, instances, sentences=self.tests)

    @property
    def counting_only(self) -> tuple[NDArray[Any], ...]:
        """What words weigh is in the counts."""
        return self.weights

    def buckets(self, requests: Arrays, *, runtime: Runtime = Runtime()) -> NDArray[np.integer]:
        """Deal out by target side."""
        return side_buckets(self.text, requests, True, runtime=runtime)

    def resolve(self, requests: Arrays, *, runtime: Runtime = Runtime()) -> tuple[Arrays, Arrays]:
        """Put together what was said of each target side."""
        return put_together(self.text, requests, sentences=self.tests, runtime=runtime), {}

    def score(
        self, arrays: Arrays, responses: Arrays, totals: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> PhrasePairs:
        """Score and prune the rules of a partition."""
        options, known, asked = self.options, dict[str, Any](arrays), dict[str, Any](responses)
        none = np.empty(0, np.int32)
        counted = CountedRules(**counted_columns(arrays), chosen=instances_of(arrays), rule_of_instance=none)
        pairs, rows = score_counted(counted, asked["total"], self.text, self.vocabs, runtime=runtime)
        if options.prune_significance is not None:
            threshold, number = prune.significance_threshold(options.prune_significance), len(self.text.source)
            sentences, target = SentenceCounts(known["rule"], known["source"]), asked["sentences"][counted.target_ids]
            found = negative_log_p(sentences, target, number, runtime=runtime)
            pairs = pairs.take(np.flatnonzero(found[rows] >= prune.least_significance(threshold, number)))
        if options.min_count and pairs.counts is not None:
            pairs = pairs.take(np.flatnonzero(pairs.counts[:, 2] >= options.min_count))
        if options.prune_score:
            pairs = prune.minimum_score(pairs, "fwd", options.prune_score)
        if options.prune_limit:
            pairs = prune.table_limit(pairs, options.prune_limit)
        return pairs


def corpus_grammar(
    bitext: Bitext, links: Links, options: RuleModel = RuleModel(), *, runtime: Runtime = Runtime()
) -> CorpusGrammar:
    """Index an aligned text for rules on demand. All rules are extracted once, to count their target sides.

    What they count is mapped from disk if the memory of a workspace does not suffice.
    """
    if options.prunes:
        raise UsageError("rules on demand cannot be pruned beforehand; expected neither min-count nor a prune option")
    text = aligned_text(bitext, links)
    counts = _target_counts(bitext, text, options, runtime)
    with runtime.stage("counting linked words"):
        weights = word_weights(bitext, text.links, lexical_tables(bitext, links))
    limits = RuleExtraction(**{field.name: getattr(options, field.name) for field in fields(RuleExtraction)})
    return CorpusGrammar.of(text, limits, weights, counts, sample=options.sample, runtime=runtime)


def _target_counts(bitext: Bitext, text: AlignedText, options: RuleModel, runtime: Runtime) -> TargetCounts:
    """Count target sides; those of a partition have hashes in a range of their own."""
    buffer, workspace = rule_buffer(bitext, text, options, target=True, runtime=runtime), runtime.workspace
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
