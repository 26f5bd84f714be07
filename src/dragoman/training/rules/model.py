"""The rules of an aligned text, in as much memory as there is.

They are made as phrase pairs are (`training/phrases.py`): dealt out to partitions by their source sides, counted,
scored and pruned partition by partition, with what target sides count in all of them found in between (`marginals.py`).
A partition becomes a grammar of its own, and `training/grammar_merge.py` makes one of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Bitext
from dragoman.core.errors import DataError, UsageError
from dragoman.core.links import Links
from dragoman.core.options import option
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import SILENT, Progress, within
from dragoman.core.ragged import Ragged
from dragoman.core.runs import Kept, mapped_arrays
from dragoman.core.store import Arrays
from dragoman.core.vocab import Vocab
from dragoman.core.work.parts import PartWork, parts_at_once
from dragoman.core.work.workers import ThreadWorkers, Workers
from dragoman.core.workspace import Workspace
from dragoman.model.grammar import Grammar
from dragoman.model.rule_instances import AlignedText, RuleExtraction, hole_counts
from dragoman.model.rule_scores import CountedRules, count_instances, score_counted
from dragoman.training import prune
from dragoman.training.grammar_merge import GrammarParts
from dragoman.training.lexical import lexical_tables, word_weights
from dragoman.training.rules.extract import INSTANCE, INSTANCES_PER_WORD, aligned_text, instance_runs, instances_of
from dragoman.training.rules.marginals import SideCounts, SideExchange, questions_of
from dragoman.training.rules.significance import SentenceCounts, negative_log_p, target_sentences

#: The temporary files of a text's rules of up to ten words, for each word of either side, in bytes.
_TEMPORARY = 1200


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


def check_disk(bitext: Bitext, workspace: Workspace) -> None:
    """Refuse a text whose rules will need more temporary space than there is."""
    words = bitext.source.words + bitext.target.words
    if words * INSTANCES_PER_WORD * INSTANCE > workspace.room():
        workspace.check_disk(words * _TEMPORARY)


def grammar(
    bitext: Bitext, links: Links, options: RuleModel = RuleModel(), *, threads: int = 1, progress: Progress = SILENT
) -> Grammar:
    """Index the rules of an aligned text, with counts of how often their nonterminals are reordered, in memory."""
    found = rules(bitext, links, options, threads=threads, progress=progress)
    return Grammar.from_pairs(found, reordered_nonterminals(bitext, links, options, threads=threads, progress=progress))


def reordered_nonterminals(
    bitext: Bitext, links: Links, options: RuleModel, *, threads: int = 1, progress: Progress = SILENT
) -> NDArray[np.float64]:
    """How often nonterminals of rules are reordered in as much of a text as the options say."""
    sentences = options.reordering_sentences
    return hole_counts(aligned_text(bitext, links), options, sentences=sentences, threads=threads, progress=progress)


def rules(
    bitext: Bitext,
    links: Links,
    options: RuleModel = RuleModel(),
    *,
    threads: int = 1,
    progress: Progress = SILENT,
) -> PhrasePairs:
    """Extract, score and prune the rules of an aligned text, in memory.

    >>> from dragoman.core.corpus import Corpus
    >>> from dragoman.core.links import links_of
    >>> bitext = Bitext(Corpus.from_lines(["ne va pas"]), Corpus.from_lines(["not go"]))
    >>> found = rules(bitext, links_of([[(0, 0), (1, 1), (2, 0)]]), RuleModel(min_hole_source=1))
    >>> [source.tolist() for source in found.sources]
    [[3, 4, 5], [3, -1, 5], [4]]
    """
    found = rule_parts(bitext, links, options, workspace=Workspace(), threads=threads, progress=progress)
    assert found.whole is not None
    return found.whole


def rule_parts(
    bitext: Bitext,
    links: Links,
    options: RuleModel,
    *,
    workspace: Workspace,
    workers: Workers | None = None,
    threads: int = 1,
    progress: Progress = SILENT,
) -> GrammarParts:
    """Do the same in the memory of a workspace; the result is in parts if it does not fit, or workers are elsewhere."""
    who, text = workers or ThreadWorkers(threads), aligned_text(bitext, links)
    with progress.stage("counting linked words") as share:
        lexical = lexical_tables(bitext, text.links, within(share, 0, 0.5))
        source, target = word_weights(bitext, text.links, lexical, within(share, 0.5, 1))
        mapped: dict[str, Any] = mapped_arrays(workspace, "rule-weights", {"source": source, "target": target})
        weights = mapped["source"], mapped["target"]
        del source, target, lexical
    runs = instance_runs(
        bitext, text, options, workspace, target=False, workers=who, threads=threads, progress=progress
    )
    work = RuleWork(text, weights, (bitext.source.vocab, bitext.target.vocab), options)
    partitions = runs.partitions(parts_at_once(who))
    rows = next(partitions)
    if not rows:
        raise DataError("no rule could be extracted", expected="a parallel text with some word links")
    if not who.remote and len(rows["sentence"]) == runs.rows:
        instances = instances_of(rows)
        del rows
        counted = count_instances(instances, text, weights, threads=threads, progress=progress)
        sentences, sides = None, SideCounts(counted.target_totals())
        if work.tests:
            sentences = SentenceCounts.of(counted, instances.sentence)
            sides = sides._replace(sentences=target_sentences(counted, instances.sentence))
        del instances
        pairs = work.pairs(counted, sides, sentences, threads, progress)
        if not len(pairs):
            raise UsageError("pruning left no rule; prune less")
        return GrammarParts(pairs, [])

    exchange = SideExchange(text, workspace, threads, sentences=work.tests)
    waiting, done = list[Kept](), 0
    with progress.stage("counting rules") as share:
        all_parts = itertools.chain([rows], partitions)
        del rows
        for number, arrays, questions in work.each(all_parts, who, threads, progress):
            exchange.ask(questions)
            waiting.append(Kept(workspace, f"counted-{len(waiting)}", arrays))
            done += number
            del arrays, questions
            share(done / runs.rows)
    exchange.answer(progress)
    parts, left = list[Kept](), 0

    def to_score() -> Iterator[CountedPart]:
        for part, kept in enumerate(waiting):
            arrays = kept.load()
            kept.discard()
            yield CountedPart(arrays, exchange.read(part))

    with progress.stage("scoring rules") as share:
        for number, final in work.each(to_score(), who, threads, progress):
            left += number
            parts.append(Kept(workspace, f"part-{len(parts)}", final))
            del final
            share(len(parts) / len(waiting))
    exchange.close()
    if not left:
        raise UsageError("pruning left no rule; prune less")
    return GrammarParts(None, parts)


@dataclass(frozen=True, eq=False)
class CountedPart:
    """A partition that was counted, and what others say of its target sides."""

    arrays: Arrays
    sides: SideCounts


@dataclass(frozen=True, eq=False)
class RuleWork(PartWork[Arrays | CountedPart]):
    """What is done with a partition: it is counted, and when all are, scored and pruned."""

    text: AlignedText
    weights: tuple[NDArray[np.float64], NDArray[np.float64]]
    vocabs: tuple[Vocab, Vocab]
    options: RuleModel

    @property
    def tests(self) -> bool:
        """Whether rules are tested for their significance."""
        return self.options.prune_significance is not None

    def of(self, part: Arrays | CountedPart, threads: int, progress: Progress) -> Any:
        """Of a partition how many rows it has, what was counted, and what it asks of others; then its final rules."""
        if not isinstance(part, CountedPart):
            instances = instances_of(part)
            counted = count_instances(instances, self.text, self.weights, threads=threads, progress=progress)
            arrays = _arrays(counted)
            if self.tests:
                arrays |= SentenceCounts.of(counted, instances.sentence)._asdict()
            return len(instances), arrays, questions_of(counted, instances, sentences=self.tests)
        known: dict[str, Any] = part.arrays
        sentences = SentenceCounts(known["rule"], known["source"]) if self.tests else None
        pairs = self.pairs(_counted_again(part.arrays), part.sides, sentences, threads, progress)
        return len(pairs), Grammar.from_pairs(pairs).arrays()

    def pairs(
        self,
        counted: CountedRules,
        sides: SideCounts,
        sentences: SentenceCounts | None,
        threads: int,
        progress: Progress,
    ) -> PhrasePairs:
        """The rules that are kept; `sentences` are needed to test significance."""
        options = self.options
        pairs, rows = score_counted(counted, sides.total, self.text, self.vocabs, threads=threads, progress=progress)
        if options.prune_significance is not None and sentences is not None and sides.sentences is not None:
            threshold = prune.significance_threshold(options.prune_significance)
            target, number = sides.sentences[counted.target_ids], len(self.text.source)
            found = negative_log_p(sentences, target, number, threads=threads, progress=progress)
            pairs = pairs.take(np.flatnonzero(found[rows] >= prune.least_significance(threshold, number)))
        if options.min_count and pairs.counts is not None:
            pairs = pairs.take(np.flatnonzero(pairs.counts[:, 2] >= options.min_count))
        if options.prune_score:
            pairs = prune.minimum_score(pairs, "fwd", options.prune_score)
        if options.prune_limit:
            pairs = prune.table_limit(pairs, options.prune_limit)
        return pairs


_RAGGED = ("sources", "targets")
_COLUMNS = ("source_ids", "target_ids", "joint", "backward_weights", "forward_weights")


def _arrays(counted: CountedRules) -> Arrays:
    arrays: Arrays = {name: getattr(counted, name) for name in _COLUMNS}
    for name in _RAGGED:
        rows: Ragged[np.int32] = getattr(counted, name)
        arrays |= {name: rows.values, f"{name}.offsets": rows.offsets}
    return arrays | vars(counted.chosen)


def _counted_again(arrays: Arrays) -> CountedRules:
    columns: dict[str, Any] = {name: arrays[name] for name in _COLUMNS}
    columns |= {name: Ragged(arrays[name], arrays[f"{name}.offsets"]) for name in _RAGGED}  # type: ignore[arg-type]
    return CountedRules(**columns, chosen=instances_of(arrays), rule_of_instance=np.empty(0, np.int32))
