"""Fast consensus decoding: BLEU against expected n-gram counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.lattice_rule import LatticeRule, NGramValues, ScoredString, candidates
from dragoman.decision.rule import Decisions, Evidence, EvidenceKind
from dragoman.forest.ngrams import expected_counts
from dragoman.metrics.bleu import bleu_scores


@dataclass(frozen=True)
class Consensus(LatticeRule):
    """The string with the highest BLEU against expected n-gram counts (DeNero, Chiang & Knight 2009; thesis, 2.25).

    Matches are clipped by expected counts, and the reference length is the expected length. Linear in evidence and
    hypotheses. The value is this BLEU. Departure: DeNero et al. leave open how orders without a match are smoothed;
    here 1 is added to the counts of orders above 1, as in MBR.
    """

    name: ClassVar[str] = "consensus"
    takes: ClassVar[tuple[EvidenceKind, ...]] = ("hypergraph", "nbest", "samples")

    order: int = option(4, "length of the longest n-grams", minimum=1, maximum=16)
    hypotheses: int = option(1000, "number of candidate strings: the best ones", minimum=1)

    def choose(self, evidence: Evidence, *, runtime: Runtime = Runtime()) -> Decisions:
        """Choose the string with the highest BLEU against expected counts."""
        if not isinstance(evidence, NBest | Samples):
            return self.choose_pruned(evidence, self._of_hypergraph, runtime=runtime)
        posterior = self.posterior(evidence)
        counts = NGramValues.expected_counts(
            posterior.strings, posterior.sentences, posterior.probabilities, self.order, runtime=runtime
        )
        chosen = posterior.top(self.hypotheses)
        gains = self._gains(chosen.strings, chosen.sentences, counts, runtime)
        return Decisions.of_best(chosen.vocab, chosen.strings, gains, chosen.sentences)

    def _of_hypergraph(self, graph: Hypergraph) -> ScoredString:
        counts = NGramValues.of_hypergraph(expected_counts(graph, self.order))
        listed = candidates(graph, self.hypotheses)
        gains = self._gains(listed.strings, listed.bounds, counts, Runtime())
        best = int(gains.argmax())
        return ScoredString(listed.strings[best], float(gains[best]))

    def _gains(
        self, strings: Ragged[np.int32], sentences: NDArray[np.int64], counts: NGramValues, runtime: Runtime
    ) -> NDArray[np.float64]:
        matches = counts.sums(strings, sentences, self.order, clipped=True, runtime=runtime)
        lengths = strings.lengths
        totals = np.maximum(0, lengths[:, None] - np.arange(self.order))
        # The expected length is the sum of the expected counts of single words.
        sentence = np.repeat(np.arange(len(counts.sentences) - 1), np.diff(counts.sentences))
        words = np.where(counts.ngrams.lengths == 1, counts.values, 0.0)
        expected = np.bincount(sentence, words, minlength=len(sentences) - 1)
        wanted = np.repeat(expected, np.diff(sentences))
        return bleu_scores(np.column_stack([lengths, wanted, matches, totals]), "add-k", 1.0, effective_order=True)
