"""Distinct phrase pairs or rules of a text, with counts and lexical weights: what their scores are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Vocab
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays

Places = TypeVar("Places")

#: The id of the side of each instance, and the distinct sides.
NumberedSides = tuple[NDArray[np.int32], Ragged[np.int32]]

_RAGGED = ("sources", "targets")
_COLUMNS = ("source_ids", "target_ids", "joint", "backward_weights", "forward_weights")


class InstanceGroups(NamedTuple):
    """Instances grouped by pair: those of pair `i` are `order[offsets[i]:offsets[i + 1]]`."""

    source_ids: NDArray[np.int32]
    target_ids: NDArray[np.int32]
    order: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(
        cls, sources: NumberedSides, targets: NumberedSides, share: ProgressCallback, runtime: Runtime
    ) -> InstanceGroups:
        """Group instances by the ids of their sides, and sort the pairs by source and target."""
        (source_ids, distinct), (target_ids, _) = sources, targets
        order, offsets = kernels.group_pairs(source_ids, target_ids, len(distinct), runtime.threads, share)
        first = order[offsets[:-1]]
        return cls(source_ids[first], target_ids[first], order, offsets)

    def pair_of_instance(self) -> NDArray[np.int32]:
        """Return the pair that each instance belongs to."""
        pairs = np.empty(len(self.order), np.int32)
        pairs[self.order] = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))
        return pairs


@dataclass(frozen=True, eq=False)
class CountedPairs(Generic[Places]):
    """Distinct phrase pairs or rules of some instances, sorted by source and target.

    Sides are numbered in order of first occurrence. `joint` is the count of each pair, and `chosen` the instance whose
    word alignment it has.
    """

    sources: Ragged[np.int32]
    targets: Ragged[np.int32]
    source_ids: NDArray[np.int32]
    target_ids: NDArray[np.int32]
    joint: NDArray[Any]
    backward_weights: NDArray[np.floating]
    forward_weights: NDArray[np.floating]
    chosen: Places
    pair_of_instance: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.joint)

    def arrays(self) -> Arrays:
        """Return the columns as arrays that can be saved, without `chosen` and `pair_of_instance`."""
        arrays: Arrays = {name: getattr(self, name) for name in _COLUMNS}
        for name in _RAGGED:
            rows: Ragged[np.int32] = getattr(self, name)
            arrays |= {name: rows.values, f"{name}.offsets": rows.offsets}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, chosen: Places) -> Self:
        """Restore pairs from `arrays`; the instances themselves are gone."""
        columns: dict[str, Any] = {name: arrays[name] for name in _COLUMNS}
        columns |= {name: Ragged(arrays[name], arrays[f"{name}.offsets"]) for name in _RAGGED}  # type: ignore[arg-type]
        return cls(**columns, chosen=chosen, pair_of_instance=np.empty(0, np.int32))

    def best_first(self, scores: NDArray[np.float32], share: ProgressCallback, runtime: Runtime) -> NDArray[np.int64]:
        """Return the rows of each source by falling p(e|f), then falling p(f|e), then the symbols of the target."""
        return kernels.order_pairs(
            np.searchsorted(self.source_ids, np.arange(len(self.sources) + 1, dtype=np.int32)),
            self.target_ids,
            self.targets.values,
            self.targets.offsets,
            scores[:, 2].copy(),
            scores[:, 0].copy(),
            runtime.threads,
            share,
        )

    def table(
        self,
        vocabs: tuple[Vocab, Vocab],
        rows: NDArray[np.int64],
        scores: NDArray[np.float32],
        counts: NDArray[np.float32],
        links: Ragged[np.uint16],
    ) -> PhrasePairs:
        """Return the pairs in the order of `rows`; scores and counts are in the order of the pairs, links of `rows`."""
        return PhrasePairs(
            *vocabs,
            self.sources,
            self.targets,
            self.source_ids,
            self.target_ids[rows],
            scores[rows],
            PHRASE_SCORES,
            links,
            counts[rows],
        )
