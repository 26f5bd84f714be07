"""Which pairs of a raw corpus are worth keeping, and which of them are held out for tuning and testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.corpora.text import fold

# A sentence of few characters may well be translated by one of many; only what exceeds this slack counts.
_RATIO_SLACK = 15

TRAIN, DEV, TEST = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Selection:
    """The rows that are kept, in order, and how many were dropped for each reason."""

    rows: NDArray[np.intp]
    dropped: dict[str, int]


def select_pairs(
    source: Sequence[str],
    target: Sequence[str],
    *,
    max_characters: int,
    max_ratio: float,
    keep_identical: bool,
) -> Selection:
    """Drop pairs that are empty, too long, out of proportion, untranslated or there already.

    The proportion is that of the lengths in characters, measured against the corpus as a whole, so that languages
    written with few characters are treated like all others.
    """
    folded = _ids([""] + [fold(text) for side in (source, target) for text in side])[1:].reshape(2, -1)
    lengths = np.array([[len(text) for text in side] for side in (source, target)], np.float64)
    totals = lengths.sum(axis=1)
    scaled = lengths * (totals.sum() / 2 / np.maximum(totals, 1))[:, None] + _RATIO_SLACK
    tests = {
        "empty": (folded == 0).any(axis=0),
        "too_long": (lengths > max_characters).any(axis=0),
        "out_of_proportion": scaled.max(axis=0) > max_ratio * scaled.min(axis=0),
        "untranslated": (folded[0] == folded[1]) & (not keep_identical),
    }
    kept = np.ones(len(source), bool)
    dropped = {}
    for reason, fails in tests.items():
        dropped[reason] = int((kept & fails).sum())
        kept &= ~fails
    rows = np.flatnonzero(kept)
    first = np.unique(folded[:, rows], axis=1, return_index=True)[1]
    dropped["repeated"] = len(rows) - len(first)
    return Selection(rows[np.sort(first)], dropped)


def hold_out(
    source: Sequence[str],
    target: Sequence[str],
    documents: Sequence[str],
    *,
    allowed: NDArray[np.bool_],
    dev: int,
    test: int,
    seed: int,
) -> NDArray[np.uint8]:
    """Return for each pair where it goes: TRAIN, DEV or TEST.

    Held out are, document by document in random order, the pairs whose source and target (letters and digits, without
    case) occur in no other pair, so that nothing held out can also be learnt from; the others stay in the training
    part. A document that does not fit into what is left to fill is passed over, so the sizes come out exactly
    as long as there are short documents.
    """
    eligible = allowed.copy()
    for side in (source, target):
        ids = _ids([fold(text) for text in side])
        eligible &= np.bincount(ids)[ids] == 1
    if dev + test >= len(source) or dev + test > eligible.sum():
        raise DataError(
            f"{dev + test:,} pairs are to be held out, but of {len(source):,} pairs only {eligible.sum():,} can be",
            expected="smaller sizes for dev and test",
        )
    document_of = _ids(documents)
    sizes = np.bincount(document_of, eligible).astype(np.intp)
    part_of_document = np.zeros(len(sizes), np.uint8)
    left = {TEST: test, DEV: dev}
    for document in np.random.default_rng(seed).permutation(len(sizes)):
        for part, room in left.items():
            if 0 < sizes[document] <= room:
                part_of_document[document] = part
                left[part] -= sizes[document]
                break
        if not any(left.values()):
            break
    return np.where(eligible, part_of_document[document_of], TRAIN).astype(np.uint8)


def _ids(texts: Sequence[str]) -> NDArray[np.intp]:
    """Number the distinct texts in order of first occurrence."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.intp)
