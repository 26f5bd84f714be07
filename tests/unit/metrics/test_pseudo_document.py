import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.metrics.bleu import Bleu, bleu_scores
from dragoman.metrics.pseudo_document import PseudoDocument


def test_an_empty_document_is_the_sentence_alone() -> None:
    scorer = Bleu().scorer([Corpus.from_lines(["a b c d e"])])
    statistics = scorer.statistics(Corpus.from_lines(["a b c d e", "a b c x e"]), np.array([0, 0]))
    found = PseudoDocument.empty(statistics.shape[1]).scores(scorer, statistics, 7)
    assert found == pytest.approx(7 * scorer.score(statistics) / 100)


def test_statistics_fade() -> None:
    scorer = Bleu().scorer([Corpus.from_lines(["a b c d e f", "g h i j", "k l m n o"])])
    statistics = scorer.statistics(Corpus.from_lines(["a b c d x f", "g h i j", "k l m n"]))
    document = PseudoDocument.empty(statistics.shape[1])
    for row, length in zip(statistics[:2], (5, 3), strict=True):
        document = document.add(row, length)
    expected = 0.81 * statistics[0] + 0.9 * statistics[1]
    assert document.statistics == pytest.approx(expected)
    assert document.source_length == pytest.approx(0.81 * 5 + 0.9 * 3)
    found = document.scores(scorer, statistics[2:], 4)
    assert found == pytest.approx([(document.source_length + 4) * bleu_scores(expected + statistics[2]) / 100])
