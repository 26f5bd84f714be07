"""Derivations of hierarchical models as a space for chains.

Arun's thesis (2011), 8.2.3: derivations are drawn from the forest without language models (Blunsom & Osborne, 2008) and
accepted by Metropolis and Hastings, so that samples follow the model with its language models. Beside
whole derivations, as there, subtrees, rules and stretches of glue are resampled. The moves, and why the chains have
the right distribution, are in `kernels/sampling/chart/chain.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.sampling.chart.forest import ChartForest, ChartText, best_derivations
from dragoman.sampling.search_forest import log_partitions
from dragoman.sampling.space import Arrays, DerivationSpace, Features
from dragoman.search.chart.batch import ChartBatch, ChartOutcome, check_scores
from dragoman.search.chart.graph import SentenceGraph
from dragoman.search.chart.translator import ChartResult, ChartTranslator
from dragoman.search.limits import SearchLimits


@dataclass(frozen=True, eq=False, kw_only=True)
class ChartSpace(DerivationSpace[ChartTranslator, ChartBatch, ChartOutcome]):
    """Derivations are edges in pre-order, numbered as `chart/forest.py` describes.

    A scan has as many moves of each kind as the sentence has words: a derivation has at most that many rules, each with
    a word of its own. A systematic scan makes them kind by kind, a random one in any order, by their rates; the rule or
    part that a move changes is always drawn. Draws come from the forest without language models of the proposal.
    """

    model_kind = "hierarchical"
    moves = ("subtree", "rule", "glue", "jump")
    foreign_options = (
        *("merge_split", "reorder", "retranslate", "forward_share", "collect"),
        *("positions", "proposal_order", "accept"),
    )
    expected = "rules that cover it, or glue = true in the model's settings"
    jumps_use_forests = False
    check_batch = staticmethod(check_scores)
    joins_documents = False

    @classmethod
    def of(cls, translator: ChartTranslator, lines: Sequence[str]) -> Self:
        """Return the space of some tokenised sentences."""
        return cls(batch=translator.batch(lines))

    @classmethod
    def of_result(cls, translator: ChartTranslator, result: ChartResult) -> Self:
        """Return the space of a batch after its search."""
        return cls(batch=result.batch, found=result.found)

    @property
    def source(self) -> Corpus:
        """The source sentences."""
        return self.batch.rules.source

    @property
    def vocab(self) -> Vocab:
        """The vocabulary of translations."""
        return self.batch.rules.vocab

    @property
    def kernel_words(self) -> NDArray[np.int32]:
        """The words of all rules."""
        words: NDArray[np.int32] = np.maximum(self.batch.rules.words.values, 0)  # the kernel skips numbers of holes
        return words

    def run_kernel(self, features: Features, starts: kernels.Rows, schedule: kernels.Schedule, threads: int) -> Arrays:
        """Run chains in the kernel."""
        proposal = None if self.proposal is None else self.proposal.arrays
        return kernels.chart_sample(self.batch.arrays, proposal, features, starts, schedule, threads=threads)

    def gloss(self, runtime: Runtime) -> Ragged[np.int32]:
        """Return the same as `monotone`: rules are not cut into words."""
        return self.monotone(runtime)

    def monotone(self, runtime: Runtime) -> Ragged[np.int32]:
        """Return the derivation of each sentence that is best without a look at context; empty where there is none."""
        return Ragged(*kernels.chart_glosses(self.batch.arrays, runtime.threads))

    def search(self, limits: SearchLimits, *, forests: bool, runtime: Runtime) -> Self:
        """Return the space with what a search finds."""
        return replace(self, found=self.batch.search(limits, forests=forests, runtime=runtime))

    def best_found(self) -> Ragged[np.int32]:
        """Return the best derivation that the search found of each sentence; empty where it found none."""
        assert self.found is not None
        return best_derivations(self.batch, self.found)

    def spell(self, sentences: NDArray[np.int64], derivations: Ragged[np.int32]) -> ChartText:
        """Spell derivations, each of its sentence of the batch."""
        return ChartText.of(self.batch, sentences, derivations)

    def result(self, derivations: Ragged[np.int32], scores: NDArray[np.float64], runtime: Runtime) -> ChartResult:
        """Return what the search found, with these derivations in place of the best of each sentence."""
        assert self.found is not None
        spelling = self.spell(np.arange(len(derivations)), derivations)
        found = replace(self.found, scores=scores, best=spelling.graphs)
        return ChartResult(self.batch, found, global_values=self.global_values(spelling.words), runtime=runtime)

    def components(self, runtime: Runtime) -> NDArray[np.int64]:
        """Return one part for each sentence.

        Any stretch can be cut into words, and anything can come of them; without glue the root can change.
        """
        return np.ones(len(self.source), np.int64)

    def forest(self, limits: SearchLimits, temperature: float, runtime: Runtime) -> ChartForest | None:
        """Return the forest that a search keeps of a batch of one sentence; None if that is too large."""
        found = self.batch.search(limits, forests=True, runtime=runtime)
        if found.outcomes[0] != 0 or found.every is None:
            return None
        return ChartForest(self.batch, SentenceGraph.of(self.batch, found.every, 0), temperature)

    def forced_log_sums(self, targets: Ragged[np.int32], temperature: float, runtime: Runtime) -> NDArray[np.float64]:
        """Return ln Σ exp(score / temperature) over all derivations of each sentence that write its target."""
        limits = SearchLimits(algorithm="exhaustive")
        graphs = self.batch.search(limits, targets=targets, forests=True, runtime=runtime).every
        assert graphs is not None
        return log_partitions(
            graphs.node_offsets, graphs.edge_offsets, graphs.first_edges, graphs.tails, graphs.scores / temperature
        )
