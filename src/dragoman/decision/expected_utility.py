"""Expected utilities of hypotheses under any utility, by an estimator; the calls it takes, and its regret."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.decision.choice_bootstrap import ChoiceBootstrap
from dragoman.decision.estimators.estimator import BatchEstimate, Estimator, SentenceEvidence
from dragoman.decision.estimators.exact import Exact
from dragoman.decision.gains import check_sides, gains_of_blocks
from dragoman.decision.posterior import Posterior
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.utility import MetricUtility, needs_source

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Regret:
    """Difference between the exact choice and the estimator's, on some sentences, in expected utility."""

    sentences: int = 0
    same_choice: int = 0
    exact: float = 0.0
    chosen: float = 0.0
    first: float = 0.0

    @property
    def mean(self) -> float:
        """The mean regret per sentence."""
        return (self.exact - self.chosen) / max(1, self.sentences)

    @property
    def kept_gain(self) -> float:
        """The share of the exact choice's gain over the first hypothesis that the estimator keeps; 1 without a gain."""
        return (self.chosen - self.first) / (self.exact - self.first) if self.exact > self.first else 1.0


@dataclass
class EstimationReport:
    """Cost of an estimation: pairs in all, calls of the utility, seconds, and the regret where it was measured."""

    sentences: int = 0
    pairs: int = 0
    calls: int = 0
    seconds: float = 0.0
    regret: Regret = field(default_factory=Regret)


class Estimates(NamedTuple):
    """Expected utilities of hypotheses, -inf for those that were ruled out, and their confidences if asked for."""

    values: Vector
    confidences: Vector | None


class UtilityEstimation:
    """Estimates expected utilities block by block, and reports what that took.

    The exact choice of the first `check` sentences is computed as well; its calls are not counted. With `resamples`,
    the confidence of choices is estimated by a bootstrap.
    """

    def __init__(
        self,
        scorer: PairScorer,
        estimator: Estimator = Exact(),
        *,
        seed: int = 1,
        check: int = 0,
        resamples: int = 0,
    ):
        if resamples and not isinstance(estimator, Exact):
            found = f"the confidence of choices needs all utilities, which {estimator.name} does not compute"
            raise UsageError(f"{found}; expected the estimator exact, or no resamples")
        self.report = EstimationReport()
        self._scorer, self._estimator, self._seed, self._check = scorer, estimator, seed, check
        self._bootstrap = ChoiceBootstrap(resamples, seed) if resamples else None

    def expected(
        self,
        hypotheses: Posterior,
        evidence: Posterior,
        sources: Sequence[str] | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Vector:
        """Return the expected utility of each hypothesis; -inf for hypotheses that the estimator ruled out."""
        return self.estimates(hypotheses, evidence, sources, runtime=runtime).values

    def estimates(
        self,
        hypotheses: Posterior,
        evidence: Posterior,
        sources: Sequence[str] | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Estimates:
        """Return the expected utility and the confidence of each hypothesis."""
        check_sides(hypotheses, evidence, self.report.sentences)
        if needs_source(self._scorer.utility) and sources is None:
            raise DataError("the utility needs source texts, and the lists have none", expected="lists with sources")
        begin = time.perf_counter()
        confidences = None if self._bootstrap is None else np.empty(len(hypotheses.strings))
        at_once = self._at_once(hypotheses, evidence, confidences, runtime)
        if at_once is not None:
            self.report.seconds += time.perf_counter() - begin
            self.report.calls += at_once.calls
        found = np.full(len(hypotheses.strings), -np.inf) if at_once is None else at_once.values
        if at_once is None or self.report.sentences < self._check:
            with runtime.counter("expected utilities", len(hypotheses)) as progress:
                for s, (rows, sentence) in enumerate(self._sentences(hypotheses, evidence, sources)):
                    if sentence.hypotheses:
                        if at_once is None:
                            found[rows] = self._estimate(sentence, self.report.sentences + s)
                            if self._bootstrap is not None and confidences is not None:
                                matrix = sentence.matrix()  # all pairs are known
                                draws = int(evidence.sizes[s])
                                confidences[rows] = self._bootstrap.shares(
                                    matrix, sentence.probabilities, draws, self.report.sentences + s
                                )
                        if self.report.sentences + s < self._check:
                            self._measure(sentence, found[rows])
                        self._scorer.forget()
                    progress(1)
        self.report.sentences += len(hypotheses)
        self.report.pairs += int(np.diff(hypotheses.sentences) @ np.diff(evidence.sentences))
        return Estimates(found, confidences)

    def _at_once(
        self, hypotheses: Posterior, evidence: Posterior, confidences: Vector | None, runtime: Runtime
    ) -> BatchEstimate | None:
        """Estimate all sentences by a kernel, if there is one; fill in confidences."""
        utility = self._scorer.utility
        if self._bootstrap is None or confidences is None or not isinstance(utility, MetricUtility):
            return self._estimator.batch(utility, hypotheses, evidence, runtime)
        ((values, cells),) = gains_of_blocks(utility.metric, [(hypotheses, evidence)], matrix=True, runtime=runtime)
        confidences[:] = self._bootstrap.confidences(cells, hypotheses, evidence, before=self.report.sentences)
        return BatchEstimate(values, len(cells))

    def _sentences(
        self, hypotheses: Posterior, evidence: Posterior, sources: Sequence[str] | None
    ) -> Iterator[tuple[slice, SentenceEvidence]]:
        ours, theirs = hypotheses.corpus.lines(), evidence.corpus.lines()
        for s in range(len(hypotheses)):
            rows, columns = (slice(*side.sentences[s : s + 2].tolist()) for side in (hypotheses, evidence))
            source = "" if sources is None else sources[s]
            yield (
                rows,
                SentenceEvidence(ours[rows], theirs[columns], evidence.probabilities[columns], source, self._scorer),
            )

    def _estimate(self, sentence: SentenceEvidence, number: int) -> Vector:
        """Estimate the utilities of one sentence; its random numbers depend on the seed and its number only."""
        before, begin = self._scorer.calls, time.perf_counter()
        try:
            found = self._estimator.expected(sentence, np.random.default_rng([self._seed, number]))
        except UsageError as error:
            raise UsageError(f"sentence {number + 1}: {error}") from error
        self.report.seconds += time.perf_counter() - begin
        self.report.calls += self._scorer.calls - before
        return found

    def _measure(self, sentence: SentenceEvidence, found: Vector) -> None:
        exact = Exact().expected(sentence, np.random.default_rng(0))
        chosen, best = int(found.argmax()), int(exact.argmax())
        known = self.report.regret
        self.report.regret = Regret(
            known.sentences + 1,
            known.same_choice + int(chosen == best),
            known.exact + float(exact[best]),
            known.chosen + float(exact[chosen]),
            known.first + float(exact[0]),
        )
