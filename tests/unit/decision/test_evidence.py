"""Evidence comes from sentences in the kind that was asked for."""

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.nbest import NBest
from dragoman.decision.max_translation import MaxTranslation
from dragoman.decision.mbr import Mbr
from dragoman.decision.settings import Decision, best_point, gather, grid_rules, search_grid
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.ter import Ter
from dragoman.search.limits import SearchLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import decision as oracle, phrase_space
from oracles.forest import derivations


@pytest.fixture(scope="module")
def translator():
    model = phrase_space.random_model(np.random.default_rng(4))
    return PhraseTranslator(model, limits=SearchLimits(algorithm="exhaustive"))


LINES = [phrase_space.random_sentence(np.random.default_rng(seed), 4) for seed in range(5)] + [""]


def test_lists_and_hypergraphs_stand_for_the_same_distribution(translator):
    (graphs,) = gather(translator, LINES, "hypergraph")
    (lists,) = gather(translator, LINES, "nbest", size=1_000_000, distinct=False)
    assert isinstance(lists, NBest)
    assert len(lists) == len(graphs) == len(LINES)
    exact = MaxTranslation(beam=1_000_000, density=0.0)
    by_lists, by_graphs = exact.decide(lists), exact.decide(graphs)
    np.testing.assert_allclose(by_lists.values, by_graphs.values, rtol=1e-9)
    for graph, value in zip(graphs, by_lists.values, strict=True):
        assert max(oracle.of_derivations(derivations(graph), 1.0).values()) == pytest.approx(value)


def test_distinct_lists_and_pruned_hypergraphs(translator):
    (lists,) = gather(translator, LINES, "nbest", size=10)
    for i in range(len(lists)):
        texts = [lists.line(h) for h in range(*lists.sentences[i : i + 2])]
        assert len(set(texts)) == len(texts) <= 10
    (whole,), (pruned,) = (gather(translator, LINES, "hypergraph", density=density) for density in (0.0, 1.0))
    assert sum(graph.edges for graph in pruned) < sum(graph.edges for graph in whole)


def test_samples_come_from_whoever_draws_them(translator):
    samples = oracle.samples_of([[((3,), 0.0)]], np.ones((1, 1), np.int64))
    seen = []

    def draw(lines):
        seen.extend(lines)
        yield samples

    decision = Decision.of("mbr", evidence="samples")
    assert list(decision.gather(translator, LINES, draw=draw)) == [samples]
    assert seen == LINES
    with pytest.raises(UsageError, match="samples need a sampler"):
        list(decision.gather(translator, LINES))


def test_settings_survive_a_file(tmp_path):
    path = tmp_path / "decision.toml"
    decision = Decision.of("consensus", ["scale=3", "order=2"], "nbest", 50)
    path.write_text(decision.format({"metric": "bleu", "grid": ["scale=1,3"]}), encoding="utf-8")
    assert Decision.of(str(path)) == decision
    other = Decision.of(str(path), ["scale=4"], nbest_size=20)
    assert (other.rule.scale, other.rule.order, other.nbest_size, other.evidence) == (4.0, 2, 20, "nbest")


def test_a_grid_finds_the_best_scale():
    """At a small scale the crowd wins, at a large one the best hypothesis; the reference says who is right."""
    crowd = [((3, 4), -1.0), ((3, 4, 5), -1.0), ((3, 4), -1.1), ((6, 7, 8, 8), 0.0)]
    evidence = [oracle.nbest_of([crowd])]
    rules = grid_rules(Mbr, [], ["scale=0.1,100"])
    for reference, scale in (("w0 w1", 0.1), ("w3 w4 w5 w5", 100.0)):
        scorer = Bleu().scorer([Corpus.from_lines([reference])])
        points = search_grid(rules, evidence, scorer)
        assert [point.options for point in points] == [(("scale", "0.1"),), (("scale", "100"),)]
        assert best_point(points, Bleu()).rule.scale == scale
        errors = search_grid(rules, evidence, Ter().scorer([Corpus.from_lines([reference])]))
        assert best_point(errors, Ter()).rule.scale == scale
