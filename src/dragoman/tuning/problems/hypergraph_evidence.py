"""Whole search spaces as evidence (Macherey et al. 2008)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import output_folder
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.store import load_arrays, save_arrays
from dragoman.core.vocab import Vocab
from dragoman.forest.batch import Batch
from dragoman.forest.derivation import yields
from dragoman.forest.merge import merge
from dragoman.forest.viterbi import best_derivation
from dragoman.metrics.metric import Scorer
from dragoman.tuning.problems.evidence import NAMES, Decoded
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem, Targets

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
        joined = Batch.of([replace(graph, features=None) for graph in self.graphs])
        rows = [yields(graph, best_derivation(graph).as_row()) for graph in joined.graphs()]
        return Corpus(joined.joined.vocab, Ragged.concatenate(rows))

    def after(self, earlier: DecodedGraphs) -> DecodedGraphs:
        """The earlier hypergraphs and these, merged."""
        rows = zip(earlier.forced, self.forced, strict=True)
        return DecodedGraphs(_merged(earlier.graphs, self.graphs), [_merged(*pair) for pair in rows])

    def problem(
        self,
        names: Sequence[str],
        ranges: Mapping[str, tuple[float, float]],
        scorer: Scorer,
        *,
        sign: int = 1,
        threads: int = 1,
    ) -> HypergraphProblem:
        """The problem of choosing the weights `names`; features with other names keep out of it."""
        graphs = self.graphs
        for row in self.forced:
            graphs = _merged(graphs, row)
        boxes = np.array([ranges[name] for name in names], np.float64).reshape(-1, 2)
        return HypergraphProblem.of(graphs, scorer, boxes, sign, names=names, targets=self._targets())

    def _targets(self) -> Targets:
        """The references that can be derived."""
        reached = [(i, graph) for row in self.forced for i, graph in enumerate(row) if graph.edges]
        if not reached:
            return Targets.none()
        joined = Batch.of([replace(graph, features=None) for _, graph in reached])
        rows = [yields(graph, best_derivation(graph).as_row()) for graph in joined.graphs()]
        sentences = np.array([i for i, _ in reached], np.int64)
        return Targets(sentences, Corpus(joined.joined.vocab, Ragged.concatenate(rows)))

    def save(self, folder: Path) -> None:
        """Write the hypergraphs; whole or not at all."""
        with output_folder(folder) as partial:
            _save(self.graphs, partial)
            for i, row in enumerate(self.forced):
                _save(row, partial / f"{_FORCED}{i}")

    @classmethod
    def load(cls, folder: Path) -> DecodedGraphs:
        """Read what `save` wrote."""
        rows = sorted(folder.glob(f"{_FORCED}*"), key=lambda path: int(path.name.removeprefix(_FORCED)))
        return cls(_load(folder), [_load(row) for row in rows])


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
    save_arrays(
        folder,
        {
            "nodes": batch.nodes,
            "roots": batch.roots,
            "first_edge": graph.first_edge,
            "tails": graph.tails,
            "template_ids": graph.template_ids,
            "templates": graph.templates.values,
            "template_offsets": graph.templates.offsets,
            "spans": graph.spans,
            "scores": graph.scores,
            **graph.features.arrays(),
        },
    )
    save_arrays(folder / "vocab", graph.vocab.arrays())
    text = "".join(f"{name}\n" for name in graph.features.names)
    (folder / NAMES).write_text(text, encoding="utf-8")


def _load(folder: Path) -> list[Hypergraph]:
    arrays = load_arrays(folder)
    names = (folder / NAMES).read_text(encoding="utf-8").split("\n")[:-1]
    templates = cast(NDArray[np.int32], arrays["templates"])
    joined = Hypergraph(
        vocab=Vocab.from_arrays(load_arrays(folder / "vocab")),
        root=0,
        first_edge=cast(NDArray[np.int64], arrays["first_edge"]),
        tails=cast(NDArray[np.int32], arrays["tails"]),
        template_ids=cast(NDArray[np.int32], arrays["template_ids"]),
        templates=Ragged(templates, cast(NDArray[np.int64], arrays["template_offsets"])),
        spans=cast(NDArray[np.int32], arrays["spans"]),
        scores=cast(NDArray[np.float64], arrays["scores"]),
        features=FeatureRows.from_arrays(names, arrays),
    )
    nodes, roots = cast(NDArray[np.int64], arrays["nodes"]), cast(NDArray[np.int64], arrays["roots"])
    graphs = Batch(joined, nodes, roots).graphs()
    # As after a search, each has the names of its own features only, which may be few of many.
    return [replace(graph, features=None if graph.features is None else graph.features.used()) for graph in graphs]
