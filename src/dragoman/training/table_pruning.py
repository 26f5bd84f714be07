"""Pruning of phrase tables and grammars: by score, by significance of co-occurrence, and to the best of each source."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import UNK, Bitext, Corpus, Vocab
from dragoman.core.errors import UsageError
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime

#: Far below the distance between -log p of different counts, far above rounding.
_EPSILON = 1e-6


class PruneOptions(Protocol):
    """Options of phrase tables and grammars that say which pairs are dropped."""

    @property
    def prune_limit(self) -> int:
        """Largest number of pairs of a source; 0 is no limit."""

    @property
    def prune_score(self) -> float:
        """Least p(e|f)."""

    @property
    def prune_significance(self) -> str | None:
        """Least -log p of Fisher's exact test, as `least_significance` reads it."""


def prune_pairs(
    pairs: PhrasePairs,
    options: PruneOptions,
    sentence_pairs: int,
    log_p: Callable[[NDArray[np.intp]], NDArray[np.float64]],
) -> PhrasePairs:
    """Drop pairs with a low p(e|f), then those that are not significant, then all but the best of each source.

    A pair is significant if it co-occurs more often than by chance (Johnson, Martin, Foster & Kuhn 2007): `log_p`
    returns -log p of the given pairs in a text of `sentence_pairs`, and is called only if pairs are tested.
    """
    rows = np.arange(len(pairs))
    if options.prune_score:
        rows = np.flatnonzero(_forward(pairs) >= options.prune_score)
    if options.prune_significance is not None:
        rows = rows[log_p(rows) >= least_significance(options.prune_significance, sentence_pairs)]
    pairs = pairs.take(rows) if len(rows) < len(pairs) else pairs
    return table_limit(pairs, options.prune_limit) if options.prune_limit else pairs


def table_limit(pairs: PhrasePairs, limit: int) -> PhrasePairs:
    """Keep the `limit` best pairs of each source by p(e|f), the earlier of equal ones; their order stays."""
    ranked = np.lexsort((-_forward(pairs), pairs.source_ids))
    sources = pairs.source_ids[ranked]
    rank = np.arange(len(pairs)) - np.searchsorted(sources, sources)
    return pairs.take(np.sort(ranked[rank < limit]))


def least_significance(threshold: str, sentence_pairs: int = 1) -> float:
    """Return the least -log p that a threshold stands for in a text of that many sentence pairs.

    A threshold is a number; "a+e", just above the log N of pairs that occur once, each side once; or "a-e", just below
    it, so that those stay.
    """
    alpha = math.log(max(sentence_pairs, 1))
    named = {"a+e": alpha + _EPSILON, "a-e": alpha - _EPSILON}
    try:
        least = named[threshold] if threshold in named else float(threshold)
    except ValueError:
        least = math.nan
    if math.isnan(least):
        raise UsageError(f"prune_significance is '{threshold}'; expected a+e, a-e or a number")
    return least


def negative_log_p(pairs: PhrasePairs, bitext: Bitext, *, runtime: Runtime = Runtime()) -> NDArray[np.float64]:
    """Return -log p of each pair: that its phrases co-occur as often by chance (one-sided Fisher exact test).

    Counted are the sentence pairs of `bitext` that contain the source phrase, the target phrase, and both.
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
    """Return the sentences that contain each phrase."""
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


def _forward(pairs: PhrasePairs) -> NDArray[np.float32]:
    """Return p(e|f) of each pair."""
    return pairs.scores[:, pairs.score_names.index("fwd")]
