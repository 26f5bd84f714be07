"""SVM-Rank: a support vector machine ranks the best candidates (Schuth 2010)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import require_package
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import Optimum, Tuner
from dragoman.tuning.problems.problem import Problem, differences
from dragoman.tuning.problems.pseudo_document import Gains

#: Tolerance of margins, as in SVM-light, which Schuth used.
TOLERANCE = 1e-3


@dataclass(frozen=True)
class SvmRank(Tuner):
    """SVM-Rank: A. Schuth, Tuning Methods in Statistical Machine Translation (2010), section 6.2, after Joachims.

    Sorts the candidates of each sentence by their score within a pseudo-document, and takes the pairs of each of the
    first three with 30 of those behind it: evenly spread over the list, or (`selection = next`) the 30 that follow, as
    the thesis does. With `selection = mira`, which the thesis suggests (section 8.2), candidates are those of MIRA: the
    ten best by the model, by hope and by fear (its equation 4.5), each paired with the first three by hope; where two
    have equal scores, there is no pair. Both signs of the difference of their features are examples for a linear
    support vector machine without bias, so that the weights minimise

        |w|² / 2 + C Σ over pairs of 2 max(0, 1 - w·(h(better) - h(worse)))                (equation 6.11)

    The objective is minus that. Solved by liblinear, whose coordinate descent is linear in the feature values of the
    pairs; there may be any number of features. The weights before matter only through the pseudo-document, which the
    translations under them make up, one after the other, and through the choice of MIRA's candidates. Pairs with equal
    scores are left out (relation 6.9).

    Departures: candidates are spread over the list by default, because pairs of the best with the next best say nothing
    about bad candidates, and nothing brings weights back that rank those first (see `benchmarks/RESULTS.md`; the thesis
    itself doubts its choice in section 8.2). liblinear is in the place of SVM-light, with the same tolerance.

    Needs scikit-learn: `pip install 'dragoman[svm]'`.
    """

    name = "svm-rank"

    C: float = option(0.04, "weight of the loss relative to the regulariser", minimum=1e-12)
    decay: float = option(0.9, "factor by which the pseudo-document decays after each sentence", minimum=0, maximum=1)
    best: int = option(3, "candidates of each sentence that are compared with others", minimum=1)
    followers: int = option(30, "candidates that each of them is compared with", minimum=1)
    selection: Literal["spread", "next", "mira"] = option(
        "spread",
        "spread these over the list, take the next best, or a third each of the best by the model, by hope and by fear",
    )
    max_iterations: int = option(100_000, "maximum passes of the solver over the pairs", minimum=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_package("sklearn", "scikit-learn", extra="svm", purpose="the method svm-rank")

    def improve(
        self, problem: Problem, start: NDArray[np.float64], rng: np.random.Generator, runtime: Runtime
    ) -> Optimum:
        """Sort the candidates and learn to rank them."""
        gains = pseudo_document_gains(problem, start, self.decay)
        if self.selection == "mira":
            scores = problem.model_scores(start)
            better, worse = mira_pairs(problem.sentences, gains, scores, self.best, -(-self.followers // 3))
        else:
            better, worse = ranked_pairs(
                problem.sentences, gains, self.best, self.followers, spread=self.selection == "spread"
            )
        if not len(better):
            runtime.warn("all candidates of each sentence have the same score: weights stay as they are")
            return Optimum(start, -float(start @ start) / 2)
        seed = int(rng.integers(2**31))
        with runtime.stage("ranking pairs"):
            weights, loss = self._separate(problem, better, worse, seed, runtime)
        return Optimum(weights, -loss)

    def _separate(
        self, problem: Problem, better: NDArray[np.int64], worse: NDArray[np.int64], seed: int, runtime: Runtime
    ) -> tuple[NDArray[np.float64], float]:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        pairs = differences(problem, better, worse)
        # A pair and its mirror image have the same loss: one of them is enough, at twice the price. Every other pair is
        # mirrored, because a classifier wants two classes; a single pair needs both.
        if len(better) > 1:
            price, signs = 2 * self.C, np.where(np.arange(len(better)) % 2, -1.0, 1.0)
            examples = pairs.multiply(signs[:, None]).tocsr()
        else:
            price, signs = self.C, np.array([1.0, -1.0])
            examples = differences(problem, np.concatenate([better, worse]), np.concatenate([worse, better]))
        machine = LinearSVC(
            loss="hinge",
            dual=True,
            fit_intercept=False,
            C=price,
            tol=TOLERANCE,
            max_iter=self.max_iterations,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(examples, signs)
        if machine.n_iter_ >= self.max_iterations:
            runtime.warn(f"the support vector machine did not converge in {self.max_iterations:,} iterations")
        weights: NDArray[np.float64] = machine.coef_[0].astype(np.float64)
        hinge = np.maximum(0.0, 1 - pairs @ weights).sum()
        return weights, float(weights @ weights / 2 + 2 * self.C * hinge)


def pseudo_document_gains(problem: Problem, weights: NDArray[np.float64], decay: float) -> NDArray[np.float64]:
    """Return B of each candidate where the sentences before it were translated with some weights, in their order."""
    gains = Gains.of(problem)
    translations = gains.statistics[gains.kinds[problem.best(weights)]]
    documents = kernels.decayed_sums(translations, gains.begin(weights, decay), decay, decay)[:-1]
    return gains.within(np.repeat(documents, np.diff(gains.kind_offsets), axis=0))[gains.kinds]


def ranked_pairs(
    sentences: NDArray[np.int64], gains: NDArray[np.float64], best: int, followers: int, *, spread: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return better and worse rows: in each sentence, each of the first `best` with `followers` behind it.

    Those are the next ones, or if `spread`, at even distances to the end of the list, the last among them.

    >>> better, worse = ranked_pairs(np.array([0, 3]), np.array([1.0, 5.0, 2.0]), best=2, followers=1)
    >>> better.tolist(), worse.tolist()
    ([1, 2], [2, 0])
    """
    sizes = np.diff(sentences)
    order = np.lexsort((-gains, np.repeat(np.arange(len(sizes)), sizes)))
    first = np.tile(np.repeat(np.arange(best), followers), (len(sizes), 1))
    step = np.tile(np.arange(1, followers + 1), (len(sizes), best))
    behind = sizes[:, None] - 1 - first
    there = step <= behind
    if spread:
        step = np.where(behind > followers, -(-step * behind // followers), step)
    second = first + step
    better = order[(sentences[:-1, None] + first)[there]]
    worse = order[(sentences[:-1, None] + second)[there]]
    differ = gains[better] > gains[worse]
    return better[differ], worse[differ]


def mira_pairs(
    sentences: NDArray[np.int64], gains: NDArray[np.float64], scores: NDArray[np.float64], best: int, each: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return better and worse rows: the first `best` by hope with the `each` best by the model, by hope and by fear.

    Hope is score + gain, fear score - gain. Each pair is there once.

    >>> gains, scores = np.array([1.0, 5.0, 2.0]), np.array([9.0, 0.0, 4.0])
    >>> better, worse = mira_pairs(np.array([0, 3]), gains, scores, best=1, each=1)
    >>> better.tolist(), worse.tolist()  # the row 0 is the first by all three
    ([], [])
    >>> better, worse = mira_pairs(np.array([0, 3]), gains, scores, best=1, each=2)
    >>> better.tolist(), worse.tolist()
    ([2], [0])
    """
    sizes = np.diff(sentences)
    sentence = np.repeat(np.arange(len(sizes)), sizes)
    places = np.arange(len(gains)) - np.repeat(sentences[:-1], sizes)
    hoped, *others = (np.lexsort((-by, sentence)) for by in (scores + gains, scores, scores - gains))
    chosen = np.zeros(len(gains), bool)
    for order in (hoped, *others):
        chosen[order[places < each]] = True
    rows = np.flatnonzero(chosen)
    # The oracles of each row's sentence; short lists repeat their last one, and pairs are made distinct below.
    oracle = np.minimum(np.arange(best), sizes[:, None] - 1)[sentence[rows]] + sentences[sentence[rows], None]
    first, second = hoped[oracle].ravel(), np.repeat(rows, best)
    better, worse = np.where(gains[first] >= gains[second], [first, second], [second, first])
    differ = gains[better] > gains[worse]
    pairs = np.unique(np.stack([better[differ], worse[differ]]), axis=1)
    return pairs[0], pairs[1]
