"""Hypergraphs of phrase-based searches, with the features of every edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.model.parts import phrase_features, reordering_features
from dragoman.search.mixed_scores import pair_counts
from dragoman.search.phrase.batch import PhraseBatch, PhraseOutcome, boundary_names
from dragoman.search.phrase.translation_options import PhraseOptions
from dragoman.search.translation import orientation_marks

#: Monotone, swap and other.
_ORIENTATIONS = 3


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a sentence's lattice, with all that their features depend on; options are numbered in the batch."""

    tails: NDArray[np.int32]
    option: NDArray[np.int64]
    previous: NDArray[np.int64]
    lm_states: NDArray[np.int32]

    @classmethod
    def of(cls, batch: PhraseBatch, found: PhraseOutcome, sentence: int) -> Edges:
        """Return the edges that a search with `lattice` kept."""
        arrays = found.arrays
        nodes = _part(arrays["node_offsets"], sentence)
        edges = _part(arrays["edge_offsets"], sentence)
        first = batch.options.offsets[sentence]
        tails, local = arrays["tails"][edges], arrays["edge_options"][edges]
        before = arrays["node_options"][nodes][tails]
        shape = len(arrays["node_options"]), len(batch.model.language_models)
        node_lms = arrays["node_lms"].reshape(shape)[nodes]
        return cls(
            tails=tails,
            option=np.where(local >= 0, local + first, -1),
            previous=np.where((tails >= 0) & (before >= 0), before + first, -1),
            lm_states=node_lms[tails],
        )

    def take(self, edges: NDArray[np.integer]) -> Edges:
        """Return some of the edges."""
        return Edges(self.tails[edges], self.option[edges], self.previous[edges], self.lm_states[edges])

    @classmethod
    def concatenate(cls, parts: Sequence[Edges]) -> Edges:
        """Put the edges of several sentences of a batch one after the other."""
        columns = ("tails", "option", "previous", "lm_states")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))

    def features(self, batch: PhraseBatch) -> FeatureRows:
        """Return the features of the edges."""
        moves = self.tails >= 0
        lm_scores = np.zeros(self.lm_states.shape)
        for k in range(len(batch.model.language_models)):
            states = np.ascontiguousarray(self.lm_states[moves, k])
            lm_scores[moves, k] = batch.read(k, states, self.option[moves].astype(np.int32))
        return edge_features(batch, self.option, self.previous, moves, lm_scores)


def features_with_pairs(edges: Edges, batch: PhraseBatch) -> FeatureRows:
    """Return the features of edges, with the pairs of mixed tables in place of their scores."""
    model, rows = batch.model, edges.features(batch)
    left, parts = set(rows.names), []
    for i, (name, table) in enumerate(model.tables.items()):
        if table.components is None:
            continue
        left -= set(phrase_features(name, table.score_names))
        # Where there is no option, -1 finds the -1 at the end.
        rows_of = np.append(batch.options.rows[:, i], -1)
        parts.append(pair_counts(name, rows_of[edges.option]))
        for reordering in table.reordering_components:
            left -= set(reordering_features(reordering))
            parts += _orientation_counts(edges, batch, rows_of, orientation_marks(name, reordering))
    return FeatureRows.join([rows.restricted([name for name in rows.names if name in left]), *parts])


def _orientation_counts(
    edges: Edges, batch: PhraseBatch, rows: NDArray[np.int64], marks: Sequence[str]
) -> list[FeatureRows]:
    """Count pairs by orientation: those of options to what is before them, then of what is before to options."""
    placed = edges.option >= 0
    orientation = np.full(len(placed), -1)
    orientation[placed] = _orientations(batch.options, edges.option[placed], edges.previous[placed])
    found = []
    for s, mark in enumerate(marks):
        pairs = rows[edges.option if s < _ORIENTATIONS else np.where(placed, edges.previous, -1)]
        found.append(pair_counts(mark, np.where(orientation == s % _ORIENTATIONS, pairs, -1)))
    return found


def _orientations(
    options: PhraseOptions, here: NDArray[np.int64], before: NDArray[np.int64]
) -> NDArray[np.integer[Any]]:
    """Return the orientation of options to those before, -1 at the sentence's start: monotone, swap or other."""
    end_before = np.where(before >= 0, options.end[before], 0)
    swapped = (before >= 0) & (options.end[here] == options.begin[before])
    return np.where(options.begin[here] == end_before, 0, np.where(swapped, 1, 2))


def _part(offsets: NDArray[np.int64], sentence: int) -> slice:
    return slice(int(offsets[sentence]), int(offsets[sentence + 1]))


def hypergraph(
    batch: PhraseBatch, found: PhraseOutcome, sentence: int, edges: Edges, *, features: bool = True
) -> Hypergraph:
    """Return the lattice of one sentence, given its edges; without a derivation, it is a root and nothing else."""
    nodes = _part(found.arrays["node_offsets"], sentence)
    # Each lattice has one more bound than nodes; sentences without a derivation have neither.
    before = int(np.count_nonzero(found.outcomes[:sentence] == 0))
    bounds = found.arrays["first_edges"][nodes.start + before : nodes.stop + before + 1]
    reached = nodes.stop > nodes.start
    options = batch.options
    part = _part(options.offsets, sentence)
    placed = edges.option >= 0
    spans = np.zeros((len(placed), 2), np.int32)
    spans[placed, 0] = options.begin[edges.option[placed]]
    spans[placed, 1] = options.end[edges.option[placed]]
    return Hypergraph(
        vocab=options.vocab,
        root=nodes.stop - nodes.start - 1 if reached else 0,
        first_edge=bounds if reached else np.zeros(2, np.int64),
        tails=np.stack([edges.tails, np.full_like(edges.tails, -1)], axis=1),
        # The templates are: nothing (into the start), the tail alone (into the goal), the tail and an option's words.
        template_ids=np.where(placed, edges.option - part.start + 2, edges.tails >= 0).astype(np.int32),
        templates=_templates(options.words, part.start, part.stop),
        spans=spans,
        scores=found.arrays["edge_scores"][_part(found.arrays["edge_offsets"], sentence)],
        features=edges.features(batch) if features else None,
    )


def _templates(words: Ragged[np.int32], first: int, last: int) -> Ragged[np.int32]:
    start = words.offsets[first]
    bounds = words.offsets[first : last + 1] - start
    values = np.insert(words.values[start : words.offsets[last]], bounds[:-1], np.int32(-1))
    offsets = np.concatenate([[0, 0], 1 + bounds + np.arange(len(bounds))])
    return Ragged(np.concatenate([np.array([-1], np.int32), values]), offsets.astype(np.int64))


def edge_features(
    batch: PhraseBatch,
    option: NDArray[np.int64],
    previous: NDArray[np.int64],
    moves: NDArray[np.bool_],
    lm_scores: NDArray[np.float64],
) -> FeatureRows:
    """Return features of edges: those of the option, and those that depend on the history.

    `option` is -1 on the edges into the start and into the goal; the latter have a tail (`moves`). `previous` is the
    option before, -1 at the sentence's start; `lm_scores` has a column for each language model.
    """
    options, model = batch.options, batch.model
    names = model.dense_features
    column = {name: i for i, name in enumerate(names)}
    placed = option >= 0
    here, before = option[placed], previous[placed]
    dense = np.zeros((len(option), len(names)))
    dense[placed] = options.dense[here]
    for k, name in enumerate(model.language_models):
        dense[:, column[name]] = lm_scores[:, k]
    end_before = np.where(before >= 0, options.end[before], 0)
    dense[placed, column["distortion"]] = -np.abs(options.begin[here] - end_before)
    orientation = _orientations(options, here, before)
    edges = np.flatnonzero(placed)
    follows = before >= 0
    for r, name in enumerate(model.reorderings):
        first = column[reordering_features(name)[0]]
        dense[edges, first + orientation] += options.reordering[r, here, orientation]
        towards = 3 + orientation[follows]
        dense[edges[follows], first + towards] += options.reordering[r, before[follows], towards]
    parts = [FeatureRows.from_dense(names, dense)]
    parts += [_on_edges(rows, option) for rows in batch.sparse]
    if batch.oriented is not None:
        every = np.zeros(len(option), np.int64)
        every[placed] = orientation
        parts.append(batch.oriented.take(option, every).used())
        after = batch.oriented.take(np.where(placed, previous, -1), _ORIENTATIONS + every)
        parts.append(after.used())
    if batch.boundary_feature is not None:
        size = len(batch.boundary_feature.symbols)
        # Where there is no option, -1 finds the symbol 0 at the end.
        right, left = np.append(batch.right, 0)[previous], np.append(batch.left, 0)[option]
        ids = (right * size + left)[moves].astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum(moves)]).astype(np.int64)
        parts.append(FeatureRows(boundary_names(batch.boundary_feature), offsets, ids, np.ones(len(ids))).used())
    return FeatureRows.join(parts)


def option_features(batch: PhraseBatch, derivations: Ragged[np.int32], sentences: NDArray[np.int64]) -> FeatureRows:
    """Return features of derivations, given as options (numbered within their sentence) in target order."""
    lengths = derivations.lengths
    first = np.repeat(batch.options.offsets[sentences], lengths)
    placed = derivations.values + first
    # One edge an option, and one into the goal, which gets the language models' scores of the whole sentence.
    ends = derivations.offsets[1:]
    option = np.insert(placed, ends, -1)
    starts = derivations.offsets[:-1] + np.arange(len(derivations))
    previous = np.concatenate([[-1], option[:-1]])
    previous[starts] = -1
    goals = ends + np.arange(len(derivations))
    lm_scores = np.zeros((len(option), len(batch.model.language_models)))
    for k in range(lm_scores.shape[1]):
        lm_scores[goals, k] = batch.read_sentences(k, placed, derivations.offsets)
    edges = edge_features(batch, option, previous, np.ones(len(option), bool), lm_scores)
    return edges.sum_over(
        Ragged(np.arange(len(option), dtype=np.int32), np.append(starts, len(option)).astype(np.int64))
    )


def _on_edges(rows: FeatureRows, option: NDArray[np.int64]) -> FeatureRows:
    """Copy options' rows to edges; edges without an option get empty rows."""
    empty = FeatureRows(rows.names, np.append(rows.offsets, rows.offsets[-1]), rows.ids, rows.values)
    return empty.take(np.where(option >= 0, option, len(rows))).used()
