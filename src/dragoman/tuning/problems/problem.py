"""The problem that an optimiser sees: candidates as features and statistics of a metric, and the ranges of weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import Scorer
from dragoman.model.mixture import INTERPOLATION_PREFIX
from dragoman.model.parts import GRAMMAR_PENALTY

#: Largest number of features for methods that search along single weights, or sample boxes of weights.
MOST_DENSE = 200


class Evidence(Protocol):
    """The common part of all problems: names and ranges of weights, and the objective."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""

    @property
    def ranges(self) -> NDArray[np.float64]:
        """The least and the largest weight of each feature for random starts."""

    def objectives(self, weights: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return what is maximised under each of some weights: the metric of the translations, negated for errors."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Candidates of S sentences: those of sentence `s` are rows `sentences[s]` to `sentences[s + 1]`.

    Row `h` has the features `features.row(h)` and the statistics `statistics[h]` of the metric behind `scorer`.
    Weights are vectors in the order of `features.names`. Under weights w the translation of a sentence is its candidate
    with the highest w · features, the first of them if several are equal, and what is optimised is the score of the
    sum of their statistics, times `sign`, which is -1 for error rates. `ranges` holds for each feature the least and
    the largest weight for random starts.
    """

    sentences: NDArray[np.int64]
    features: FeatureRows
    statistics: NDArray[np.float64]
    scorer: Scorer
    ranges: NDArray[np.float64]
    sign: int = 1

    def __post_init__(self) -> None:
        if len(self.sentences) < 2 or (np.diff(self.sentences) < 1).any():
            raise DataError("a sentence has no candidates", expected="at least one for each")
        if not np.isfinite(self.features.values).all():
            row = int(
                np.searchsorted(self.features.offsets, np.flatnonzero(~np.isfinite(self.features.values))[0], "right")
            )
            raise DataError(f"candidate {row} has a feature that is not a finite number")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.features.names

    @cached_property
    def dense(self) -> NDArray[np.float64]:
        """The features as a matrix, for methods that need one; refused if there are too many."""
        if len(self.names) > MOST_DENSE:
            raise UsageError(
                f"there are {len(self.names):,} features; this method takes at most {MOST_DENSE}"
                " (mira, pro and the risk methods take any number)"
            )
        return self.features.dense()

    def model_scores(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted sum of each candidate's features."""
        products = self.features.values * weights[self.features.ids]
        candidates = int(self.sentences[-1])
        rows = np.repeat(np.arange(candidates), np.diff(self.features.offsets))
        return np.bincount(rows, products, minlength=candidates).astype(np.float64)

    def best(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the best candidate (row) of each sentence under some weights."""
        return best_rows(self.model_scores(weights), self.sentences)

    def objective(self, weights: NDArray[np.float64]) -> float:
        """Return what is maximised: the metric of the best candidates, negated for error rates."""
        return float(self.objectives([weights])[0])

    def objectives(self, weights: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return what is maximised, under each of some weights."""
        sums = [self.statistics[self.best(vector)].sum(axis=0) for vector in weights]
        return self.sign * self.scorer.score(np.array(sums))


def best_rows(scores: NDArray[np.float64], sentences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first row with the highest score in each group."""
    highest = np.repeat(np.maximum.reduceat(scores, sentences[:-1]), np.diff(sentences))
    rows = np.flatnonzero(scores == highest)
    first = np.searchsorted(rows, sentences[:-1])
    return rows[first]


def checked_start(problem: Evidence, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a copy of start weights for kernels; refuse them unless there is a finite one for each name."""
    weights = np.array(start, np.float64)
    if weights.shape != (len(problem.names),):
        raise UsageError(f"there are {weights.size} weights to start from; expected {len(problem.names)}")
    if not np.isfinite(weights).all():
        raise UsageError("a weight to start from is not a finite number")
    return weights


def feature_matrix(problem: Problem) -> Any:
    """Return a sparse matrix (scipy CSR) with the features of each candidate."""
    from scipy.sparse import csr_matrix

    features = problem.features
    shape = (len(features), len(features.names))
    return csr_matrix((features.values, features.ids, features.offsets), shape=shape)


def differences(problem: Problem, better: NDArray[np.int64], worse: NDArray[np.int64]) -> Any:
    """Return a sparse matrix (scipy CSR) with a row h(better) - h(worse) for each pair."""
    matrix = feature_matrix(problem)
    result = matrix[better] - matrix[worse]
    result.sum_duplicates()
    return result


#: A box of weights is made this many times as wide as needed, so that it still serves when its centre has moved,
#: and made anew when it has become that many times too wide.
_ROOM, _TOO_WIDE = 2.0, 4.0

#: Number of the best candidates at the centre of a box that are tried as proof that another one cannot win in it.
_RIVALS = 32

#: Beyond this size float32 could overflow; such sentences are left to float64.
_LARGEST = 1e30


class Evaluator:
    """Computes `Problem.objective` of many weight vectors: the same numbers, some hundred times as fast.

    Candidates that repeat the features of an earlier one are left out from the start. With `focus` on a box of
    weights, candidates that cannot win anywhere in it are left out too, and sentences with one candidate left cost
    nothing any more. That changes no result: weights outside the box are evaluated with more candidates.

    >>> from dragoman.core.feature_rows import FeatureRows
    >>> features = FeatureRows.from_dense(["a", "b"], np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    >>> problem = Problem(np.array([0, 3]), features, np.eye(3), None, np.array([[0.0, 1.0]] * 2))
    >>> Evaluator(problem).best(np.array([[1.0, 0.5], [0.5, 1.0], [1.0, 1.0]])).tolist()
    [[0], [1], [0]]
    """

    def __init__(self, problem: Problem, *, runtime: Runtime = Runtime()):
        self.problem = problem
        self._runtime = runtime
        self._statistics = np.ascontiguousarray(problem.statistics, np.float64)
        # Sums of whole numbers are exact in any order.
        whole = bool((self._statistics == np.rint(self._statistics)).all())
        self._whole = whole and float(np.abs(self._statistics).sum()) < 2.0**53
        self._levels = [_all_candidates(problem, runtime)]

    def focus(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        """Expect weights between `low` and `high` from now on."""
        while not self._levels[-1].covers(low, high):
            self._levels.pop()
        top, width = self._levels[-1], high - low
        if bool(((top.high - top.low > _TOO_WIDE * width) & (width > 0)).any()):
            margin = (_ROOM - 1) / 2 * width
            self._levels.append(top.within(low - margin, high + margin, self.problem.features, self._runtime))

    def best(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the best candidate (row of the problem) of each sentence, one row for each weight vector."""
        level, winners = self._winners(weights)
        rows = np.repeat(level.settled[None], len(winners.T), axis=0)
        rows[:, level.open] = level.rows[winners.T]
        return rows

    def statistics(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the best candidates' statistics, one row for each weight vector."""
        if not self._whole:
            chosen = [self.problem.statistics[rows].sum(axis=0) for rows in self.best(weights)]
            return np.array(chosen).reshape(len(weights), self._statistics.shape[1])
        level, winners = self._winners(weights)
        settled: NDArray[np.float64] = self._statistics[np.delete(level.settled, level.open)].sum(axis=0)
        return settled + kernels.sum_winners(self._statistics, level.rows, level.usual, winners, self._runtime.threads)

    def objectives(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the objective of each weight vector."""
        scores = self.problem.scorer.score(self.statistics(weights))
        return scores if self.problem.sign > 0 else -scores

    def open_candidates(self) -> int:
        """Return the number of remaining candidates, in sentences that have more than one."""
        return len(self._levels[-1].rows)

    def _winners(self, weights: NDArray[np.float64]) -> tuple[_Level, NDArray[np.int32]]:
        if weights.ndim != 2 or weights.shape[1] != len(self.problem.names):
            raise UsageError(f"weights of shape {weights.shape}; expected rows of {len(self.problem.names)}")
        if not np.isfinite(weights).all():
            raise DataError("a weight is not a finite number")
        low, high = weights.min(axis=0, initial=np.inf), weights.max(axis=0, initial=-np.inf)
        level = next(level for level in reversed(self._levels) if level.covers(low, high))
        return level, level.winners(weights, self.problem.features, self._runtime)


@dataclass(frozen=True, eq=False)
class _Level:
    """The candidates that may win while weights stay between `low` and `high`.

    Those of the sentences `open`, which have several, are `rows` of the problem, from one of `bounds` to the next.
    `settled` has the only candidate of the other sentences (and any in place of the open ones).
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    settled: NDArray[np.int64]
    open: NDArray[np.int64]
    bounds: NDArray[np.int64]
    rows: NDArray[np.int64]
    features: NDArray[np.float32]
    tolerance: NDArray[np.float32]
    usual: NDArray[np.int64]

    def covers(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> bool:
        return bool((self.low <= low).all() and (high <= self.high).all())

    def winners(self, weights: NDArray[np.float64], exact: FeatureRows, runtime: Runtime) -> NDArray[np.int32]:
        weights = np.ascontiguousarray(weights, np.float64)
        winners = kernels.best_candidates(
            self.bounds, self.features, self.tolerance, self.rows, exact.for_kernels(), weights, runtime.threads
        )
        return winners.reshape(len(self.open), len(weights))

    def within(
        self, low: NDArray[np.float64], high: NDArray[np.float64], exact: FeatureRows, runtime: Runtime
    ) -> _Level:
        """Leave out what cannot win between `low` and `high`."""
        centre, reach = (low + high) / 2, (high - low) / 2
        # The middle is rounded; the box around it must not be too small for that.
        reach += 4 * np.finfo(float).eps * (np.abs(low) + np.abs(high))
        kept = kernels.box_winners(self.bounds, self.features, self.tolerance, centre, reach, _RIVALS, runtime.threads)
        if kept.sum() > 0.8 * len(kept):
            return replace(self, low=low, high=high)
        return self._take(kept, low, high)._with_usual(centre, exact, runtime)

    def _take(self, kept: NDArray[np.uint8], low: NDArray[np.float64], high: NDArray[np.float64]) -> _Level:
        counts = np.add.reduceat(kept, self.bounds[:-1], dtype=np.int64) if len(kept) else np.empty(0, np.int64)
        several = counts > 1
        settled = self.settled.copy()
        alone = kept.astype(bool) & np.repeat(~several, np.diff(self.bounds))
        settled[self.open[~several]] = self.rows[alone]
        candidates = np.flatnonzero(kept.astype(bool) & np.repeat(several, np.diff(self.bounds)))
        bounds = np.concatenate([[0], np.cumsum(counts[several])]).astype(np.int64)
        return _Level(
            low,
            high,
            settled,
            self.open[several],
            bounds,
            self.rows[candidates],
            self.features[candidates],
            self.tolerance[several],
            bounds[:-1],
        )

    def _with_usual(self, centre: NDArray[np.float64], exact: FeatureRows, runtime: Runtime) -> _Level:
        return replace(self, usual=self.winners(centre[None], exact, runtime)[:, 0].astype(np.int64))


def _all_candidates(problem: Problem, runtime: Runtime) -> _Level:
    """Return all distinct candidates, with features relative to the first one of their sentence, in float32."""
    exact, sentences = problem.features, problem.sentences
    if len(exact) >= 2**31:
        raise DataError(f"{len(exact):,} candidates", expected="fewer than 2,147,483,648")
    dense = problem.dense
    counts = np.diff(sentences)
    relative = dense - np.repeat(dense[sentences[:-1]], counts, axis=0)
    spread = np.maximum.reduceat(np.abs(relative), sentences[:-1])
    sizes = np.abs(exact.values)
    size = np.maximum.reduceat(FeatureRows(exact.names, exact.offsets, exact.ids, sizes).dense(), sentences[:-1])
    with np.errstate(over="ignore"):
        root = _Level(
            np.full(dense.shape[1], -np.inf),
            np.full(dense.shape[1], np.inf),
            sentences[:-1].astype(np.int64),
            np.arange(len(counts)),
            np.ascontiguousarray(sentences, np.int64),
            np.arange(len(exact)),
            relative.astype(np.float32),
            _tolerance(spread, size, int(np.diff(exact.offsets).max())).astype(np.float32),
            sentences[:-1].astype(np.int64),
        )
    candidates = kernels.Candidates(sentences=root.bounds, features=exact.for_kernels())
    kept = kernels.distinct_candidates(candidates, runtime.threads)
    return root._take(kept, root.low, root.high)


def _tolerance(spread: NDArray[np.float64], size: NDArray[np.float64], longest: int) -> NDArray[np.float64]:
    """Return the distance of two scores, per unit of each weight, above which rounding cannot change their order.

    A sum of m products has a relative error of about m units in the last place of the sum of their sizes; each side of
    a comparison has one: that of float32 relative features of at most `spread`, and that of the float64 sums of up to
    `longest` values that are to be reproduced, of features of at most `size`. The floor stands for underflow.
    """
    terms = max(spread.shape[1], longest)
    tolerance = 2.1 * (terms + 4) * (2.0**-24 * spread + 4 * 2.0**-53 * size) + 1e-35
    return np.where(spread < _LARGEST, tolerance, np.inf)


#: The least and the largest weight of a random start, by name.
Ranges = Mapping[str, tuple[float, float]]

#: Features whose weight is never tuned, because every translation of a sentence has the same value.
FIXED = ("unknown_word",)

# Logarithms of probabilities, where more is better; under our names and under the names in Moses' lists.
_OURS = ("distortion", "lm", "tm", "phrases", "lr", "mix", "logprob")
_THEIRS = ("Distortion", "LM", "TranslationModel", "LexicalReordering")
_BY_STEM = dict.fromkeys((*_OURS, *_THEIRS), (0.0, 1.0))
_OTHER = (-1.0, 1.0)

#: Names of sets of options after a publication, which the loop and the ranges of weights share.
Preset = Literal["schuth"]

# Tables 7.1 and 7.4 of the thesis.
_TWO = ("lm", "distortion", "lr", "LM", "Distortion", "LexicalReordering")
_HALF = ("tm", "phrases", "phrase_penalty", "TranslationModel", "PhrasePenalty")
_PRESETS: Mapping[Preset, Mapping[str, tuple[float, float]]] = {
    "schuth": dict.fromkeys(_TWO, (0.0, 2.0)) | dict.fromkeys(_HALF, (0.0, 0.5))
}


def tuned_names(names: Sequence[str]) -> list[str]:
    """Return the features whose weights are tuned."""
    return [name for name in names if name not in FIXED]


def is_interpolation_weight(name: str) -> bool:
    """Return whether a weight is an interpolation weight of a mixture: these sum to 1, and are never scaled.

    >>> is_interpolation_weight("mix.tm.fwd.in"), is_interpolation_weight("tm.fwd")
    (True, False)
    """
    return name.startswith(INTERPOLATION_PREFIX)


def is_weight(names: Sequence[str]) -> NDArray[np.bool_]:
    """Return a flag for each name: False for interpolation weights of mixtures."""
    return np.array([not is_interpolation_weight(name) for name in names], bool)


def weight_ranges(names: Sequence[str], preset: Preset | None = None) -> dict[str, tuple[float, float]]:
    """Return the least and the largest weight of each feature for random starts.

    By default 0 to 1 for logarithms of probabilities and the distortion, and -1 to 1 for all others. The preset
    `schuth` has the values of Schuth (2010, tables 7.1 and 7.4): 0 to 2 for language models, the distortion and
    lexicalised reordering, 0 to 0.5 for translation models and the phrase penalty; features that are not in the tables
    keep the default, and the word penalty is the same in both.

    >>> weight_ranges(["lm2", "word_penalty", "tm2.penalty"])
    {'lm2': (0.0, 1.0), 'word_penalty': (-1.0, 1.0), 'tm2.penalty': (-1.0, 1.0)}
    >>> weight_ranges(["lm2", "word_penalty", "tm.fwd"], "schuth")
    {'lm2': (0.0, 2.0), 'word_penalty': (-1.0, 1.0), 'tm.fwd': (0.0, 0.5)}
    """
    by_stem = _BY_STEM if preset is None else {**_BY_STEM, **_PRESETS[preset]}
    return {name: _range(name, by_stem) for name in names}


def _range(name: str, by_stem: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    stem, _, rest = name.partition(".")
    return _OTHER if rest == GRAMMAR_PENALTY else by_stem.get(stem.rstrip("0123456789"), _OTHER)


def boxes(names: Sequence[str], ranges: Ranges) -> NDArray[np.float64]:
    """Return the ranges of some names as rows, as problems have them."""
    return np.array([ranges[name] for name in names], np.float64).reshape(-1, 2)


def no_sparse(names: Iterable[str]) -> Ranges:
    """Select no sparse features."""
    return {}


def replace_weights(weights: Weights, names: Sequence[str], values: NDArray[np.float64], sparse: Ranges) -> Weights:
    """Return the weights with new values; sparse ones come last, in order, without zeros."""
    new = weights.updated(dict(zip(names, values.tolist(), strict=True)))
    return Weights(
        {name: value for name, value in new.items() if name not in sparse}
        | {name: new[name] for name in sparse if new[name]}
    )
