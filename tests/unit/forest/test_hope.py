"""Hope and fear against all derivations of small hypergraphs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.derivation import derivation_scores, yields
from dragoman.forest.hope import FEAR, InDocument, Objective, hope, rescore
from dragoman.forest.kbest import kbest
from oracles.forest import RandomHypergraphs, chain, doubling
from oracles.hope import best_strings, gain, random_sentence

OBJECTIVES = [hope(), FEAR, hope(0.0), hope(1.0), Objective(0.3, -2.0)]
ALL = 1_000_000


@pytest.mark.parametrize("order", [1, 2, 4, 6])
def test_with_room_for_all_strings_nothing_is_missed(order):
    rng = np.random.default_rng(order)
    for graph, listed in RandomHypergraphs(16, seed=20 + order):
        sentence = random_sentence(rng, graph, order)
        for objective, found in zip(OBJECTIVES, rescore(graph, sentence, OBJECTIVES, ALL, beam=ALL), strict=True):
            wanted = best_strings(listed, sentence, objective)
            words = [tuple(row.tolist()) for row in yields(graph, found.derivations)]
            assert sorted(words) == sorted(text for _, text in wanted)
            np.testing.assert_allclose(found.values, [value for value, _ in wanted], rtol=1e-9, atol=1e-9)
            of_strings = {text: value for value, text in wanted}
            np.testing.assert_allclose([of_strings[text] for text in words], found.values, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(found.scores, derivation_scores(graph, found.derivations), atol=1e-9)
            assert found.counts[:, 0].tolist() == [len(text) for text in words]


@pytest.mark.parametrize("order", [1, 4])
def test_a_floor_leaves_out_what_cannot_be_among_the_best(order):
    rng = np.random.default_rng(order)
    objectives = [objective.with_gain(scale) for objective in OBJECTIVES for scale in (1.0, 0.01)]
    for graph, listed in RandomHypergraphs(40, seed=50 + order):
        sentence = random_sentence(rng, graph, order)
        by_model = kbest(graph, 3, distinct=True)
        floor = by_model.scores[2] if len(by_model) == 3 else -np.inf
        for objective, found in zip(
            objectives, rescore(graph, sentence, objectives, 3, beam=ALL, floor=floor), strict=True
        ):
            wanted = best_strings(listed, sentence, objective)[:3]
            np.testing.assert_allclose(found.values, [value for value, _ in wanted], rtol=1e-9, atol=1e-9)
        # A floor that fewer strings reach than are wanted is no reason to leave anything out.
        for k, wrong in ((ALL, floor), (3, 1e6)):
            (found,) = rescore(graph, sentence, [hope()], k, beam=ALL, floor=wrong)
            assert len(found) == min(k, len(best_strings(listed, sentence, hope())))
    with pytest.raises(UsageError, match="floor is not a number"):
        rescore(graph, sentence, objectives, floor=math.nan)


def test_narrow_beams_find_true_values_close_to_the_best():
    rng = np.random.default_rng(3)
    lost = {beam: [] for beam in (1, 3, 10)}
    for graph, listed in RandomHypergraphs(60, seed=4):
        sentence = random_sentence(rng, graph, 4)
        for objective in (hope(), FEAR):
            wanted = best_strings(listed, sentence, objective)
            for beam, losses in lost.items():
                (found,) = rescore(graph, sentence, [objective], 1, beam=beam)
                words = tuple(yields(graph, found.derivations)[0].tolist())
                true = {text: value for value, text in wanted}[words]
                assert found.values[0] <= true + 1e-9
                losses.append((wanted[0][0] - true) / (wanted[0][0] - wanted[-1][0] + 1e-9))
    # The share of what lies between the best and the worst string that is lost, on the average.
    assert np.mean(lost[1]) < 0.04
    assert np.mean(lost[3]) < 0.01
    assert np.mean(lost[10]) < 0.001


def test_by_the_model_alone_it_is_the_list_of_distinct_strings():
    rng = np.random.default_rng(5)
    for graph, _ in RandomHypergraphs(30, seed=6):
        (found,) = rescore(graph, random_sentence(rng, graph, 4), [Objective(1.0, 0.0)], 5)
        np.testing.assert_allclose(found.scores, kbest(graph, 5, distinct=True).scores, atol=1e-9)


def two_ways(spans, *, joined):
    """A node with a short and a long string for the first source words, and one word more behind it."""
    tails = [[-1, -1], [-1, -1], [0, -1]]
    texts = [[3], [3, 4, 4], [-1, 5]]
    if joined:
        texts[2] = [5, -1]
    return Hypergraph(
        vocab=Vocab.of(["a", "b", "c"]),
        root=1,
        first_edge=np.array([0, 2, 3]),
        tails=np.array(tails, np.int32),
        template_ids=np.arange(3, dtype=np.int32),
        templates=Ragged.of(texts, np.int32),
        spans=np.array(spans, np.int32),
        scores=np.zeros(3),
    )


@pytest.mark.parametrize("joined", [False, True])
def test_a_node_is_judged_by_its_share_of_the_reference(joined):
    # The same node in a lattice, where an edge's span is its phrase, and in a chart, where it is all below.
    last = (0, 4) if joined else (3, 4)
    # One word for three of four source words is too few for 8 words of reference, of which they are 6, ...
    sentence = InDocument(
        Ragged.of([[3, 9, 9]], np.int32), np.arange(6, dtype=np.int32), np.array([9.0, 9, 9, 9, 9]), 4, 8
    )
    for reference_words, expected in ((8.0, [3, 4, 4]), (0.0, [3])):
        graph = two_ways([(0, 3), (0, 3), last], joined=joined)
        here = replace(sentence, reference_words=reference_words)
        (found,) = rescore(graph, here, [hope(0.0)], 1, beam=1)
        words = yields(graph, found.derivations)[0].tolist()
        assert [word for word in words if word != 5] == expected
        assert found.values[0] == pytest.approx(gain(tuple(words), here, 4))
    # ... but not if these are one of four words, and share 2.
    graph = two_ways([(0, 1), (0, 1), (0, 4) if joined else (1, 4)], joined=joined)
    document = np.array([9.0, 9, 9, 8, 9])
    (found,) = rescore(graph, replace(sentence, document=document, reference_words=4.0), [hope(0.0)], 1, beam=1)
    assert [word for word in yields(graph, found.derivations)[0].tolist() if word != 5] == [3]


def test_hypergraphs_without_derivations_or_with_endless_ones():
    rng = np.random.default_rng(1)
    graph = chain(3000)
    (found,) = rescore(graph, random_sentence(rng, graph, 4), [hope()], 10)
    assert len(found) == 1
    assert found.scores.tolist() == [0.0]
    empty = replace(
        chain(1),
        first_edge=np.zeros(2, np.int64),
        **{name: getattr(chain(1), name)[:0] for name in ("tails", "template_ids", "spans", "scores")},
    )
    assert [len(found) for found in rescore(empty, random_sentence(rng, empty, 4), [hope(), FEAR], 3)] == [0, 0]
    with pytest.raises(ValueError, match="4 million"):
        rescore(doubling(60), random_sentence(rng, doubling(60), 4), [hope()], 1)


def test_what_does_not_fit_is_refused():
    graph, _ = RandomHypergraphs(1, seed=1)[0]
    sentence = random_sentence(np.random.default_rng(1), graph, 2)
    with pytest.raises(UsageError, match="k is 0"):
        rescore(graph, sentence, [hope()], 0)
    with pytest.raises(DataError, match="1 word ids for a vocabulary of 6"):
        rescore(graph, replace(sentence, word_ids=np.zeros(1, np.int32)), [hope()])
    for numbers in (np.ones(3), np.ones(6), np.ones(2 * 17 + 3)):
        with pytest.raises(UsageError, match="numbers; expected two for each order"):
            rescore(graph, replace(sentence, document=numbers), [hope()])
    for number in (-1.0, math.nan, math.inf, 1e16):
        with pytest.raises(UsageError, match="are not from 0 to 1e\\+15"):
            rescore(graph, replace(sentence, source_words=number), [hope()])
    with pytest.raises(UsageError, match="weights the model score or BLEU"):
        rescore(graph, sentence, [Objective(math.inf, 0.0)])
