"""Slow twins of MIRA, its dual, and the sampling of pairs; two small metrics; random problems."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dragoman.core.feature_rows import FeatureRows
from dragoman.metrics.metric import Scorer
from dragoman.tuning.problems.problem import Problem
from oracles.counted_bleu import CountedBleu

MASK = 2**64 - 1


class SlowBleu(CountedBleu):
    """BLEU, but kernels are not told that it is."""

    bleu_columns = None


class ErrorRate(CountedBleu):
    """Errors for each word of the reference: [errors, length]."""

    bleu_columns = None

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        return 100 * statistics[..., 0] / statistics[..., 1]

    def sentence_scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.score(statistics)


def bleu_statistics(rng: np.random.Generator, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Counts as of hypotheses that are about as long as their references."""
    references = np.repeat(rng.integers(4, 12, len(sizes)), sizes)
    lengths = np.maximum(1, references + rng.integers(-2, 3, len(references)))
    matches = rng.integers(0, np.minimum(lengths, references) + 1)
    pairs = rng.integers(0, np.maximum(matches, 1))
    return np.column_stack([matches, pairs, lengths, lengths - 1, lengths, references]).astype(np.float64)


def random_problem(
    rng: np.random.Generator,
    sentences: int = 12,
    candidates: int = 8,
    features: int = 4,
    scorer: Scorer | None = None,
    density: float = 0.7,
) -> Problem:
    sizes = rng.integers(1, candidates + 1, sentences)
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    scorer = CountedBleu() if scorer is None else scorer
    statistics = bleu_statistics(rng, sizes)
    if isinstance(scorer, ErrorRate):
        statistics = np.column_stack([rng.integers(0, 9, len(statistics)), statistics[:, 5]])
    # Rows with repeated features (which count as their sum) and rows without any.
    lengths = rng.binomial(features, density, bounds[-1])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = rng.integers(0, features, offsets[-1]).astype(np.int32)
    rows = FeatureRows(tuple(f"f{i}" for i in range(features)), offsets, ids, rng.normal(size=offsets[-1]))
    sign = -1 if isinstance(scorer, ErrorRate) else 1
    return Problem(bounds, rows, statistics, scorer, np.tile([-1.0, 1.0], (features, 1)), sign)


def separable_problem(rng: np.random.Generator, scorer: Scorer, sentences: int = 30, features: int = 5) -> Problem:
    """A hidden weight vector ranks the candidates of each sentence exactly as their quality does."""
    hidden = rng.normal(size=features)
    matrix = rng.normal(size=(sentences * 6, features))
    quality = (matrix @ hidden).reshape(sentences, 6).argsort(axis=1).argsort(axis=1).ravel()
    if isinstance(scorer, ErrorRate):
        statistics = np.column_stack([5.0 - quality, np.full(len(quality), 10.0)])
    else:
        ten = np.full(len(quality), 10.0)
        statistics = np.column_stack([quality + 4.0, quality + 1.0, ten, ten - 1, ten, ten])
    names = [f"f{i}" for i in range(features)]
    bounds = np.arange(0, len(matrix) + 1, 6).astype(np.int64)
    sign = -1 if isinstance(scorer, ErrorRate) else 1
    ranges = np.tile([-1.0, 1.0], (features, 1))
    return Problem(bounds, FeatureRows.from_dense(names, matrix), statistics, scorer, ranges, sign)


def oracle_objective(problem: Problem) -> float:
    """The objective where each sentence gets the candidate with the best sentence score."""
    scores = problem.sign * problem.scorer.sentence_scores(problem.statistics)
    bounds = problem.sentences.tolist()
    rows = [a + int(scores[a:b].argmax()) for a, b in itertools.pairwise(bounds)]
    return problem.sign * float(problem.scorer.score(problem.statistics[rows].sum(axis=0)))


def kbest_mira(
    problem: Problem, start: NDArray[np.float64], orders: list[list[int]], C: float, decay: float
) -> list[NDArray[np.float64]]:
    """The averaged weights after each epoch, for BLEU, with the weights of each sentence kept and averaged naively."""
    dense = problem.features.dense()
    columns = problem.scorer.bleu_columns
    assert columns is not None
    n = len(columns) // 2 - 1
    document, size = np.zeros(problem.statistics.shape[1]), float(n)
    document[columns] = [*range(n, 0, -1), *range(n, 0, -1), n, n]
    weights, seen, averages = start.copy(), [], []
    for order in orders:
        for s in order:
            rows = np.arange(problem.sentences[s], problem.sentences[s + 1])
            length = problem.statistics[rows, columns[-1]].mean()
            gains = (size + length) * problem.scorer.score(document + problem.statistics[rows]) / 100
            scores = dense[rows] @ weights
            hope, fear = int((scores + gains).argmax()), int((scores - gains).argmax())
            cost = gains[hope] - gains[fear]
            if cost > 0:
                change = dense[rows[hope]] - dense[rows[fear]]
                loss = cost - change @ weights
                if loss > 0 and change @ change > 0:
                    weights = weights + min(C, loss / (change @ change)) * change
                document, size = decay * document + problem.statistics[rows[hope]], decay * size + length
            seen.append(weights)
        averages.append(np.mean(seen, axis=0))
    return averages


def mira_primal(
    weights: NDArray[np.float64], old: NDArray[np.float64], examples: list[tuple[NDArray, NDArray]], C: float
) -> float:
    """Chiang et al. (2008), equation 1; an example is Δh (one row a hypothesis) and the losses."""
    hinge = sum(float((losses - changes @ weights).max()) for changes, losses in examples)
    return float((weights - old) @ (weights - old)) / 2 + C * hinge


def solve_mira(old: NDArray[np.float64], examples: list[tuple[NDArray, NDArray]], C: float) -> NDArray[np.float64]:
    """The weights that minimise equation 1, by a general solver: minimise over weights and one slack a sentence."""
    m, n = len(old), len(examples)
    slacks = np.repeat(np.eye(n), [len(losses) for _, losses in examples], axis=0)
    matrix = np.column_stack([np.concatenate([changes for changes, _ in examples]), slacks])
    losses = np.concatenate([losses for _, losses in examples])
    slack = np.array([float((losses - changes @ old).max()) for changes, losses in examples])
    found = minimize(
        lambda x: (((x[:m] - old) ** 2).sum() / 2 + C * x[m:].sum(), np.concatenate([x[:m] - old, np.full(n, C)])),
        np.concatenate([old, slack]),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: matrix @ x - losses, "jac": lambda x: matrix},
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    return found.x[:m]


def chosen_hypotheses(scores: NDArray[np.float64], gains: NDArray[np.float64], wanted: int) -> list[int]:
    """The best by hope, by the model, by fear; the first is the oracle."""
    chosen: list[int] = []
    for values in (scores + gains, scores, scores - gains):
        chosen += [i for i in np.argsort(-values, kind="stable")[:wanted].tolist() if i not in chosen]
    return chosen


def mix(x: int) -> int:
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def sample_pairs(
    sentences: list[int], scores: list[float], draws: int, keep: int, threshold: float, largest: bool, seed: int
) -> list[tuple[int, int]]:
    step = 0x9E3779B97F4A7C15
    pairs = []
    for s in range(len(sentences) - 1):
        begin, size = sentences[s], sentences[s + 1] - sentences[s]
        state = mix((mix((seed + step) & MASK) + (s + 1) * step) & MASK)
        drawn, seen = [], set()
        for draw in range(draws):
            state = (state + step) & MASK
            random = mix(state)
            a, b = begin + ((random >> 32) * size >> 32), begin + ((random & 0xFFFFFFFF) * size >> 32)
            difference = scores[a] - scores[b]
            pair = (a, b) if difference > 0 else (b, a)
            if math.fabs(difference) > threshold and pair not in seen:
                seen.add(pair)
                drawn.append((-math.fabs(difference), draw, pair))
        pairs += [pair for _, _, pair in (sorted(drawn) if largest else drawn)[:keep]]
    return pairs
