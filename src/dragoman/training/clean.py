"""Dropping sentence pairs that would hurt or break training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError
from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.core.vocab import SPECIAL, UNK

#: Words that mean something else in our files and models than themselves.
RESERVED = ("|||", *SPECIAL)


@dataclass(frozen=True)
class Cleaning(Options):
    """Which sentence pairs are fit for training; the defaults are those of Moses' `clean-corpus-n`."""

    # A word alignment link has 16 bits for each position.
    max_length: int = option(80, "most words on either side", minimum=1, maximum=65535)
    max_ratio: float = option(9.0, "most that one side may be longer than the other", minimum=1)


@dataclass(frozen=True, eq=False)
class Cleaned:
    """The pairs that are fit: the bitext of them, their rows in the old one, and how many were dropped why."""

    bitext: Bitext
    rows: NDArray[np.intp]
    dropped: Mapping[str, int]


def clean(bitext: Bitext, options: Cleaning | None = None, *, runtime: Runtime = Runtime()) -> Cleaned:
    """Drop pairs with an empty or long side, with sides of very different lengths, or with reserved words.

    A pair counts for the first of these reasons that holds. If anything is dropped, one warning says how much and why.

    >>> source, target = Corpus.from_lines(["a b", "c", "d"]), Corpus.from_lines(["A", "C", "D"])
    >>> clean(Bitext(source, target)).rows.tolist()
    [0, 1, 2]
    """
    options = options or Cleaning()
    lengths = np.stack([bitext.source.sentences.lengths, bitext.target.sentences.lengths])
    shorter, longer = lengths.min(axis=0), lengths.max(axis=0)
    reasons = {
        "with an empty side": shorter == 0,
        f"longer than {options.max_length} words": longer > options.max_length,
        f"with one side over {options.max_ratio:g} times as long": longer > options.max_ratio * shorter,
        f"with a reserved word ({' '.join(RESERVED)})": _has_reserved(bitext.source) | _has_reserved(bitext.target),
    }
    kept = np.ones(len(bitext), bool)
    dropped = {}
    for reason, holds in reasons.items():
        dropped[reason] = int((kept & holds).sum())
        kept &= ~holds
    rows = np.flatnonzero(kept)
    why = ", ".join(f"{count:,} {reason}" for reason, count in dropped.items() if count)
    if not len(rows):
        raise DataError(
            f"none of the {len(bitext):,} sentence pairs can be used: {why}" if why else "there are no sentence pairs"
        )
    if why:
        runtime.warn(f"skipped {len(bitext) - len(rows):,} of {len(bitext):,} pairs: {why}")
    return Cleaned(bitext.take(rows) if why else bitext, rows, dropped)


def _has_reserved(corpus: Corpus) -> NDArray[np.bool_]:
    reserved = np.zeros(len(corpus.vocab), bool)
    # A reserved word that is not in the vocabulary has the id of <unk>, which is reserved itself.
    reserved[[UNK, *(corpus.vocab.id(word) for word in RESERVED)]] = True
    places = np.flatnonzero(reserved[corpus.sentences.values])
    rows = np.zeros(len(corpus), bool)
    rows[np.searchsorted(corpus.sentences.offsets, places, side="right") - 1] = True
    return rows
