"""Pools of decoded derivations of each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import check_numbers, check_offsets, typed_array
from dragoman.forest.hope import FEAR, hope
from dragoman.metrics.metric import Scorer
from dragoman.search.translator import Shard, ShardedTranslator, Translator
from dragoman.tuning.problems.hope_fear import HypothesisFinder, HypothesisSettings

#: Prefix of the names of a pool's arrays.
_PREFIX = "pool_"


@dataclass(frozen=True, eq=False)
class Pools:
    """Pools: sentence `s` has the rows `sentences[s]` to `sentences[s + 1]` of `features` and `statistics`.

    No two rows of a sentence have the same features.
    """

    sentences: NDArray[np.int64]
    features: FeatureRows
    statistics: NDArray[np.float64]

    @classmethod
    def empty(cls, sentences: int, names: Iterable[str]) -> Pools:
        """Return pools without derivations, with some names of features."""
        features = FeatureRows(tuple(names), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))
        return cls(np.zeros(sentences + 1, np.int64), features, np.empty((0, 0)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of features; larger pools add theirs at the end."""
        return self.features.names

    @property
    def homes(self) -> NDArray[np.int64]:
        """The sentence of each row."""
        return np.repeat(np.arange(len(self.sentences) - 1), np.diff(self.sentences))

    def with_lists(self, nbest: NBest, scorer: Scorer, *, runtime: Runtime = Runtime()) -> Pools:
        """Return the pools with the new derivations of n-best lists added to each sentence."""
        if len(nbest) != len(self.sentences) - 1:
            raise DataError(f"there are {len(nbest)} lists", expected=f"{len(self.sentences) - 1}, one per sentence")
        home = np.repeat(np.arange(len(nbest)), np.diff(nbest.sentences))
        found = scorer.statistics(Corpus(nbest.vocab, nbest.hypotheses), home, runtime=runtime)
        return self.with_rows(home, nbest.features.used(), np.asarray(found, np.float64))

    def with_rows(self, home: NDArray[np.int64], rows_features: FeatureRows, found: NDArray[np.float64]) -> Pools:
        """Return the pools with new rows added to each sentence; `home` is the sentence of each row."""
        statistics = np.concatenate([self.statistics, found]) if len(self.statistics) else found
        features = FeatureRows.concatenate([self.features, rows_features]).summed()
        homes = np.concatenate([self.homes, home])
        kept = _first_rows(homes, features)
        rows = kept[np.argsort(homes[kept], kind="stable")]
        sizes = np.bincount(homes[rows], minlength=len(self.sentences) - 1)
        for sentence in np.flatnonzero(sizes == 0).tolist():
            raise DataError(f"the decoder has no translation of sentence {sentence + 1}", expected="at least one")
        bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Pools(bounds, features.take(rows), statistics[rows])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the pools as arrays to save."""
        names = np.array(self.names, np.str_)
        found = {"sentences": self.sentences, "statistics": self.statistics, "names": names, **self.features.arrays()}
        return {f"{_PREFIX}{name}": array for name, array in found.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Pools:
        """Build pools from saved arrays; others among them are ignored."""
        if f"{_PREFIX}sentences" not in arrays:
            raise DataError("the saved state has no pools of derivations", expected="one of a run with jumps")
        own = {name.removeprefix(_PREFIX): array for name, array in arrays.items() if name.startswith(_PREFIX)}
        part = "pools of derivations"
        statistics = typed_array(own, "statistics", np.float64, (None, None), part)
        sentences = typed_array(own, "sentences", np.int64, (None,), part)
        check_offsets("sentences", sentences, len(statistics))
        check_numbers("statistics", statistics)
        names = [str(name) for name in own.get("names", [])]
        return cls(sentences, FeatureRows.from_arrays(names, own, len(statistics)), statistics)


def _first_rows(homes: NDArray[np.int64], features: FeatureRows) -> NDArray[np.int64]:
    """Return the first of equal rows in each sentence; a row has each feature once, in order."""
    bits = np.empty((len(features.ids), 3), np.int32)
    bits[:, 0] = features.ids
    bits[:, 1:] = features.values.view(np.int32).reshape(-1, 2)
    numbers = kernels.intern_sequences(bits.reshape(-1), 3 * features.offsets)[0]
    keys = np.stack([homes.astype(np.int32), numbers], axis=1)
    equal = kernels.intern_sequences(keys.reshape(-1), np.arange(0, keys.size + 1, 2))[0]
    return np.sort(np.unique(equal, return_index=True)[1])


#: Sentences that are searched in order, each within a pseudo-document of those before it.
_SHARD_SIZE = 32
#: Decay of the pseudo-document after each sentence, as in online MIRA.
_DECAY = 0.9


@dataclass(frozen=True, eq=False)
class ForestDerivations:
    """Derivations of some sentences: the number for each, their features, and the metric's statistics."""

    sizes: NDArray[np.int64]
    features: FeatureRows
    statistics: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ForestSearch:
    """Search for `size` derivations of each sentence of a shard, with distinct strings.

    A third each are the best by the model, by hope and by fear, see `HypothesisFinder`; fewer where these coincide.
    """

    size: int
    lines: Sequence[str]
    scorer: Scorer
    sign: int

    @cached_property
    def _wanted(self) -> HypothesisSettings:
        third = max(1, self.size // 3)
        return HypothesisSettings(best=max(1, self.size - 2 * third), hope=third, fear=third, candidates=self.size)

    def __call__(self, translator: Translator, shard: Shard, runtime: Runtime) -> ForestDerivations:
        """Search a shard under the translator's weights."""
        finder = HypothesisFinder(translator, self.lines, self.scorer, self.sign, self._wanted)
        document, features, statistics = finder.first_document(), list[FeatureRows](), list[NDArray[np.float64]]()
        for sentence in range(shard.first, shard.first + len(shard.lines)):
            pool = finder.pool(sentence, translator.weights, document, [hope(0.5), FEAR])
            used, rows = np.unique(pool.derivations.values, return_inverse=True)
            edges = pool.searched.edge_features(0, used)
            features.append(edges.sum_over(Ragged(rows.astype(np.int32), pool.derivations.offsets)))
            statistics.append(pool.statistics[:, :-1])
            document = _DECAY * (document + pool.statistics[0])
        sizes = np.array([len(rows) for rows in statistics], np.int64)
        return ForestDerivations(sizes, FeatureRows.concatenate(features), np.concatenate(statistics))

    def search_all(self, spread: ShardedTranslator) -> Iterator[ForestDerivations]:
        """Yield derivations of all sentences, shard by shard, found by threads or workers."""
        starts = range(0, len(self.lines), _SHARD_SIZE)
        shards = [Shard(first, self.lines[first : first + _SHARD_SIZE]) for first in starts]
        return spread.map_alone(self, shards)
