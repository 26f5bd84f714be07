"""Expected gains by enumeration: sentences with a few translations each, and every corpus that they can make."""

from __future__ import annotations

import itertools

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.tuning.problems.sample_statistics import SampleStatistics

WORDS = [f"w{i}" for i in range(8)]
NAMES = ["a", "b", "c"]


class TinyCorpus:
    """Some sentences, each with translations that have features; all that depends on weights is enumerated."""

    def __init__(self, metric, rng, sentences=3, translations=4):
        references = [rng.choice(WORDS, 7) for _ in range(sentences)]
        texts = []
        for reference in references:
            for _ in range(translations):
                words = reference.copy()
                wrong = rng.random(7) < 0.3
                words[wrong] = rng.choice(WORDS, wrong.sum())
                texts.append(" ".join(words[: rng.integers(5, 8)]))
        self.bounds = np.arange(sentences + 1) * translations
        self.features = rng.normal(size=(len(texts), len(NAMES)))
        self.scorer = metric.scorer([Corpus.from_lines([" ".join(words) for words in references])])
        owners = np.repeat(np.arange(sentences), translations)
        self.statistics = np.asarray(self.scorer.statistics(Corpus.from_lines(texts), owners), float)
        self.sign = 1 if metric.higher_is_better else -1

    def probabilities(self, weights):
        scores = np.exp((self.features @ weights).reshape(len(self.bounds) - 1, -1))
        return scores / scores.sum(axis=1, keepdims=True)

    def entropy(self, weights):
        """The mean over sentences."""
        p = self.probabilities(weights)
        return float(-(p * np.log(p)).sum(axis=1).mean())

    def sentence_gain(self, weights):
        """The mean over sentences of their expected gain."""
        gains = self.sign * self.scorer.sentence_scores(self.statistics) / 100
        return float((self.probabilities(weights).ravel() * gains).sum() / (len(self.bounds) - 1))

    def corpus_gain(self, weights):
        """The expected gain over all corpora."""
        p = self.probabilities(weights)
        total = 0.0
        for choice in itertools.product(range(p.shape[1]), repeat=p.shape[0]):
            rows = self.bounds[:-1] + np.array(choice)
            probability = np.prod([p[s, i] for s, i in enumerate(choice)])
            total += probability * self.sign * float(self.scorer.score(self.statistics[rows].sum(axis=0))) / 100
        return total

    def gradient(self, objective, weights, step=1e-5):
        """By central differences."""
        return np.array(
            [
                (objective(weights + step * unit) - objective(weights - step * unit)) / (2 * step)
                for unit in np.eye(len(weights))
            ]
        )

    def draw(self, weights, samples, rng):
        """Independent samples, as a chain would have collected them."""
        p = self.probabilities(weights)
        counts = np.concatenate([rng.multinomial(samples, row) for row in p])
        kept = np.flatnonzero(counts)
        bounds = np.searchsorted(kept, self.bounds)
        return SampleStatistics(
            bounds=bounds.astype(np.int64),
            counts=counts[kept],
            scores=self.features[kept] @ weights,
            features=FeatureRows.from_dense(NAMES, self.features[kept]),
            statistics=self.statistics[kept],
        )
