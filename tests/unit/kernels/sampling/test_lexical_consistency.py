"""Lexical consistency, kept up to date in the kernel, against its definition."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.corpus import Vocab
from dragoman.features.lexical_consistency import LexicalConsistency
from oracles.lexical_consistency import lexical_consistency

WORDS, OFFSETS = np.ctypeslib.ndpointer(np.int32), np.ctypeslib.ndpointer(np.int64)


class Memory:
    """The four functions, called as a chain calls them."""

    def __init__(self, source, target):
        address = kernels.global_functions()["lexical_consistency"]
        begin, propose, accept, end = (ctypes.c_void_p * 4).from_address(address)
        rows = [np.concatenate([np.empty(0, np.int32), *side]).astype(np.int32) for side in (source, target)]
        bounds = [np.cumsum([0, *map(len, side)]).astype(np.int64) for side in (source, target)]
        start = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, WORDS, OFFSETS, WORDS, OFFSETS)(begin)
        self._memory = start(len(source), rows[0], bounds[0], rows[1], bounds[1])
        self._propose = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64, WORDS, ctypes.c_int64)(
            propose
        )
        self._accept = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(accept)
        self._end = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(end)

    def propose(self, sentence, words):
        return self._propose(self._memory, sentence, np.asarray(words, np.int32), len(words))

    def accept(self):
        self._accept(self._memory)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end(self._memory)


def content(rows):
    return [[word for word in row if word] for row in rows]


def random_row(rng, words):
    return rng.integers(0, words, rng.integers(0, 8)).tolist()


@pytest.mark.parametrize("seed", range(30))
def test_proposals_of_any_kind(seed):
    rng = np.random.default_rng(seed)
    words, count = int(rng.integers(2, 12)), int(rng.integers(1, 9))
    source, target = ([random_row(rng, words) for _ in range(count)] for _ in range(2))
    with Memory(source, target) as memory:
        for _ in range(150):
            sentence = int(rng.integers(count))
            proposed = random_row(rng, words + 2) if rng.random() < 0.8 else target[sentence]
            changed = [*target[:sentence], proposed, *target[sentence + 1 :]]
            expected = lexical_consistency(content(source), content(changed))
            assert memory.propose(sentence, proposed) == pytest.approx(expected, abs=1e-9)
            if rng.random() < 0.6:
                memory.accept()
                target = changed


def test_the_value_does_not_depend_on_the_way_to_it():
    rng = np.random.default_rng(1)
    source, target = ([random_row(rng, 9) for _ in range(12)] for _ in range(2))
    with Memory(source, target) as memory:
        first = memory.propose(0, target[0])
        for _ in range(500):
            memory.propose(int(rng.integers(12)), random_row(rng, 9))
            memory.accept()
        for sentence, row in enumerate(target):
            last = memory.propose(sentence, row)
            memory.accept()
    assert last == first


def test_how_much_a_lapse_costs():
    source = [[1]] * 4 + [[2]] * 2
    values = []
    for target in ([5, 5, 5, 5, 8, 8], [5, 5, 5, 6, 8, 8], [5, 5, 6, 6, 8, 8], [5, 6, 7, 9, 8, 8], [5, 5, 5, 5, 5, 5]):
        with Memory(source, [[word] for word in target]) as memory:
            values.append(memory.propose(0, [target[0]]))
    # 4 of 4; 3 of 4, 2 of 4, 1 of 4; and a word that stands everywhere is no good partner for anything.
    assert values == pytest.approx(
        [0, 4 * (6 / 7 - 1), 4 * (4 / 6 - 1), 4 * (2 / 5 - 1), 4 * (0.8 - 1) + 2 * (0.5 - 1)]
    )


def test_which_words_count():
    words = [
        "maison",
        "vol",
        "clé",
        "clés",
        "1234",
        "l'eau",
        "&quot;",
        "....",
        "été",
        "ÉTÉS",
        "данс",
        "da",
        "x123",
        "日本語",
    ]
    vocab = Vocab.of(words)
    symbols = LexicalConsistency().symbols(vocab)
    assert symbols.dtype == np.int32
    assert [word for word, symbol in zip(vocab, symbols.tolist(), strict=True) if symbol] == [
        "maison",
        "clés",
        "l'eau",
        "ÉTÉS",
        "данс",
        "x123",
    ]
    assert symbols[vocab.id("x123")] == vocab.id("x123")
    assert LexicalConsistency(min_length=3).symbols(vocab)[vocab.id("日本語")] > 0
    assert not LexicalConsistency(min_length=1).symbols(Vocab.of()).any()
