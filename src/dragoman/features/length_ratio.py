"""Ratio of the lengths of a translation and its source."""

from __future__ import annotations

from typing import ClassVar

from dragoman import kernels
from dragoman.model.feature_types import SentenceFeature


class LengthRatio(SentenceFeature):
    """-|ln((target words + 1) / (source words + 1))|: 0 at the same length, -0.69 at about half or twice as many."""

    name: ClassVar[str] = "length_ratio"

    @property
    def address(self) -> int:
        """Return the address of the compiled function."""
        return kernels.global_functions()["length_ratio"]
