"""Samples as JSON."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.core.samples import Samples
from dragoman.formats.samples_jsonl import format_samples
from oracles.samples_json import slow_format_samples

WORDS = ["la", 'a"b', "back\\slash", "\x00", "\x01\x1f", "\x08\x7f", "é", "𝄞", "&quot;"]
NUMBERS = [0.0, -0.0, 1.0, -3.0, 0.1, 1e-4, 9.999999999999999e-5, 1e-5, 1.5e-7, 1e15, 1e16, 123456789012345678.0]
EXTREMES = [1e300, sys.float_info.min, 5e-324, 2.0**53, 2.0**53 + 2, 9999999999999998.0]


def random_samples(rng, sentences, chains):
    sizes = rng.integers(1, 9, sentences)
    rows = int(sizes.sum())

    def numbers(count):
        usual = rng.normal(size=count) * 10.0 ** rng.integers(-8, 20, count)
        return np.where(rng.random(count) < 0.5, usual, rng.choice(NUMBERS + EXTREMES, count))

    phrases = np.concatenate([[0], np.cumsum(rng.integers(0, 4, rows))])
    features = np.concatenate([[0], np.cumsum(rng.integers(0, 6, rows))])
    return Samples(
        vocab=Vocab.of(WORDS),
        sentences=np.concatenate([[0], np.cumsum(sizes)]),
        hypotheses=Ragged.of([rng.integers(0, 3 + len(WORDS), rng.integers(0, 7)) for _ in range(rows)], np.int32),
        scores=numbers(rows),
        features=FeatureRows(
            ("lm", 'na"me', "naïve"), features, rng.integers(0, 3, features[-1]).astype(np.int32), numbers(features[-1])
        ),
        segmentations=Ragged(rng.integers(0, 30, (phrases[-1], 4)).astype(np.int32), phrases),
        counts=rng.integers(1, 4, (rows, chains)),
    )


def test_samples_are_written_as_the_standard_library_would():
    rng = np.random.default_rng(3)
    for _ in range(60):
        samples = random_samples(rng, 3, int(rng.integers(1, 4)))
        for i in range(3):
            assert format_samples(samples, i, 7 + i) == slow_format_samples(samples, i, 7 + i)


def test_what_is_not_finite_is_refused():
    samples = random_samples(np.random.default_rng(3), 1, 2)
    with pytest.raises(DataError, match="not finite"):
        format_samples(replace(samples, scores=np.full(len(samples.scores), np.nan)), 0, 0)
