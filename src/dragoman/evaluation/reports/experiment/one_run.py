"""A closer look at the best run of a method: the metric along each weight, and the ranks of candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runtime import Runtime
from dragoman.evaluation.experiments.plan import Method
from dragoman.evaluation.experiments.tuned import Tuned
from dragoman.evaluation.experiments.tuned_weights import TunedWeights
from dragoman.evaluation.figures.experiment_figures import rank_chart, weight_lines
from dragoman.evaluation.reports.experiment.sheets import Sheets
from dragoman.tuning.optimise.line_search import prepare
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Problem

Vector = NDArray[np.float64]

_MOST_CANDIDATES = 300
_POINTS = 400  # of a step function that a picture can show


def add_best_run(
    sheets: Sheets, method: Method, tuned: Tuned, looked_at: TunedWeights, *, runtime: Runtime = Runtime()
) -> None:
    """Draw what the optimiser saw, if all features are dense and the run kept it."""
    run = tuned.best_run(method)
    problem = looked_at.last_problem(method, run, runtime=runtime) if looked_at.all_dense else None
    if problem is None:
        return
    metric, weights = sheets.plan.metrics[0], looked_at.scaled(run.weights())
    sheets.page.heading(f"{method.name}: around its weights")
    lines = along_each_weight(problem, weights, tuned.sign, runtime=runtime)
    sheets.page.figure(
        weight_lines(looked_at.names, weights, lines, metric),
        f"{metric} of the tuning set as one weight changes and the others stay (the run with seed"
        f" {run.options['seed']}, all its candidates; exact). The upright line is the weight that was chosen.",
    )
    if not isinstance(problem, HypergraphProblem):
        steps = np.array([looked_at.scaled(run.weights(i)) for i in range(len(run.events()))])
        _add_ranks(sheets, problem, steps)


def along_each_weight(
    problem: Problem | HypergraphProblem, weights: Vector, sign: int, *, runtime: Runtime = Runtime()
) -> list[tuple[Vector, Vector]]:
    """For each weight, values around it and the metric there, the others being as they are.

    Exact: the scores come from the upper envelopes of all candidates.
    """
    point = prepare(problem, runtime=runtime).at(weights)
    reach = float(np.abs(weights).max())
    steps = np.linspace(-reach, reach, _POINTS)
    found = []
    for weight, axis in zip(weights.tolist(), np.eye(len(weights)), strict=True):
        line = point.line(axis)
        found.append((weight + steps, sign * line.scores[np.searchsorted(line.breaks, steps, "right")]))
    return found


def _add_ranks(sheets: Sheets, problem: Problem, steps: Vector) -> None:
    sentence = _liveliest(problem, steps)
    rows = np.arange(problem.sentences[sentence], problem.sentences[sentence + 1])
    scores = problem.scorer.sentence_scores(problem.statistics[rows])
    ranks = _ranks(problem.dense[rows] @ steps.T)
    # Those that were ever near the top.
    shown = np.sort(np.argsort(ranks.min(axis=1), kind="stable")[:_MOST_CANDIDATES])
    sheets.page.figure(
        rank_chart(ranks[shown], scores[shown]),
        f"The candidates of sentence {sentence + 1} of the tuning set, ranked by the weights of each iteration;"
        " good ones should rise. It is the sentence whose translation changed most often.",
    )


def _liveliest(problem: Problem, steps: Vector) -> int:
    """The sentence whose best candidate changes most often, of those with a middling number of candidates."""
    best = np.stack([problem.best(weights) for weights in steps])
    changes = (np.diff(best, axis=0) != 0).sum(axis=0) if len(best) > 1 else np.zeros(best.shape[1])
    sizes = np.diff(problem.sentences)
    return int(np.argmax(changes - 1e-3 * np.abs(sizes - np.median(sizes)) / sizes.max()))


def _ranks(scores: Vector) -> NDArray[np.int64]:
    """The rank, from 1, of each row within each column.

    >>> _ranks(np.array([[0.5, 2.0], [1.5, 1.0]])).tolist()
    [[2, 1], [1, 2]]
    """
    return np.argsort(np.argsort(-scores, axis=0, kind="stable"), axis=0, kind="stable") + 1
