import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.corpora.recipe import DEV, TEST, TRAIN, hold_out, select_pairs
from dragoman.corpora.text import fold

LIMITS = {"max_characters": 40, "max_ratio": 2.5, "keep_identical": False}


def test_each_reason_is_counted():
    pairs = [
        ("la maison rouge", "the red house"),
        ("", "something"),
        ("!!!", "something"),
        ("x" * 41, "y" * 30),
        ("oui", "but then it went on and on for ever"),
        ("Calc", "calc!"),
        ("la maison rouge", "the red house"),
        ("La maison rouge.", "The red house."),
        ("la maison rouge", "the house is red"),
    ]
    selection = select_pairs(*zip(*pairs, strict=True), **LIMITS)
    assert selection.rows.tolist() == [0, 8]
    assert selection.dropped == {"empty": 2, "too_long": 1, "out_of_proportion": 1, "untranslated": 1, "repeated": 2}


def test_identical_sides_can_be_kept():
    selection = select_pairs(["Jesus wept."], ["Jesus wept."], **(LIMITS | {"keep_identical": True}))
    assert selection.rows.tolist() == [0]


def test_proportion_is_relative_to_the_corpus():
    # Four characters of one language for one of the other, throughout: nothing is out of proportion.
    source, target = [f"{n:08d}" for n in range(50)], [f"{n:032d}" for n in range(50)]
    assert len(select_pairs(source, target, **LIMITS).rows) == 50


def parts(source, target, documents, **changes):
    arguments = {"allowed": np.ones(len(source), bool), "dev": 5, "test": 7, "seed": 1} | changes
    return hold_out(source, target, documents, **arguments)


def corpus(size, rng):
    """Texts that repeat often, on either side, with case and punctuation varied."""
    source = [f"S{n}" + "!" * (n % 2) for n in rng.integers(0, size, size)]
    return source, [f"t{n}" for n in rng.integers(0, size, size)]


def test_sizes_are_exact_and_nothing_held_out_occurs_elsewhere():
    source, target = corpus(200, np.random.default_rng(1))
    part = parts(source, target, [str(n) for n in range(200)])
    assert np.bincount(part).tolist() == [188, 5, 7]
    for side in (source, target):
        folded = [fold(text) for text in side]
        for row in np.flatnonzero(part != TRAIN):
            assert folded.count(folded[row]) == 1


def test_documents_stay_together():
    documents = [str(n // 3) for n in range(300)]
    texts = [str(n) for n in range(300)]
    part = parts(texts, texts, documents, dev=30, test=60)
    assert np.bincount(part).tolist() == [210, 30, 60]
    assert (part.reshape(-1, 3) == part.reshape(-1, 3)[:, :1]).all()


def test_a_document_that_does_not_fit_is_passed_over():
    documents = ["large"] * 50 + [str(n) for n in range(12)]
    texts = [str(n) for n in range(62)]
    part = parts(texts, texts, documents)
    assert (part[:50] == TRAIN).all()
    assert sorted(part[50:]) == [DEV] * 5 + [TEST] * 7


def test_only_allowed_pairs_are_held_out_and_the_seed_decides_which():
    texts = [str(n) for n in range(100)]
    allowed = np.arange(100) % 2 == 0
    part = parts(texts, texts, texts, allowed=allowed)
    assert (part[~allowed] == TRAIN).all()
    assert np.array_equal(part, parts(texts, texts, texts, allowed=allowed))
    assert not np.array_equal(part, parts(texts, texts, texts, allowed=allowed, seed=2))


@pytest.mark.parametrize("size", [11, 12])
def test_too_few_pairs_to_hold_out(size):
    texts = [str(n) for n in range(size)]
    with pytest.raises(DataError, match=f"12 pairs are to be held out, but of {size} pairs only {size} can be"):
        parts(texts, texts, texts)
