"""Choosing among candidates: weights that are tuned to accuracy, and probabilities that say how sure the choice is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.decision.rule import Rule
from dragoman.metrics.accuracy import Accuracy
from dragoman.normalisation.characters import SETTINGS
from dragoman.normalisation.lists import Lists
from dragoman.tuning.methods.tuner import Tuner
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.problems.ranges import boxes, weight_ranges

#: Scores are scaled by at most so much to be logarithms of probabilities.
_LARGEST_SCALE = 100.0


@dataclass(frozen=True)
class Choice:
    """Weights of all features; `scale` times a candidate's score is its unnormalised log-probability."""

    weights: Weights
    scale: float = 1.0

    def log_probabilities(self, lists: Lists) -> NDArray[np.float64]:
        """The logarithm of each candidate's probability among those of its form."""
        # Feature by feature: a product of matrices may add up otherwise for the same candidate among others.
        scores = np.zeros(len(lists.texts))
        for column, weight in zip(lists.features.T, self.weights.vector(lists.names).tolist(), strict=True):
            scores += weight * column
        return _log_softmax(self.scale * scores, lists.offsets)

    def order(self, lists: Lists, rule: Rule | None = None, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
        """The rows of lists, each form's most probable first; or first what a decision rule makes of the list."""
        scores = self.log_probabilities(lists)
        of_form = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets))
        first = np.zeros(len(scores), bool)
        if rule is not None:
            decided = _decided(lists, scores, rule, runtime)
            first = np.array([decided[i] == text for i, text in zip(of_form.tolist(), lists.texts, strict=True)])
        return np.lexsort((-scores, ~first, of_form))


def tuned_choice(
    lists: Lists,
    gold: Sequence[Counter[str]],
    start: Weights,
    tuner: Tuner,
    *,
    seed: int = 1,
    runtime: Runtime = Runtime(),
) -> Choice:
    """Find weights under which most tokens get their modern form; `gold` has for each form how many have which.

    The tuner is any that takes lists; what it optimises is the accuracy of tokens, though each form is there once.
    """
    of_form = np.repeat(np.arange(len(gold)), np.diff(lists.offsets))
    right = np.array([gold[i][text] for i, text in zip(of_form.tolist(), lists.texts, strict=True)], np.float64)
    tokens = np.array([counts.total() for counts in gold], np.float64)
    names = [name for i, name in enumerate(lists.names) if np.ptp(lists.features[:, i]) > 0]
    used = lists.features[:, [lists.names.index(name) for name in names]]
    problem = Problem(
        sentences=lists.offsets,
        features=FeatureRows.from_dense(names, used),
        statistics=np.column_stack([right, tokens[of_form]]),
        scorer=Accuracy().scorer([Corpus.from_lines([""])]),
        ranges=boxes(names, weight_ranges(names)),
    )
    rng = np.random.default_rng(seed)
    optimum = tuner.optimise(problem, start.vector(names), rng=rng, runtime=runtime)
    found = optimum.weights / max(np.abs(optimum.weights).sum(), 1e-12)
    weights = Weights(dict(zip(names, found.tolist(), strict=True)))
    return Choice(weights, _calibrated(used @ found, right, lists.offsets))


def _decided(lists: Lists, scores: NDArray[np.float64], rule: Rule, runtime: Runtime) -> list[str]:
    rule.check_kind("nbest")
    text = SETTINGS.preparation()
    corpus = Corpus.from_lines(text.target(lists.texts))
    nbest = NBest(corpus.vocab, lists.offsets, corpus.sentences, scores, FeatureRows.zeros(len(scores)))
    return text.restore(rule.decide(nbest, runtime=runtime).lines())


def _calibrated(scores: NDArray[np.float64], right: NDArray[np.float64], offsets: NDArray[np.int64]) -> float:
    """The scale at which the right forms of tokens are most probable."""
    from scipy.optimize import minimize_scalar  # which takes long to load, and applying does without it

    def loss(log_scale: float) -> float:
        return -float(right @ _log_softmax(np.exp(log_scale) * scores, offsets))

    found = minimize_scalar(loss, bounds=(-3.0, np.log(_LARGEST_SCALE)), method="bounded")
    return float(np.exp(found.x))


def _log_softmax(scores: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    sizes = np.diff(offsets)
    shifted = scores - np.repeat(np.maximum.reduceat(scores, offsets[:-1]), sizes)
    return np.asarray(shifted - np.repeat(np.log(np.add.reduceat(np.exp(shifted), offsets[:-1])), sizes))
