"""Derivations spelled: the edges of each with what they score, its words, its parts, its features."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.search.chart.batch import ChartBatch, Graphs
from dragoman.search.chart.graph import edge_features

#: Edges whose features are computed at once: they need some hundred bytes each.
_EDGES = 1 << 16


@dataclass(frozen=True, eq=False)
class Spelled:
    """Derivations of a batch's `sentences`; `graphs` has each as a graph of its own.

    Rows of `parts` are the stretches of the source that glue joined: source begin and end, target begin and end.
    """

    batch: ChartBatch
    sentences: NDArray[np.int64]
    graphs: Graphs
    words: Ragged[np.int32]
    parts: Ragged[np.int32]

    @classmethod
    def of(cls, batch: ChartBatch, sentences: NDArray[np.int64], derivations: Ragged[np.int32]) -> Spelled:
        """Spell derivations, given as edges in pre-order."""
        out = kernels.chart_derivations(batch.arrays, sentences, derivations.for_kernels())
        words = Ragged(out.pop("words"), out.pop("word_offsets"))
        parts = Ragged(out.pop("parts"), out.pop("part_offsets"))
        # The kernel has no rows of no columns, which are those of a model without language models.
        out["lm_scores"] = out["lm_scores"].reshape(len(out["rules"]), len(batch.model.language_models))
        return cls(batch, sentences, Graphs(**out), words, parts)

    def features(self) -> FeatureRows:
        """The features of each derivation, some at a time."""
        graphs = self.graphs
        rows = [FeatureRows.zeros(0)]
        cuts = np.searchsorted(graphs.edge_offsets, np.arange(_EDGES, int(graphs.edge_offsets[-1]), _EDGES))
        for begin, end in itertools.pairwise(np.unique([0, *cuts.tolist(), len(self.sentences)]).tolist()):
            bounds = graphs.edge_offsets[begin : end + 1]
            edges = slice(int(bounds[0]), int(bounds[-1]))
            shift = np.repeat(self.batch.rules.match_offsets[self.sentences[begin:end]], np.diff(bounds))
            matches = np.where(graphs.matches[edges] < 0, -1, graphs.matches[edges] + shift)
            of_edges = edge_features(self.batch, graphs.rules[edges], matches, graphs.lm_scores[edges])
            size = int(bounds[-1] - bounds[0])
            rows.append(of_edges.sum_over(Ragged(np.arange(size, dtype=np.int32), bounds - bounds[0])))
        return FeatureRows.concatenate(rows)
