"""The target words of a batch of sentences: those of the model, and source words that pass through."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab
from dragoman.model.bundle import Model

#: What an untranslated word costs in the feature `unknown_word`, as in Moses.
UNKNOWN_WORD = -100.0


def unknown_words(
    model: Model, source: Corpus, positions: NDArray[np.int64], *, drop: bool
) -> tuple[Vocab, Ragged[np.int32]]:
    """What running words of the source become that nothing translates: themselves, or nothing if they are to `drop`.

    Returns the model's target words and these, and a row of them for each position.
    """
    vocab = model.target_vocab
    if drop or not len(positions):
        return vocab, Ragged(np.empty(0, np.int32), np.zeros(len(positions) + 1, np.int64))
    ids = source.sentences.values[positions]
    vocab, words, lines = vocab.extend(source.vocab.decode(ids, np.arange(len(ids) + 1)))
    return vocab, Ragged(words, lines)


def lm_words(
    model: Model, vocab: Vocab, words: NDArray[np.int32], lm_ids: Sequence[NDArray[np.int32]]
) -> NDArray[np.int32]:
    """Words of a batch as ids of each language model, one row a model; what is below 0 is no word and stays.

    `vocab` has the model's target words first; `lm_ids` are their ids in each language model.
    """
    known = len(model.target_vocab)
    rows = np.empty((len(lm_ids), len(words)), np.int32)
    for k, (ids, language_model) in enumerate(zip(lm_ids, model.language_models.values(), strict=True)):
        if len(vocab) > known:
            new = np.arange(known, len(vocab), dtype=np.int32)
            found = language_model.vocab.encode(vocab.decode(new, np.arange(len(new) + 1)))[0]
            ids = np.concatenate([ids, language_model.ids_of(language_model.vocab)[found]])
        rows[k] = np.where(words < 0, words, ids[words])
    return rows
