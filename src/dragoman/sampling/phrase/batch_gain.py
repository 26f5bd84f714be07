"""How much a metric likes a batch of translations when one of them changes: its statistics add up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.vocab import Vocab
from dragoman.metrics.bleu import BleuScorer
from dragoman.metrics.metric import Scorer
from dragoman.sampling.batch_value import BatchValue
from dragoman.search.phrase.options import PhraseOptions


def bleu_references(scorer: Scorer, options: PhraseOptions, smoothing: float) -> kernels.BleuReferences | None:
    """What the kernel needs to know for BLEU; None if it cannot compute this metric.

    It puts translations together from options, so words must be counted as they are: no tokeniser may look across.
    """
    if not isinstance(scorer, BleuScorer) or scorer.metric.tokenise != "none":
        return None
    references = scorer.references
    words = references.encode(Corpus(options.vocab, options.words))
    lengths = np.sort(references.lengths.T.astype(np.float64), axis=1)
    if scorer.metric.reference_length == "shortest":
        lengths = lengths[:, :1]
    if scorer.metric.reference_length == "average":
        lengths = lengths.mean(axis=1, keepdims=True)
    return kernels.BleuReferences(
        options=words.for_kernels(),
        references=references.grouped.for_kernels(),
        count=len(references),
        lengths=np.ascontiguousarray(lengths),
        order=scorer.metric.order,
        smoothing=smoothing,
    )


class MetricGain:
    """Any metric whose statistics add up, as a function that the kernel can call: slow, but it works.

    Gains are `sign` times the metric; if it is BLEU, `smoothing` is added to all counts.
    """

    def __init__(self, scorer: Scorer, vocab: Vocab, *, sign: int, smoothing: float):
        self._scorer, self._vocab = scorer, vocab
        self._value = BatchValue(scorer, sign, smoothing)

    def __call__(
        self, sentence: int, words: NDArray[np.int32], offsets: NDArray[np.int64], rest: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the statistics of translations of a sentence, and the gain of each with the rest of the batch."""
        lines = self._vocab.decode(words, offsets).decode().split("\n")[:-1]
        statistics = self._scorer.statistics(Corpus.from_lines(lines), np.full(len(lines), sentence, np.int64))
        statistics = np.ascontiguousarray(statistics, np.float64)
        total = statistics + rest if len(rest) else statistics
        return statistics, np.ascontiguousarray(self._value(total))
