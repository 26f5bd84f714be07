"""N-best lists of Joshua and cdec: `0 ||| a house ||| lm_0=-28.045 tm_pt_0=-172.000 ||| -195.045`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.formats.nbest.lines import NUMBER, BarSeparatedNBest

FEATURES = re.compile(rf"(?:\S+={NUMBER}(?:\s+|$))+")


@dataclass(frozen=True)
class JoshuaNBest(BarSeparatedNBest):
    """Joshua's and cdec's format: features are `name=value`."""

    name = "joshua"
    example = "'id ||| words ||| name=value … ||| score'"

    @classmethod
    def _fits(cls, third: str, fourth: str) -> bool:
        return (not third or FEATURES.fullmatch(third) is not None) and (
            not fourth or re.fullmatch(NUMBER, fourth) is not None
        )
