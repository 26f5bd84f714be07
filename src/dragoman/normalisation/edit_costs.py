"""Weighted edit distance of spellings, and an index of similar words.

Each letter is kept, replaced or deleted, and letters may be inserted. Costs are negative log-probabilities, estimated
from examples with two levels of back-off: to the kind of a letter (marks are deleted, double letters become single
ones, accents come and go), and to the constants below, which hold for most languages.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dragoman.core.ragged import Ragged

#: Prior counts of what becomes of letters of each kind: kept, another with the same skeleton, another, deleted.
_KEPT, _ALIKE, _OTHER, _GONE = range(4)
_USUAL = {
    "plain": (30.0, 1.0, 2.0, 1.0),
    "accented": (3.0, 3.0, 0.5, 0.5),
    "mark": (1.0, 0.1, 0.3, 2.0),
    "double": (6.0, 0.3, 0.5, 2.0),
}

#: Prior rate of insertion of each kind of letter into a gap between two others, and the weight of this prior in gaps.
_COMES = {"plain": 0.03, "accented": 0.003, "mark": 0.001, "double": 0.02}
_GAPS = 50.0

#: Weight of the back-off to the kind of a letter, in letters; number of letters that one can be replaced by.
_TRUST, _OTHERS = 2.0, 30.0

#: Iterations of aligning the examples; largest number of forms, the most frequent first: others teach little.
_ROUNDS, _FORMS = 2, 3000

#: Pairs of words that are compared at once.
_PAIRS = 4096

_RUN = re.compile(r"(.)\1+", re.DOTALL)


@lru_cache(maxsize=1 << 16)
def _bare(letter: str) -> str:
    """Return a letter without accents; a mark becomes nothing."""
    parts = unicodedata.normalize("NFKD", letter).casefold()
    return "".join(part for part in parts if not unicodedata.combining(part))


def skeleton(word: str) -> str:
    """Return a word without accents and marks, and with double letters once.

    >>> skeleton("Schlo\\u017f\\u017f"), skeleton("fu\\u0364r"), skeleton("weiß")
    ('schlos', 'fur', 'weis')
    """
    bare = word.casefold() if word.isascii() else "".join(map(_bare, word))
    return _RUN.sub(r"\1", bare)


def _symbols(word: str) -> list[str]:
    """Return the letters of a word; one that follows its like is written twice, as a symbol of its own."""
    return [letter * 2 if before == letter else letter for before, letter in zip(f"\0{word}", word, strict=False)]


@lru_cache(maxsize=1 << 16)
def _kind(symbol: str) -> str:
    if len(symbol) > 1:
        return "double"
    if unicodedata.combining(symbol):
        return "mark"
    return "plain" if _bare(symbol) == symbol else "accented"


def _outcome(old: str, new: str) -> int:
    if old == new:
        return _KEPT
    alike = len(old) == len(new) and _bare(old[0]) == _bare(new[0]) != ""
    return _ALIKE if alike else _OTHER


class _Costs(dict[tuple[str, str], float]):
    """Costs of changes, each computed once."""

    def __init__(self, cost: Callable[[str, str], float]):
        self._cost = cost

    def __missing__(self, change: tuple[str, str]) -> float:
        found = self[change] = self._cost(*change)
        return found


@dataclass(frozen=True, eq=False)
class EditCosts:
    """Counts of changes of letters in examples; an empty letter stands for a gap.

    >>> letters = EditCosts.of({"vnd": Counter(und=3), "vnnd": Counter(und=1), "jar": Counter(jahr=1)})
    >>> costs = letters.costs(["vns", "vns"], ["uns", "ans"], np.array([0, 1]))
    >>> bool(costs[0] < costs[1])
    True
    """

    counts: Mapping[tuple[str, str], float]

    @classmethod
    def of(cls, forms: Mapping[str, Counter[str]]) -> EditCosts:
        """Estimate from forms with the counts of their modern forms, by aligning their letters."""
        chosen = sorted(forms, key=lambda form: (-forms[form].total(), form))[:_FORMS]
        pairs = [(_symbols(old), _symbols(new), count) for old in chosen for new, count in sorted(forms[old].items())]
        letters = cls({})
        for _ in range(_ROUNDS):
            counts: defaultdict[tuple[str, str], float] = defaultdict(float)
            for old, new, count in pairs:
                # A frequent form counts more, but not in proportion to its frequency.
                for change in letters._path(old, new):
                    counts[change] += math.log2(1 + count)
            letters = cls(dict(counts))
        return letters

    @cached_property
    def _of_letter(self) -> defaultdict[str, float]:
        total: defaultdict[str, float] = defaultdict(float)
        for (old, _), count in self.counts.items():
            total[old] += count
        return total

    @cached_property
    def _kinds(self) -> dict[str, NDArray[np.float64]]:
        """Relative frequencies of what becomes of each kind of letter."""
        found = {kind: np.array(usual) for kind, usual in _USUAL.items()}
        for (old, new), count in self.counts.items():
            if old:
                found[_kind(old)][_outcome(old, new) if new else _GONE] += count
        return {kind: counts / counts.sum() for kind, counts in found.items()}

    @cached_property
    def _coming(self) -> dict[str, float]:
        """Rate of insertion of each kind of letter into a gap."""
        found = {kind: _GAPS * rate for kind, rate in _COMES.items()}
        for (old, new), count in self.counts.items():
            if not old:
                found[_kind(new)] += count
        return {kind: count / (_GAPS + self._gaps) for kind, count in found.items()}

    @cached_property
    def _gaps(self) -> float:
        """Number of gaps: that of letters."""
        return sum(count for (old, _), count in self.counts.items() if old)

    @cached_property
    def _costs(self) -> _Costs:
        return _Costs(self.cost)

    def cost(self, old: str, new: str) -> float:
        """Return -log p that a letter becomes another; either may be empty."""
        if not old:
            usual = self._coming[_kind(new)] / _OTHERS
            return -math.log((self.counts.get((old, new), 0.0) + _TRUST * usual) / (self._gaps + _TRUST))
        outcome = _outcome(old, new) if new else _GONE
        usual = self._kinds[_kind(old)][outcome] / {_ALIKE: 2.0, _OTHER: _OTHERS}.get(outcome, 1.0)
        return -math.log((self.counts.get((old, new), 0.0) + _TRUST * usual) / (self._of_letter[old] + _TRUST))

    def _path(self, old: Sequence[str], new: Sequence[str]) -> list[tuple[str, str]]:
        """Return the cheapest sequence of changes from one word to another."""
        costs, best = self._costs, [[0.0]]
        for b in new:
            best[0].append(best[0][-1] + costs["", b])
        for a in old:
            above, row = best[-1], [best[-1][0] + costs[a, ""]]
            for j, b in enumerate(new):
                row.append(min(above[j] + costs[a, b], above[j + 1] + costs[a, ""], row[j] + costs["", b]))
            best.append(row)
        path, i, j = [], len(old), len(new)
        while i or j:
            here = best[i][j]
            if i and j and here == best[i - 1][j - 1] + costs[old[i - 1], new[j - 1]]:
                i, j = i - 1, j - 1
                path.append((old[i], new[j]))
            elif i and here == best[i - 1][j] + costs[old[i - 1], ""]:
                i -= 1
                path.append((old[i], ""))
            else:
                j -= 1
                path.append(("", new[j]))
        return path

    def costs(self, forms: Sequence[str], words: Sequence[str], of_form: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the cost of changing the form of each word, `of_form`, into the word."""
        codes = _codes(forms), _codes(words)
        known, ids = np.unique(np.concatenate([side.values for side in codes]), return_inverse=True)
        olds = Ragged(ids[: len(codes[0].values)], codes[0].offsets)
        news = Ragged(ids[len(codes[0].values) :], codes[1].offsets)
        symbols, costs = [chr(code >> 1) * (1 + (code & 1)) for code in known.tolist()], self._costs
        change = np.array([[costs[old, new] for new in symbols] for old in symbols]).reshape(len(known), len(known))
        gone = np.array([costs[old, ""] for old in symbols])
        come = np.array([costs["", new] for new in symbols])
        found = np.empty(len(words))
        # Pairs of like length are compared together.
        order = np.lexsort((news.lengths, olds.lengths[of_form]))
        for start in range(0, len(order), _PAIRS):
            rows = order[start : start + _PAIRS]
            found[rows] = _compared(olds.take(of_form[rows]), news.take(rows), change, gone, come)
        return found


def code_points(words: Sequence[str]) -> Ragged[np.int32]:
    """Return the code points of words."""
    points = np.frombuffer("".join(words).encode("utf-32-le"), np.int32)
    return Ragged(points, np.concatenate([[0], np.cumsum([len(word) for word in words])]).astype(np.int64))


def _codes(words: Sequence[str]) -> Ragged[np.int64]:
    """Return the symbols of words as numbers: twice the code point, plus one if a letter follows its like."""
    letters = code_points(words)
    points, offsets = letters.values.astype(np.int64), letters.offsets
    again = np.zeros(len(points), np.int64)
    again[1:] = points[1:] == points[:-1]
    again[offsets[:-1][offsets[:-1] < len(points)]] = 0
    return Ragged(2 * points + again, offsets)


def _padded(rows: Ragged[np.int64]) -> NDArray[np.int64]:
    wide = np.zeros((len(rows), max(int(rows.lengths.max()), 1)), np.int64)
    wide[np.arange(wide.shape[1]) < rows.lengths[:, None]] = rows.values
    return wide


def _compared(
    olds: Ragged[np.int64],
    news: Ragged[np.int64],
    change: NDArray[np.float64],
    gone: NDArray[np.float64],
    come: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the edit distances of pairs: row by row of the table, for all pairs at once."""
    old, new = _padded(olds), _padded(news)
    inserted = np.concatenate([np.zeros((len(new), 1)), np.cumsum(come[new], axis=1)], axis=1)
    row, at = inserted.copy(), np.arange(len(old))
    found = row[at, news.lengths]
    for i in range(old.shape[1]):
        letter = old[:, i]
        below = row + gone[letter][:, None]
        np.minimum(below[:, 1:], row[:, :-1] + change[letter[:, None], new], out=below[:, 1:])
        # An insertion continues a row: the least of all places before, plus the cost from there.
        row = np.minimum.accumulate(below - inserted, axis=1) + inserted
        ends = olds.lengths == i + 1
        found[ends] = row[at, news.lengths][ends]
    return found


#: The base of the hashes, which is odd, and its inverse modulo 2^64.
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)


class SimilarWords:
    """Index of words by hashes of their skeletons, whole and with each letter deleted in turn.

    Two words match if their skeletons are the same, or one has a letter more, or each has one that the other has not:
    one letter replaced, or one deleted and one inserted.

    >>> near = SimilarWords(["hand", "hund", "hunde", "haus"])
    >>> of, words = near.find(["hannd", "hutd"])
    >>> [near.words[word] for word in words[of == 0]], [near.words[word] for word in words[of == 1]]
    (['hand', 'hund'], ['hund'])
    """

    def __init__(self, words: Sequence[str]):
        self.words = words
        hashes, of_word = _left_out([skeleton(word) for word in words])
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._of_word = hashes[order], of_word[order]

    def find(self, forms: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return pairs of forms and words that match, in order, each once."""
        hashes, of_form = _left_out([skeleton(form) for form in forms])
        begin = np.searchsorted(self._hashes, hashes)
        sizes = np.searchsorted(self._hashes, hashes, side="right") - begin
        firsts = np.cumsum(sizes) - sizes
        places = np.arange(sizes.sum()) - np.repeat(firsts - begin, sizes)
        pairs = np.unique(np.repeat(of_form, sizes) * len(self.words) + self._of_word[places])
        return pairs // max(len(self.words), 1), pairs % max(len(self.words), 1)


def _left_out(words: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return hashes of words, whole and with each letter deleted, and the word of each hash."""
    letters = code_points(words)
    points, lengths, starts = letters.values.astype(np.uint64), letters.lengths, letters.offsets[:-1]
    of_letter = np.repeat(np.arange(len(words)), lengths)
    place = np.arange(len(points)) - np.repeat(starts, lengths)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, _BASE, np.uint64))
    # A hash is the sum of letters times powers of the base by position; letters are scattered first.
    scattered = (points + np.uint64(1)) * np.uint64(0xD6E8FEB86659FD93)
    terms = (scattered ^ (scattered >> np.uint64(32))) * powers[place]
    until = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms)])
    before = until[:-1] - np.repeat(until[starts], lengths)
    behind = np.repeat(until[starts + lengths], lengths) - until[1:]
    whole = until[starts + lengths] - until[starts]
    without = before + behind * np.uint64(_INVERSE)
    return np.concatenate([whole, without]), np.concatenate([np.arange(len(words)), of_letter])
