"""All features of a batch's derivations, numbered: what a kernel needs that changes the weights as it goes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows
from dragoman.model.features import reordering_features
from dragoman.search.phrase.batch import PhraseBatch, boundary_names


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The names of all features, which of their weights are learnt, and the features of options.

    The dense features come first, then the sparse ones of options, those of boundaries, and the global ones.
    """

    names: tuple[str, ...]
    learnt: NDArray[np.bool_]
    arrays: kernels.FeatureTable

    @classmethod
    def of(cls, batch: PhraseBatch, chosen: Callable[[Sequence[str]], Collection[str]]) -> FeatureTable:
        """Number the features of a batch; `chosen` are those whose weights are learnt."""
        dense, global_names = batch.model.dense_features, tuple(batch.model.global_features)
        sparse = FeatureRows.join([FeatureRows.zeros(len(batch.options)), *batch.sparse]).used()
        boundaries = () if batch.boundary_feature is None else boundary_names(batch.boundary_feature)
        names = (*dense, *sparse.names, *boundaries, *global_names)
        learnt = chosen(names)
        column = {name: i for i, name in enumerate(dense)}
        options, models = batch.options, batch.model
        is_learnt = np.array([name in learnt for name in names], bool)
        shifted = FeatureRows(sparse.names, sparse.offsets, (sparse.ids + len(dense)).astype(np.int32), sparse.values)
        arrays = kernels.FeatureTable(
            dense=np.ascontiguousarray(options.dense),
            sparse=shifted.for_kernels(),
            reorderings=np.ascontiguousarray(options.reordering.reshape(-1, 6)),
            reordering_models=np.array([column[reordering_features(name)[0]] for name in models.reorderings], np.int32),
            language_models=np.array([column[name] for name in models.language_models], np.int32),
            global_features=np.arange(len(names) - len(global_names), len(names), dtype=np.int32),
            distortion=column["distortion"],
            boundary=len(dense) + len(sparse.names),
            learnt=is_learnt.astype(np.uint8),
        )
        return cls(names, is_learnt, arrays)
