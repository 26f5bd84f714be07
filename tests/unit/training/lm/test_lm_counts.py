from collections import Counter

import numpy as np

from dragoman.core.ragged import Ragged
from dragoman.training.lm.counts import count_ngrams


def test_counts_contexts_and_suffixes():
    random = np.random.default_rng(1)
    sentences = [random.integers(3, 9, random.integers(0, 9)).tolist() for _ in range(200)]
    tables = list(count_ngrams(Ragged.of(sentences, np.int32), 9, 5))
    for n, table in enumerate(tables, 1):
        expected = Counter()
        for sentence in sentences:
            text = [1, *sentence, 2]
            expected.update(tuple(text[i : i + n]) for i in range(len(text) - n + 1))
        expected.pop((1,), None)
        rows = [tuple(row) for row in table.words.tolist()]
        assert {row: c for row, c in zip(rows, table.occurrences.tolist(), strict=True) if c} == expected
        if n > 1:
            below = tables[n - 2].words
            assert below[table.contexts].tolist() == table.words[:, :-1].tolist()
            assert below[table.suffixes].tolist() == table.words[:, 1:].tolist()
