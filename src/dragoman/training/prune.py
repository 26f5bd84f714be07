"""Smaller phrase tables: the best targets of each source, a least score, and significance of co-occurrence."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import UsageError
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.vocab import UNK, Vocab

#: Far below the distance between -log p of different counts, far above rounding.
_EPSILON = 1e-6


def table_limit(pairs: PhrasePairs, limit: int) -> PhrasePairs:
    """Keep the `limit` best pairs of each source phrase by p(e|f), the earlier of equals; their order stays."""
    if limit < 1:
        raise UsageError(f"the table limit is {limit}; expected at least 1")
    ranked = np.lexsort((-_column(pairs, "fwd"), pairs.source_ids))
    sources = pairs.source_ids[ranked]
    rank = np.arange(len(pairs)) - np.searchsorted(sources, sources)
    return pairs.take(np.sort(ranked[rank < limit]))


def minimum_score(pairs: PhrasePairs, name: str, threshold: float) -> PhrasePairs:
    """Keep the pairs whose score of that name is at least `threshold`."""
    return pairs.take(np.flatnonzero(_column(pairs, name) >= threshold))


def significance(
    pairs: PhrasePairs, bitext: Bitext, threshold: str | float = "a+e", *, runtime: Runtime = Runtime()
) -> PhrasePairs:
    """Keep the pairs that meet more often than chance would have it (Johnson, Martin, Foster & Kuhn 2007).

    A pair stays if -log p of Fisher's exact test reaches `threshold`: a number; "a+e", just above the log N of pairs
    that occur once, each side once; or "a-e", just below it, so that those stay.
    """
    least = least_significance(threshold, len(bitext))
    return pairs.take(np.flatnonzero(negative_log_p(pairs, bitext, runtime=runtime) >= least))


def least_significance(threshold: str | float, sentence_pairs: int) -> float:
    """Return the least -log p that a threshold stands for in a text of so many sentence pairs."""
    alpha = math.log(max(sentence_pairs, 1))
    named = {"a+e": alpha + _EPSILON, "a-e": alpha - _EPSILON}
    if isinstance(threshold, str) and threshold not in named:
        raise UsageError(f"the significance threshold is '{threshold}'; expected a+e, a-e or a number")
    least = named[threshold] if isinstance(threshold, str) else float(threshold)
    if math.isnan(least):
        raise UsageError("the significance threshold is not a number; expected a+e, a-e or a number")
    return least


def significance_threshold(text: str) -> str | float:
    """Return the threshold that an option gives as text."""
    if text in ("a+e", "a-e"):
        return text
    try:
        threshold = float(text)
    except ValueError:
        threshold = math.nan
    if math.isnan(threshold):
        raise UsageError(f"prune_significance is '{text}'; expected a+e, a-e or a number")
    return threshold


def negative_log_p(pairs: PhrasePairs, bitext: Bitext, *, runtime: Runtime = Runtime()) -> NDArray[np.float64]:
    """For each pair -log p that its phrases would share as many sentence pairs by chance (one-sided Fisher exact test).

    Counted are the sentence pairs of `bitext` whose source holds the source phrase, whose target holds the target
    phrase, and both.
    """
    with runtime.stage("finding source phrases") as progress_callback:
        source = _occurrences(pairs.sources, pairs.source_vocab, bitext.source, progress_callback, runtime)
    with runtime.stage("finding target phrases") as progress_callback:
        target = _occurrences(pairs.targets, pairs.target_vocab, bitext.target, progress_callback, runtime)
    with runtime.stage("counting common sentences") as progress_callback:
        joint = kernels.count_common(
            source.values,
            source.offsets,
            target.values,
            target.offsets,
            pairs.source_ids,
            pairs.target_ids,
            runtime.threads,
            progress_callback,
        )
    with runtime.stage("testing significance") as progress_callback:
        return kernels.fisher_exact(
            joint,
            source.lengths[pairs.source_ids],
            target.lengths[pairs.target_ids],
            len(bitext),
            runtime.threads,
            progress_callback,
        )


def _occurrences(
    phrases: Ragged[np.int32], vocab: Vocab, corpus: Corpus, progress_callback: ProgressCallback, runtime: Runtime
) -> Ragged[np.int32]:
    """The sentences that hold each phrase."""
    words = phrases.values
    if vocab is not corpus.vocab:
        ids = vocab.map_to(corpus.vocab)
        ids[(ids == UNK) & (np.arange(len(ids)) != UNK)] = -1
        words = ids[words]
    text = corpus.sentences
    return Ragged(
        *kernels.phrase_occurrences(
            words, phrases.offsets, text.values, text.offsets, runtime.threads, progress_callback
        )
    )


def _column(pairs: PhrasePairs, name: str) -> NDArray[np.float32]:
    if name not in pairs.score_names:
        raise UsageError(f"the phrase table has no score '{name}'; there are {', '.join(pairs.score_names)}")
    return pairs.scores[:, pairs.score_names.index(name)]
