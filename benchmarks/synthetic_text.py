"""Text whose n-grams have natural frequencies, as much of it as is wanted: for language models of real size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.ragged import Ragged

Ids = NDArray[np.int32]

#: Words that a context prefers are drawn from as many quantiles of the distribution of words.
_QUANTILES = 1 << 22
#: How often the next word depends on no word before it, on one, on two, and so on.
_ORDERS = 0.05, 0.3, 0.35, 0.2, 0.1
#: The word of rank r or below is drawn with probability 1 - r ** -_EXPONENT.
_EXPONENT = 1.2
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
#: Sentences that grow together.
_AT_ONCE = 100_000


def synthetic_text(sentences: int, seed: int, frequent: Sequence[str] = (), words: int = 500_000) -> Corpus:
    """Make sentences of 20 words on average, of a vocabulary that begins with its most frequent words, if given.

    Every context of up to four words prefers words of its own, each drawn once from Zipf's law, and the rank of the
    next word among these has a power law again. So words, contexts and n-grams are new as often as in natural text.
    """
    vocab = Vocab.of([*frequent, *(f"w{i}" for i in range(words - len(frequent)))])
    first = len(vocab) - words
    # The law of Zipf and Mandelbrot.
    shares = (np.arange(words) + 2.7) ** -1.15
    ends = np.cumsum(shares / shares.sum())
    quantiles = np.searchsorted(ends, (np.arange(_QUANTILES) + 0.5) / _QUANTILES).astype(np.int32) + np.int32(first)
    rng = np.random.default_rng(seed)
    parts = [_sentences(min(_AT_ONCE, sentences - done), quantiles, rng) for done in range(0, sentences, _AT_ONCE)]
    return Corpus(vocab, Ragged.concatenate(parts))


def _sentences(count: int, quantiles: Ids, rng: np.random.Generator) -> Ragged[np.int32]:
    lengths = np.sort(1 + rng.poisson(19, count))[::-1]
    text = np.zeros((len(_ORDERS) - 1 + int(lengths[0]), count), np.int32)
    for at in range(len(_ORDERS) - 1, len(text)):
        running = int(np.searchsorted(-lengths, -(at - len(_ORDERS) + 1), "left"))
        order = np.searchsorted(np.cumsum(_ORDERS), rng.random(running)).astype(np.uint64)
        with np.errstate(over="ignore"):
            context = order * _MULTIPLIERS[0]
            for back in range(1, len(_ORDERS)):
                longer = (context ^ text[at - back, :running].astype(np.uint64)) * _MULTIPLIERS[1]
                context = np.where(order >= back, longer ^ longer >> np.uint64(29), context)
            rank = np.minimum((1 - rng.random(running)) ** (-1 / _EXPONENT), 2.0**40).astype(np.uint64)
            drawn = (context ^ rank * _MULTIPLIERS[0]) * _MULTIPLIERS[2]
            drawn = (drawn ^ drawn >> np.uint64(32)) * _MULTIPLIERS[1]
        text[at, :running] = quantiles[drawn >> np.uint64(42)]
    places = np.arange(len(text) - len(_ORDERS) + 1)[None, :] < lengths[:, None]
    return Ragged(text[len(_ORDERS) - 1 :].T[places], np.concatenate([[0], np.cumsum(lengths)]))
