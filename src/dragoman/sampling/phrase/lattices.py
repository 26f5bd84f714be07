"""Lattices of one sentence as evidence: which derivations are in them, what they expect, and exact probabilities.

The thesis (5.4) calls a phrase table well-behaved if every part of a phrase is a phrase. With others, there may be
segmentations of a sentence that no series of merges and splits leads to; tables 5.1 and 5.2 count such sentences.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.inside_outside import edge_posteriors
from dragoman.forest.kbest import kbest
from dragoman.sampling.forest import BestDerivations, Forest, weighted_features
from dragoman.search.limits import SearchLimits
from dragoman.search.phrase.batch import PhraseBatch, PhraseOutcome
from dragoman.search.phrase.lattice import Edges, hypergraph
from dragoman.search.phrase.translator import PhraseTranslator

#: Edges whose features are computed at once: they need some hundred bytes each.
_EDGES = 1 << 18

#: Translations that are forced at once.
_FORCED = 256


class Lattice(Forest):
    """What a search kept of a sentence; scores are divided by a temperature.

    From a node, an option leads to one node at most: derivations, as options in target order (numbered within the
    sentence), are the words that an automaton accepts.
    """

    def __init__(self, batch: PhraseBatch, edges: Edges, graph: Hypergraph):
        super().__init__(graph)
        self.batch, self.edges = batch, edges

    @classmethod
    def of(cls, batch: PhraseBatch, found: PhraseOutcome, temperature: float = 1.0) -> Lattice:
        """Return the lattice of a batch of one sentence, after a search with `lattice`."""
        edges = Edges.of(batch, found, 0)
        graph = hypergraph(batch, found, 0, edges, features=False)
        return cls(batch, edges, graph.scaled(1 / temperature))

    def expected_features(self) -> NDArray[np.float64]:
        """The expected features of a derivation, in the order of the model's names; some edges at a time."""
        posteriors = edge_posteriors(self.graph)
        names = self.batch.model.dense_features
        totals = np.zeros(len(names))
        for begin in range(0, self.graph.edges, _EDGES):
            part = np.arange(begin, min(begin + _EDGES, self.graph.edges))
            totals += weighted_features(self.edges.take(part).features(self.batch), posteriors[part], names)
        return totals

    def contains(self, derivations: Ragged[np.int32]) -> NDArray[np.bool_]:
        """Whether each derivation is in the lattice: all take their steps together."""
        options = int(self.batch.options.offsets[1])
        steps = self.graph.tails[:, 0].astype(np.int64) * (options + 1) + self.edges.option + 1  # option -1 is step 0
        order = np.argsort(steps, kind="stable")
        ordered, heads = steps[order], self.graph.heads[order]
        node = np.zeros(len(derivations), np.int64)
        inside = np.ones(len(derivations), np.bool_)
        lengths = derivations.lengths
        for place in range(int(lengths.max(initial=0)) + 1):  # the last step of each is that into the goal
            rows = np.flatnonzero(inside & (lengths >= place))
            last = lengths[rows] == place
            chosen = np.full(len(rows), -1, np.int64)
            chosen[~last] = derivations.values[derivations.offsets[rows[~last]] + place]
            wanted = node[rows] * (options + 1) + chosen + 1
            found = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
            inside[rows] = ordered[found] == wanted
            node[rows] = heads[found]
        return inside

    def best(self, k: int) -> BestDerivations:
        """Return the k best derivations, or as many as there are, with their features."""
        found = kbest(self.graph, k)
        # Pre-order is the order from the goal to the start, and the edges at both ends have no option.
        backwards = self.edges.option[found.derivations.values][::-1]
        offsets = np.concatenate([[0], np.cumsum(found.derivations.lengths[::-1] - 2)]).astype(np.int64)
        rows = Ragged(backwards[backwards >= 0].astype(np.int32), offsets).take(np.arange(len(found))[::-1])
        used, numbers = np.unique(found.derivations.values, return_inverse=True)
        features = self.edges.take(used).features(self.batch)
        summed = features.sum_over(Ragged(numbers.astype(np.int32), found.derivations.offsets))
        return BestDerivations(rows, found.scores, summed)


def translation_log_scores(
    translator: PhraseTranslator,
    line: str,
    translations: Ragged[np.int32],
    *,
    temperature: float = 1.0,
    runtime: Runtime = Runtime(),
) -> NDArray[np.float64]:
    """For each translation of a sentence ln Σ exp(score / temperature) over all derivations that write it.

    Less log Z it is the translation's log-probability. The search is forced to write each of them, which costs far
    less than to intersect the lattice of all derivations with each; -inf where there is no derivation. Words are those
    of the vocabulary of the sentence's options.
    """
    count = len(translations)
    sums = np.empty(count)
    copies = translator.batch([line] * min(_FORCED, count))
    for begin in range(0, count, _FORCED):
        # The last block is filled up with its last translation.
        rows = np.minimum(np.arange(begin, begin + min(_FORCED, count)), count - 1)
        found = copies.search(
            SearchLimits(algorithm="exhaustive"),
            translator.reordering_limit,
            targets=translations.take(rows),
            lattice=True,
            runtime=runtime,
        )
        sums[rows] = _log_partitions(found, temperature)
    return sums


def _log_partitions(found: PhraseOutcome, temperature: float) -> NDArray[np.float64]:
    """Log Z of each lattice that a search kept; the lattices are put together so that one pass does for all."""
    arrays = found.arrays
    nodes, edges = arrays["node_offsets"], arrays["edge_offsets"]
    reached = np.flatnonzero(np.diff(nodes) > 0)
    # Every lattice has one more bound than nodes, the end of its edges.
    first = np.delete(arrays["first_edges"], nodes[reached + 1] + np.arange(len(reached)))
    first = np.append(first + np.repeat(edges[:-1], np.diff(nodes)), edges[-1])
    tails = np.full((int(edges[-1]), 2), -1, np.int32)
    tails[:, 0] = np.where(arrays["tails"] >= 0, arrays["tails"] + np.repeat(nodes[:-1], np.diff(edges)), -1)
    sums = np.full(len(found.outcomes), -np.inf)
    forest = kernels.Forest(first_edge=first, tails=tails, scores=arrays["edge_scores"] / temperature)
    inside = kernels.forest_inside(forest, maximum=False)
    sums[reached] = inside[nodes[reached + 1] - 1]
    return sums


#: Counting stops here.
MOST_COMPONENTS = 1000


def segmentation_components(batch: PhraseBatch, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
    """The number of connected parts of each sentence's segmentation graph; 1 if all is well, 1000 also for more.

    A segmentation is a path over the positions between words, a merge or split replaces two of its edges by the one
    that closes the triangle, or one by two. The parts are those of paths to each position in turn, which arise from the
    parts of paths to earlier positions: O(words · longest phrase²) for each part.
    """
    options = batch.options
    lengths = options.source.sentences.lengths.astype(np.int32)
    return kernels.segmentation_components(
        lengths, options.offsets, options.begin, options.end, MOST_COMPONENTS, runtime.threads
    )
