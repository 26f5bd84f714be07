"""Phrase extraction: all phrase pairs consistent with the word alignment (Och & Ney 2004), and their reordering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Links
from dragoman.core.errors import UsageError
from dragoman.core.phrases import REORDERING_SCORES
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.training.lexical import check_links

Spans = tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.uint8]]

MONOTONE, SWAP, OTHER = 0, 1, 2


@dataclass(frozen=True, eq=False)
class PhraseInstances:
    """Occurrences of phrase pairs in a bitext, sentence by sentence.

    An instance is a span of words on each side. `previous` and `next` are its orientations to the words before and
    after its target side: MONOTONE, SWAP or OTHER.
    """

    sentence: NDArray[np.int32]
    source_begin: NDArray[np.uint16]
    source_length: NDArray[np.uint8]
    target_begin: NDArray[np.uint16]
    target_length: NDArray[np.uint8]
    previous: NDArray[np.uint8]
    next: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.sentence)

    @property
    def source_spans(self) -> Spans:
        """Sentence, first word and number of words of each source side."""
        return self.sentence, self.source_begin, self.source_length

    @property
    def target_spans(self) -> Spans:
        """Sentence, first word and number of words of each target side."""
        return self.sentence, self.target_begin, self.target_length


def extract_phrases(
    bitext: Bitext, links: Links, *, max_length: int = 7, runtime: Runtime = Runtime()
) -> PhraseInstances:
    """Extract all pairs of spans of at most `max_length` words, with a link inside and none that leads outside.

    Unaligned words at the edges of a span may belong to it or not: both pairs are extracted. Orientation is word-based:
    a pair is monotone to its predecessor if the words before both spans are linked, a swap if the word before the
    target span is linked to the one after the source span, and other if neither or both hold; likewise for the
    successor. Sentence boundaries count as linked words.

    >>> from dragoman.core.corpus import Corpus
    >>> from dragoman.core.corpus import links_of
    >>> bitext = Bitext(Corpus.from_lines(["la maison"]), Corpus.from_lines(["the house"]))
    >>> found = extract_phrases(bitext, links_of([[(0, 0), (1, 1)]]))
    >>> list(zip(found.source_begin.tolist(), found.source_length.tolist()))
    [(0, 1), (0, 2), (1, 1)]
    """
    links = check_links(bitext, links)
    with runtime.stage("extracting phrases") as progress_callback:
        source, target = bitext.source.sentences.offsets, bitext.target.sentences.offsets
        return extract_spans(
            source, target, links, max_length=max_length, progress_callback=progress_callback, runtime=runtime
        )


def extract_spans(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    links: Links,
    *,
    max_length: int,
    progress_callback: ProgressCallback | None = None,
    runtime: Runtime = Runtime(),
) -> PhraseInstances:
    """Do the same, given the offsets of the sentences of both sides. The links must have been checked."""
    if not 1 <= max_length <= 255:
        raise UsageError(f"the longest phrase is {max_length}; expected between 1 and 255 words")
    return PhraseInstances(
        *kernels.extract_phrases(
            source, target, links.values, links.offsets, max_length, runtime.threads, progress_callback
        )
    )


def score_reordering(
    instances: PhraseInstances, pair_of_instance: NDArray[np.int32], pairs: int
) -> NDArray[np.float32]:
    """Score an msd-bidirectional-fe model: return the six REORDERING_SCORES of each of `pairs` pairs.

    p(orientation | pair) = (count + 0.5) / (count of the pair + 1.5) (Koehn et al. 2005).
    """
    counts = orientation_counts(instances, pair_of_instance, pairs).reshape(pairs, len(REORDERING_SCORES) // 3, 3) + 0.5
    scores: NDArray[np.float32] = (counts / counts.sum(axis=2, keepdims=True)).astype(np.float32)
    return scores.reshape(pairs, len(REORDERING_SCORES))


def orientation_counts(
    instances: PhraseInstances, pair_of_instance: NDArray[np.int32], pairs: int
) -> NDArray[np.int64]:
    """Count the orientations of each pair: six counts, in the order of REORDERING_SCORES."""
    counts = [
        np.bincount(pair_of_instance.astype(np.int64) * 3 + orientation, minlength=3 * pairs).reshape(-1, 3)
        for orientation in (instances.previous, instances.next)
    ]
    return np.concatenate(counts, axis=1)
