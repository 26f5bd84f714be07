"""Samples as text: one JSON object per sentence.

    {"id": 0, "samples": 2000, "derivations": [
        {"text": "the house", "count": [700, 520], "probability": 0.61, "score": -4.2,
         "segmentation": [[0, 1, 0, 1], [1, 2, 1, 2]], "features": {"lm": -7.5}}]}

Derivations are sorted by count, the most frequent first. `count` has a number for each chain; rows of the
segmentation are source begin and end, target begin and end, in target order.
"""

from __future__ import annotations

import json

import numpy as np

from dragoman import kernels
from dragoman.core.corpus import texts_of
from dragoman.core.errors import DataError
from dragoman.core.ragged import Ragged
from dragoman.core.samples import Samples


def format_samples(samples: Samples, sentence: int, number: int) -> bytes:
    """Write the samples of one sentence as a line of JSON; `number` is its id."""
    part = samples.sentence(sentence)
    together = part.counts.sum(axis=1)
    features = part.features.merged()
    if not (np.isfinite(part.scores).all() and np.isfinite(features.values).all()):
        raise DataError("a sample has a score or feature that is not finite")
    phrases = Ragged(part.segmentations.values.reshape(-1), 4 * part.segmentations.offsets)
    columns = kernels.SampleColumns(
        words=part.hypotheses.for_kernels(),
        vocab=part.vocab.for_kernels(),
        counts=part.counts,
        probabilities=together / max(int(together.sum()), 1),
        scores=part.scores,
        phrases=phrases.for_kernels(),
        features=features.for_kernels(),
        names=texts_of([json.dumps(name, ensure_ascii=False).encode() for name in features.names]),
    )
    rows = kernels.format_derivations(np.argsort(-together, kind="stable"), columns)
    return b'{"id": %d, "samples": %d, "derivations": [%b]}\n' % (number, together.sum(), rows.tobytes())
