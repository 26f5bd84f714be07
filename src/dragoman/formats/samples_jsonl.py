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

from dragoman.core.samples import Samples


def format_samples(samples: Samples, sentence: int, number: int) -> str:
    """Write the samples of one sentence as a line of JSON; `number` is its id."""
    first, last = samples.sentences[sentence : sentence + 2].tolist()
    counts = samples.counts[first:last]
    together = counts.sum(axis=1)
    total = int(together.sum())
    rows = []
    for row in (first + np.argsort(-together, kind="stable")).tolist():
        fields = {
            "text": samples.line(row),
            "count": samples.counts[row].tolist(),
            "probability": int(together[row - first]) / total,
            "score": float(samples.scores[row]),
            "segmentation": samples.segmentations[row].tolist(),
        }
        features = samples.features.row(row)
        rows.append({**fields, "features": features} if features else fields)
    return json.dumps({"id": number, "samples": total, "derivations": rows}, ensure_ascii=False, allow_nan=False)
