"""Random tuning problems, a metric like BLEU, and line searches by trying every piece."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import Scorer
from dragoman.tuning.problems.problem import Problem


class ToyBleu(Scorer):
    """100 times the geometric mean of unigram and bigram precision, from [match 1, match 2, total 1, total 2]."""

    def __init__(self, references: list[list[int]] | None = None):
        self.references = references or []

    def statistics(
        self, hypotheses: Corpus, sentences: NDArray[np.int64] | None = None, *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        numbers = range(len(hypotheses)) if sentences is None else sentences.tolist()
        rows = []
        for words, number in zip(hypotheses.sentences, numbers, strict=True):
            counts = [[_ngrams(text, n) for n in (1, 2)] for text in (words.tolist(), self.references[number])]
            matches = [sum((ours & theirs).values()) for ours, theirs in zip(*counts, strict=True)]
            rows.append([*matches, *(sum(ours.values()) for ours in counts[0])])
        return np.array(rows, np.float64)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        matches, totals = statistics[..., :2], np.maximum(1, statistics[..., 2:])
        return 100 * np.sqrt((matches / totals).prod(axis=-1))

    def sentence_scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.score(statistics)


def _ngrams(words: list[int], n: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def random_problem(rng: np.random.Generator, sentences: int, features: int, most: int = 12) -> Problem:
    """Lists of 1 to `most` candidates, some of them repeated, half of the problems with few different values."""
    counts = rng.integers(1, most + 1, sentences)
    rows = int(counts.sum())
    matrix = rng.integers(-3, 4, (rows, features)) / 2 if rng.random() < 0.5 else rng.normal(size=(rows, features))
    copies = rng.random(rows) < 0.2
    matrix[copies] = matrix[np.maximum(0, np.flatnonzero(copies) - 1)]
    totals = rng.integers(1, 12, (rows, 2))
    return Problem(
        sentences=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        features=FeatureRows.from_dense([f"f{i}" for i in range(features)], matrix),
        statistics=np.hstack([rng.integers(0, totals + 1), totals]).astype(np.float64),
        scorer=ToyBleu(),
        ranges=np.tile([-1.0, 1.0], (features, 1)),
        sign=int(rng.choice([1, -1])),
    )


def crossings(problem: Problem, weights: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every t where two candidates of a sentence score the same: all breaks, and many more."""
    features = problem.features.dense()
    found = [np.empty(0)]
    for begin, end in zip(problem.sentences[:-1], problem.sentences[1:], strict=True):
        a, b = features[begin:end] @ weights, features[begin:end] @ direction
        rise, fall = np.subtract.outer(b, b), -np.subtract.outer(a, a)
        found.append((fall[rise > 0] / rise[rise > 0]).ravel())
    return np.unique(np.concatenate(found))
