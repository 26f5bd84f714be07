"""Travatar's n-best lists: `0 ||| a house ||| -16.97 ||| lm=-28.045 p=3`, the score before the features."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.formats.nbest.joshua import FEATURES
from dragoman.formats.nbest.lines import NUMBER, BarSeparatedNBest


@dataclass(frozen=True)
class TravatarNBest(BarSeparatedNBest):
    """Travatar's format: like Joshua's, with the last two columns swapped."""

    name = "travatar"
    example = "'id ||| words ||| score ||| name=value …'"
    score_first = True

    @classmethod
    def _fits(cls, third: str, fourth: str) -> bool:
        return (not third or re.fullmatch(NUMBER, third) is not None) and (
            not fourth or FEATURES.fullmatch(fourth) is not None
        )
