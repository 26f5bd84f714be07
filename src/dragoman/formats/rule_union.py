"""Several lists of rules as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman import kernels
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.formats.pair_lines import first_of_each_pair


def union_of_rules(parts: Sequence[PhrasePairs]) -> PhrasePairs:
    """Put rules of several lists together, each once, from the first list that has it.

    The words of a list must have the same numbers in all later ones. A score that a list does not have is 1 there.
    """
    if len(parts) == 1:
        return parts[0]
    sides = []
    for phrases, ids in (
        ([part.sources for part in parts], [part.source_ids for part in parts]),
        ([part.targets for part in parts], [part.target_ids for part in parts]),
    ):
        every = Ragged.concatenate(phrases)
        starts = np.cumsum([0, *map(len, phrases)])[:-1]
        # Numbers count up in order of first occurrence among the rules, not among the lists of phrases.
        used = every.take(np.concatenate([own + start for own, start in zip(ids, starts, strict=True)]))
        numbers, words, offsets = kernels.intern_sequences(used.values, used.offsets)
        sides.append((Ragged(words, offsets), numbers))
    (sources, source_ids), (targets, target_ids) = sides
    names = tuple(dict.fromkeys(name for part in parts for name in part.score_names))
    scores = np.ones((len(source_ids), len(names)), parts[0].scores.dtype)
    first = 0
    for part in parts:
        scores[first : first + len(part), [names.index(name) for name in part.score_names]] = part.scores
        first += len(part)
    empty = [Ragged(np.empty(0, np.uint16), np.zeros(len(part) + 1, np.int64)) for part in parts]
    links = [part.alignments or none for part, none in zip(parts, empty, strict=True)]
    rules = PhrasePairs(
        parts[-1].source_vocab,
        parts[-1].target_vocab,
        sources,
        targets,
        source_ids,
        target_ids,
        scores,
        names,
        alignments=Ragged.concatenate(links) if any(part.alignments is not None for part in parts) else None,
    )
    rows, _ = first_of_each_pair(source_ids, target_ids)
    return rules if rows is None else rules.take(rows)
