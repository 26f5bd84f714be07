"""Whole search spaces as evidence (Macherey et al. 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import output_folder
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.own_files import EVIDENCE
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.sound import check_numbers, check_offsets, ragged_array, typed_array
from dragoman.core.store import Arrays
from dragoman.core.vocab import Vocab
from dragoman.forest.batch import Batch
from dragoman.forest.derivation import yields
from dragoman.forest.merge import merge
from dragoman.forest.viterbi import best_derivation
from dragoman.metrics.metric import Scorer
from dragoman.model.parts import in_folder
from dragoman.tuning.problems.evidence import Decoded, load_evidence, save_evidence
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem, Targets
from dragoman.tuning.problems.ranges import Ranges, boxes

#: The folders of references' derivations are called so, with a number after it.
_FORCED = "forced"


@dataclass(frozen=True, eq=False)
class DecodedGraphs(Decoded):
    """Hypergraphs, one a sentence, with features; of several decodings all derivations, each once.

    `forced` has a row of as many for each reference, with the derivations of that reference, for methods that want
    them; one without edges where there are none.
    """

    graphs: Sequence[Hypergraph]
    forced: Sequence[Sequence[Hypergraph]] = ()

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def size(self) -> int:
        """The number of edges."""
        return sum(graph.edges for graph in self.graphs)

    @property
    def unit(self) -> str:
        """What `size` counts."""
        return "edges"

    @property
    def names(self) -> Sequence[str]:
        """The names of the features that occur."""
        return [*dict.fromkeys(name for graph in self.graphs if graph.features for name in graph.features.names)]

    def first(self) -> Corpus:
        """What the best derivation of each sentence writes."""
        return _best_translations(self.graphs)

    def after(self, earlier: DecodedGraphs) -> DecodedGraphs:
        """The earlier hypergraphs and these, merged."""
        rows = zip(earlier.forced, self.forced, strict=True)
        return DecodedGraphs(_merged(earlier.graphs, self.graphs), [_merged(*pair) for pair in rows])

    def problem(
        self, names: Sequence[str], ranges: Ranges, scorer: Scorer, *, sign: int = 1, runtime: Runtime = Runtime()
    ) -> HypergraphProblem:
        """The problem of choosing the weights `names`; features with other names keep out of it."""
        graphs = self.graphs
        for row in self.forced:
            graphs = _merged(graphs, row)
        return HypergraphProblem.of(graphs, scorer, boxes(names, ranges), sign, names=names, targets=self._targets())

    def _targets(self) -> Targets:
        """The references that can be derived."""
        reached = [(i, graph) for row in self.forced for i, graph in enumerate(row) if graph.edges]
        if not reached:
            return Targets.none()
        sentences = np.array([i for i, _ in reached], np.int64)
        return Targets(sentences, _best_translations([graph for _, graph in reached]))

    def save(self, folder: Path) -> None:
        """Write the hypergraphs; whole or not at all."""
        with output_folder(folder, EVIDENCE) as partial:
            _save(self.graphs, partial)
            for i, row in enumerate(self.forced):
                _save(row, partial / f"{_FORCED}{i}")

    @classmethod
    def load(cls, folder: Path) -> DecodedGraphs:
        """Read what `save` wrote."""
        graphs, forced = _load(folder), list[list[Hypergraph]]()
        while (row := folder / f"{_FORCED}{len(forced)}").exists():
            forced.append(_load(row))
            if len(forced[-1]) != len(graphs):
                raise DataError(f"has {len(forced[-1])} hypergraphs", path=row, expected=f"{len(graphs)}")
        return cls(graphs, forced)


def _best_translations(graphs: Sequence[Hypergraph]) -> Corpus:
    """What the best derivation of each hypergraph writes."""
    joined = Batch.of([replace(graph, features=None) for graph in graphs])
    rows = [yields(graph, best_derivation(graph).as_row()) for graph in joined.graphs()]
    return Corpus(joined.joined.vocab, Ragged.concatenate(rows))


def _merged(earlier: Sequence[Hypergraph], later: Sequence[Hypergraph]) -> list[Hypergraph]:
    return [
        merge([before, after]) if before.edges and after.edges else before if before.edges else after
        for before, after in zip(earlier, later, strict=True)
    ]


def _save(graphs: Sequence[Hypergraph], folder: Path) -> None:
    """Write hypergraphs, all as one."""
    batch = Batch.of(graphs)
    graph = batch.joined
    assert graph.features is not None
    arrays: Arrays = {
        "nodes": batch.nodes,
        "roots": batch.roots,
        "first_edge": graph.first_edge,
        "tails": graph.tails,
        "template_ids": graph.template_ids,
        "templates": graph.templates.values,
        "template_offsets": graph.templates.offsets,
        "spans": graph.spans,
        "scores": graph.scores,
    }
    save_evidence(folder, arrays, graph.vocab, graph.features)


def _load(folder: Path) -> list[Hypergraph]:
    arrays, vocab, features = load_evidence(folder, "scores")
    graphs = in_folder(folder, _checked, arrays, vocab, features).graphs()
    # As after a search, each has the names of its own features only, which may be few of many.
    return [replace(graph, features=None if graph.features is None else graph.features.used()) for graph in graphs]


def _checked(arrays: Arrays, vocab: Vocab, features: FeatureRows) -> Batch:
    part, edges = "hypergraphs", len(features)
    templates = ragged_array(arrays, "templates", "template_offsets", np.int32, part)
    check_offsets("template_offsets", templates.offsets, len(templates.values))
    joined = Hypergraph(
        vocab=vocab,
        root=0,
        first_edge=typed_array(arrays, "first_edge", np.int64, (None,), part),
        tails=typed_array(arrays, "tails", np.int32, (edges, 2), part),
        template_ids=typed_array(arrays, "template_ids", np.int32, (edges,), part),
        templates=templates,
        spans=typed_array(arrays, "spans", np.int32, (edges, 2), part),
        scores=typed_array(arrays, "scores", np.float64, (edges,), part),
        features=features,
    )
    joined.check()
    check_numbers("scores", joined.scores)
    nodes, roots = (typed_array(arrays, name, np.int64, (None,), part) for name in ("nodes", "roots"))
    check_offsets("nodes", nodes, joined.nodes)
    first, end = nodes[:-1], nodes[1:]
    if len(roots) != len(first) or np.any((roots < first) | (roots >= end)):
        raise DataError("the array 'roots' has nodes of other sentences", expected="a node of each sentence")
    begin = np.repeat(first, np.diff(nodes))[joined.heads]
    if np.any((joined.tails >= 0) & (joined.tails < begin[:, None])):
        raise DataError("the array 'tails' has nodes of other sentences", expected="nodes of the sentence")
    return Batch(joined, nodes, roots)
