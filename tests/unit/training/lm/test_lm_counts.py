from collections import Counter

import numpy as np
import pytest

from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.workspace import Workspace
from dragoman.training.lm.counts import count_ngrams
from oracles.elsewhere import Elsewhere


def everything(tables):
    columns = ("words", "contexts", "suffixes", "occurrences")
    arrays = [getattr(table, name) for table in tables for name in columns]
    return [(array.dtype, array.shape, array.tobytes()) for array in arrays]


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 5])
def test_blocks_of_text_give_the_same_bytes(order, tmp_path):
    random = np.random.default_rng(order)
    text = Ragged.of([random.integers(0, 40, random.integers(0, 9)) + 3 for _ in range(120)], np.int32)
    expected = everything(count_ngrams(text, 45, order))
    for memory, threads in ((100_000, 1), (400_000, 2)):
        with Workspace(memory, tmp_path) as workspace:
            runtime = Runtime(threads, workspace=workspace)
            assert everything(count_ngrams(text, 45, order, runtime=runtime)) == expected
    for memory in (None, 100_000):
        with Workspace(memory, tmp_path) as workspace:
            workers = Elsewhere(2)
            runtime = Runtime(workspace=workspace, workers=workers)
            assert everything(count_ngrams(text, 45, order, runtime=runtime)) == expected
            assert len(workers.sizes) > 4
    assert list(tmp_path.iterdir()) == []


def test_counts_contexts_and_suffixes():
    random = np.random.default_rng(1)
    sentences = [random.integers(3, 9, random.integers(0, 9)).tolist() for _ in range(200)]
    tables = count_ngrams(Ragged.of(sentences, np.int32), 9, 5)
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
