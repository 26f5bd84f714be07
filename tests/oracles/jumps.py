"""SampleRank's jumps by their definition: candidates as mappings and words, everything scored from scratch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.nbest import NBest
from oracles.samplerank import bleu, closed_form, difference, score


@dataclass(frozen=True)
class Candidate:
    """A translation with its features."""

    words: tuple[str, ...]
    features: dict[str, float]


def pooled(lists: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """The candidates of several lists of one sentence, without those whose features came before."""
    found: dict[tuple[tuple[str, float], ...], Candidate] = {}
    for candidate in (one for part in lists for one in part):
        key = tuple(sorted((name, value) for name, value in candidate.features.items() if value))
        found.setdefault(key, candidate)
    return [*found.values()]


def nbest_of(lists: Sequence[Sequence[Candidate]], names: Sequence[str]) -> NBest:
    """Candidates as lists of a decoder."""
    flat = [one for part in lists for one in part]
    corpus = Corpus.from_lines([" ".join(one.words) for one in flat])
    matrix = np.array([[one.features.get(name, 0.0) for name in names] for one in flat]).reshape(len(flat), len(names))
    return NBest(
        vocab=corpus.vocab,
        sentences=np.cumsum([0, *map(len, lists)]),
        hypotheses=corpus.sentences,
        scores=np.zeros(len(flat)),
        features=FeatureRows.from_dense(names, matrix),
    )


class Jumping:
    """A chain in pools, with references of each sentence; gains are points of BLEU of the batch."""

    def __init__(self, pools, references, weights, learnt, steps):
        self.pools, self.references, self.steps = pools, references, steps
        self.weights, self.learnt = dict(weights), learnt
        self.after: list[dict[str, float]] = []
        self.updates = self.clipped = 0

    def value(self, translations: dict[int, tuple[str, ...]]) -> float:
        """BLEU of the batch."""
        batch = sorted(translations)
        words = [translations[s] for s in batch]
        return 100 * bleu(words, [[self.references[s]] for s in batch], self.steps.smoothing)

    def batch(self, order: Sequence[int], first: dict[int, int]) -> dict[int, int]:
        """Visit sentences in an order, from given rows of pools; returns the rows at the end."""
        at = dict(first)
        for sentence in order:
            pool, held = self.pools[sentence], {s: self.pools[s][row].words for s, row in at.items()}
            scores = [score(one.features, self.weights) for one in pool]
            gains = [self.steps.scale * self.value({**held, sentence: one.words}) for one in pool]
            rows = range(len(pool))
            hope = max(rows, key=lambda r: scores[r] + gains[r])
            if self.steps.better == "gain":
                hope = max(rows, key=lambda r: (round(gains[r], 9), scores[r]))
            best = max(rows, key=lambda r: scores[r])
            fear = max(rows, key=lambda r: scores[r] - gains[r]) if self.steps.worse in (None, "fear") else best
            ahead, gap = scores[hope] - scores[fear], gains[hope] - gains[fear]
            wrong = ahead < 0 if self.steps.violation == "order" else gap > ahead
            if gap > 1e-9 and wrong:
                vector = difference(pool[hope].features, pool[fear].features, self.learnt)
                step = closed_form(vector, gap - ahead, self.steps.jump_aggressiveness)
                for name, value in vector.items():
                    self.weights[name] = self.weights.get(name, 0.0) + step * value
                self.updates += 1
                self.clipped += math.isclose(step, self.steps.jump_aggressiveness)
            self.after.append(dict(self.weights))
            at[sentence] = best
        return at

    def total(self, names: Sequence[str]) -> np.ndarray:
        """The sum of the weights after each step."""
        return np.sum([[weights.get(name, 0.0) for name in names] for weights in self.after], axis=0)
