"""N-best lists: translations of many sentences with scores and features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab


@dataclass(frozen=True, eq=False)
class NBest:
    """Lists of hypotheses, one after the other: sentence `i` has those from `sentences[i]` to `sentences[i + 1]`.

    Hypothesis `h` is the words `hypotheses[h]` of `vocab`, with score `scores[h]` and row `h` of `features`.
    `segmentations[h]`, if known, is a matrix with a row for each phrase, in target order: source begin and end,
    target begin and end.
    """

    vocab: Vocab
    sentences: NDArray[np.int64]
    hypotheses: Ragged[np.int32]
    scores: NDArray[np.float64]
    features: FeatureRows
    segmentations: Ragged[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.sentences) - 1

    def list(self, i: int) -> NBest:
        """Return the list of one sentence, as an n-best list of its own."""
        rows = np.arange(self.sentences[i], self.sentences[i + 1])
        return NBest(
            self.vocab,
            np.array([0, len(rows)], np.int64),
            self.hypotheses.take(rows),
            self.scores[rows],
            self.features.take(rows),
            None if self.segmentations is None else self.segmentations.take(rows),
        )

    def line(self, h: int) -> str:
        """Return one hypothesis as text."""
        return self.vocab.text(self.hypotheses[h])
