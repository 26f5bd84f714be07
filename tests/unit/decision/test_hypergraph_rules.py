"""Rules over hypergraphs do what their definitions say, of all derivations listed."""

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.decision.consensus import Consensus
from dragoman.decision.lattice_mbr import LatticeMbr
from dragoman.decision.max_derivation import MaxDerivation
from dragoman.decision.max_translation import MaxTranslation
from dragoman.decision.mbr import Mbr
from dragoman.decision.variational import Variational, bounded_graph
from dragoman.forest.prune import prune_to_density
from oracles import decision as oracle
from oracles.forest import RandomHypergraphs, derivations

CASES = RandomHypergraphs(60, seed=11)
GRAPHS = [graph for graph, _ in CASES]
SCALE = 0.7
WHOLE = {"scale": SCALE, "density": 0.0}


def check(found, value, tolerance=1e-9):
    for (_, listed), words, reported in zip(CASES, found.translations, found.values, strict=True):
        distribution = oracle.of_derivations(listed, SCALE)
        gain = value(distribution)
        values = {string: gain(string) for string in distribution}
        best = max(values.values())
        assert values[tuple(words.tolist())] == pytest.approx(best, abs=tolerance)
        assert reported == pytest.approx(best, abs=tolerance)


def test_max_derivation():
    found = MaxDerivation().decide(GRAPHS)
    for (_, listed), words, value in zip(CASES, found.translations, found.values, strict=True):
        best = max(d.score for d in listed)
        assert value == pytest.approx(best, abs=1e-12)
        assert any(d.words == tuple(words.tolist()) and d.score > best - 1e-12 for d in listed)


def test_a_wide_beam_of_strings_finds_the_most_probable_translation():
    found = MaxTranslation(**WHOLE, beam=1_000_000).decide(GRAPHS)
    check(found, lambda p: p.__getitem__)


def test_a_narrow_beam_finds_a_translation_and_no_more_than_its_probability():
    for beam in (1, 2, 5):
        found = MaxTranslation(**WHOLE, beam=beam).decide(GRAPHS)
        for (_, listed), words, value in zip(CASES, found.translations, found.values, strict=True):
            assert 0 < value <= oracle.of_derivations(listed, SCALE)[tuple(words.tolist())] + 1e-12


@pytest.mark.parametrize("space", ["lattice", "kbest"])
@pytest.mark.parametrize("order", [1, 3, 4])
def test_lattice_mbr_maximises_the_linear_gain(space, order):
    found = LatticeMbr(**WHOLE, p=0.6, r=0.5, order=order, space=space).decide(GRAPHS)
    check(found, lambda p: oracle.linear_gains(p, 0.6, 0.5, order))


@pytest.mark.parametrize("space", ["lattice", "kbest"])
@pytest.mark.parametrize("weight", [0.2, 1.0, 5.0])
def test_lattice_mbr_mixes_the_gain_with_the_score_of_the_best_derivation(space, weight):
    rule = LatticeMbr(**WHOLE, p=0.6, r=0.5, derivation_weight=weight, space=space)
    changed = 0
    plain = LatticeMbr(**WHOLE, p=0.6, r=0.5, space=space).decide(GRAPHS)
    found = rule.decide(GRAPHS)
    for (_, listed), words, reported, other in zip(
        CASES, found.translations, found.values, plain.translations, strict=True
    ):
        gain = oracle.linear_gains(oracle.of_derivations(listed, SCALE), 0.6, 0.5, 4)
        best = {}
        for d in listed:
            best[d.words] = max(d.score, best.get(d.words, -np.inf))
        values = {string: gain(string) + weight * SCALE * score for string, score in best.items()}
        assert values[tuple(words.tolist())] == pytest.approx(max(values.values()), abs=1e-9)
        assert reported == pytest.approx(max(values.values()), abs=1e-9)
        changed += words.tolist() != other.tolist()
    assert changed > 0


def test_lattice_mbr_tends_to_the_best_derivation():
    found = LatticeMbr(**WHOLE, derivation_weight=1e6).decide(GRAPHS)
    for (_, listed), words in zip(CASES, found.translations, strict=True):
        ours = max(d.score for d in listed if d.words == tuple(words.tolist()))
        assert ours == pytest.approx(max(d.score for d in listed), abs=1e-3)


@pytest.mark.parametrize("order", [1, 4])
def test_consensus_is_bleu_against_expected_counts(order):
    found = Consensus(**WHOLE, order=order).decide(GRAPHS)
    check(found, lambda p: oracle.consensus_gains(p, order))


@pytest.mark.parametrize("space", ["lattice", "kbest"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_variational_uses_the_ngram_model_of_expected_counts(space, order):
    found = Variational(**WHOLE, order=order, space=space).decide(GRAPHS)
    check(found, lambda p: oracle.variational_logs(p, order), tolerance=1e-8)


@pytest.mark.parametrize("space", ["lattice", "kbest"])
def test_variational_mixes_orders_and_the_model(space):
    rule = Variational(**WHOLE, order=2, theta="0.5 1", derivation_weight=0.4, space=space)
    found = rule.decide(GRAPHS)
    for (_, listed), words, reported in zip(CASES, found.translations, found.values, strict=True):
        p = oracle.of_derivations(listed, SCALE)
        best = {}
        for d in listed:
            best[d.words] = max(d.score, best.get(d.words, -np.inf))
        first, second = (oracle.variational_logs(p, n) for n in (1, 2))
        values = {string: 0.5 * first(string) + second(string) + 0.4 * SCALE * score for string, score in best.items()}
        assert values[tuple(words.tolist())] == pytest.approx(max(values.values()), abs=1e-8)
        assert reported == pytest.approx(max(values.values()), abs=1e-8)


def test_boundaries_stand_around_every_string():
    for graph, listed in CASES:
        padded = bounded_graph(graph, 3)
        padded.check()
        expected = sorted(((1, 1, *d.words, 2), d.score) for d in listed)
        assert sorted((d.words, d.score) for d in derivations(padded)) == expected


def test_a_rule_looks_at_the_pruned_hypergraph():
    pruned = [prune_to_density(graph, 1.5) for graph in GRAPHS]
    for rule in (LatticeMbr, Consensus, Variational):
        whole, ours = rule(density=0.0).decide(pruned), rule(density=1.5).decide(GRAPHS)
        assert ours.lines() == whole.lines()
        np.testing.assert_array_equal(ours.values, whole.values)


def test_hypergraphs_are_no_lists():
    with pytest.raises(UsageError, match="mbr decides by n-best lists or samples, not by hypergraphs"):
        Mbr().decide(GRAPHS)
    with pytest.raises(UsageError, match="lattice-mbr decides by hypergraphs, not by n-best lists"):
        LatticeMbr().decide(oracle.nbest_of([[((3,), 0.0)]]))
    with pytest.raises(UsageError, match="there are no hypergraphs"):
        LatticeMbr().decide([])


def test_too_many_strings_are_one_sentence(monkeypatch):
    monkeypatch.setattr("dragoman.decision.max_translation._MOST_STRINGS", 2)
    with pytest.raises(DataError, match="more than 2 strings under a beam of 100; expected a smaller beam"):
        MaxTranslation().decide(GRAPHS)


def test_another_error_of_the_kernel_is_not_taken_for_too_many_strings(monkeypatch):
    def fails(*arguments):
        raise ValueError("a bug")

    monkeypatch.setattr(kernels, "forest_translations", fails)
    with pytest.raises(ValueError, match="a bug"):
        MaxTranslation().decide(GRAPHS[:1])
