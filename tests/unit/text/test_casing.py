"""How words are written."""

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.text.preparation import Casing, CasingLearner

TEXT = [
    "He met the Lord of the manor .",
    'The lord slept . The Lord GOD said , " Let him be . "',
    'Then the Lord GOD said , " Let it be . "',
    "A god and a god and a god .",
    "We saw the lord , a lord , my lord .",
]


def restore(casing, line, source=""):
    (restored,) = casing.restore([line], [source])
    return restored


def test_the_word_before_decides():
    casing = Casing.learn(TEXT)
    assert restore(casing, "we saw a lord god . he met my lord .") == "We saw a lord GOD . He met my lord ."
    assert restore(casing, 'he said , " let a god be .') == 'He said , " Let a god be .'


def test_a_pair_seen_once_decides_nothing():
    casing = Casing.learn(["A god , a god , the God ."])
    assert restore(casing, "so the god .") == "So the god ."


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("3,000 men met .", "3,000 men met ."),
        ('" then he met .', '" Then he met .'),
        ("( then he met .", "( Then he met ."),
        ("'tis so .", "'Tis so ."),
        ("he met ▁. then he slept .", "He met ▁. Then he slept ."),
        ("http://example.org/x?y=1 is so . http://a.b/c", "http://example.org/x?y=1 is so . http://a.b/c"),
    ],
)
def test_one_capital_at_the_beginning_of_a_sentence(line, written):
    assert restore(Casing.learn(["He met .", "So it is ."]), line) == written


def test_addresses_have_the_case_of_the_source():
    casing = Casing.learn(["See http://example.org/a .", "See http://example.org/a ."])
    assert restore(casing, "see http://example.org/a .", "Voir http://Example.org/A .") == "See http://Example.org/A ."


def test_what_is_learnt_is_the_same_whatever_the_blocks():
    whole, parts = Casing.learn(TEXT * 3), CasingLearner()
    for line in TEXT * 3:
        parts.add([line])
    for name, array in parts.casing().arrays().items():
        np.testing.assert_array_equal(array, whole.arrays()[name])


def test_rare_pairs_are_forgotten_when_there_are_too_many():
    learner = CasingLearner(most_pairs=8)
    learner.add(["So the Lord said ."] * 5 + [f"A w{n} x{n} y{n} ." for n in range(20)] + ["A lord , a lord ."] * 9)
    assert restore(learner.casing(), "he saw the lord .") == "He saw the Lord ."


def test_models_that_know_no_pairs():
    casing = Casing.learn(TEXT)
    arrays = {name: array for name, array in casing.arrays().items() if "pair" not in name}
    old = Casing.from_arrays(arrays)
    old.check()
    assert restore(old, "we saw a lord .") == "We saw a lord ."
    assert set(old.arrays()) == {"words", "forms", "starts"}


def as_bytes(text):
    return np.frombuffer(text.encode(), np.uint8)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"pairs": as_bytes("the lord\na b\n"), "pair_forms": as_bytes("Lord\n")}, "do not fit together"),
        ({"pairs": as_bytes("lord\n"), "pair_forms": as_bytes("Lord\n")}, "has 'Lord' for 'lord'"),
        ({"pairs": as_bytes("the lord\n"), "pair_forms": as_bytes("Duke\n")}, "has 'Duke' for 'the lord'"),
        ({"pairs": np.array([255], np.uint8), "pair_forms": as_bytes("")}, "not UTF-8"),
        ({"pairs": np.zeros(3)}, "missing or of the wrong type"),
        ({"pair_forms": None}, "missing or of the wrong type"),
    ],
)
def test_damaged_pairs_are_refused(damage, message):
    arrays = {**Casing.learn(TEXT).arrays(), **damage}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    with pytest.raises(DataError, match=message):
        Casing.from_arrays(arrays).check()
