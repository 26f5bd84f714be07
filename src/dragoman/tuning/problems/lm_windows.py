"""The words of lists with the histories that a language model sees, for mixtures of language models."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import BOS, EOS, UNK, Vocab
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.nbest import NBest
from dragoman.core.phrases import Components
from dragoman.core.ragged import Ragged
from dragoman.model.language_model import LanguageModel
from dragoman.model.lm_mixture import component_probabilities
from dragoman.search.mixed_scores import pair_counts

#: An odd factor (Knuth's), so that a hash depends on the order of words.
_FACTOR = np.uint64(6364136223846793005)


class WordsInUse(NamedTuple):
    """Words of lists with their histories: numbers, ascending, the components' probabilities, and counts by hypothesis.

    A number is a hash of the words: the same in all lists, whatever their vocabularies.
    """

    rows: NDArray[np.int64]
    components: Components
    counts: FeatureRows


def words_in_use(nbest: NBest, name: str, model: LanguageModel) -> WordsInUse:
    """Return the words of lists, sentence ends included, under the components of the language model `name`."""
    order = max(component.order for component in model.components.values())
    windows, offsets = _windows(nbest, order)
    numbers = _hashes(nbest.vocab, windows)
    rows, first = np.unique(numbers, return_index=True)
    parts = component_probabilities([*model.components.values()], nbest.vocab, windows[first])
    counts = pair_counts(name, numbers).sum_over(Ragged(np.arange(len(numbers), dtype=np.int32), offsets))
    return WordsInUse(rows, Components(tuple(model.components), parts[:, :, None].astype(np.float32)), counts)


def _windows(nbest: NBest, order: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return each word and end of all hypotheses after the words before it, -1 for none, and where hypotheses begin.

    >>> lists = NBest.of_texts(["a b"], [0.0], np.array([0, 1]))
    >>> _windows(lists, 3)[0].tolist()
    [[-1, 1, 3], [1, 3, 4], [3, 4, 2]]
    """
    hypotheses = nbest.hypotheses
    # Sentence marks in a text are unknown words.
    words = np.where((hypotheses.values == BOS) | (hypotheses.values == EOS), np.int32(UNK), hypotheses.values)
    words = np.insert(words, hypotheses.offsets[1:], np.int32(EOS))
    offsets = (hypotheses.offsets + np.arange(len(hypotheses) + 1)).astype(np.int64)
    position = np.arange(len(words)) - np.repeat(offsets[:-1], np.diff(offsets))
    windows = np.full((len(words), order), -1, np.int32)
    for back in range(order):
        there = np.flatnonzero(position >= back)
        windows[there, order - 1 - back] = words[there - back]
        windows[position == back - 1, order - 1 - back] = BOS
    return windows, offsets


def _hashes(vocab: Vocab, windows: NDArray[np.int32]) -> NDArray[np.int64]:
    used, places = np.unique(windows, return_inverse=True)
    texts = ("" if word < 0 else vocab[word] for word in used.tolist())
    codes = np.array(
        [int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") for text in texts], np.uint64
    )
    places = places.reshape(windows.shape)
    found = np.zeros(len(windows), np.uint64)
    for column in places.T:
        found = found * _FACTOR + codes[column]
    return (found >> np.uint64(1)).astype(np.int64)
