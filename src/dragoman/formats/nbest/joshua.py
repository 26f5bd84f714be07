"""N-best lists of Joshua and cdec, `0 ||| a house ||| lm_0=-28.045 tm_pt_0=-172.000 ||| -195.045`, and of Travatar.

Travatar has the score before the features: `0 ||| a house ||| -16.97 ||| lm=-28.045 p=3`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.formats.nbest.lines import NUMBER, BarSeparatedNBest

_FEATURES = re.compile(rf"(?:\S+={NUMBER}(?:\s+|$))+")


@dataclass(frozen=True)
class JoshuaNBest(BarSeparatedNBest):
    """Joshua's and cdec's format: features are `name=value`."""

    name = "joshua"
    example = "'id ||| words ||| name=value … ||| score'"

    @classmethod
    def _fits(cls, third: str, fourth: str) -> bool:
        return (not third or _FEATURES.fullmatch(third) is not None) and (
            not fourth or re.fullmatch(NUMBER, fourth) is not None
        )


@dataclass(frozen=True)
class TravatarNBest(BarSeparatedNBest):
    """Travatar's format: like Joshua's, with the last two columns swapped."""

    name = "travatar"
    example = "'id ||| words ||| score ||| name=value …'"
    score_first = True

    @classmethod
    def _fits(cls, third: str, fourth: str) -> bool:
        return (not third or re.fullmatch(NUMBER, third) is not None) and (
            not fourth or _FEATURES.fullmatch(fourth) is not None
        )
