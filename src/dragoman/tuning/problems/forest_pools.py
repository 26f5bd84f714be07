"""Derivations for pools from forests: what the model likes best, what is hoped for, and what is feared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.hope import FEAR, hope
from dragoman.metrics.metric import Scorer
from dragoman.search.spread import Portion, Spread
from dragoman.search.translator import Translator
from dragoman.tuning.problems.hope_fear import HypothesisFinder, Wanted

#: Sentences that are looked at one after the other, each within a pseudo-document of those before it.
_PORTION = 32
#: How much of the pseudo-document is left after another sentence, as in online MIRA.
_DECAY = 0.9


@dataclass(frozen=True, eq=False)
class FoundInForests:
    """Derivations of some sentences: how many each has, their features, and the metric's statistics of each."""

    sizes: NDArray[np.int64]
    features: FeatureRows
    statistics: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FindInForests:
    """Finds `size` derivations of each sentence of a portion, of different strings: a third each of the best by the
    model, by hope and by fear, see `HypothesisFinder`; fewer where these are the same.
    """

    size: int
    lines: Sequence[str]
    scorer: Scorer
    sign: int

    @cached_property
    def _wanted(self) -> Wanted:
        third = max(1, self.size // 3)
        return Wanted(best=max(1, self.size - 2 * third), hope=third, fear=third, candidates=self.size)

    def __call__(self, translator: Translator, portion: Portion, runtime: Runtime) -> FoundInForests:
        """Search a portion under the translator's weights."""
        finder = HypothesisFinder(translator, self.lines, self.scorer, self.sign, self._wanted)
        document, features, statistics = finder.first_document(), list[FeatureRows](), list[NDArray[np.float64]]()
        for sentence in range(portion.first, portion.first + len(portion.lines)):
            pool = finder.pool(sentence, translator.weights, document, [hope(0.5), FEAR])
            used, rows = np.unique(pool.derivations.values, return_inverse=True)
            edges = pool.searched.edge_features(0, used)
            features.append(edges.sum_over(Ragged(rows.astype(np.int32), pool.derivations.offsets)))
            statistics.append(pool.statistics[:, :-1])
            document = _DECAY * (document + pool.statistics[0])
        sizes = np.array([len(rows) for rows in statistics], np.int64)
        return FoundInForests(sizes, FeatureRows.concatenate(features), np.concatenate(statistics))

    def found(self, spread: Spread) -> Iterator[FoundInForests]:
        """What there is in all sentences, portion by portion, whoever looks."""
        starts = range(0, len(self.lines), _PORTION)
        portions = [Portion(first, self.lines[first : first + _PORTION]) for first in starts]
        return spread.map_alone(self, portions)
