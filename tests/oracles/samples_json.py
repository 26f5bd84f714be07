"""Samples as JSON by the standard library, derivation by derivation."""

import json

import numpy as np


def slow_format_samples(samples, sentence, number):
    """Write the samples of one sentence as `format_samples` does."""
    first, last = samples.sentences[sentence : sentence + 2].tolist()
    together = samples.counts[first:last].sum(axis=1)
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
    fields = {"id": number, "samples": total, "derivations": rows}
    return json.dumps(fields, ensure_ascii=False, allow_nan=False).encode() + b"\n"
