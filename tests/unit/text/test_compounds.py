import itertools
import time
from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from dragoman.core.errors import DataError
from dragoman.text.compounds import CompoundSplitter
from dragoman.text.preparation import TextPreparation

#: The function words of a text whose other words are rarer than one in a thousand.
FUNCTION_WORDS = {"der": 30_000, "unter": 500}


def learnt(**counts):
    return CompoundSplitter.learn({**FUNCTION_WORDS, **counts})


def best_split(word, counts, most):
    """Try every way to cut a word into known parts."""
    own = counts.get(word, 0)
    found = [(log(own) if own else -1.0, (word,))]
    parts = {part: count for part, count in counts.items() if len(part) >= 4 and 3 <= count <= most}
    for number in (1, 2, 3):
        for cuts in itertools.combinations(range(1, len(word)), number):
            pieces = [word[a:b] for a, b in itertools.pairwise([0, *cuts, len(word)])]
            if all(piece in parts for piece in pieces):
                found.append((sum(log(parts[piece]) for piece in pieces) / len(pieces), tuple(pieces)))
    return max(mean for mean, _ in found), found


@settings(max_examples=60)
@given(
    strategies.dictionaries(strategies.text("ab", min_size=2, max_size=14), strategies.integers(1, 40), min_size=3),
    strategies.text("ab", min_size=8, max_size=18),
)
def test_the_split_has_the_largest_geometric_mean(counts, word):
    splitter = learnt(**counts)
    mean, every = best_split(word, counts, splitter.running_words / 1000)
    (text,) = splitter.split([word])
    plain = CompoundSplitter(splitter.forms, splitter.counts, np.empty(0, np.uint8), splitter.running_words)
    (text,) = plain.split([word])
    means = {parts: value for value, parts in every}
    assert means[tuple(text.split())] == pytest.approx(mean)


def test_frequent_compounds_stay_whole_and_function_words_are_no_parts():
    splitter = learnt(schuh=9, hand=16, handschuh=13, handschuhe=2, halten=20, unterhalten=3, schuhe=7)
    assert splitter.split(["handschuh handschuhe unterhalten"]) == ["handschuh hand schuhe unterhalten"]
    assert learnt(schuh=9, hand=16, handschuh=11).split(["handschuh"]) == ["hand schuh"]
    assert learnt(hand=2, schuh=9).split(["handschuh"]) == ["handschuh"], "a part is too rare"


def test_fillers_are_those_of_many_words():
    firsts, seconds = ["arbeit", "verkehr", "staat", "zeitung"], ["zeichen", "platz", "mann"]
    filled = {f"{first}s{second}": 1 for first in firsts for second in seconds}
    splitter = learnt(**dict.fromkeys(firsts + seconds, 20), **filled, arbeitqmann=1)
    assert splitter.split(["verkehrszeichen staatsmann"]) == ["verkehr zeichen staat mann"]
    assert splitter.split(["arbeitqmann"]) == ["arbeitqmann"]


def test_hyphenated_words_are_split_if_their_parts_are_known():
    splitter = learnt(rot=9, blau=8, hemd=7, shirt=5)
    assert splitter.split(["blau-rot blau-rotes t-shirt - -- blau- blauhemd-rot"]) == [
        "blau rot blau-rotes t-shirt - -- blau- blau hemd rot"
    ]


def test_parts_have_their_most_frequent_form_whatever_the_case_of_the_compound():
    splitter = CompoundSplitter.learn({"der": 30_000, "Auto": 9, "auto": 1, "Bahn": 8})
    assert splitter.split(["Autobahn AUTOBAHN autobahn"]) == ["Auto Bahn Auto Bahn Auto Bahn"]


def test_only_languages_with_compounds_have_many():
    words = ["auto", "bahn", "haus", "platz", "markt", "spiel"]
    single = dict.fromkeys(words, 20)
    pairs = {f"{a}{b}": 1 for a in words for b in words if a != b}
    assert learnt(**single, **pairs).has_many
    assert not learnt(**single, **{f"wort{chr(97 + i)}{chr(97 + j)}": 1 for i in range(9) for j in range(9)}).has_many


@pytest.mark.parametrize("word", ["a" * 100_000, "-" * 100_000, "ab-" * 30_000, "auto" * 14, "́" * 50_000])
def test_no_word_takes_long(word):
    splitter, start = learnt(auto=9, autoauto=8, bahn=7), time.process_time()
    splitter.split([word])
    assert time.process_time() - start < 2


def test_it_is_restored_from_its_arrays():
    splitter = learnt(auto=9, bahn=7, rot=4)
    again = CompoundSplitter.from_arrays(splitter.arrays())
    again.check()
    assert again.split(["autobahn"]) == ["auto bahn"]
    assert again.share == splitter.share


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("forms", np.frombuffer(b"\xff\n", np.uint8)),
        ("forms", np.frombuffer(b"auto\n", np.uint8)),
        ("forms", np.frombuffer(b"a1\nb2\nrot\nund\nder\n", np.uint8)),
        ("counts", np.array([0, 1, 1, 1, 1])),
        ("counts", np.ones(5)),
        ("fillers", np.frombuffer(b"1\n", np.uint8)),
        ("running_words", np.array([1, 2])),
    ],
)
def test_damaged_arrays_are_refused(name, array):
    arrays = learnt(auto=9, bahn=7, rot=4).arrays() | {name: array}
    with pytest.raises(DataError):
        CompoundSplitter.from_arrays(arrays).check()


def test_only_source_text_is_split():
    text = TextPreparation("de", "en", tokenise=True, lowercase=True, compounds=learnt(auto=9, bahn=7))
    assert list(text.source(["Die Autobahn!"])) == ["die auto bahn !"]
    assert list(text.target(["Die Autobahn!"])) == ["die autobahn !"]
    assert Counter(text.restore(["autobahn"])) == Counter(["autobahn"])
