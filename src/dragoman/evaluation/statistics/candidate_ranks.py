"""Ranks of one sentence's candidates under the weights of a run's iterations, with their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.evaluation.statistics.run_evidence import RunEvidence
from dragoman.tuning.problems.evidence import DecodedLists
from dragoman.tuning.problems.problem import Problem

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CandidateRanks:
    """The distinct strings of a sentence's merged n-best lists (Schuth 2010, tables 7.8 to 7.11).

    String `i` has the sentence-level metric `scores[i]`, and under the weights after iteration `iterations[j]` (0: the
    initial ones) the model score `model_scores[i, j]`, that of its best derivation, and the rank `ranks[i, j]` from 1
    among all strings. Weights are scaled so that the absolute values of the tuned ones sum to 1.
    """

    sentence: int
    iterations: tuple[int, ...]
    texts: list[str]
    scores: Vector
    model_scores: Vector
    ranks: NDArray[np.int64]
    sign: int = 1

    def top(self, limit: int) -> CandidateRanks:
        """Return the strings that were nearest to the top at some iteration and the best by the metric, by final rank.

        At most `limit` of them.
        """
        best = int(np.argmax(self.sign * self.scores))
        nearest = np.argsort(self.ranks.min(axis=1), kind="stable")
        kept = np.concatenate([[best], nearest[nearest != best]])[:limit]
        kept = kept[np.argsort(self.ranks[kept, -1], kind="stable")]
        return CandidateRanks(
            self.sentence,
            self.iterations,
            [self.texts[i] for i in kept.tolist()],
            self.scores[kept],
            self.model_scores[kept],
            self.ranks[kept],
            self.sign,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists, for JSON."""
        return {
            "sentence": self.sentence,
            "iterations": list(self.iterations),
            "candidates": [
                {"text": text, "score": score, "model_scores": models, "ranks": ranks}
                for text, score, models, ranks in zip(
                    self.texts, self.scores.tolist(), self.model_scores.tolist(), self.ranks.tolist(), strict=True
                )
            ],
        }

    def table(self, metric: str) -> tuple[list[str], list[tuple[object, ...]]]:
        """Return columns and rows: texts, the rank at each iteration, the final model score and the metric."""
        columns = ["candidate", *(f"rank {i}" for i in self.iterations), "final model score", f"sentence {metric}"]
        rows: list[tuple[object, ...]] = [
            (text, *ranks, f"{models[-1]:.4f}", f"{score:.2f}")
            for text, ranks, models, score in zip(
                self.texts, self.ranks.tolist(), self.model_scores.tolist(), self.scores.tolist(), strict=True
            )
        ]
        return columns, rows


def candidate_ranks(
    evidence: RunEvidence, sentence: int | None = None, iterations: Sequence[int] | None = None
) -> CandidateRanks:
    """Rank a sentence's candidates under the weights after some iterations; by default all, and 0 for the initial ones.

    Sentences count from 1. The default is the sentence whose translation changes most often.
    """
    problem, pool, run = evidence.problem, evidence.pool, evidence.run
    if not (isinstance(problem, Problem) and isinstance(pool, DecodedLists)):
        raise UsageError(f"{run.folder}: has hypergraphs, whose derivations cannot be listed; expected n-best lists")
    last = len(run.events())
    chosen = tuple(range(last + 1)) if iterations is None else tuple(iterations)
    wrong = [iteration for iteration in chosen if not 0 <= iteration <= last]
    if wrong or not chosen:
        raise UsageError(f"there is no iteration {', '.join(map(str, wrong))}; expected some of 0 to {last}")
    steps = np.array([evidence.vector(run.weights(iteration)) for iteration in chosen])
    hypotheses = pool.nbest.hypotheses
    strings, _, _ = kernels.intern_sequences(hypotheses.values, hypotheses.offsets)
    if sentence is None:
        sentence = most_changed_sentence(problem, strings, steps) + 1
    if not 1 <= sentence <= len(pool):
        raise UsageError(f"there is no sentence {sentence}; expected one of 1 to {len(pool)}")
    rows = np.arange(problem.sentences[sentence - 1], problem.sentences[sentence])
    _, first, numbers = np.unique(strings[rows], return_index=True, return_inverse=True)
    models = np.full((len(first), len(chosen)), -np.inf)
    for column, weights in enumerate(steps):
        np.maximum.at(models[:, column], numbers, problem.model_scores(weights)[rows])
    scores = problem.scorer.sentence_scores(problem.statistics[rows[first]])
    return CandidateRanks(
        sentence,
        chosen,
        Corpus(pool.nbest.vocab, hypotheses.take(rows[first])).lines(),
        np.asarray(scores, np.float64),
        models,
        ranks_of(models),
        problem.sign,
    )


def most_changed_sentence(problem: Problem, strings: NDArray[np.integer], steps: Vector) -> int:
    """Return the sentence whose best string changes most often, the one with the most distinct strings among equals.

    `strings` numbers the strings of all candidates.
    """
    best = strings[np.stack([problem.best(weights) for weights in steps])]
    changes = (np.diff(best, axis=0) != 0).sum(axis=0)
    sentence = np.repeat(np.arange(len(changes)), np.diff(problem.sentences))
    distinct = np.unique(np.stack([sentence, strings]), axis=1)[0]
    return int(np.lexsort((np.bincount(distinct), changes))[-1])


def ranks_of(scores: Vector) -> NDArray[np.int64]:
    """Return the rank, from 1, of each row within each column.

    >>> ranks_of(np.array([[0.5, 2.0], [1.5, 1.0]])).tolist()
    [[2, 1], [1, 2]]
    """
    return np.argsort(np.argsort(-scores, axis=0, kind="stable"), axis=0, kind="stable") + 1
