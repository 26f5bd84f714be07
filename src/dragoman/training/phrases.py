"""The phrase pairs of an aligned text, in as much memory as there is.

Instances are dealt out to partitions by their source phrase, so that each partition has all there is to know of its
source phrases. What target phrases count in all partitions is found in a second exchange (`marginals.py`), by target
phrase; then each partition is scored and pruned by itself, and they are merged (`phrase_merge.py`). Where one partition
takes all, nothing is exchanged or written.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext
from dragoman.core.errors import DataError, UsageError
from dragoman.core.links import Links
from dragoman.core.options import Options, option
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import SILENT, PartProgress, Progress, ShareDone, within
from dragoman.core.ragged import Ragged
from dragoman.core.runs import BUCKETS, Kept, Runs
from dragoman.core.store import Arrays, let_go
from dragoman.core.work.parts import PartWork, parts_at_once
from dragoman.core.work.workers import ThreadWorkers, Workers
from dragoman.core.workspace import Workspace
from dragoman.model.grammar import Grammar
from dragoman.training import prune
from dragoman.training.extract import PhraseInstances, extract_block, extract_spans
from dragoman.training.lexical import check_links, lexical_tables
from dragoman.training.marginals import Marginals, TargetExchange, questions_of
from dragoman.training.reorder import score_reordering
from dragoman.training.score import ChosenLinks, CountedPairs, WeightedText, check_smoothing, count_pairs, score_pairs
from dragoman.training.smoothing import PairCounts, count_histogram
from dragoman.training.symmetrise import Method as Symmetrisation

#: What the work on an instance takes, in bytes.
_INSTANCE = 220

#: The temporary files of a text in phrases of up to seven words, for each word of either side, in bytes.
_TEMPORARY = 300

#: Words of both sides that phrases are extracted from together, if there is memory for their instances; and about how
#: many instances a word gives.
_WORDS_AT_ONCE, _INSTANCES_PER_WORD = 1 << 22, 2


@dataclass(frozen=True)
class PhraseModel(Options):
    """From words to a phrase table."""

    symmetrisation: Symmetrisation = option("grow-diag-final-and", "how the two alignment directions are combined")
    max_phrase_length: int = option(7, "longest phrase, in words, on either side", minimum=1, maximum=255)
    smoothing: Literal["none", "good-turing", "kneser-ney"] = option("none", "of the relative frequencies")
    reordering: bool = option(True, "train a lexicalised reordering model (msd-bidirectional-fe)")
    reordering_limit: int | None = option(
        None,
        "longest jump between phrases that the model allows; by default 6, or 12 where more than 5 % of the jumps that"
        " word links show are longer than 6; -1 is no limit",
        minimum=-1,
        maximum=2**31 - 1,
    )
    prune_limit: int = option(0, "keep so many targets a source phrase, best p(e|f) first; 0 keeps all", minimum=0)
    prune_significance: str | None = option(None, "drop pairs whose -log p-value is below: a+e, a-e or a number")
    prune_score: float = option(0.0, "drop pairs with p(e|f) below", minimum=0, maximum=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prune_significance is not None:
            prune.significance_threshold(self.prune_significance)


@dataclass(frozen=True, eq=False)
class PhraseParts:
    """The phrase pairs of a text: as they are (`whole`), or in parts that wait on disk to be merged.

    Parts have their source phrases in order of first occurrence; `targets` are the distinct target phrases of all.
    Phrases are known by the number of the instance that they occurred in first, of `instances`.
    """

    whole: PhrasePairs | None
    parts: list[Kept]
    targets: list[Kept]
    instances: int


def check_disk(bitext: Bitext, workspace: Workspace) -> None:
    """Refuse a text whose phrase pairs will need more temporary space than there is."""
    words = bitext.source.words + bitext.target.words
    if words * _INSTANCES_PER_WORD * _INSTANCE > workspace.room():
        workspace.check_disk(words * _TEMPORARY)


def phrase_pairs(
    bitext: Bitext, links: Links, options: PhraseModel, *, threads: int = 1, progress: Progress = SILENT
) -> PhrasePairs:
    """Extract, score and prune the phrase pairs of an aligned text, with their reordering scores, in memory."""
    found = phrase_parts(bitext, links, options, workspace=Workspace(), threads=threads, progress=progress)
    assert found.whole is not None
    return found.whole


def phrase_parts(
    bitext: Bitext,
    links: Links,
    options: PhraseModel,
    *,
    workspace: Workspace,
    workers: Workers | None = None,
    threads: int = 1,
    progress: Progress = SILENT,
    as_grammars: bool = False,
) -> PhraseParts:
    """Do the same in the memory of a workspace; the result is in parts if it does not fit, or workers are elsewhere.

    Parts that are to become a grammar, not a table, are grammars themselves.
    """
    who = workers or ThreadWorkers(threads)
    check_smoothing(options.smoothing)
    with progress.stage("counting linked words") as share:
        links = check_links(bitext, links)
        lexical = lexical_tables(bitext, links, within(share, 0, 0.5))
        text = WeightedText.of(bitext, links, lexical, workspace, within(share, 0.5, 1))
        del lexical
    instances = _instances(text, options.max_phrase_length, workspace, who, threads, progress)
    partitions = instances.partitions(parts_at_once(who))
    columns = next(partitions)
    if not columns:
        raise DataError("no phrase pair could be extracted", expected="a parallel text with some word links")
    if not who.remote and len(columns["number"]) == instances.rows:
        counted, found = _counted(columns, text, options, threads, progress)
        del columns
        counts = PairCounts.of(counted.source_ids, counted.target_ids, counted.joint)
        pairs = _scored(counted, counts, found, text, options, threads, progress)
        if not len(pairs):
            raise UsageError("pruning left no phrase pair; prune less")
        return PhraseParts(pairs, [], [], instances.rows)

    exchange = TargetExchange(bitext.target, workspace, threads)
    histogram, waiting, done = np.zeros(1, np.int64), list[Kept](), 0
    part_work = PhraseWork(text, options, as_grammars)
    with progress.stage("counting phrase pairs") as share:
        all_parts = itertools.chain([columns], partitions)
        del columns
        for rows, arrays, questions in part_work.each(all_parts, who, threads, progress):
            exchange.ask(questions, len(arrays["joint"]))
            histogram = histogram + count_histogram(arrays["joint"])
            waiting.append(Kept(workspace, f"counted-{len(waiting)}", arrays))
            done += rows
            del arrays, questions
            share(done / instances.rows)
    # What is still asked for of the text is a part of it.
    let_go(text.first_link, text.source_weights, text.target_weights, links.values, links.offsets)
    targets = exchange.answer(progress)
    total, parts, kept_pairs = sum(exchange.pairs), list[Kept](), 0

    def to_score() -> Iterator[CountedPart]:
        for part, kept in enumerate(waiting):
            yield CountedPart(part, kept.load(), exchange.read(part), histogram, total)
            kept.discard()

    with progress.stage("scoring phrase pairs") as share:
        for pairs_of_part, final in part_work.each(to_score(), who, threads, progress):
            kept_pairs += pairs_of_part
            parts.append(Kept(workspace, f"part-{len(parts)}", final))
            del final
            share(len(parts) / len(waiting))
    exchange.close()
    if not kept_pairs:
        raise UsageError("pruning left no phrase pair; prune less")
    return PhraseParts(None, parts, targets, instances.rows)


@dataclass(frozen=True, eq=False)
class CountedPart:
    """A partition that was counted, and what others say of its target phrases and of the counts of all."""

    number: int
    arrays: Arrays
    marginals: Marginals
    histogram: NDArray[np.int64]
    total: int


@dataclass(frozen=True, eq=False)
class PhraseWork(PartWork[Arrays | CountedPart]):
    """What is done with a partition: it is counted, and when all are, scored and pruned."""

    text: WeightedText
    options: PhraseModel
    as_grammars: bool

    def of(self, part: Arrays | CountedPart, threads: int, progress: Progress) -> Any:
        """Of a partition how many rows it has, what was counted, and what it asks of others; then its final pairs."""
        if not isinstance(part, CountedPart):
            counted, found = _counted(part, self.text, self.options, threads, progress)
            questions, found["source_first"] = questions_of(counted, part)
            return len(part["number"]), _arrays(counted) | found, questions
        counted = _counted_again(part.arrays)
        counts = _pair_counts(counted, part.marginals, part.histogram, part.total)
        watcher = PartProgress(progress, warns=part.number == 0)
        pairs = _scored(counted, counts, part.arrays, self.text, self.options, threads, watcher)
        if self.as_grammars:
            return len(pairs), Grammar.from_pairs(pairs).arrays()
        return len(pairs), _final_arrays(pairs, part.arrays["source_first"], part.marginals)


@dataclass(frozen=True, eq=False)
class ExtractBlock:
    """Extracts the instances of some sentences on a worker, which gets these and their links only."""

    max_length: int

    def __call__(self, block: tuple[int, NDArray[np.int64], NDArray[np.int64], Links]) -> PhraseInstances:
        """Extract from a block: its first sentence, where sentences begin on both sides, and their links."""
        first, source, target, links = block
        found = extract_spans(source, target, links, max_length=self.max_length)
        found.sentence[:] += np.int32(first)
        return found


def _extracted(
    text: WeightedText, max_length: int, blocks: Iterable[slice], workers: Workers, threads: int, share: ShareDone
) -> Iterator[PhraseInstances]:
    """Extract block by block, whoever works."""
    bitext, sentences = text.bitext, max(len(text.bitext), 1)
    if not workers.remote:
        for at in blocks:
            part = within(share, at.start / sentences, at.stop / sentences)
            yield extract_block(bitext, text.links, at, max_length=max_length, threads=threads, share=part)
        return
    items = (
        (
            at.start,
            bitext.source.sentences.offsets[at.start : at.stop + 1],
            bitext.target.sentences.offsets[at.start : at.stop + 1],
            text.links.take(np.arange(at.start, at.stop)),
        )
        for at in blocks
    )
    for found in workers.map(ExtractBlock(max_length), items, window=parts_at_once(workers)):
        yield found
        if len(found):
            share(min(int(found.sentence[-1]) / sentences, 1.0))


def _instances(
    text: WeightedText, max_length: int, workspace: Workspace, workers: Workers, threads: int, progress: Progress
) -> Runs:
    """Extract all instances, numbered as they are found."""
    source = text.bitext.source.sentences

    def buckets(rows: Arrays) -> NDArray[np.uint16]:
        spans: tuple[Any, Any, Any] = rows["sentence"], rows["source_begin"], rows["source_length"]
        return kernels.span_buckets(source.values, source.offsets, *spans, BUCKETS, threads)

    runs = Runs(workspace, "instances", buckets, bytes_per_row=_INSTANCE, order="number")
    with progress.stage("extracting phrases") as share:
        blocks = _blocks(text.bitext, workspace, parts_at_once(workers))
        for block in _extracted(text, max_length, blocks, workers, threads, share):
            columns: Arrays = {field.name: getattr(block, field.name) for field in fields(block)}
            columns["number"] = np.arange(runs.rows, runs.rows + len(block))
            runs.add(columns)
    return runs


def _blocks(bitext: Bitext, workspace: Workspace, together: int) -> Iterator[slice]:
    """Cut a text into blocks, so many of which are worked on together."""
    words = workspace.room() // (2 * _INSTANCE * _INSTANCES_PER_WORD)
    return bitext.blocks(max(min(words, _WORDS_AT_ONCE) // together, 1))


def _counted(
    columns: Arrays, text: WeightedText, options: PhraseModel, threads: int, progress: Progress
) -> tuple[CountedPairs, Arrays]:
    """Count the pairs of some instances, and score their reordering if that is wanted."""
    instances = PhraseInstances(*(columns[field.name] for field in fields(PhraseInstances)))  # type: ignore[arg-type]
    counted = count_pairs(instances, text, threads=threads, progress=progress)
    if not options.reordering:
        return counted, {}
    with progress.stage("scoring reordering"):
        return counted, {"reordering": score_reordering(instances, counted.pair_of_instance, len(counted))}


def _scored(
    counted: CountedPairs,
    counts: PairCounts,
    found: Arrays,
    text: WeightedText,
    options: PhraseModel,
    threads: int,
    progress: Progress,
) -> PhrasePairs:
    """Score and prune the pairs of one partition."""
    pairs, rows = score_pairs(counted, counts, text, smoothing=options.smoothing, threads=threads, progress=progress)
    if options.reordering:
        pairs = replace(pairs, reordering={"lr": found["reordering"][rows]})  # type: ignore[dict-item]
    if options.prune_score:
        pairs = prune.minimum_score(pairs, "fwd", options.prune_score)
    if options.prune_significance is not None:
        threshold = prune.significance_threshold(options.prune_significance)
        pairs = prune.significance(pairs, text.bitext, threshold, threads=threads, progress=progress)
    if options.prune_limit:
        pairs = prune.table_limit(pairs, options.prune_limit)
    return pairs


def _pair_counts(counted: CountedPairs, marginals: Marginals, histogram: NDArray[np.int64], total: int) -> PairCounts:
    own = PairCounts.of(counted.source_ids, counted.target_ids, counted.joint)
    targets = counted.target_ids
    return replace(
        own,
        target=marginals.total[targets],
        distinct_target=marginals.distinct[targets],
        histogram=histogram,
        total=total,
    )


_RAGGED = ("sources", "targets")
_COLUMNS = ("source_ids", "target_ids", "joint", "backward_weights", "forward_weights")


def _arrays(counted: CountedPairs) -> Arrays:
    arrays: Arrays = {name: getattr(counted, name) for name in _COLUMNS}
    for name in _RAGGED:
        rows: Ragged[np.int32] = getattr(counted, name)
        arrays |= {name: rows.values, f"{name}.offsets": rows.offsets}
    return arrays | {f"chosen.{name}": column for name, column in counted.chosen._asdict().items()}


def _counted_again(arrays: Arrays) -> CountedPairs:
    columns: dict[str, Any] = {name: arrays[name] for name in _COLUMNS}
    columns |= {name: Ragged(arrays[name], arrays[f"{name}.offsets"]) for name in _RAGGED}  # type: ignore[arg-type]
    chosen: dict[str, Any] = {name: arrays[f"chosen.{name}"] for name in ChosenLinks._fields}
    return CountedPairs(**columns, chosen=ChosenLinks(**chosen), pair_of_instance=np.empty(0, np.int32))


def _final_arrays(pairs: PhrasePairs, source_first: NDArray[Any], marginals: Marginals) -> Arrays:
    """What the merge needs of the pairs of a part: source phrases that have pairs, and the pairs."""
    assert pairs.alignments is not None and pairs.counts is not None  # noqa: PT018 - both are always made
    used, sizes = np.unique(pairs.source_ids, return_counts=True)
    sources = pairs.sources.take(used)
    return {
        "source_first": source_first[used],
        "sources": sources.values,
        "source_offsets": sources.offsets,
        "first_pair": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "target_first": marginals.first[pairs.target_ids],
        "scores": pairs.scores,
        "counts": pairs.counts,
        "alignments": pairs.alignments.values,
        "alignment_offsets": pairs.alignments.offsets,
        **{f"reordering.{name}": scores for name, scores in pairs.reordering.items()},
    }
