"""The rules of an aligned text, in as much memory as there is.

They are made as phrase pairs are (`training/phrases.py`): dealt out to partitions by their source sides, counted,
scored and pruned partition by partition, with what target sides count in all of them found in between (`marginals.py`).
A partition becomes a grammar of its own, and `training/grammar_merge.py` makes one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Bitext
from dragoman.core.errors import DataError, UsageError
from dragoman.core.links import Links
from dragoman.core.options import option
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import SILENT, PartProgress, Progress, within
from dragoman.core.ragged import Ragged
from dragoman.core.runs import Kept, mapped_arrays
from dragoman.core.store import Arrays
from dragoman.core.workspace import Workspace
from dragoman.model.grammar import Grammar
from dragoman.model.rule_instances import AlignedText, RuleExtraction, hole_counts
from dragoman.model.rule_scores import CountedRules, count_instances, score_counted
from dragoman.training import prune
from dragoman.training.grammar_merge import GrammarParts
from dragoman.training.lexical import lexical_tables, word_weights
from dragoman.training.rules.extract import INSTANCE, INSTANCES_PER_WORD, aligned_text, instance_runs, instances_of
from dragoman.training.rules.marginals import SideCounts, SideExchange
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
    threads: int = 1,
    progress: Progress = SILENT,
) -> GrammarParts:
    """Do the same in the memory of a workspace; the result is in parts if it does not fit."""
    text = aligned_text(bitext, links)
    with progress.stage("counting linked words") as share:
        lexical = lexical_tables(bitext, text.links, within(share, 0, 0.5))
        source, target = word_weights(bitext, text.links, lexical, within(share, 0.5, 1))
        mapped: dict[str, Any] = mapped_arrays(workspace, "rule-weights", {"source": source, "target": target})
        weights = mapped["source"], mapped["target"]
        del source, target, lexical
    runs = instance_runs(bitext, text, options, workspace, target=False, threads=threads, progress=progress)
    scoring = _Scoring(bitext, text, options, threads)
    partitions = runs.partitions()
    rows = next(partitions)
    if not rows:
        raise DataError("no rule could be extracted", expected="a parallel text with some word links")
    if len(rows["sentence"]) == runs.rows:
        instances = instances_of(rows)
        del rows
        counted = count_instances(instances, text, weights, threads=threads, progress=progress)
        sentences, sides = None, SideCounts(counted.target_totals())
        if scoring.tests:
            sentences = SentenceCounts.of(counted, instances.sentence)
            sides = sides._replace(sentences=target_sentences(counted, instances.sentence))
        del instances
        pairs = scoring.pairs(counted, sides, sentences, progress)
        if not len(pairs):
            raise UsageError("pruning left no rule; prune less")
        return GrammarParts(pairs, [])

    exchange = SideExchange(text, workspace, threads, sentences=scoring.tests)
    waiting, done = list[Kept](), 0
    with progress.stage("counting rules") as share:
        while rows:
            instances = instances_of(rows)
            done += len(instances)
            counted = count_instances(instances, text, weights, threads=threads)
            exchange.ask(counted, instances)
            kept = _arrays(counted)
            if scoring.tests:
                kept |= SentenceCounts.of(counted, instances.sentence)._asdict()
            waiting.append(Kept(workspace, f"counted-{len(waiting)}", kept))
            del rows, instances, counted, kept
            share(done / runs.rows)
            rows = next(partitions, {})
    exchange.answer(progress)
    parts, left = [], 0
    with progress.stage("scoring rules") as share:
        for part, one in enumerate(waiting):
            arrays: dict[str, Any] = one.load()
            one.discard()
            sentences = SentenceCounts(arrays["rule"], arrays["source"]) if scoring.tests else None
            pairs = scoring.pairs(_counted_again(arrays), exchange.read(part), sentences, PartProgress(progress))
            del arrays, sentences
            left += len(pairs)
            parts.append(Kept(workspace, f"part-{part}", Grammar.from_pairs(pairs).arrays()))
            del pairs
            share((part + 1) / len(waiting))
    exchange.close()
    if not left:
        raise UsageError("pruning left no rule; prune less")
    return GrammarParts(None, parts)


class _Scoring:
    """Scores and prunes counted rules."""

    def __init__(self, bitext: Bitext, text: AlignedText, options: RuleModel, threads: int):
        self._bitext, self._text, self._options, self._threads = bitext, text, options, threads
        self.tests = options.prune_significance is not None

    def pairs(
        self, counted: CountedRules, sides: SideCounts, sentences: SentenceCounts | None, progress: Progress
    ) -> PhrasePairs:
        """The rules that are kept; `sentences` are needed to test significance."""
        options, vocabs = self._options, (self._bitext.source.vocab, self._bitext.target.vocab)
        pairs, rows = score_counted(counted, sides.total, self._text, vocabs, threads=self._threads, progress=progress)
        if options.prune_significance is not None and sentences is not None and sides.sentences is not None:
            threshold = prune.significance_threshold(options.prune_significance)
            target, number = sides.sentences[counted.target_ids], len(self._bitext)
            found = negative_log_p(sentences, target, number, threads=self._threads, progress=progress)
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
_CHOSEN = ("sentence", "begins", "spans", "counts")


def _arrays(counted: CountedRules) -> Arrays:
    arrays: Arrays = {name: getattr(counted, name) for name in _COLUMNS}
    for name in _RAGGED:
        rows: Ragged[np.int32] = getattr(counted, name)
        arrays |= {name: rows.values, f"{name}.offsets": rows.offsets}
    return arrays | dict(zip(_CHOSEN, counted.chosen.arrays, strict=True))


def _counted_again(arrays: Arrays) -> CountedRules:
    columns: dict[str, Any] = {name: arrays[name] for name in _COLUMNS}
    columns |= {name: Ragged(arrays[name], arrays[f"{name}.offsets"]) for name in _RAGGED}  # type: ignore[arg-type]
    return CountedRules(**columns, chosen=instances_of(arrays), rule_of_instance=np.empty(0, np.int32))
