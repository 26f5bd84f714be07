"""What is hoped for and feared, as lists."""

import pytest

from dragoman.core.corpus import Corpus
from dragoman.forest.hope import hope
from dragoman.metrics.bleu import Bleu
from dragoman.search.translator import Translator
from dragoman.tuning.problems.hope_fear import HypothesisFinder, HypothesisSettings, oracle_lists
from oracles import tiny_grammar


@pytest.fixture(scope="module")
def finder():
    scorer = Bleu().scorer([Corpus.from_lines(tiny_grammar.TARGET)])
    return HypothesisFinder(
        Translator.of(tiny_grammar.tiny_model()), tiny_grammar.SOURCE, scorer, 1, HypothesisSettings()
    )


def test_each_list_is_best_by_its_own_objective(finder):
    lists = oracle_lists(finder, 1, tiny_grammar.tiny_model().weights, 3)
    assert list(lists) == ["0", "0.5", "1", "inf"]
    for mu, rows in lists.items():
        values = [
            row.score - row.gain if mu == "inf" else (1 - float(mu)) * row.gain + float(mu) * row.score for row in rows
        ]
        assert values == sorted(values, reverse=True)
    every = [row for rows in lists.values() for row in rows]
    assert lists["0"][0].gain == max(row.gain for row in every)
    assert lists["0"][0].translation == tiny_grammar.TARGET[1]
    assert lists["1"][0].score == max(row.score for row in every)
    assert lists["inf"][0].gain < lists["0"][0].gain


def test_other_objectives(finder):
    lists = oracle_lists(finder, 0, tiny_grammar.tiny_model().weights, 2, {"0.25": hope(0.25)})
    assert [len(rows) for rows in lists.values()] == [2]
