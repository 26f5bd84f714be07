"""What every decision rule promises; a new file in `decision/` inherits these tests."""

import numpy as np
import pytest

from dragoman.core.progress import DragomanWarning
from dragoman.core.runtime import Runtime
from dragoman.decision import RULES
from dragoman.decision.max_derivation import MaxDerivation
from oracles.decision import nbest_of, random_rows, samples_of
from oracles.forest import RandomHypergraphs

LISTS = [random_rows(np.random.default_rng(s), 1 + 3 * s) for s in range(8)]
GRAPHS = [graph for graph, _ in RandomHypergraphs(20, seed=3)]
EVIDENCE = {
    "nbest": nbest_of(LISTS),
    "samples": samples_of(LISTS, np.random.default_rng(1).integers(1, 9, (sum(map(len, LISTS)), 2))),
    "hypergraph": GRAPHS,
}
PAIRS = [(name, kind) for name in RULES.names() for kind in RULES.get(name).takes]


def arrays_of(evidence):
    if isinstance(evidence, list):
        return [array for graph in evidence for array in (graph.scores, graph.tails, graph.templates.values)]
    counts = [evidence.counts] if hasattr(evidence, "counts") else []
    return [evidence.scores, evidence.hypotheses.values, evidence.sentences, *counts]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_decisions_are_the_same_whatever_the_threads_and_leave_the_evidence_alone(name, kind):
    evidence = EVIDENCE[kind]
    before = [array.copy() for array in arrays_of(evidence)]
    found = [RULES.get(name)().decide(evidence, runtime=Runtime(threads=threads)) for threads in (1, 2, 3, 1)]
    for other in found[1:]:
        np.testing.assert_array_equal(other.translations.values, found[0].translations.values)
        np.testing.assert_array_equal(other.values, found[0].values)
    for array, copy in zip(arrays_of(evidence), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_sentences_are_decided_one_by_one(name, kind):
    """What else is in a batch makes no difference."""
    rule = RULES.get(name)()
    whole = rule.decide(EVIDENCE[kind])
    if kind == "hypergraph":
        parts = [rule.decide([graph]) for graph in GRAPHS]
    elif kind == "nbest":
        parts = [rule.decide(EVIDENCE[kind].list(i)) for i in range(len(LISTS))]
    else:
        counts, bounds = EVIDENCE[kind].counts, EVIDENCE[kind].sentences
        parts = [rule.decide(samples_of([rows], counts[bounds[i] : bounds[i + 1]])) for i, rows in enumerate(LISTS)]
    assert [line for part in parts for line in part.lines()] == whole.lines()
    np.testing.assert_allclose(np.concatenate([part.values for part in parts]), whole.values, rtol=1e-12)


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, kind in PAIRS if kind != "hypergraph"])
def test_the_only_candidate_is_chosen_even_if_it_is_empty(name, kind):
    lists = [[((3, 4, 3), -1.0)], [((), -2.0)]]
    evidence = nbest_of(lists) if kind == "nbest" else samples_of(lists, np.array([[4], [1]]))
    assert RULES.get(name)().decide(evidence).lines() == ["w0 w1 w0", ""]


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, kind in PAIRS if kind == "nbest"])
def test_a_sentence_without_candidates_has_an_empty_translation_and_a_warning(name, kind):
    evidence = nbest_of([[((3,), 0.0)], [], [((4,), 0.0), ((3, 4), -3.0)]])
    with pytest.warns(DragomanWarning, match="1 of 3 sentences have no hypotheses"):
        found = RULES.get(name)().decide(evidence)
    assert found.lines() == ["w0", "", "w1"]
    assert np.isnan(found.values).tolist() == [False, True, False]


@pytest.mark.parametrize("name", ["max-translation", "mbr", "consensus"])
def test_at_a_large_scale_the_best_derivation_is_chosen(name):
    rng = np.random.default_rng(9)
    lists = [
        [(words, float(score)) for (words, _), score in zip(rows, rng.permutation(len(rows)), strict=True)]
        for rows in LISTS
    ]
    evidence = nbest_of(lists)
    assert RULES.get(name)(scale=1000.0).decide(evidence).lines() == MaxDerivation().decide(evidence).lines()


@pytest.mark.parametrize("name", RULES.names())
def test_options_round_trip_and_the_docstring_says_what_it_is(name):
    chosen = RULES.get(name)
    assert chosen.from_dict(chosen().to_dict()) == chosen()
    assert chosen.name == name
    assert len(chosen.__doc__) > 100
    assert set(chosen.takes) <= EVIDENCE.keys()
    assert chosen.takes
