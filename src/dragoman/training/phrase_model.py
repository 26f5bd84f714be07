"""The phrase pairs of an aligned text, in as much memory as there is (`partitions.py`); `merge.py` merges the parts.

A phrase is identified by a place in the text where it occurs, and compared word by word.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Corpus, Links
from dragoman.core.options import Options, option
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import within
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.spill import BUCKETS
from dragoman.core.store import Arrays
from dragoman.core.workspace import Workspace
from dragoman.training.align.base import Symmetrisation
from dragoman.training.extract import PhraseInstances, extract_spans, score_reordering
from dragoman.training.lexical import check_links, lexical_tables
from dragoman.training.partitions import (
    CountedPartition,
    PairKind,
    PartitionWork,
    ScoredParts,
    SentenceBlock,
    extract_instances,
    score_parts,
)
from dragoman.training.score import (
    ChosenLinks,
    CountedPhrases,
    PairCounts,
    PhraseSmoothing,
    WeightedText,
    check_smoothing,
    count_pairs,
    marginals,
    pair_totals,
    score_pairs,
)
from dragoman.training.table_pruning import least_significance, negative_log_p, prune_pairs


def phrase_requests(counted: CountedPhrases, instances: Arrays) -> tuple[Arrays, NDArray[np.int64]]:
    """Return a partition's requests about its target phrases, and the first instance of each source phrase."""
    pair_of_instance, number = counted.pair_of_instance, instances["number"]
    sources = _first_of(counted.source_ids[pair_of_instance], len(counted.sources))
    some = _first_of(counted.target_ids[pair_of_instance], len(counted.targets))
    requests: Arrays = {
        "thing": np.arange(len(some), dtype=np.int32),
        "sentence": instances["sentence"][some],
        "begin": instances["target_begin"][some],
        "length": instances["target_length"][some],
        **_target_marginals(counted),
        "first": number[some],
    }
    return requests, np.asarray(number[sources], np.int64)


def sum_marginals(corpus: Corpus, requests: dict[str, Any], *, runtime: Runtime = Runtime()) -> tuple[Arrays, Arrays]:
    """Sum up the counts of the phrase of each request over all partitions, with the number of its first instance.

    Return also the distinct phrases, in order of their first instances.
    """
    text, spans = corpus.sentences, (requests["sentence"], requests["begin"], requests["length"])
    ids, words, offsets = kernels.number_spans(text.values, text.offsets, *spans, runtime.threads, None)
    size = len(offsets) - 1
    total, distinct = (np.bincount(ids, requests[name], size).astype(np.int64) for name in ("total", "distinct"))
    first = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(first, ids, requests["first"])
    order = np.argsort(first)
    phrases = Ragged(words, offsets).take(order)
    return (
        {"total": total[ids], "distinct": distinct[ids], "first": first[ids]},
        {"first": first[order], "words": phrases.values, "offsets": phrases.offsets},
    )


def span_buckets(
    corpus: Corpus,
    sentence: NDArray[Any],
    begin: NDArray[Any],
    length: NDArray[Any],
    *,
    runtime: Runtime = Runtime(),
) -> NDArray[np.uint16]:
    """Partition phrases by their words."""
    text = corpus.sentences
    return kernels.span_buckets(text.values, text.offsets, sentence, begin, length, BUCKETS, runtime.threads)


def _first_of(ids: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """Return the first row of each id."""
    first = np.empty(size, np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)  # the last assignment to a place holds
    return first


def _target_marginals(counted: CountedPhrases) -> Arrays:
    return {**marginals(counted.target_ids, counted.joint, len(counted.targets))}


#: Measured with phrases of up to seven words.
PHRASE_KIND = PairKind(
    "phrases",
    "phrase pair",
    "target phrases",
    instance_bytes=220,
    request_bytes=150,
    temporary_bytes=300,
    instances_per_word=2,
    words_at_once=1 << 22,
    is_numbered=True,
)


@dataclass(frozen=True)
class PhraseModel(Options):
    """From words to a phrase table."""

    symmetrisation: Symmetrisation = option(
        "grow-diag-final-and", "how to combine the two directions of word alignment"
    )
    max_phrase_length: int = option(7, "longest phrase, in words, on either side", minimum=1, maximum=255)
    smoothing: PhraseSmoothing | None = option(
        None, "smoothing of the relative frequencies; by default none, and good-turing for text that gets word classes"
    )
    reordering: bool = option(True, "train a lexicalised reordering model (msd-bidirectional-fe)")
    reordering_limit: int | None = option(
        None,
        "longest jump between phrases that the model allows; by default 6, or 12 if more than 5 % of the jumps in the"
        " word alignment are longer than 6; -1 is no limit",
        minimum=-1,
        maximum=2**31 - 1,
    )
    prune_limit: int = option(
        0, "keep at most this many targets per source phrase, best p(e|f) first; 0 keeps all", minimum=0
    )
    prune_significance: str | None = option(
        None, "drop pairs with a lower -log p-value (Fisher's exact test): a+e, a-e or a number"
    )
    prune_score: float = option(0.0, "drop pairs with a lower p(e|f)", minimum=0, maximum=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prune_significance is not None:
            least_significance(self.prune_significance)


def phrase_pairs(bitext: Bitext, links: Links, options: PhraseModel, *, runtime: Runtime = Runtime()) -> PhrasePairs:
    """Extract, score and prune the phrase pairs of an aligned text, with their reordering scores, in memory."""
    found = phrase_parts(bitext, links, options, runtime=replace(runtime.here(), workspace=Workspace()))
    assert found.whole is not None
    return found.whole


def phrase_parts(
    bitext: Bitext, links: Links, options: PhraseModel, *, as_grammars: bool = False, runtime: Runtime = Runtime()
) -> ScoredParts:
    """Do the same in the memory of a workspace; the result is in parts if it does not fit or there are several workers.

    With `as_grammars`, parts are grammars, to be merged into a grammar instead of a phrase table.
    """
    check_smoothing(options.smoothing or "none")
    with runtime.stage("counting aligned words") as progress_callback:
        links = check_links(bitext, links)
        lexical = lexical_tables(bitext, links, within(progress_callback, 0, 0.5))
        text = WeightedText.of(bitext, links, lexical, runtime.workspace, within(progress_callback, 0.5, 1))
        del lexical

    def part(at: slice) -> BlockSpans:
        rows = slice(at.start, at.stop + 1)
        return bitext.source.sentences.offsets[rows], bitext.target.sentences.offsets[rows], links.part(at)

    def buckets(rows: Arrays) -> NDArray[np.uint16]:
        return span_buckets(
            bitext.source, rows["sentence"], rows["source_begin"], rows["source_length"], runtime=runtime
        )

    extract = ExtractPhrases(options.max_phrase_length)
    buffer = extract_instances(PHRASE_KIND, bitext, extract, part, buckets, runtime=runtime)
    return score_parts(PhraseWork(text, options, as_grammars), buffer, runtime=runtime)


#: Offsets of the sentences of both sides, and their word alignment: extraction does not look at words.
BlockSpans = tuple[NDArray[np.int64], NDArray[np.int64], Links]


@dataclass(frozen=True)
class ExtractPhrases:
    """Extraction of phrase pairs from a block of sentences."""

    max_length: int

    def __call__(self, block: SentenceBlock[BlockSpans], runtime: Runtime) -> Arrays:
        """Return the columns of the instances."""
        found = extract_spans(
            *block.text, max_length=self.max_length, progress_callback=block.progress_callback, runtime=runtime
        )
        return dict(vars(found))


@dataclass(frozen=True, eq=False)
class PhraseWork(PartitionWork):
    """Work on a partition of phrase pairs."""

    kind: ClassVar[PairKind] = PHRASE_KIND

    text: WeightedText
    options: PhraseModel
    as_grammars: bool

    def count(self, rows: Arrays, *, alone: bool, runtime: Runtime = Runtime()) -> tuple[Arrays, Arrays]:
        """Count pairs, and score their reordering if the options say so."""
        columns: dict[str, Any] = {field.name: rows[field.name] for field in fields(PhraseInstances)}
        instances = PhraseInstances(**columns)
        counted = count_pairs(instances, self.text, runtime=runtime)
        arrays = counted.arrays()
        arrays |= {f"chosen.{name}": column for name, column in counted.chosen._asdict().items()}
        if self.options.reordering:
            with runtime.stage("scoring reordering"):
                arrays["reordering"] = score_reordering(instances, counted.pair_of_instance, len(counted))
        if alone:
            return arrays, _target_marginals(counted)
        requests, arrays["source_first"] = phrase_requests(counted, rows)
        return arrays, requests

    def totals(self, arrays: Arrays) -> NDArray[np.int64]:
        """Return the counts of counts of the pairs, and their number."""
        joint: NDArray[Any] = arrays["joint"]
        return pair_totals(joint)

    @property
    def counting_only(self) -> tuple[NDArray[Any], ...]:
        """Word weights, and the word alignment: scoring looks at some of it only."""
        text = self.text
        return text.first_link, text.source_weights, text.target_weights, text.links.values, text.links.offsets

    def buckets(self, requests: Arrays, *, runtime: Runtime = Runtime()) -> NDArray[np.integer]:
        """Partition requests by target phrase."""
        spans = requests["sentence"], requests["begin"], requests["length"]
        return span_buckets(self.text.bitext.target, *spans, runtime=runtime)

    def resolve(self, requests: Arrays, *, runtime: Runtime = Runtime()) -> tuple[Arrays, Arrays]:
        """Sum up the counts of each target phrase."""
        return sum_marginals(self.text.bitext.target, requests, runtime=runtime)

    def score(
        self, arrays: Arrays, responses: Arrays, totals: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> PhrasePairs:
        """Score and prune the pairs of a partition."""
        options, targets = self.options, dict[str, Any](responses)
        chosen: dict[str, Any] = {name: arrays[f"chosen.{name}"] for name in ChosenLinks._fields}
        counted = CountedPhrases.from_arrays(arrays, ChosenLinks(**chosen))
        counts = PairCounts.of(counted.source_ids, counted.target_ids, counted.joint, targets, totals)
        pairs, rows = score_pairs(counted, counts, self.text, smoothing=options.smoothing or "none", runtime=runtime)
        if options.reordering:
            pairs = replace(pairs, reordering={"lr": arrays["reordering"][rows]})  # type: ignore[dict-item]

        def log_p(rows: NDArray[np.intp]) -> NDArray[np.float64]:
            return negative_log_p(pairs.take(rows), self.text.bitext, runtime=runtime)

        return prune_pairs(pairs, options, len(self.text.bitext), log_p)

    def final(self, pairs: PhrasePairs, part: CountedPartition) -> Arrays:
        """Return what the merge needs of a partition."""
        if self.as_grammars:
            return super().final(pairs, part)
        return _final_arrays(pairs, part.arrays["source_first"], part.responses["first"])


def _final_arrays(pairs: PhrasePairs, source_first: NDArray[Any], target_first: NDArray[Any]) -> Arrays:
    """Return what the merge needs of the pairs of a part: source phrases that have pairs, and the pairs."""
    assert pairs.alignments is not None and pairs.counts is not None  # noqa: PT018 - both are always made
    used, sizes = np.unique(pairs.source_ids, return_counts=True)
    sources = pairs.sources.take(used)
    return {
        "source_first": source_first[used],
        "sources": sources.values,
        "source_offsets": sources.offsets,
        "first_pair": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "target_first": target_first[pairs.target_ids],
        "scores": pairs.scores,
        "counts": pairs.counts,
        "alignments": pairs.alignments.values,
        "alignment_offsets": pairs.alignments.offsets,
        **{f"reordering.{name}": scores for name, scores in pairs.reordering.items()},
    }
