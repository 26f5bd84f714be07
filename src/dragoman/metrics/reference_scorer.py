"""What scorers share that compare hypotheses with references."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import Scorer
from dragoman.metrics.references import References


class ReferenceScorer(Scorer):
    """A scorer whose statistics come from a comparison with references, in words."""

    def __init__(self, references: References):
        self.references = references

    def statistics(
        self, hypotheses: Corpus, sentences: NDArray[np.int64] | None = None, *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return one row of statistics for each hypothesis; see `counts`."""
        return self.counts(hypotheses, self.references.sentences(hypotheses, sentences), runtime=runtime)

    @abstractmethod
    def counts(
        self, hypotheses: Corpus, sentences: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return the statistics of each hypothesis; the numbers of their sentences are checked."""

    def best_counts(self, counts: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return for each hypothesis the statistics with the best score, of those that each reference gives it."""
        others = iter(counts)
        best = next(others)
        for found in others:
            better = self.score(found) > self.score(best)
            best[better] = found[better]
        return best
