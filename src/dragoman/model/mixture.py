"""Several phrase tables as one: the union of their pairs, and linear mixtures Σ λ p of their scores (Haddow 2013).

Rules of grammars are pairs too, whose sides hold nonterminals beside words. The interpolation weights λ of the tables
in each score sum to 1. They are fixed (`collapse_mixture`), or are weights of the model: `mix.tm.fwd.in` is that of the
table `in` in the score `fwd` of the table `tm`.

Orientations can be mixed as well. The three of a direction have the same λ, so that the mixture of distributions is a
distribution: `mix.lr.bwd.in` is that of `in` in the backward orientations of `lr`. A table that lacks a pair has for it
what it would estimate from no occurrence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Vocab, common_vocab
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.phrases import DIRECTIONS, REORDERING_SCORES, Components, PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.model.phrase_table import PROVENANCE

#: The prefix of the names of interpolation weights.
INTERPOLATION_PREFIX = "mix."

#: The largest difference of a sum of interpolation weights from 1.
ROUNDING = 1e-6

#: The smoothed probability of each of three orientations, given a pair that does not occur.
UNSEEN = 1 / 3

_NAME = re.compile(r"[\w-]+")


def interpolation_weight_names(table: str, score_names: Sequence[str], components: Sequence[str]) -> list[list[str]]:
    """Name the interpolation weights of a mixture: a row for each score.

    >>> interpolation_weight_names("tm", ["fwd"], ["in", "out"])
    [['mix.tm.fwd.in', 'mix.tm.fwd.out']]
    """
    return [[f"{INTERPOLATION_PREFIX}{table}.{score}.{component}" for component in components] for score in score_names]


def read_interpolation_weights(names: Sequence[Sequence[str]], weights: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the interpolation weights of the given names, a row per score; all must be there, and rows sum to 1."""
    missing = [name for row in names for name in row if name not in weights]
    if missing:
        raise UsageError(f"there is no weight for {missing[0]}; expected a share for each table of the mixture")
    interpolation_weights = np.array([[weights[name] for name in row] for row in names], np.float64).reshape(
        len(names), -1
    )
    check_interpolation_weights(interpolation_weights, [row[0].rpartition(".")[0] for row in names])
    return interpolation_weights


def check_interpolation_weights(interpolation_weights: NDArray[np.float64], what: Sequence[str]) -> None:
    """Refuse interpolation weights that are negative or do not sum to 1; `what` names the rows."""
    for row, name in zip(interpolation_weights, what, strict=True):
        shown = ", ".join(f"{weight:g}" for weight in row)
        if not (row >= 0).all():
            raise UsageError(f"the shares {shown} of {name} are not all at least 0; expected probabilities")
        if not abs(float(row.sum()) - 1) <= ROUNDING:
            raise UsageError(f"the shares {shown} of {name} sum to {row.sum():.6g}; expected 1")


def normalise_interpolation_weights(
    interpolation_weights: NDArray[np.float64], what: Sequence[str]
) -> NDArray[np.float64]:
    """Divide each row of interpolation weights by its sum, which must not be 0."""
    for row, name in zip(interpolation_weights, what, strict=True):
        if not ((row >= 0).all() and 0 < row.sum() < np.inf):
            shown = ", ".join(f"{weight:g}" for weight in row)
            raise UsageError(f"the shares {shown} of {name} cannot be made to sum to 1; expected some above 0")
    scaled: NDArray[np.float64] = interpolation_weights / interpolation_weights.sum(axis=1, keepdims=True)
    return scaled


@dataclass(frozen=True, eq=False)
class _NumberedPairs:
    """The pairs of several tables in one numbering: a key for each, and the words and phrases of the keys."""

    source_vocab: Vocab
    target_vocab: Vocab
    sources: Ragged[np.int32]
    targets: Ragged[np.int32]
    keys: list[NDArray[np.int64]]


def _number_pairs(tables: Sequence[PhrasePairs]) -> _NumberedPairs:
    alike = with_common_vocabs(tables)
    sides = []
    for phrases, ids in (
        ([t.sources for t in alike], [t.source_ids for t in alike]),
        ([t.targets for t in alike], [t.target_ids for t in alike]),
    ):
        every = Ragged.concatenate(phrases)
        numbers, words, offsets = kernels.intern_sequences(every.values, every.offsets)
        firsts = np.cumsum([0, *map(len, phrases)])
        own = [numbers[first + part].astype(np.int64) for first, part in zip(firsts[:-1], ids, strict=True)]
        sides.append((Ragged(words, offsets), own))
    (sources, source_ids), (targets, target_ids) = sides
    width = len(targets) + 1
    keys = [source * width + target for source, target in zip(source_ids, target_ids, strict=True)]
    return _NumberedPairs(alike[0].source_vocab, alike[0].target_vocab, sources, targets, keys)


def unite_tables(
    tables: Mapping[str, PhrasePairs], *, reordering: PhrasePairs | None = None, mix_reordering: bool = False
) -> PhrasePairs:
    """Return the pairs of all tables, each once, with the tables' scores as components.

    Scores are those of the first table until they are mixed (`with_interpolation_weights`, `collapse_mixture`). Links
    come from the first table that has a pair, and so do orientations, if the table `reordering` lacks it. With
    `mix_reordering`, orientations of all tables are components, too.
    """
    check_tables(tables)
    parts = list(tables.values())
    numbered = _number_pairs([*parts, *([] if reordering is None else [reordering])])
    keys = numbered.keys[: len(parts)]
    every, first, place = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    splits = np.cumsum([len(part) for part in parts])[:-1]
    score_names = parts[0].score_names
    probabilities = np.zeros((len(every), len(parts), len(score_names)), np.float32)
    places = np.split(place, splits)
    for t, (part, rows) in enumerate(zip(parts, places, strict=True)):
        probabilities[rows, t] = part.scores
    joined = _join_columns(parts, first)
    orientations = {}
    if mix_reordering:
        if not joined.reordering:
            raise UsageError("the tables have no orientations in common, which could be mixed")
        for name in joined.reordering:
            cube = np.full((len(every), len(parts), len(REORDERING_SCORES)), UNSEEN, np.float32)
            for t, (part, rows) in enumerate(zip(parts, places, strict=True)):
                cube[rows, t] = part.reordering[name]
            orientations[name] = Components(tuple(tables), cube)
    if reordering is not None:
        joined = _with_reordering(joined, reordering, every, numbered.keys[-1])
    width = len(numbered.targets) + 1
    return PhrasePairs(
        numbered.source_vocab,
        numbered.target_vocab,
        numbered.sources,
        numbered.targets,
        (every // width).astype(np.int32),
        (every % width).astype(np.int32),
        probabilities[:, 0],
        score_names,
        alignments=joined.alignments,
        reordering=joined.reordering,
        components=Components(tuple(tables), probabilities),
        reordering_components=orientations,
    )


def _join_columns(parts: Sequence[PhrasePairs], first: NDArray[np.int64]) -> PhrasePairs:
    """Concatenate the tables and take the rows `first`; only links and orientations are meant."""
    linked = all(part.alignments is not None for part in parts)
    shared = set.intersection(*(set(part.reordering) for part in parts))
    return replace(
        parts[0],
        alignments=Ragged.concatenate([p.alignments for p in parts if p.alignments is not None]).take(first)
        if linked
        else None,
        reordering={name: np.concatenate([p.reordering[name] for p in parts])[first] for name in sorted(shared)},
    )


def _with_reordering(
    joined: PhrasePairs, other: PhrasePairs, every: NDArray[np.int64], keys: NDArray[np.int64]
) -> PhrasePairs:
    """Take orientations from another table where it has a pair; unknown orientations are 1."""
    has, rows = _look_up(keys, every)
    found = {}
    for name, values in other.reordering.items():
        before = joined.reordering.get(name)
        scores = np.ones((len(every), values.shape[1]), np.float32) if before is None else before.copy()
        scores[has] = values[rows]
        found[name] = scores
    return replace(joined, reordering=found)


def with_common_vocabs(tables: Sequence[PhrasePairs]) -> list[PhrasePairs]:
    """Return the tables with the words of all of them in one numbering, that of the first as far as it goes."""
    source_vocab, of_sources = common_vocab([table.source_vocab for table in tables])
    target_vocab, of_targets = common_vocab([table.target_vocab for table in tables])
    return [
        replace(
            table,
            source_vocab=source_vocab,
            target_vocab=target_vocab,
            sources=renumbered(table.sources, source_ids),
            targets=renumbered(table.targets, target_ids),
        )
        for table, source_ids, target_ids in zip(tables, of_sources, of_targets, strict=True)
    ]


def renumbered(phrases: Ragged[np.int32], ids: NDArray[np.int32]) -> Ragged[np.int32]:
    """Give words new ids; nonterminals, which are negative, stay as they are."""
    return replace(phrases, values=np.where(phrases.values < 0, phrases.values, ids[phrases.values]))


def replace_reordering(pairs: PhrasePairs, other: PhrasePairs) -> PhrasePairs:
    """Return a table with the orientations of another table, or its own for pairs that the other lacks."""
    ours, theirs = _number_pairs([pairs, other]).keys
    return _with_reordering(pairs, other, ours, theirs)


def check_tables(tables: Mapping[str, PhrasePairs]) -> None:
    """Refuse tables that cannot be mixed: of different scores, or without a phrase of the languages of the others."""
    for name in tables:
        if not _NAME.fullmatch(name):
            raise UsageError(f"a table of a mixture is called '{name}'; expected letters, digits, _ and -")
    if len(tables) < 2:
        raise UsageError(f"there is {len(tables)} table to mix; expected two or more")
    (first, one), *others = tables.items()
    for name, other in others:
        if other.score_names != one.score_names:
            raise UsageError(
                f"the table '{first}' has the scores {', '.join(one.score_names)}, and '{name}' has"
                f" {', '.join(other.score_names)}; expected the same"
            )
        for side, ours, theirs in (
            ("source", one.source_vocab, other.source_vocab),
            ("target", one.target_vocab, other.target_vocab),
        ):
            if len(ours) > 3 and len(theirs) > 3 and not theirs.map_to(ours)[3:].any():
                raise UsageError(f"no {side} word of the table '{name}' is in '{first}': are they of one language?")


def named_interpolation_weights(
    table: str,
    pairs: PhrasePairs,
    interpolation_weights: NDArray[np.float64],
    reordering: Mapping[str, NDArray[np.float64]] | None = None,
) -> Weights:
    """Return the interpolation weights of the components of a union by name, and those of its orientations."""
    assert pairs.components is not None
    named: dict[str, float] = {}
    parts = {table: (pairs.score_names, interpolation_weights)}
    parts |= {name: (DIRECTIONS, weights) for name, weights in (reordering or {}).items()}
    for part, (scores, weights) in parts.items():
        names = interpolation_weight_names(part, scores, pairs.components.names)
        named |= zip((name for row in names for name in row), weights.ravel().tolist(), strict=True)
    return Weights(named)


def uniform_interpolation_weights(pairs: PhrasePairs) -> NDArray[np.float64]:
    """Return equal interpolation weights for all components, in each score."""
    assert pairs.components is not None
    count = len(pairs.components.names)
    return np.full((len(pairs.score_names), count), 1 / count)


def uniform_reordering_weights(pairs: PhrasePairs) -> dict[str, NDArray[np.float64]]:
    """Return equal interpolation weights of the orientations in all components, if these are mixed."""
    return {
        name: np.full((len(DIRECTIONS), len(parts.names)), 1 / len(parts.names))
        for name, parts in pairs.reordering_components.items()
    }


def of_orientations(by_direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return interpolation weights for each of the six scores of a reordering table, given those of its directions."""
    return np.repeat(by_direction, len(REORDERING_SCORES) // len(DIRECTIONS), axis=0)


def with_interpolation_weights(
    pairs: PhrasePairs,
    interpolation_weights: NDArray[np.float64],
    reordering: Mapping[str, NDArray[np.float64]] | None = None,
) -> PhrasePairs:
    """Return a union of tables with the scores of another mixture; its components stay.

    `reordering` has the interpolation weights of the orientations that are mixed, a row for each direction.
    """
    assert pairs.components is not None
    orientations = {
        name: pairs.reordering_components[name].mixed(of_orientations(weights)).astype(np.float32)
        for name, weights in (reordering or {}).items()
    }
    return replace(
        pairs,
        scores=pairs.components.mixed(interpolation_weights).astype(np.float32),
        reordering={**pairs.reordering, **orientations},
    )


def collapse_mixture(
    pairs: PhrasePairs,
    interpolation_weights: NDArray[np.float64],
    reordering: Mapping[str, NDArray[np.float64]] | None = None,
) -> PhrasePairs:
    """Return the mixture as an ordinary table; pairs that only tables of weight 0 have are left out."""
    weighted = with_interpolation_weights(pairs, interpolation_weights, reordering)
    mixed = replace(weighted, components=None, reordering_components={})
    there = mixed.scores.any(axis=1)
    return mixed if there.all() else mixed.take(np.flatnonzero(there))


def fill_up(pairs: PhrasePairs) -> PhrasePairs:
    """Return the first table, filled up with the pairs that it lacks from the second, and so on (Bisazza et al. 2011).

    A score for each later table, 1/e for the pairs that come from it and 1 for others, says where a pair is from: as a
    feature, minus the number of phrases from that table.
    """
    assert pairs.components is not None
    parts = pairs.components
    has = parts.probabilities.any(axis=2)
    origin = has.argmax(axis=1)
    provenance = np.where(origin[:, None] == np.arange(1, len(parts.names)), np.exp(-1), 1)
    return replace(
        pairs,
        scores=np.concatenate(
            [parts.probabilities[np.arange(len(pairs)), origin], provenance], axis=1, dtype=np.float32
        ),
        score_names=(*pairs.score_names, *(f"{PROVENANCE}{name}" for name in parts.names[1:])),
        components=None,
        reordering_components={},
    )


def components_of(union: PhrasePairs, wanted: PhrasePairs) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Look up pairs in a union: whether it has each of `wanted`, and the components' scores of those that it has."""
    assert union.components is not None
    has, rows = rows_of_pairs(union, wanted)
    return has, union.components.probabilities[rows].astype(np.float64)


def rows_of_pairs(table: PhrasePairs, wanted: PhrasePairs) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Look up pairs in a table: whether it has each of `wanted`, and the rows of those that it has."""
    return _look_up(*_number_pairs([table, wanted]).keys)


def _look_up(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Tell which of the wanted keys exist, and return the rows of these."""
    order = np.argsort(keys)
    place = np.searchsorted(keys, wanted, sorter=order)
    has = place < len(keys)
    has[has] = keys[order[place[has]]] == wanted[has]
    return has, order[place[has]]
