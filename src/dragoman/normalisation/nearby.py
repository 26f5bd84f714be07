"""Words of a list that are near a form: those whose skeletons are the same but for a letter or two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.normalisation.letters import skeleton

#: The base of the hashes, which is odd, and what undoes a multiplication by it modulo 2^64.
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)


class Nearby:
    """Skeletons of words, each with every letter left out in turn, by hashes in order.

    Two skeletons meet where they are the same, where one has a letter more, and where each has one that the other
    has not: one letter replaced, or one dropped and one that came.

    >>> near = Nearby(["hand", "hund", "hunde", "haus"])
    >>> of, words = near.meet(["hannd", "hutd"])
    >>> [near.words[word] for word in words[of == 0]], [near.words[word] for word in words[of == 1]]
    (['hand', 'hund'], ['hund'])
    """

    def __init__(self, words: Sequence[str]):
        self.words = words
        hashes, of_word = _left_out([skeleton(word) for word in words])
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._of_word = hashes[order], of_word[order]

    def meet(self, forms: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return pairs of forms and words that meet, in order, each once."""
        hashes, of_form = _left_out([skeleton(form) for form in forms])
        begin = np.searchsorted(self._hashes, hashes)
        sizes = np.searchsorted(self._hashes, hashes, side="right") - begin
        firsts = np.cumsum(sizes) - sizes
        places = np.arange(sizes.sum()) - np.repeat(firsts - begin, sizes)
        pairs = np.unique(np.repeat(of_form, sizes) * len(self.words) + self._of_word[places])
        return pairs // max(len(self.words), 1), pairs % max(len(self.words), 1)


def _left_out(words: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hashes of words as they are and with each letter left out, and whose they are."""
    lengths = np.array([len(word) for word in words], np.int64)
    points = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32).astype(np.uint64)
    of_letter = np.repeat(np.arange(len(words)), lengths)
    starts = np.cumsum(lengths) - lengths
    place = np.arange(len(points)) - np.repeat(starts, lengths)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, _BASE, np.uint64))
    # A hash is the sum of letters times powers of the base by their places; letters are scattered first.
    scattered = (points + np.uint64(1)) * np.uint64(0xD6E8FEB86659FD93)
    terms = (scattered ^ (scattered >> np.uint64(32))) * powers[place]
    until = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms)])
    before = until[:-1] - np.repeat(until[starts], lengths)
    behind = np.repeat(until[starts + lengths], lengths) - until[1:]
    whole = until[starts + lengths] - until[starts]
    without = before + behind * np.uint64(_INVERSE)
    return np.concatenate([whole, without]), np.concatenate([np.arange(len(words)), of_letter])
