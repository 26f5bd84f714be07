"""Accuracy and the character error rate, against their definitions."""

import random

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.metrics.combined import parse_metric
from dragoman.text.words import characters_of
from oracles.texts import corpora

RNG = random.Random(3)


def texts(count):
    return [
        " ".join("".join(RNG.choice("abé") for _ in range(RNG.randint(1, 4))) for _ in range(3)) for _ in range(count)
    ]


def edits(one, other):
    """The Levenshtein distance, row by row; the oracle of words tries everything, which takes too long here."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
    return row[-1]


def statistics(metric, hypotheses, references):
    return parse_metric(metric).scorer(corpora(references)).statistics(Corpus.from_lines(hypotheses))


def test_errors_of_characters_and_spaces():
    hypotheses, first, second = texts(30), texts(30), texts(30)
    for row, line, *references in zip(
        statistics("cer", hypotheses, [first, second]), hypotheses, first, second, strict=True
    ):
        assert row[0] == min(edits(line, reference) for reference in references)
        assert row[1] == np.mean([len(reference) for reference in references])


def test_units_of_a_model_give_what_its_text_gives():
    hypotheses, references = texts(30), texts(30)
    of_units = statistics("cer", map(characters_of, hypotheses), [[*map(characters_of, references)]])
    np.testing.assert_array_equal(of_units, statistics("cer", hypotheses, [references]))
    as_words = statistics("cer:units=words", ["a b"], [["a b"]])
    assert (as_words[0, 1], statistics("cer", ["a b"], [["a b"]])[0, 1]) == (3, 2)


@pytest.mark.parametrize("metric", ["cer", "accuracy"])
def test_case_is_ignored_on_request(metric):
    different, same = (statistics(name, ["Ab c"], [["ab c"]])[0, 0] for name in (metric, f"{metric}:lowercase=true"))
    assert (different, same) == ((1, 0) if metric == "cer" else (0, 1))


def test_accuracy_is_the_share_of_segments_that_equal_a_reference():
    found = statistics("accuracy", ["a  b", "b a", "c", ""], [["a b", "a b", "d", ""], ["x", "y", "c", "z"]])
    assert found.tolist() == [[1, 1], [0, 1], [1, 1], [1, 1]]
    assert parse_metric("accuracy").scorer(corpora([["a"]])).score(found.sum(axis=0)) == 75
