"""Max-derivation: the string of the single best derivation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.lattice_rule import best_string, choose_each
from dragoman.decision.posterior import hypothesis_scores
from dragoman.decision.rule import Decisions, Evidence, EvidenceKind, Rule


@dataclass(frozen=True)
class MaxDerivation(Rule):
    """The string of the derivation with the highest score, a decoder's usual output (thesis, 6.2).

    Derivations of the same string are not added up. The value is the score. With samples, the best of the sampled
    derivations counts.
    """

    name: ClassVar[str] = "max-derivation"
    takes: ClassVar[tuple[EvidenceKind, ...]] = ("hypergraph", "nbest", "samples")

    def choose(self, evidence: Evidence, *, runtime: Runtime = Runtime()) -> Decisions:
        """Choose the string of the best derivation."""
        if isinstance(evidence, NBest):
            return Decisions.of_best(
                evidence.vocab, evidence.hypotheses, hypothesis_scores(evidence), evidence.sentences
            )
        if isinstance(evidence, Samples):
            return Decisions.of_best(evidence.vocab, evidence.hypotheses, evidence.scores, evidence.sentences)
        return choose_each(evidence, best_string, runtime=runtime)
