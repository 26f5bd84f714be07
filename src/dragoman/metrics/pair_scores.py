"""Calls of a utility: equal pairs are scored once, in batches, with a cache on disk and a count of the calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.display import shorten
from dragoman.core.errors import DataError, UsageError
from dragoman.metrics.score_cache import ScoreCache, score_key
from dragoman.metrics.utility import Utility, needs_reference, needs_source, utility_signature

Vector = NDArray[np.float64]

#: Pairs that are scored, and stored in the cache, at a time.
_PAIRS_AT_A_TIME = 4096


class PairScorer:
    """A utility with a memory. `calls` counts the pairs that the utility itself was asked for.

    Scores are kept in memory until `forget` is called, and in `cache` if the utility has a signature.
    """

    def __init__(self, utility: Utility, cache: ScoreCache | None = None):
        self.utility = utility
        self.calls = 0
        self._signature = utility_signature(utility)
        self._cache = cache if self._signature is not None else None
        self._memory: dict[tuple[str, str, str], float] = {}

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> Vector:
        """Return the score of each hypothesis; pairs that are known are not scored again."""
        if needs_source(self.utility) and "" in sources:
            raise DataError("the utility needs source texts, and a sentence has none", expected="lists with sources")
        if not needs_reference(self.utility):
            references = [""] * len(hypotheses)
        pairs = [*zip(hypotheses, references, sources, strict=True)]
        unknown = [pair for pair in dict.fromkeys(pairs) if pair not in self._memory]
        for begin in range(0, len(unknown), _PAIRS_AT_A_TIME):
            self._find(unknown[begin : begin + _PAIRS_AT_A_TIME])
        return np.array([self._memory[pair] for pair in pairs], np.float64)

    def forget(self) -> None:
        """Forget the scores in memory, which do not matter to another sentence."""
        self._memory.clear()

    def _find(self, pairs: Sequence[tuple[str, str, str]]) -> None:
        keys: list[bytes] = []
        scores = np.full(len(pairs), np.nan)
        if self._cache is not None:
            keys = [score_key(str(self._signature), *pair) for pair in pairs]
            scores = self._cache.find(keys)
        new = np.flatnonzero(np.isnan(scores))
        if len(new):
            scores[new] = self._call([pairs[i] for i in new.tolist()])
            if self._cache is not None:
                self._cache.add([keys[i] for i in new.tolist()], scores[new])
        self._memory.update(zip(pairs, scores.tolist(), strict=True))

    def _call(self, pairs: Sequence[tuple[str, str, str]]) -> Vector:
        found = np.asarray(self.utility.score(*map(list, zip(*pairs, strict=True))), np.float64)
        self.calls += len(pairs)
        if found.shape != (len(pairs),):
            raise UsageError(f"the utility gave {found.size} numbers for {len(pairs)} pairs; expected one for each")
        wrong = np.flatnonzero(~np.isfinite(found))
        if len(wrong):
            text = shorten(pairs[int(wrong[0])][0])
            raise UsageError(f"the utility gave {found[wrong[0]]:g} for '{text}'; expected a finite number")
        return found
