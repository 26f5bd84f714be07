"""Edges of the forest without language models: a match and one of its rules, as one number.

They are numbered in their sentence, by match and then by rule within the match's source side, so that a derivation, a
row of edges in pre-order, has the same numbers in every batch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.core.ragged import Ragged
from dragoman.search.chart.batch import ChartBatch, Found


def edge_numbers(batch: ChartBatch, matches: NDArray[np.int64], rules: NDArray[np.int32]) -> NDArray[np.int32]:
    """The number of each edge, given its match and rule in the batch."""
    chart = batch.rules
    counts = np.diff(chart.first_rule)[chart.matches[:, 0]]
    first = np.concatenate([[0], np.cumsum(counts)])
    sentence = np.searchsorted(chart.match_offsets, matches, side="right") - 1
    within = rules - chart.first_rule[chart.matches[matches, 0]]
    numbers: NDArray[np.int32] = (first[matches] - first[chart.match_offsets[sentence]] + within).astype(np.int32)
    return numbers


def best_derivations(batch: ChartBatch, found: Found) -> Ragged[np.int32]:
    """What a search found best of each sentence; an empty row where there is nothing."""
    graphs, count = found.best, len(found.outcomes)
    used = np.flatnonzero(graphs.rules >= 0)
    sentence = np.repeat(np.arange(count), np.diff(graphs.edge_offsets))[used]
    # A part has a word more than what is inside it, so that this is pre-order. Each node has one edge.
    begin, end = graphs.spans[used].T
    order = np.lexsort((-end, begin, sentence))
    used, sentence = used[order], sentence[order]
    numbers = edge_numbers(batch, graphs.matches[used] + batch.rules.match_offsets[sentence], graphs.rules[used])
    return Ragged(numbers, np.searchsorted(sentence, np.arange(count + 1)).astype(np.int64))
