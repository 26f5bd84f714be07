"""Evidence is the same after a night on disk, and grows by what is new."""

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.runtime import Runtime
from dragoman.forest.kbest import nbest
from dragoman.metrics.bleu import Bleu
from dragoman.tuning.problems.evidence import DecodedGraphs, DecodedLists
from oracles.forest import FEATURES, RandomHypergraphs, derivations
from oracles.toy_decoder import NAMES, ToyDecoder, task_of

RANGES = dict.fromkeys(FEATURES, (-1.0, 1.0))
GRAPHS = [graph for graph, listed in RandomHypergraphs(12, seed=5) if listed]


def scorer():
    return Bleu().scorer([Corpus.from_lines(["a b c a b"] * len(GRAPHS))])


@pytest.mark.parametrize("weights", [np.array([0.5, -1.0, 2.0]), np.array([-1.0, 0.25, 1.0])])
def test_graphs_come_back_as_they_were(tmp_path, weights):
    before = DecodedGraphs(GRAPHS)
    before.save(tmp_path / "graphs")
    after = DecodedGraphs.load(tmp_path / "graphs")
    assert after.size == before.size
    assert after.first().lines() == before.first().lines()
    objectives = [found.problem(FEATURES, RANGES, scorer()).objective(weights) for found in (before, after)]
    assert objectives[0] == objectives[1]


def test_the_first_translation_is_the_best():
    best = [max(derivations(graph), key=lambda d: d.score).words for graph in GRAPHS]
    assert DecodedGraphs(GRAPHS).first().lines() == [
        graph.vocab.text(np.array(words, np.int32)) for graph, words in zip(GRAPHS, best, strict=True)
    ]


def test_graphs_after_others_are_chosen_from_both():
    half = len(GRAPHS) // 2
    one, other = GRAPHS[:half], GRAPHS[half : 2 * half]
    together = DecodedGraphs(other).merged_with(DecodedGraphs(one))
    bleu = Bleu().scorer([Corpus.from_lines(["a b c a b"] * half)])
    lists = DecodedLists(nbest(other, 10_000)).merged_with(DecodedLists(nbest(one, 10_000)))
    weights = np.array([0.31, -1.1, 0.77])
    assert together.problem(FEATURES, RANGES, bleu).objective(weights) == pytest.approx(
        lists.problem(FEATURES, RANGES, bleu).objective(weights)
    )


def test_lists_grow_by_what_is_new(tmp_path):
    decoder = ToyDecoder(sentences=5, size=100)
    first, second = (decoder(Weights({name: 1.0}), runtime=Runtime()) for name in NAMES[:2])
    assert first.size == 500
    assert second.merged_with(first).size == 500
    first.save(tmp_path / "lists")
    again = DecodedLists.load(tmp_path / "lists")
    weights = np.array([0.5, 0.1, -0.2])
    task = task_of(decoder)
    objectives = [part.problem(NAMES, task.ranges, task.scorer).objective(weights) for part in (first, again)]
    assert objectives[0] == objectives[1]
    assert again.first().lines() == first.first().lines()
