"""Phrase pairs as word classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.model.feature_types import PairFeature, PairsInUse, named_rows, splits

_SIDES = ("source", "target")


@dataclass(frozen=True)
class ClassPair(PairFeature):
    """`cp.3_17~5`: source words of classes 3 and 17 are translated by one word of class 5.

    Class 0 are unknown words. Pairs that are longer on one side than `max_length` have no such feature. Of rules, it
    sees the words that they have themselves.
    """

    name = "class-pair"
    prefix = "cp"

    max_length: int = option(2, "longest side of a phrase pair with such a feature, in words", minimum=1)

    @property
    def class_sides(self) -> tuple[str, ...]:
        """Both."""
        return _SIDES

    @cached_property
    def _classes(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        of = self.parts.word_classes
        return of["source"].of_words(self.parts.source_vocab), of["target"].of_words(self.parts.target_vocab)

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return the classes of each pair that is short enough."""
        sides = pairs.source_words, pairs.words
        lengths = np.stack([side.lengths for side in sides])
        short = np.flatnonzero(((lengths > 0) & (lengths <= self.max_length)).all(axis=0))
        found = [_classes_of(side.take(short), of) for side, of in zip(sides, self._classes, strict=True)]
        width = self.max_length
        table = np.full((len(short), 2 * width), -1, np.int32)
        for first, side in zip((0, width), found, strict=True):
            row = np.repeat(np.arange(len(short)), side.lengths)
            table[row, first + np.arange(len(side.values)) - side.offsets[row]] = side.values
        bounds = np.arange(len(short) + 1, dtype=np.int64) * 2 * width
        ids, occurring, _ = kernels.intern_sequences(table.reshape(-1), bounds)
        names = [
            f"{self.prefix}.{_name(row[:width])}~{_name(row[width:])}"
            for row in occurring.reshape(-1, 2 * width).tolist()
        ]
        return named_rows(len(sides[0]), short, ids, names)

    def has(self, rest: str) -> bool:
        """Tell whether `rest` joins classes of both sides."""
        numbers = [self.parts.word_classes[side].number for side in _SIDES]
        return any(
            all(self._fits(text, most) for text, most in zip(both, numbers, strict=True)) for both in splits(rest, "~")
        )

    def _fits(self, text: str, most: int) -> bool:
        numbers = text.split("_")
        return len(numbers) <= self.max_length and all(n.isdigit() and int(n) <= most for n in numbers)


def _classes_of(phrases: Ragged[np.int32], of_word: NDArray[np.int32]) -> Ragged[np.int32]:
    words = phrases.values
    return Ragged(of_word[np.where((words >= 0) & (words < len(of_word)), words, 0)], phrases.offsets)


def _name(classes: list[int]) -> str:
    return "_".join(str(number) for number in classes if number >= 0)
