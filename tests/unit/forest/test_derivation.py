from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.derivation import best_derivation, derivation_features, derivation_scores, segmentations, yields
from oracles.forest import RandomHypergraphs, chain, doubling

CASES = RandomHypergraphs(200, seed=2)


def as_rows(listed):
    return Ragged.of([d.edges for d in listed], np.int32)


def test_yields_scores_and_features_of_all_derivations():
    for graph, listed in CASES:
        rows = as_rows(listed)
        assert [tuple(row.tolist()) for row in yields(graph, rows)] == [d.words for d in listed]
        np.testing.assert_allclose(derivation_scores(graph, rows), [d.score for d in listed], rtol=0, atol=1e-12)
        features = derivation_features(graph, rows)
        dense = graph.features.dense()
        assert features.dense().tolist() == [dense[list(d.edges)].sum(axis=0).tolist() for d in listed]
        for begin, end in zip(features.offsets, features.offsets[1:], strict=False):
            assert (np.diff(features.ids[begin:end]) > 0).all()


def owners(graph, edges):
    """For each edge of a derivation in pre-order the one around it whose words are its own, by the definition."""
    owner = list(range(len(edges)))
    spans = graph.spans[list(edges)].tolist()

    def visit(place):
        edge, after, tails = edges[place], place + 1, []
        for tail in graph.tails[edge].tolist():
            if tail >= 0:
                tails.append(after)
                after = size(after)
        (begin, end), inside = spans[place], [spans[tail] for tail in tails]
        joints = [begin, *(at for span in inside for at in span), end]
        silent = not any(symbol >= 0 for symbol in graph.templates[int(graph.template_ids[edge])].tolist())
        joins = silent and joints[::2] == joints[1::2] and owner[place] == place
        for tail, (first, last) in zip(tails, inside, strict=True):
            if not joins and begin <= first < last <= end:
                owner[tail] = owner[place]
            visit(tail)

    def size(place):
        after = place + 1
        for tail in graph.tails[edges[place]].tolist():
            after = size(after) if tail >= 0 else after
        return after

    visit(0)
    return owner


def test_segmentations_give_the_source_span_and_target_range_of_edges_with_words():
    whole = 0
    for graph, listed in CASES:
        found = segmentations(graph, as_rows(listed))
        for matrix, d in zip(found, listed, strict=True):
            owner = owners(graph, d.edges)
            words = {
                place: sorted(w for p, row in enumerate(d.places) if owner[p] == place for w in row)
                for place in set(owner)
            }
            expected = [
                [*graph.spans[d.edges[place]].tolist(), row[0], row[-1] + 1] for place, row in words.items() if row
            ]
            assert matrix.tolist() == sorted(expected, key=lambda row: row[2])
            whole += owner != list(range(len(owner)))
    assert whole > 100


def test_a_rule_with_what_fills_its_holes_is_one_row_and_glue_has_none():
    words, rules = Vocab.of(["a", "b", "c"]), Ragged.of([[3], [-1, 4], [5], [-1, -2], [-2, -1]], np.int32)
    for last, expected in ((3, [[0, 2, 0, 2], [2, 3, 2, 3]]), (4, [[2, 3, 0, 1], [0, 2, 1, 3]])):
        graph = Hypergraph(
            vocab=words,
            root=3,
            first_edge=np.arange(5),
            tails=np.array([[-1, -1], [0, -1], [-1, -1], [1, 2]], np.int32),
            template_ids=np.array([0, 1, 2, last], np.int32),
            templates=rules,
            spans=np.array([[0, 1], [0, 2], [2, 3], [0, 3]], np.int32),
            scores=np.zeros(4),
        )
        assert segmentations(graph, best_derivation(graph).as_row())[0].tolist() == expected


def test_the_best_derivation_has_the_best_score():
    for graph, listed in CASES:
        best = best_derivation(graph)
        assert best.score == pytest.approx(max(d.score for d in listed), abs=1e-12)
        assert tuple(best.edges.tolist()) in {d.edges for d in listed}
        assert derivation_scores(graph, best.as_row())[0] == pytest.approx(best.score, abs=1e-12)


def test_the_best_of_equals_has_the_lowest_edges():
    graph = replace(chain(3), scores=np.zeros(6))
    assert best_derivation(graph).edges.tolist() == [4, 2, 0]


@pytest.mark.parametrize("row", [[], [4], [4, 2], [4, 0, 2], [4, 2, 0, 0], [2, 4, 0], [6, 2, 0], [-1, 2, 0]])
def test_rows_that_are_no_derivation_are_refused(row):
    with pytest.raises(ValueError, match="no derivation of this hypergraph"):
        yields(chain(3), Ragged.of([[4, 2, 0], row], np.int32))


def test_edges_outside_the_hypergraph_are_refused():
    with pytest.raises(UsageError, match="outside 0 to 5"):
        derivation_scores(chain(3), Ragged.of([[6]], np.int32))


def test_no_derivation_and_a_derivation_too_large_to_write_down():
    graph, _ = CASES[0]
    with pytest.raises(DataError, match="no derivation"):
        best_derivation(
            replace(
                graph, first_edge=graph.first_edge * 0 + graph.edges * (np.arange(graph.nodes + 1) > graph.root + 1)
            )
        )
    with pytest.raises(ValueError, match="4 million"):
        best_derivation(doubling(60))


def test_deep_lattices_do_not_exhaust_the_stack():
    graph = chain(200_000)
    best = best_derivation(graph)
    assert len(best.edges) == 200_000
    assert yields(graph, best.as_row()).lengths.tolist() == [0]
