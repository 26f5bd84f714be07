"""From phrase instances to a phrase table: counts, translation probabilities, lexical weights and alignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.links import Links
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.progress import SILENT, Progress, ShareDone
from dragoman.core.ragged import Ragged
from dragoman.training.extract import PhraseInstances, Spans
from dragoman.training.lexical import LexicalTables, check_links, corpus_positions, word_weights
from dragoman.training.smoothing import SMOOTHINGS, PairCounts

Smoothing = Literal["none", "good-turing", "kneser-ney"]


@dataclass(frozen=True, eq=False)
class ScoredPhrases:
    """A phrase table, and for each instance that went into it the pair it is an instance of."""

    pairs: PhrasePairs
    pair_of_instance: NDArray[np.int32]


def score_phrases(
    instances: PhraseInstances,
    bitext: Bitext,
    links: Links,
    lexical: LexicalTables,
    *,
    smoothing: Smoothing = "none",
    threads: int = 1,
    progress: Progress = SILENT,
) -> ScoredPhrases:
    """Count phrase pairs and score them with p(f|e), lexical(f|e), p(e|f), lexical(e|f).

    `instances` must come from the same bitext and links. The alignment of a pair is its most frequent one; ties are
    broken as Moses does, for the two lexical weights separately, and `alignments` has the one used for lexical(e|f).
    Source phrases come in the order of their first occurrence; pairs of one source phrase by falling p(e|f), then
    falling p(f|e), then the word ids of the target.
    """
    if len(instances) >= 1 << 31:
        raise DataError(
            f"{len(instances)} phrase instances", expected="fewer than 2**31: use shorter phrases or less text"
        )
    if smoothing not in SMOOTHINGS:
        raise UsageError(f"no smoothing is called '{smoothing}'; there are {', '.join(SMOOTHINGS)}")
    with progress.stage("looking over the phrases") as share:
        links = check_links(bitext, links)
        share(0.3)
        _check_instances(instances, bitext)
    with progress.stage("numbering source phrases") as share:
        source_ids, sources = _number(bitext.source, instances.source_spans, threads, share)
    with progress.stage("numbering target phrases") as share:
        target_ids, targets = _number(bitext.target, instances.target_spans, threads, share)
    with progress.stage("collecting phrase pairs") as share:
        order, offsets = kernels.group_pairs(source_ids, target_ids, len(sources), threads, share)
        some = order[offsets[:-1]]
        pair_sources, pair_targets = source_ids[some], target_ids[some]
        counts = PairCounts.of(pair_sources, pair_targets, np.diff(offsets))
        first_link = _first_links(bitext, links)
    place = (*instances.source_spans, instances.target_begin, bitext.source.sentences.offsets, links.values, first_link)
    with progress.stage("choosing alignments") as share:
        forward, backward = kernels.choose_alignments(order, offsets, *place, threads, share)

    with progress.stage("scoring phrase pairs") as share:
        source_weights, target_weights = word_weights(bitext, links, lexical)
        share(0.5)
        source_side = source_weights, bitext.source.sentences.offsets, *instances.source_spans
        target_side = target_weights, bitext.target.sentences.offsets, *instances.target_spans
        bwd, fwd = SMOOTHINGS[smoothing](counts, progress)
        bwd_lex, fwd_lex = kernels.span_products(*source_side, backward), kernels.span_products(*target_side, forward)
        scores = np.stack([bwd, bwd_lex, fwd, fwd_lex], axis=1, dtype=np.float32, casting="same_kind")

    with progress.stage("sorting phrase pairs") as share:
        rows = kernels.order_pairs(
            np.searchsorted(pair_sources, np.arange(len(sources) + 1, dtype=np.int32)),
            pair_targets,
            targets.values,
            targets.offsets,
            fwd.astype(np.float32),
            bwd.astype(np.float32),
            threads,
            share,
        )
        pairs = PhrasePairs(
            bitext.source.vocab,
            bitext.target.vocab,
            sources,
            targets,
            pair_sources,
            pair_targets[rows],
            scores[rows],
            PHRASE_SCORES,
            Ragged(*kernels.inner_links(forward[rows], *place)),
            np.stack([counts.target, counts.source, counts.joint], axis=1)[rows].astype(np.float32),
        )
    new_row = np.empty(len(rows), np.int32)
    new_row[rows] = np.arange(len(rows), dtype=np.int32)
    pair_of_instance = np.empty(len(instances), np.int32)
    pair_of_instance[order] = np.repeat(new_row, counts.joint)
    return ScoredPhrases(pairs, pair_of_instance)


def _number(corpus: Corpus, spans: Spans, threads: int, share: ShareDone) -> tuple[NDArray[np.int32], Ragged[np.int32]]:
    """Number the distinct phrases of one side: the id of each instance, and the phrases."""
    ids, words, offsets = kernels.number_spans(
        corpus.sentences.values, corpus.sentences.offsets, *spans, threads, share
    )
    return ids, Ragged(words, offsets)


def _first_links(bitext: Bitext, links: Links) -> NDArray[np.int64]:
    """The number of links before each running source word, and their total."""
    source, _ = corpus_positions(bitext, links)
    first = np.zeros(bitext.source.words + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=bitext.source.words), out=first[1:])
    return first


def _check_instances(instances: PhraseInstances, bitext: Bitext) -> None:
    """Refuse instances of another bitext, as far as they reach outside their sentences."""
    rows = instances.sentence
    inside = len(rows) == 0 or 0 <= rows.min() <= rows.max() < len(bitext)
    for corpus, (_, begin, length) in (
        (bitext.source, instances.source_spans),
        (bitext.target, instances.target_spans),
    ):
        inside = inside and bool(np.all(begin.astype(np.int64) + length <= corpus.sentences.lengths[rows]))
    if not inside:
        raise DataError("phrase instances reach outside their sentences", expected="instances of the same bitext")
