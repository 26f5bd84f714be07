import random
from collections import Counter

import numpy as np
import pytest

from dragoman.normalisation.edit_costs import EditCosts, skeleton

FORMS = {"vnd": Counter(und=5), "vnnd": Counter(und=2), "jn": Counter(ihn=3), "fu\u0364r": Counter({"f\u00fcr": 2})}


def symbols(word):
    return [letter * 2 if i and word[i - 1] == letter else letter for i, letter in enumerate(word)]


def distance(letters, old, new):
    """The weighted edit distance, cell by cell."""
    table = {(0, 0): 0.0}
    for i in range(len(old) + 1):
        for j in range(len(new) + 1):
            ways = [table[0, 0]] if i == j == 0 else []
            ways += [table[i - 1, j] + letters.cost(old[i - 1], "")] if i else []
            ways += [table[i, j - 1] + letters.cost("", new[j - 1])] if j else []
            ways += [table[i - 1, j - 1] + letters.cost(old[i - 1], new[j - 1])] if i and j else []
            table[i, j] = min(ways)
    return table[len(old), len(new)]


def test_many_words_are_compared_as_one_by_one():
    rng = random.Random(1)
    letters = EditCosts.of(FORMS)
    forms = ["".join(rng.choices("vnduij\u0364", k=rng.randint(1, 9))) for _ in range(12)]
    words = ["".join(rng.choices("undiha\u00fc", k=rng.randint(1, 12))) for _ in range(60)]
    of_form = np.array([rng.randrange(12) for _ in words])
    expected = [distance(letters, symbols(forms[i]), symbols(word)) for i, word in zip(of_form, words, strict=True)]
    assert letters.costs(forms, words, of_form) == pytest.approx(expected)
    assert len(letters.costs(forms, [], np.zeros(0, np.int64))) == 0


def test_what_the_examples_show_costs_less():
    letters = EditCosts.of(FORMS)
    assert letters.cost("v", "u") < letters.cost("v", "w")
    assert letters.counts["nn", ""] > 0
    assert letters.cost("mm", "") < letters.cost("m", "")  # a double letter, though another


def test_without_examples_accents_and_double_letters_cost_least():
    letters = EditCosts.of({})
    forms = ["ko\u0364nnen"] * 3
    cheap, dearer, dearest = letters.costs(forms, ["k\u00f6nnen", "konten", "rennen"], np.arange(3))
    assert cheap < dearer < dearest


def test_a_skeleton_has_no_accents_and_no_double_letters():
    assert [skeleton(word) for word in ("Wu\u0308rtz", "dasz", "\u017fchlo\u017f\u017f", "\u0364", "")] == [
        "wurtz",
        "dasz",
        "schlos",
        "",
        "",
    ]
