"""Lattice MBR: expected gain under a linear approximation of BLEU, over all translations of a hypergraph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.lattice_rule import LatticeRule, NGramValues, ScoredString, best_string, candidates
from dragoman.decision.rule import Decisions, Evidence, EvidenceKind
from dragoman.forest.ngrams import split_by_context, split_posteriors


@dataclass(frozen=True)
class LatticeMbr(LatticeRule):
    """The string that maximises θ0 |e| + Σ over n-grams w of θ|w| c(w, e) p(w) (Tromble et al. 2008; thesis, 2.21).

    p(w) is the probability that a translation has w, exact over the pruned hypergraph (Kumar et al. 2009, without their
    approximation). θ0 = -1 and θn = 1 / (order p r^(n-1)), where p is a typical unigram precision and r the ratio of
    the precisions of an order and the one before. Hypotheses are all strings of the pruned hypergraph (an exact maximum
    on the hypergraph split by n-grams), or its best strings. Cost: edges of the split hypergraph times n-grams.

    With a `derivation_weight`, the sum has one more term: that weight times the scaled score of the string's best
    derivation, log p(d) up to a constant (Kumar et al. 2009; thesis, 6.2.1). It draws the choice towards
    max-derivation, which very large weights give.

    Departures: p(w) is exact; all strings are hypotheses, where the thesis (7.5.5) takes the 1,000 best
    (`space=kbest`); and p and r have fixed defaults, where Tromble et al. measure them on translations of the decoder
    (`tune-decision` chooses them by their score).
    """

    name: ClassVar[str] = "lattice-mbr"
    takes: ClassVar[tuple[EvidenceKind, ...]] = ("hypergraph",)

    p: float = option(0.8, "unigram precision", minimum=1e-6, maximum=1)
    r: float = option(0.7, "ratio of the precisions of an order and the one before", minimum=1e-6, maximum=1)
    order: int = option(4, "length of the longest n-grams", minimum=1, maximum=16)
    derivation_weight: float = option(0.0, "weight of the best derivation's scaled score", minimum=0)
    space: Literal["lattice", "kbest"] = option("lattice", "hypotheses: the whole lattice, or its best strings")
    hypotheses: int = option(1000, "number of strings, if the best ones are the hypotheses", minimum=1)

    @property
    def theta(self) -> NDArray[np.float64]:
        """The value of a word (θ0), and of a certain n-gram of each order."""
        return np.append(-1.0, 1 / (self.order * self.p * self.r ** np.arange(self.order)))

    def choose(self, evidence: Evidence, *, runtime: Runtime = Runtime()) -> Decisions:
        """Choose the string with the highest expected gain."""
        assert not isinstance(evidence, NBest | Samples)
        return self.choose_pruned(evidence, self._of_hypergraph, runtime=runtime)

    def _of_hypergraph(self, graph: Hypergraph) -> ScoredString:
        split = split_by_context(graph, self.order)
        found = split_posteriors(split)
        values = self.theta[found.ngrams.lengths] * found.values
        if self.space == "lattice":
            written = split.graph.templates
            is_word = np.concatenate([[0], np.cumsum(written.values >= 0)])
            words = is_word[written.offsets[1:]] - is_word[written.offsets[:-1]]
            gains = split.edge_sums(values) + self.theta[0] * words[split.graph.template_ids]
            if self.derivation_weight:
                gains += self.derivation_weight * split.graph.scores
            return best_string(replace(split.graph, scores=gains))
        listed = candidates(graph, self.hypotheses)
        sums = NGramValues.of_hypergraph(replace(found, values=values)).sums(listed.strings, listed.bounds, self.order)
        totals = sums.sum(axis=1) + self.theta[0] * listed.strings.lengths
        if self.derivation_weight:
            totals += self.derivation_weight * listed.scores
        best = int(totals.argmax())
        return ScoredString(listed.strings[best], float(totals[best]))
