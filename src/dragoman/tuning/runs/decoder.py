"""Decoding of the tuning set: n-best lists or hypergraphs under any weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.forest.prune import prune_to_density
from dragoman.search.translator import Shard, ShardedTranslator, Translator
from dragoman.tuning.problems.evidence import (
    DecodedGraphs,
    DecodedLists,
    DecodeLists,
    Decoding,
    DecodingResults,
    lists_of_strings,
)
from dragoman.tuning.problems.mixtures import DecodedMixtures


@dataclass(frozen=True)
class DecodeGraphs:
    """Makes pruned hypergraphs of a shard; one without edges where a target was not reached.

    Also returns the number of targets whose search was given up, because it needed too much memory.
    """

    density: float

    def __call__(self, translator: Translator, shard: Shard, runtime: Runtime) -> tuple[list[Hypergraph], int]:
        """Search a shard."""
        result = translator.search_shard(shard, forests=True)
        graphs = [result.hypergraph(i) for i in range(len(result))]
        too_large = sum(result.is_too_large(i) for i in range(len(result)))
        return [prune_to_density(graph, self.density) if graph.edges else graph for graph in graphs], too_large


class TuningSetDecoder:
    """Decodes the tuning set under any weights, and on request its references by force."""

    def __init__(
        self,
        spread: ShardedTranslator,
        lines: Sequence[str],
        targets: Sequence[Sequence[str]],
        decoding: Decoding,
        *,
        pairs: bool = False,
    ):
        self._spread, self._lines, self._targets, self._decoding = spread, lines, targets, decoding
        self._pairs = pairs

    def __call__(self, weights: Weights, *, runtime: Runtime = Runtime()) -> DecodingResults:
        """Return n-best lists or hypergraphs under some weights."""
        translator = self._spread.translator.reweighted(weights)
        translator.refuse_global_features()
        spread = replace(self._spread, translator=translator, runtime=runtime)
        if self._decoding.evidence != "nbest":
            graphs = self._graphs(spread, None, "translating the tuning set")
            return DecodedGraphs(
                graphs, [self._graphs(spread, row, "deriving the references") for row in self._targets]
            )
        wanted = self._decoding.hypotheses
        distinct = lists_of_strings(translator.model) if wanted is None else wanted == "strings"
        lists: list[NBest] = []
        with runtime.stage("translating the tuning set") as progress_callback:
            for part in spread.map(
                DecodeLists(self._decoding.nbest, distinct, self._pairs), spread.shards(self._lines)
            ):
                lists.append(part)
                progress_callback(sum(map(len, lists)) / len(self._lines))
        joined = NBest.concatenate(lists)
        return DecodedMixtures.of(joined, translator.model, weights) if self._pairs else DecodedLists(joined)

    def translate(self, weights: Weights, sentences: NDArray[np.int64]) -> Corpus:
        """Return the best translations of some of the sentences."""
        translator = self._spread.translator.reweighted(weights)
        found = translator.translate([self._lines[i] for i in sentences.tolist()])
        return Corpus.from_lines([each.text for each in found])

    def _graphs(self, spread: ShardedTranslator, targets: Sequence[str] | None, stage: str) -> list[Hypergraph]:
        assert self._decoding.density is not None
        graphs, too_large = list[Hypergraph](), 0
        with spread.runtime.stage(stage) as progress_callback:
            for found, more in spread.map(DecodeGraphs(self._decoding.density), spread.shards(self._lines, targets)):
                graphs += found
                too_large += more
                progress_callback(len(graphs) / len(self._lines))
        if too_large:
            spread.runtime.warn(
                f"{too_large:,} of {len(graphs):,} references were not searched for, because all derivations of such"
                f" long sentences need more than max-size {spread.translator.limits.max_size:,}"
            )
        return graphs
