"""Evidence from decoding a tuning set: n-best lists or hypergraphs, in memory and in the folder of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import output_folder
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.options import Options, option
from dragoman.core.own_files import EVIDENCE
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import (
    Arrays,
    check_numbers,
    check_offsets,
    check_range,
    load_arrays,
    ragged_array,
    save_arrays,
    typed_array,
)
from dragoman.forest.batch import Batch
from dragoman.forest.derivation import best_derivation, yields
from dragoman.forest.operations import merge
from dragoman.metrics.metric import Scorer
from dragoman.model.bundle import Model
from dragoman.model.parts import in_folder
from dragoman.search.translator import Shard, Translator
from dragoman.tuning.problems.fixed_score import FixedScore
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem, ReferenceProblem, Targets
from dragoman.tuning.problems.problem import Problem, Ranges, boxes

#: The file of feature names, one per line, and the folder of the words.
_NAMES, _WORDS = "features.txt", "vocab"


@dataclass(frozen=True)
class Decoding(Options):
    """Evidence that each decoding of the tuning set yields."""

    evidence: Literal["nbest", "hypergraph"] | None = option(
        None,
        "n-best lists, or hypergraphs for mert, risk-forest and likelihood; by default lists if the method takes them",
    )
    nbest: int = option(100, "hypotheses per sentence", minimum=1)
    hypotheses: Literal["derivations", "strings"] | None = option(
        None, "lists of the best derivations, or of the best strings (default for hierarchical models)"
    )
    density: float | None = option(
        None,
        "hypergraph edges per word of the best translation; default: 100 for likelihood, otherwise 20",
        minimum=1e-9,
    )


class DecodingResults(ABC):
    """Results of decoding the tuning set, under one or several weights."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of sentences."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of candidates, or of edges of hypergraphs."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """The unit of `size`."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The names of the features that occur."""

    @property
    def mixed_names(self) -> Sequence[str]:
        """The names of scores that are not among the features because mixed tables make them."""
        return ()

    @abstractmethod
    def first(self) -> Corpus:
        """Return the best translation of each sentence."""

    @abstractmethod
    def merged_with(self, earlier: Self) -> Self:
        """Return all that was decoded earlier, and this."""

    def details(self) -> dict[str, Any]:
        """Return further values for a run's events."""
        return {}

    @abstractmethod
    def problem(
        self,
        names: Sequence[str],
        ranges: Ranges,
        scorer: Scorer,
        *,
        sign: int = 1,
        fixed: FixedScore = FixedScore(),
        runtime: Runtime = Runtime(),
    ) -> Problem | HypergraphProblem:
        """Return the problem of choosing the weights `names` beside `fixed` ones; other features are left out."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write to a folder, whole or not at all."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote; refuse arrays that kernels could not trust."""


def save_evidence(folder: Path, arrays: Arrays, vocab: Vocab, features: FeatureRows) -> None:
    """Write arrays with their words and features."""
    save_arrays(folder, arrays | features.arrays())
    save_arrays(folder / _WORDS, vocab.arrays())
    (folder / _NAMES).write_text("".join(f"{name}\n" for name in features.names), encoding="utf-8")


def load_evidence(folder: Path, rows: str) -> tuple[Arrays, Vocab, FeatureRows]:
    """Read what `save_evidence` wrote, with a row of features for each of the array `rows`; refuse damaged files."""
    arrays = load_arrays(folder)
    words = in_folder(folder / _WORDS, Vocab.from_arrays, load_arrays(folder / _WORDS))
    in_folder(folder / _WORDS, words.check)
    try:
        names = (folder / _NAMES).read_text(encoding="utf-8").split("\n")[:-1]
    except (OSError, UnicodeDecodeError):
        raise DataError("cannot be read", path=folder / _NAMES, expected="names of features in UTF-8") from None
    if len(set(names)) < len(names):
        raise DataError("has a name twice", path=folder / _NAMES, expected="names of features, each once")
    many = len(arrays[rows]) if rows in arrays and arrays[rows].ndim else 0
    return arrays, words, in_folder(folder, FeatureRows.from_arrays, names, arrays, many)


@dataclass(frozen=True)
class DecodeLists:
    """Makes n-best lists of a shard; with `pairs`, they count the pairs of mixed tables."""

    size: int
    distinct: bool
    pairs: bool = False

    def __call__(self, translator: Translator, shard: Shard, runtime: Runtime) -> NBest:
        """Search a shard."""
        result = translator.search_shard(shard, forests=True)
        return result.pair_lists(self.size) if self.pairs else result.nbest(self.size, distinct=self.distinct)


def lists_of_strings(model: Model) -> bool:
    """Return whether lists have different strings by default, not derivations.

    One string has many derivations by rules: lists of these would show a tuner few translations.
    """
    return model.kind == "chart"


@dataclass(frozen=True, eq=False)
class DecodedLists(DecodingResults):
    """N-best lists, one per sentence; of several decodings each hypothesis once."""

    nbest: NBest

    def __len__(self) -> int:
        return len(self.nbest)

    @property
    def size(self) -> int:
        """The number of hypotheses."""
        return len(self.nbest.scores)

    @property
    def unit(self) -> str:
        """The unit of `size`."""
        return "candidates"

    @property
    def names(self) -> Sequence[str]:
        """The names of the features that occur."""
        return self.nbest.features.names

    def first(self) -> Corpus:
        """Return the first hypothesis of each list."""
        return Corpus(self.nbest.vocab, self.nbest.hypotheses.take(self.nbest.sentences[:-1]))

    def merged_with(self, earlier: DecodedLists) -> DecodedLists:
        """Return the earlier lists, each followed by what is new in these."""
        return DecodedLists(NBest.merge([earlier.nbest, self.nbest]))

    def problem(
        self,
        names: Sequence[str],
        ranges: Ranges,
        scorer: Scorer,
        *,
        sign: int = 1,
        fixed: FixedScore = FixedScore(),
        runtime: Runtime = Runtime(),
    ) -> Problem:
        """Return the problem of choosing the weights `names` beside `fixed` ones; other features are left out."""
        nbest = self.nbest
        sentences = np.repeat(np.arange(len(nbest)), np.diff(nbest.sentences))
        return Problem(
            sentences=nbest.sentences,
            features=fixed.features(nbest.features, names, self._mixed_score(fixed)),
            statistics=scorer.statistics(Corpus(nbest.vocab, nbest.hypotheses), sentences, runtime=runtime),
            scorer=scorer,
            ranges=boxes([*names, *fixed.names], {**ranges, **fixed.ranges}),
            sign=sign,
        )

    def _mixed_score(self, fixed: FixedScore) -> NDArray[np.float64] | float:
        """Return the score of each hypothesis under fixed weights that its features do not have."""
        return 0.0

    def save(self, folder: Path) -> None:
        """Write what tuning needs of the lists: words, scores and features; whole or not at all."""
        nbest = self.nbest
        with output_folder(folder, EVIDENCE) as partial:
            arrays: Arrays = {
                "sentences": nbest.sentences,
                "scores": nbest.scores,
                "words": nbest.hypotheses.values,
                "word_offsets": nbest.hypotheses.offsets,
            }
            save_evidence(partial, arrays, nbest.vocab, nbest.features)

    @classmethod
    def load(cls, folder: Path) -> DecodedLists:
        """Read what `save` wrote."""
        arrays, vocab, features = load_evidence(folder, "scores")
        return cls(in_folder(folder, _checked_lists, arrays, vocab, features))


def _checked_lists(arrays: Arrays, vocab: Vocab, features: FeatureRows) -> NBest:
    part = "n-best lists"
    scores = typed_array(arrays, "scores", np.float64, (None,), part)
    sentences = typed_array(arrays, "sentences", np.int64, (None,), part)
    words = typed_array(arrays, "words", np.int32, (None,), part)
    bounds = typed_array(arrays, "word_offsets", np.int64, (len(scores) + 1,), part)
    check_offsets("sentences", sentences, len(scores))
    check_offsets("word_offsets", bounds, len(words))
    check_range("words", words, 0, len(vocab))
    check_numbers("scores", scores)
    if np.any(np.diff(sentences) == 0):
        raise DataError("the array 'sentences' has a list without hypotheses", expected=part)
    return NBest(vocab, sentences, Ragged(words, bounds), scores, features)


#: The name of folders of references' derivations, followed by a number.
_FORCED = "forced"


@dataclass(frozen=True, eq=False)
class DecodedGraphs(DecodingResults):
    """Hypergraphs, one per sentence, with features; of several decodings all derivations, each once.

    `forced` has a row of hypergraphs for each reference, with its derivations, for methods that need them; a
    hypergraph without edges means that there are none.
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
        """The unit of `size`."""
        return "edges"

    @property
    def names(self) -> Sequence[str]:
        """The names of the features that occur."""
        return [*dict.fromkeys(name for graph in self.graphs if graph.features for name in graph.features.names)]

    def first(self) -> Corpus:
        """Return the string of the best derivation of each sentence."""
        return _best_translations(self.graphs)

    def merged_with(self, earlier: DecodedGraphs) -> DecodedGraphs:
        """Return the earlier hypergraphs and these, merged."""
        rows = zip(earlier.forced, self.forced, strict=True)
        return DecodedGraphs(_merged(earlier.graphs, self.graphs), [_merged(*pair) for pair in rows])

    def problem(
        self,
        names: Sequence[str],
        ranges: Ranges,
        scorer: Scorer,
        *,
        sign: int = 1,
        fixed: FixedScore = FixedScore(),
        runtime: Runtime = Runtime(),
    ) -> HypergraphProblem:
        """Return the problem of choosing the weights `names` beside `fixed` ones; other features are left out."""
        graphs, box = self.graphs, boxes([*names, *fixed.names], {**ranges, **fixed.ranges})
        for row in self.forced:
            graphs = _merged(graphs, row)
        if not self.forced:
            return HypergraphProblem.of(graphs, scorer, box, sign, names=names, fixed=fixed)
        found = ReferenceProblem.of(graphs, scorer, box, sign, names=names, fixed=fixed)
        return replace(found, targets=self._targets())

    def _targets(self) -> Targets:
        """Return the references that can be derived."""
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
    """Return the string of the best derivation of each hypergraph."""
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
    graphs = in_folder(folder, _checked_graphs, arrays, vocab, features).graphs()
    # As after a search, each hypergraph names only its own features.
    return [replace(graph, features=None if graph.features is None else graph.features.used()) for graph in graphs]


def _checked_graphs(arrays: Arrays, vocab: Vocab, features: FeatureRows) -> Batch:
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
