"""Moses' n-best lists: `0 ||| a house  ||| LM0= -36.05 TranslationModel0= -1 -2 ||| -16.97`, and older dialects.

A feature with several values is a group of features here: `TranslationModel0= -1 -2` is TranslationModel0.0 = -1 and
TranslationModel0.1 = -2; one with a single value keeps its name. Consecutive features name.0, name.1, … are written as
such a group again, with 0 for values that a hypothesis lacks. Sparse features are
features with a single value. Labels may end in a colon instead (`lm: -36.05`), as in Moses before version 1.

Segmentation marks (`a house |0-1|`, source words 0 to 1) become `NBest.segmentations`. Columns after the score (word
alignment and others) are kept in `NBest.extras` and written back unchanged. A bar in a word is escaped as `&#124;`, as
in Moses (see `bars`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.formats.nbest.lines import NUMBER, BarSeparatedNBest

_FEATURES = re.compile(rf"(?:\S+[=:](?:\s+{NUMBER})+(?:\s+|$))+")


@dataclass(frozen=True)
class MosesNBest(BarSeparatedNBest):
    """The format of Moses and Marian."""

    name = "moses"
    example = "'id ||| words ||| name= value … ||| score'"
    grouped = True
    padded = True

    segmentation: bool | None = option(None, "write segmentation marks (default: if the list was read with them)")
    zeros: bool = option(False, "write all features of all hypotheses, as Moses' tuning programs need")

    @classmethod
    def _fits(cls, third: str, fourth: str) -> bool:
        return (not third or _FEATURES.fullmatch(third) is not None) and (
            not fourth or re.fullmatch(NUMBER, fourth) is not None
        )

    def _with_segmentation(self, style: Mapping[str, int]) -> bool:
        return bool(style.get("segmentation", False)) if self.segmentation is None else self.segmentation

    def _features_to_write(self, features: FeatureRows) -> FeatureRows:
        if not self.zeros:
            return features
        matrix = features.dense()
        rows, columns = matrix.shape
        ids = np.tile(np.arange(columns, dtype=np.int32), rows)
        return FeatureRows(features.names, np.arange(rows + 1, dtype=np.int64) * columns, ids, matrix.reshape(-1))
