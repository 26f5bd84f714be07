"""Hypotheses of a sentence: B is true, oracles come first, and any metric will do."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.forest.hope import FEAR, hope
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.ter import Ter
from dragoman.search.chart.translator import ChartTranslator
from dragoman.tuning.problems.hope_fear import HypothesisFinder, HypothesisSettings
from oracles import tiny_grammar
from oracles.training_sets import reachable_training_set

MODEL = tiny_grammar.tiny_model()
LONG = 1


def finder(metric=Bleu(), references=tiny_grammar.TARGET, **wanted):
    scorer = metric.scorer([Corpus.from_lines(references)])
    sign = 1 if metric.higher_is_better else -1
    return HypothesisFinder(
        ChartTranslator(MODEL), tiny_grammar.SOURCE, scorer, sign, HypothesisSettings(**wanted)
    ), scorer


def texts(pool, rows):
    return [pool.vocab.text(pool.texts[i]) for i in rows.tolist()]


@pytest.mark.parametrize("metric", [Bleu(), Bleu(order=2, lowercase=True), Ter(), Bleu(tokenise="char")])
def test_gains_are_those_of_the_metric_in_the_document(metric):
    found, scorer = finder(metric)
    document = found.document_before(LONG, MODEL.weights)
    pool = found.pool(LONG, MODEL.weights, document, [hope(), FEAR])
    every = texts(pool, np.arange(len(pool.gains)))
    assert len(set(every)) == len(every) > 10
    statistics = scorer.statistics(Corpus.from_lines(every), np.full(len(every), LONG))
    words = document[-1] + len(tiny_grammar.SOURCE[LONG].split())
    sign = 1 if metric.higher_is_better else -1
    np.testing.assert_allclose(pool.gains, sign * words * scorer.score(document[:-1] + statistics) / 100)
    (listed,) = ChartTranslator(MODEL).nbest([tiny_grammar.SOURCE[LONG]], 10, distinct=True)
    assert every[:10] == [listed.vocab.text(row) for row in listed.hypotheses]
    np.testing.assert_allclose(pool.scores[:10], listed.scores)
    # Hope is as good as any of the model's list, and fear as bad.
    best, worst = pool.highest(hope(0.0), 1), pool.highest(FEAR, 1)
    assert pool.gains[best] == pool.gains.max()
    assert pool.gains[worst] < pool.gains[0]


def test_the_oracle_comes_first_and_all_is_there_once():
    # Another sentence's reference: the best by the model is not the oracle.
    references = ["x", "the cat of one man eats not", *tiny_grammar.TARGET[2:]]
    found, _ = finder(references=references, best=3)
    document = found.first_document()
    pool = found.pool(LONG, MODEL.weights, document, [hope(), FEAR])
    hypotheses = found.find(LONG, MODEL.weights, document)
    oracle = int(pool.highest(hope(), 1)[0])
    np.testing.assert_array_equal(hypotheses.oracle, pool.statistics[oracle])
    np.testing.assert_array_equal(hypotheses.translation, pool.statistics[0])
    assert hypotheses.gains[0] == pool.gains[oracle]
    assert sorted(hypotheses.gains) == sorted(
        pool.gains[[*{*pool.highest(hope(), 10).tolist(), *range(3), *pool.highest(FEAR, 10).tolist()}]]
    )
    np.testing.assert_allclose(hypotheses.features.dot(MODEL.weights)[0], pool.scores[oracle])
    local = finder(references=references, best=3, oracle="local", fear=0)[0].find(LONG, MODEL.weights, document)
    assert len(local) == 3
    assert pool.gains[0] < local.gains[0] == pool.gains[:3].max() < hypotheses.gains[0]


def test_words_that_pass_through_match_and_case_is_ignored_if_the_metric_does():
    # The zebra is in no vocabulary of the model.
    for metric, references in ((Bleu(order=1), tiny_grammar.TARGET), (Bleu(order=1, lowercase=True), ["A ZÈBRE"] * 5)):
        found, _ = finder(metric, references)
        place = found.first_document()
        pool = found.pool(4, MODEL.weights, place, [hope(0.0)])
        assert texts(pool, pool.highest(hope(0.0), 1)) == ["a zèbre"]
        assert pool.statistics[pool.highest(hope(0.0), 1)[0]][2] == 2


def test_an_empty_line_teaches_nothing():
    training_set = reachable_training_set()
    training_set = replace(training_set, lines=["", *training_set.lines[1:]])
    found = HypothesisFinder(training_set.translator, training_set.lines, training_set.scorer, 1, HypothesisSettings())
    hypotheses = found.find(0, training_set.model.weights, found.first_document())
    assert len(hypotheses) == 1
    assert hypotheses.words == 0
