"""Max-derivation: the string of the single best derivation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dragoman.core.nbest import NBest
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.lattice_rule import best_string, choose_each
from dragoman.decision.posterior import hypothesis_scores
from dragoman.decision.rule import Decisions, Evidence, EvidenceKind, Rule


@dataclass(frozen=True)
class MaxDerivation(Rule):
    """The string of the derivation with the highest score, a decoder's usual output (thesis, equation 6.2).

    Derivations of the same string are not added up. The value is the score. With samples, the sampled derivation with
    the highest score is chosen or, with `samples_by="frequency"`, the one collected most often by all chains, the first
    collected among equals: the mode of the estimated p(d), which the thesis (6.1) calls max-derivation of samples. Then
    the value is its relative frequency. The default departs from the thesis, where the mode is mostly chance unless the
    distribution is sharp.
    """

    name: ClassVar[str] = "max-derivation"
    takes: ClassVar[tuple[EvidenceKind, ...]] = ("hypergraph", "nbest", "samples")

    samples_by: Literal["score", "frequency"] = option(
        "score", "samples: choose the derivation with the highest score, or the most frequent one"
    )

    def choose(self, evidence: Evidence, *, runtime: Runtime = Runtime()) -> Decisions:
        """Choose the string of the best derivation."""
        if isinstance(evidence, NBest):
            return Decisions.of_best(
                evidence.vocab, evidence.hypotheses, hypothesis_scores(evidence), evidence.sentences
            )
        if isinstance(evidence, Samples):
            values = evidence.scores if self.samples_by == "score" else evidence.probabilities
            return Decisions.of_best(evidence.vocab, evidence.hypotheses, values, evidence.sentences)
        return choose_each(evidence, best_string, runtime=runtime)
