"""A toy metric like BLEU, random problems with many ties, and local unimodal sampling one sample at a time."""

import numpy as np

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.runtime import Runtime
from dragoman.metrics.bleu import smooth_bleu
from dragoman.metrics.metric import Scorer
from dragoman.tuning.problems.problem import Problem
from oracles.counted_bleu import CountedBleu


class SmoothBleu(CountedBleu):
    """BLEU with a smooth version; kernels are not told that it is BLEU."""

    bleu_columns = None

    def smooth_score(self, statistics):
        bleu = smooth_bleu(statistics[:2], statistics[2:4], statistics[4], statistics[5])
        lengths = [bleu.by_hypothesis_length, bleu.by_reference_length]
        return bleu.score, np.concatenate([bleu.by_matches, bleu.by_totals, lengths])


class MeanScore(Scorer):
    """One number a sentence, as an external metric gives; the score is a ratio of sums."""

    def statistics(self, hypotheses, sentences=None, *, runtime=Runtime()):
        raise NotImplementedError

    def score(self, statistics):
        return statistics[..., 0] / statistics[..., 1]

    def sentence_scores(self, statistics):
        return self.score(statistics)


def random_problem(seed, sentences=12, most=9, features=4, digits=1, copies=0.2, sparse=False, whole=True, sign=1):
    """Few digits give candidates with equal scores, and copies are put in; sparse rows repeat features out of order."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, most + 1, sentences)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    rows = bounds[-1]
    matrix = np.round(rng.normal(0, 1, (rows, features)), digits)
    for h in np.flatnonzero(rng.random(rows) < copies):
        matrix[h] = matrix[rng.integers(bounds[np.searchsorted(bounds, h, "right") - 1], h + 1)]
    table = FeatureRows.from_dense([f"f{i}" for i in range(features)], matrix)
    if sparse:
        lengths = rng.integers(0, 2 * features, rows)
        ids = rng.integers(0, features, lengths.sum()).astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        table = FeatureRows(table.names, offsets, ids, np.round(rng.normal(0, 1, len(ids)), digits))
    length = rng.integers(6, 12, rows)
    references = np.repeat(rng.integers(6, 12, sentences), counts)
    matches = rng.binomial(length, 0.6)
    statistics = np.stack([matches, rng.binomial(matches, 0.5), length, length - 1, length, references], axis=1)
    scorer = SmoothBleu()
    if not whole:
        statistics, scorer = np.stack([rng.random(rows), np.ones(rows)], axis=1), MeanScore()
    return Problem(bounds, table, statistics.astype(float), scorer, np.tile([-1.0, 1.0], (features, 1)), sign)


def sample_one_by_one(problem, weights, samples, alpha, rng):
    """Local unimodal sampling as it is printed."""
    q = 2 ** (-alpha / len(weights))
    best = problem.objective(weights)
    d = problem.ranges[:, 1] - problem.ranges[:, 0]
    for _ in range(samples):
        tried = weights + d * rng.uniform(-1, 1, len(weights))
        if problem.objective(tried) > best:
            weights, best = tried, problem.objective(tried)
        else:
            d = q * d
    return weights, best
