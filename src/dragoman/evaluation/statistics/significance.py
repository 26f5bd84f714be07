"""Significance tests on cached statistics: is one system better than another, or is it the choice of sentences?

A system is an array of statistics with axes sentence and column, or run, sentence and column if it was tuned and run
several times; its score is then the mean of its runs' scores. All functions score with `Scorer.score`, count
nothing again, and give the same result for the same seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.metrics.metric import Scorer

CONCLUSIVE = 0.95
"""Proportion of resamples in which a system must be better to be called significantly better."""

SAMPLE_SIZES = (300, 1000, 3000)
"""Numbers of sentences of test sets for which the proportion of conclusive ones is reported (Koehn 2004, table 3)."""

_CELLS = 1 << 22  # cells of a matrix of counts in memory


def system_score(scorer: Scorer, statistics: NDArray[np.float64]) -> float:
    """Return the score of one system on all sentences, the mean over its runs."""
    return float(scorer.score(_runs(statistics).sum(axis=1)).mean())


def bootstrap_scores(
    scorer: Scorer, systems: Sequence[NDArray[np.float64]], *, resamples: int = 1000, seed: int = 0
) -> NDArray[np.float64]:
    """Score systems (rows) on resamples of the sentences (columns), drawn with replacement; the same for all systems.

    This is one product of two matrices: the counts of each sentence in each resample, and the statistics.
    """
    rng = np.random.default_rng(seed)
    sentences = _sentences(systems)
    return _resampled(scorer, systems, np.arange(sentences), resamples, rng)


def confidence_interval(scores: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """Return the interval between the quantiles of bootstrap scores.

    >>> confidence_interval(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


@dataclass(frozen=True, eq=False)
class PairedBootstrap:
    """Scores of systems on all sentences, and on resamples of them (Koehn 2004)."""

    scores: NDArray[np.float64]
    resampled: NDArray[np.float64]
    higher_is_better: bool = True

    def order(self) -> list[int]:
        """Return the systems from best to worst; equally good ones keep their order."""
        return [int(system) for system in np.argsort(-self._signed(self.scores), kind="stable")]

    def share_better(self, first: int, second: int) -> float:
        """Return the share of the resamples in which the first system is better than the second."""
        signed = self._signed(self.resampled)
        return float(np.mean(signed[first] > signed[second]))

    def p_value(self, first: int, second: int) -> float:
        """Return the probability that the better system is no better on other sentences (one-sided)."""
        signed = self._signed(self.resampled)
        difference = self._signed(self.scores[first] - self.scores[second])
        against = (signed[first] - signed[second]) * np.sign(difference) <= 0
        return float((against.sum() + 1) / (against.size + 1))

    def is_better(self, first: int, second: int) -> bool:
        """Return whether the first system is significantly better: in 95 of 100 resamples."""
        return self.share_better(first, second) >= CONCLUSIVE

    def order_line(self, names: Sequence[str], same: Collection[tuple[str, str]] = ()) -> str:
        """Return the order of the systems in one line, see `order_line`."""
        better = {(names[a], names[b]): self.is_better(a, b) for a, b in itertools.pairwise(self.order())}
        return order_line([names[system] for system in self.order()], lambda a, b: better[a, b], same)

    def _signed(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores if self.higher_is_better else -scores


def order_line(
    ranking: Sequence[str], is_better: Callable[[str, str], bool], same: Collection[tuple[str, str]] = ()
) -> str:
    """Return an order as Schuth (2010) writes it: `>` is significantly better than the next, `≥` is not.

    Pairs that are the `same` have `=`.

    >>> order_line(["a", "b", "c"], lambda first, second: second == "c")
    'a ≥ b > c'
    """
    line = ranking[0]
    for before, after in itertools.pairwise(ranking):
        line += f" {'=' if (before, after) in same else '>' if is_better(before, after) else '≥'} {after}"
    return line


def paired_bootstrap(
    scorer: Scorer,
    systems: Sequence[NDArray[np.float64]],
    *,
    higher_is_better: bool = True,
    resamples: int = 1000,
    seed: int = 0,
) -> PairedBootstrap:
    """Score all systems on the same resamples, for any pair to be compared."""
    scores = np.array([system_score(scorer, statistics) for statistics in systems])
    return PairedBootstrap(scores, bootstrap_scores(scorer, systems, resamples=resamples, seed=seed), higher_is_better)


def conclusive_shares(
    scorer: Scorer,
    systems: Sequence[NDArray[np.float64]],
    *,
    size: int,
    higher_is_better: bool = True,
    samples: int = 100,
    resamples: int = 1000,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return how often a test set of `size` sentences shows that one system (row) beats another (column).

    Samples of that size are drawn from the sentences, and each is tested by its own paired bootstrap (Koehn 2004, table
    3; Schuth 2010, table 7.12).
    """
    rng = np.random.default_rng(seed)
    sentences = _sentences(systems)
    shares = np.zeros((len(systems), len(systems)))
    for _ in range(samples):
        scores = _resampled(scorer, systems, rng.integers(0, sentences, size), resamples, rng)
        signed = scores if higher_is_better else -scores
        shares += (signed[:, None, :] > signed[None, :, :]).mean(axis=2) >= CONCLUSIVE
    return shares / samples


def approximate_randomisation(
    scorer: Scorer, first: NDArray[np.float64], second: NDArray[np.float64], *, trials: int = 10_000, seed: int = 0
) -> float:
    """Return the two-sided p-value that two systems differ (Noreen 1989; Riezler & Maxwell 2005).

    If they do not differ, it does not matter which of them made which translation: for each sentence, the translations
    of all runs of both are shuffled. With several runs this is the stratified test of Clark et al. (2011); the
    statistics of a system's runs are added up before they are scored.
    """
    pool = np.concatenate([_runs(first), _runs(second)])
    ours, all_runs, sentences = len(_runs(first)), len(pool), _sentences([first, second])
    flat = pool.reshape(all_runs * sentences, -1)
    total = flat.sum(axis=0)

    def difference(chosen: NDArray[np.float64]) -> NDArray[np.float64]:
        # Means over runs rather than sums, so that statistics have the size that the metric expects.
        return np.abs(scorer.score(chosen / ours) - scorer.score((total - chosen) / (all_runs - ours)))

    observed = float(difference(_runs(first).sum(axis=(0, 1))))
    rng = np.random.default_rng(seed)
    as_large = 0
    for count in _chunks(trials, all_runs * sentences):
        chosen = np.empty((count, all_runs, sentences))
        missing = np.full((count, sentences), ours, np.float32)
        for run in range(all_runs - 1):  # taken with the odds that make every choice equally likely
            taken = rng.random((count, sentences), np.float32) * np.float32(all_runs - run) < missing
            chosen[:, run] = taken
            missing -= taken
        chosen[:, -1] = missing
        shuffled = difference(chosen.reshape(count, -1) @ flat)
        # A shuffle that changes nothing differs from the observed statistics by rounding only.
        as_large += int(np.sum(shuffled >= observed - 1e-9 * max(1.0, observed)))
    return (as_large + 1) / (trials + 1)


def _runs(statistics: NDArray[np.float64]) -> NDArray[np.float64]:
    return statistics if statistics.ndim == 3 else statistics[None]


def _sentences(systems: Sequence[NDArray[np.float64]]) -> int:
    numbers = {int(statistics.shape[-2]) for statistics in systems}
    if len(numbers) != 1 or numbers == {0}:
        raise UsageError("systems can be compared on the same sentences only, and on at least one")
    return numbers.pop()


def _chunks(rows: int, columns: int) -> Iterator[int]:
    """Cut rows into pieces whose number depends on the data only."""
    most = max(1, _CELLS // max(1, columns))
    for begin in range(0, rows, most):
        yield min(most, rows - begin)


def _resampled(
    scorer: Scorer,
    systems: Sequence[NDArray[np.float64]],
    sample: NDArray[np.int64],
    resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Score systems on resamples of a sample of the sentences."""
    size = len(sample)
    pool = np.concatenate([_runs(statistics) for statistics in systems])[:, sample]
    flat = np.ascontiguousarray(pool.transpose(1, 0, 2).reshape(size, -1))
    first_run = np.cumsum([0] + [len(_runs(statistics)) for statistics in systems])
    parts = []
    for count in _chunks(resamples, size):
        drawn = rng.integers(0, size, (count, size), np.int32) + np.arange(count)[:, None] * size
        counts = np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size)
        scores = scorer.score((counts.astype(np.float64) @ flat).reshape(count, len(pool), -1))
        parts.append(np.stack([scores[:, a:b].mean(axis=1) for a, b in itertools.pairwise(first_run)]))
    return np.concatenate(parts, axis=1) if parts else np.empty((len(systems), 0))


Correction = Literal["none", "holm"]

SIGNIFICANT = 0.05
"""The largest corrected p-value that counts as significant."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct the p-values of a family of tests (Holm 1979), in their order.

    The smallest of m is multiplied by m, the next one by m - 1 and so on; none becomes smaller than one before it, or
    larger than 1. If a difference is called significant where its corrected p-value is at most 0.05, the chance that
    any of them is called so wrongly is at most 0.05, however the tests depend on each other.

    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, test in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = min(1.0, max(largest, (len(p_values) - rank) * p_values[test]))
        corrected[test] = largest
    return corrected


def draws_needed(tests: int) -> int:
    """Return the number of draws with which the smallest p-value of some tests can be significant after correction.

    >>> draws_needed(66)
    1319
    """
    return round(tests / SIGNIFICANT) - 1
