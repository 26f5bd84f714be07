"""Aggregated references: all evidence of a sentence as one reference with fractional n-gram counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dragoman import kernels
from dragoman.core.errors import UsageError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.decision.estimators.estimator import BatchEstimate, Estimator, SentenceEvidence, Vector
from dragoman.decision.gains import both_sides, words_for_bleu
from dragoman.decision.posterior import Posterior
from dragoman.metrics.bleu import Bleu, bleu_scores
from dragoman.metrics.chrf import Chrf
from dragoman.metrics.metric import Metric
from dragoman.metrics.utility import EmbeddingUtility, MetricUtility, Utility


@dataclass(frozen=True)
class Aggregated(Estimator):
    """Reference aggregation: DeNero, Chiang & Knight (2009) for BLEU; Vamvas & Sennrich (ACL 2024) for chrF and COMET.

    For BLEU and chrF the n-gram counts of all evidence are averaged, weighted by probability, and each hypothesis is
    scored once against the averages. For a utility with sentence embeddings, the embeddings of the evidence are
    averaged. Other utilities cannot be aggregated.

    Cost: linear in hypotheses and evidence; one call per hypothesis, and one embedding per string of evidence.
    Departures: the reference length of BLEU is the expected length, and its counts are smoothed as in `mbr`.
    """

    name: ClassVar[str] = "aggregated"

    def batch(
        self, utility: Utility, hypotheses: Posterior, evidence: Posterior, runtime: Runtime
    ) -> BatchEstimate | None:
        """Return the scores of all hypotheses against their sentences' averages, for BLEU and chrF."""
        metric = utility.metric if isinstance(utility, MetricUtility) else None
        if not isinstance(metric, Bleu | Chrf):
            return None
        return BatchEstimate(aggregated_scores(metric, hypotheses, evidence, runtime=runtime), len(hypotheses.strings))

    def expected(self, sentence: SentenceEvidence, rng: np.random.Generator) -> Vector:
        """Return scores against the average embedding of the evidence."""
        utility = sentence.scorer.utility
        if not isinstance(utility, EmbeddingUtility):
            raise UsageError(
                "this utility cannot aggregate references; expected bleu, chrf or a utility with embeddings, or another"
                " estimator"
            )
        reference = sentence.probabilities @ utility.embed(sentence.evidence)
        source = utility.embed([sentence.source])[0]
        ours = utility.embed(sentence.hypotheses)
        sentence.scorer.calls += len(ours)
        shape = ours.shape
        return np.asarray(
            utility.score_embedded(ours, np.broadcast_to(reference, shape), np.broadcast_to(source, shape)), np.float64
        )


def aggregated_scores(
    metric: Bleu | Chrf, hypotheses: Posterior, evidence: Posterior, *, runtime: Runtime = Runtime()
) -> Vector:
    """Return the score of each hypothesis against the average n-gram counts of its sentence's evidence."""
    ours, theirs, order = _strings(metric, hypotheses, evidence)
    masses = np.bincount(evidence.sentence_numbers, evidence.probabilities, minlength=len(evidence))
    probabilities = evidence.probabilities / masses[evidence.sentence_numbers]
    their_lists = kernels.StringLists(strings=theirs.for_kernels(), sentences=evidence.sentences)
    our_lists = kernels.StringLists(strings=ours.for_kernels(), sentences=hypotheses.sentences)
    matches = kernels.aggregated_matches(our_lists, their_lists, probabilities, order, runtime.threads)
    lengths = theirs.lengths[:, None] - np.arange(order)
    per_sentence = np.stack(
        [
            np.bincount(evidence.sentence_numbers, probabilities * column, minlength=len(evidence))
            for column in np.maximum(lengths, 0).T
        ],
        axis=1,
    )
    wanted = np.repeat(per_sentence, np.diff(hypotheses.sentences), axis=0)
    totals = np.maximum(0, ours.lengths[:, None] - np.arange(order)).astype(np.float64)
    if isinstance(metric, Bleu):
        rows = np.column_stack([ours.lengths, wanted[:, 0], matches, totals])
        return bleu_scores(rows, "add-k", metric.smoothing_value or 1.0, effective_order=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        both = (totals > 0) & (wanted > 0)
        used = np.maximum(both.sum(axis=1), 1)
        precision = np.where(both, matches / totals, 0.0).sum(axis=1) / used
        recall = np.where(both, matches / wanted, 0.0).sum(axis=1) / used
        beta = float(metric.beta) ** 2
        found = 100 * (1 + beta) * precision * recall / (beta * precision + recall)
    return np.where(precision + recall > 0, found, 0.0)


def _strings(
    metric: Metric, hypotheses: Posterior, evidence: Posterior
) -> tuple[Ragged[np.int32], Ragged[np.int32], int]:
    """Return both sides as sequences of words or characters, and the highest order of n-grams."""
    if isinstance(metric, Bleu):
        return *words_for_bleu(metric, hypotheses, evidence), metric.order
    assert isinstance(metric, Chrf)
    if metric.word_order or metric.eps_smoothing:
        found = "words (chrF++)" if metric.word_order else "eps_smoothing"
        raise UsageError(f"chrF with {found} cannot be aggregated; expected chrF without, or another estimator")
    return *both_sides(metric.characters, hypotheses, evidence), metric.char_order
