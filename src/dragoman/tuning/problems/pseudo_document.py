"""Gains of candidates: their score within a pseudo-document of recent translations (Chiang et al. 2008).

Metrics such as BLEU are meant for documents, and crude on single sentences. So a sentence is scored together with a
pseudo-document O, a sum of the statistics of earlier translations in which old ones fade. The larger O is, the less one
sentence can change its score, so that the score is multiplied by the size of both: with statistics c(e),

    B(e) = (size(O) + size) · score(O + c(e)) / 100                                    (equation 8)

where the size of a sentence is the length of its reference for BLEU (Chiang et al. count the words of the source, which
a list of candidates does not have; Moses does as we do), and that of a sentence of ten words for other metrics. For
error rates B is negated, so that more is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.metrics.metric import Scorer
from dragoman.tuning.problems.problem import Problem

#: The size of a sentence for metrics without lengths.
USUAL_LENGTH = 10.0


@dataclass(frozen=True, eq=False)
class Gains:
    """The candidates of a problem, ready to be scored within pseudo-documents.

    Candidates of a sentence that have the same statistics are of one kind and scored once: row `h` is of kind
    `kinds[h]`, those of sentence `s` are from `kind_offsets[s]` to `kind_offsets[s + 1]`, and their statistics, with
    the size of the sentence as a last column, are the rows of `statistics`. A pseudo-document is such a vector, too.
    """

    problem: Problem
    kinds: NDArray[np.int64]
    kind_offsets: NDArray[np.int64]
    statistics: NDArray[np.float64]
    bleu_columns: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Problem) -> Gains:
        """Prepare a problem; kernels trust what this has checked."""
        features, count = problem.features, int(problem.sentences[-1])
        if problem.sentences[0] != 0 or not count == len(features) == len(problem.statistics):
            raise DataError(
                f"{len(features):,} rows of features and {len(problem.statistics):,} of statistics",
                expected=f"{count:,}, one for each candidate",
            )
        assert not len(features.ids) or 0 <= features.ids.min() <= features.ids.max() < len(features.names)
        statistics = np.ascontiguousarray(problem.statistics, np.float64)
        kinds, rows, kind_offsets = kernels.distinct_statistics(problem.sentences, statistics)
        columns = problem.scorer.bleu_columns if problem.sign > 0 else None
        known = np.empty(0, np.int64) if columns is None else np.ascontiguousarray(columns, np.int64)
        sizes = np.full(len(problem.sentences) - 1, USUAL_LENGTH)
        if len(known):
            lengths = np.add.reduceat(statistics[:, known[-1]], problem.sentences[:-1])
            sizes = lengths / np.diff(problem.sentences)
        sized = np.column_stack([statistics[rows], np.repeat(sizes, np.diff(kind_offsets))])
        return cls(problem, kinds, kind_offsets, sized, known)

    @property
    def candidates(self) -> kernels.Candidates:
        """The candidates as kernels take them."""
        return kernels.Candidates(sentences=self.problem.sentences, features=self.problem.features.for_kernels())

    def begin(self, weights: NDArray[np.float64], decay: float) -> NDArray[np.float64]:
        """Return the pseudo-document before the first sentence.

        For BLEU a perfect translation as long as the longest n-gram, as in Moses. For other
        metrics that is not defined: the limit of the pseudo-document if the set is translated by the given weights.
        """
        if len(self.bleu_columns):
            return perfect_document(self.bleu_columns, self.statistics.shape[1])
        chosen = self.statistics[self.kinds[self.problem.best(weights)]]
        remembered = min(len(chosen), 1 / (1 - decay)) if decay < 1 else len(chosen)
        mean: NDArray[np.float64] = chosen.mean(axis=0)
        return mean * remembered

    def within(self, document: NDArray[np.float64], kinds: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return B of each kind (or of the given ones), in one pseudo-document or in one for each."""
        together = document + (self.statistics if kinds is None else self.statistics[kinds])
        return worth(together, self.problem.scorer, self.problem.sign)


def perfect_document(bleu_columns: NDArray[np.int64], width: int) -> NDArray[np.float64]:
    """Return a pseudo-document of `width` numbers with a perfect translation as long as the longest n-gram.

    >>> perfect_document(np.array([2, 3, 4, 5, 0, 1]), 7).tolist()
    [2.0, 2.0, 2.0, 1.0, 2.0, 1.0, 2.0]
    """
    orders = len(bleu_columns) // 2 - 1
    document = np.zeros(width)
    document[bleu_columns] = [*(2 * list(range(orders, 0, -1))), orders, orders]
    document[-1] = orders
    return document


def worth(together: NDArray[np.float64], scorer: Scorer, sign: int) -> NDArray[np.float64]:
    """Return B, given sums of a pseudo-document and candidates: rows of statistics, with the size as a last column."""
    scores = scorer.score(np.ascontiguousarray(together[:, :-1]))
    gains: NDArray[np.float64] = sign * together[:, -1] * scores / 100
    if not np.isfinite(gains).all():
        raise UsageError(
            "the metric has no finite score for a sentence among others, which this method needs; try mert"
        )
    return gains


def sentence_orders(problem: Problem, passes: int, rng: np.random.Generator | None) -> Iterator[NDArray[np.int64]]:
    """Yield the order of the sentences in each pass: random if there is a generator, else as they stand."""
    order = np.arange(len(problem.sentences) - 1)
    for _ in range(passes):
        yield order if rng is None else rng.permutation(order)
