"""Minimum Bayes risk over lists and samples: the string with the highest expected gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.nbest import NBest
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.gains import check_gain, sharded_gains
from dragoman.decision.posterior import Posterior, PosteriorRule
from dragoman.decision.rule import Decisions, Evidence, EvidenceKind
from dragoman.decision.utilities import Utilities
from dragoman.metrics.combined import parse_metric


@dataclass(frozen=True)
class Mbr(PosteriorRule):
    """The string with the highest expected gain under the posterior (Kumar & Byrne 2004; thesis, 2.19).

    The gain is a metric of single sentences, with a string of the evidence as the reference; for BLEU it is SBLEU, with
    1 added to the counts of orders above 1. All strings are evidence, and the most probable `hypotheses` of them are
    candidates: of lists, each string with the score of its best derivation (2.19); of samples, the thesis's sampler MBR
    (6.2). The value is the expected gain, negated for error rates. Cost: hypotheses times evidence; for BLEU and
    chrF a pair costs a few additions, because n-grams are numbered once.
    """

    name: ClassVar[str] = "mbr"
    takes: ClassVar[tuple[EvidenceKind, ...]] = ("nbest", "samples")

    metric: str = option("bleu", "the gain: a metric with its options, as in chrf:char_order=4")
    hypotheses: int = option(1000, "number of candidate strings: the most probable ones", minimum=1)
    evidence: int | None = option(
        None, "number of strings that count as evidence: the most probable ones; by default all", minimum=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gain(parse_metric(self.metric))

    def choose(self, evidence: Evidence, *, runtime: Runtime = Runtime()) -> Decisions:
        """Choose the string with the highest expected gain."""
        assert isinstance(evidence, NBest | Samples)
        posterior = self.posterior(evidence)
        hypotheses = posterior.top(self.hypotheses)
        return self.choose_from(hypotheses, posterior, runtime=runtime.here())

    def choose_from(self, hypotheses: Posterior, evidence: Posterior, *, runtime: Runtime = Runtime()) -> Decisions:
        """Choose among hypotheses by separate evidence for the same sentences."""
        gains = self.gains(hypotheses, evidence, runtime=runtime)
        return Decisions.of_best(hypotheses.vocab, hypotheses.strings, gains, hypotheses.sentences)

    def choose_by(self, utilities: Utilities, hypotheses: Posterior, evidence: Posterior) -> Decisions:
        """Choose by gains that another program computed, in place of the metric's."""
        gains = utilities.expected(hypotheses, evidence)
        return Decisions.of_best(hypotheses.vocab, hypotheses.strings, gains, hypotheses.sentences)

    def gains(self, hypotheses: Posterior, evidence: Posterior, *, runtime: Runtime = Runtime()) -> NDArray[np.float64]:
        """Return the expected gain of each hypothesis, computed by threads or workers."""
        metric = parse_metric(self.metric)
        evidence = evidence.top(self.evidence)
        return sharded_gains(metric, hypotheses, evidence, runtime=runtime)[0]
