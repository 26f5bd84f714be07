"""Max-translation: the most probable string, over all its derivations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.lattice_rule import LatticeRule, ScoredString
from dragoman.decision.rule import Decisions, Evidence, EvidenceKind
from dragoman.forest.batch import structure, texts
from dragoman.forest.inside_outside import log_partition

#: A string takes about 100 bytes.
_MOST_STRINGS = 10_000_000


@dataclass(frozen=True)
class MaxTranslation(LatticeRule):
    """The string with the highest probability, the sum over its derivations (thesis, equation 6.1). NP-hard in general.

    Over n-best lists, equal strings are added up (crunching, May & Knight 2006); over samples, the most frequent string
    is chosen. On a hypergraph, each node keeps its `beam` most probable strings (Blunsom, Cohn & Osborne 2008): exact
    if no node has more, which only short sentences allow. The value is the probability.
    """

    name: ClassVar[str] = "max-translation"
    takes: ClassVar[tuple[EvidenceKind, ...]] = ("nbest", "samples", "hypergraph")
    distinct_lists: ClassVar[bool] = False

    beam: int = option(100, "hypergraphs: strings kept at each node", minimum=1)

    def choose(self, evidence: Evidence, *, runtime: Runtime = Runtime()) -> Decisions:
        """Choose the most probable string."""
        if isinstance(evidence, NBest | Samples):
            found = self.posterior(evidence)
            return Decisions.of_best(found.vocab, found.strings, found.probabilities, found.sentences)
        return self.choose_pruned(evidence, self._of_hypergraph, runtime=runtime)

    def _of_hypergraph(self, graph: Hypergraph) -> ScoredString:
        try:
            words, offsets, sums = kernels.forest_translations(
                structure(graph), texts(graph), graph.root, self.beam, _MOST_STRINGS
            )
        except kernels.LimitError:
            raise DataError(
                f"a hypergraph has more than {_MOST_STRINGS:,} strings under a beam of {self.beam:,}",
                expected="a smaller beam or density, or a shorter sentence",
            ) from None
        return ScoredString(words[: offsets[1]], float(np.exp(sums[0] - log_partition(graph))))
