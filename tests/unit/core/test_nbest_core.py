import numpy as np
import pytest
from hypothesis import given, strategies as st

from dragoman.core.corpus import Vocab
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.nbest import Extras, NBest
from dragoman.core.ragged import Ragged
from oracles import nbest as oracle

WORDS = ["a", "b", "c"]
NAMES = ["x", "y", "z"]


def build(lists, words=WORDS, names=NAMES, **fields):
    """`lists` has for each sentence hypotheses (words, features as pairs of name and value)."""
    rows = [row for hypotheses in lists for row in hypotheses]
    vocab = Vocab.of(words)
    pairs = [pair for _, features in rows for pair in features]
    features = FeatureRows(
        tuple(names),
        np.cumsum([0, *(len(features) for _, features in rows)], dtype=np.int64),
        np.array([names.index(name) for name, _ in pairs], np.int32),
        np.array([value for _, value in pairs], np.float64),
    )
    return NBest(
        vocab,
        np.cumsum([0, *map(len, lists)], dtype=np.int64),
        Ragged.of([[vocab.id(word) for word in text] for text, _ in rows], np.int32),
        np.arange(len(rows), dtype=np.float64),
        features,
        **fields,
    )


def contents(nbest):
    rows = [(nbest.line(h), nbest.features.row(h)) for h in range(len(nbest.hypotheses))]
    return [rows[a:b] for a, b in zip(nbest.sentences[:-1], nbest.sentences[1:], strict=True)]


hypotheses = st.tuples(
    st.lists(st.sampled_from(WORDS), max_size=2),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from([0.0, -0.0, 1.0, 0.5])), max_size=3),
)
many_lists = st.lists(st.lists(hypotheses, max_size=6), max_size=4)


def summed(features):
    total = {}
    for name, value in features:
        total[name] = total.get(name, 0.0) + value
    return total


@given(many_lists, st.booleans())
def test_distinct_keeps_the_first_of_equals(lists, words_only):
    nbest = build(lists)
    kept = nbest.distinct(words_only=words_only)
    assert len(kept) == len(lists)
    for i, rows in enumerate(lists):
        expected = oracle.distinct([(words, summed(features)) for words, features in rows], words_only)
        found = kept.scores[kept.sentences[i] : kept.sentences[i + 1]] - nbest.sentences[i]
        assert found.tolist() == expected
    assert contents(kept.distinct(words_only=words_only)) == contents(kept)


@given(st.lists(many_lists, min_size=1, max_size=3))
def test_merge_is_the_union(parts):
    # The second and third know their words and features in another order.
    built = [build(lists, WORDS[:: (-1) ** k], NAMES[:: (-1) ** k]) for k, lists in enumerate(parts)]
    merged = NBest.merge(built)
    assert len(merged) == max(map(len, parts))
    assert merged.ids is None
    for i in range(len(merged)):
        rows = [row for lists in parts if i < len(lists) for row in lists[i]]
        kept = oracle.distinct([(words, summed(features)) for words, features in rows])
        assert contents(merged)[i] == [(" ".join(rows[k][0]), summed(rows[k][1])) for k in kept]


def test_merge_by_ids():
    texts = [[(["a"], [])], [(["b"], [])]]
    merged = NBest.merge([build(texts, ids=(4, 9)), build(texts[::-1], ids=(9, 2))])
    assert merged.ids == (2, 4, 9)
    assert [[text for text, _ in rows] for rows in contents(merged)] == [["a"], ["a"], ["b"]]
    named = NBest.merge([build(texts, ids=("s", 9)), build(texts, ids=(9, "r"))])
    assert named.ids == ("s", 9, "r")
    assert [[text for text, _ in rows] for rows in contents(named)] == [["a"], ["b", "a"], ["b"]]


def bytes_rows(*rows):
    return Ragged.of(rows, np.uint8)


def test_merge_keeps_what_belongs_to_hypotheses_and_sentences():
    lists = [[(["a"], []), (["b"], [])], [(["c"], [])]]
    phrases = Ragged.of([[0, 1, 0, 1], [1, 2, 0, 1], [2, 3, 0, 1]], np.int32)
    first = build(
        lists,
        segmentations=phrases,
        sources=("x", "y"),
        extras=Extras("moses", {"padded": 1}, bytes_rows(b"1", b"", b"3"), bytes_rows(b"s", b"t")),
    )
    second = build(
        [[(["b"], [])], [(["b"], [])]],
        segmentations=phrases.take(np.array([0, 1])),
        references=(("r",), ()),
        logprobs=np.array([-1.0, -2.0]),
        extras=Extras("moses", {}, bytes_rows(b"4", b"5"), bytes_rows(b"u", b"v")),
    )
    merged = NBest.merge([first, second])
    assert [[text for text, _ in rows] for rows in contents(merged)] == [["a", "b"], ["c", "b"]]
    assert merged.segmentations.values.reshape(-1, 4)[:, 0].tolist() == [0, 1, 2, 1]
    assert np.array_equal(merged.logprobs, [np.nan, np.nan, np.nan, -2], equal_nan=True)
    assert merged.scores.tolist() == [0, 1, 2, 1]
    assert merged.sources == ("x", "y")
    assert merged.references == (("r",), ())
    assert [row.tobytes() for row in merged.extras.hypotheses] == [b"1", b"", b"3", b"5"]
    assert [row.tobytes() for row in merged.extras.sentences] == [b"s", b"t"]
    assert NBest.merge([first, build(lists)]).extras is None
    assert NBest.merge([first, build(lists)]).segmentations is None


def test_sentences_can_be_picked():
    lists = [[(["a"], [("x", 1.0)])], [], [(["b"], []), (["c"], [])]]
    extras = Extras("jsonl", {}, None, bytes_rows(b"1", b"2", b"3"))
    nbest = build(lists, sources=("p", "q", "r"), references=((), ("s",), ()), extras=extras)
    picked = nbest.take(np.array([2, 0, 1]))
    assert picked.ids == (2, 0, 1)
    assert picked.sources == ("r", "p", "q")
    assert picked.references == ((), (), ("s",))
    assert [[text for text, _ in rows] for rows in contents(picked)] == [["b", "c"], ["a"], []]
    assert [row.tobytes() for row in picked.extras.sentences] == [b"3", b"1", b"2"]
    assert nbest.list(2).scores.tolist() == [1, 2]
    alone = nbest.list(1)
    assert (alone.ids, alone.sources, alone.references) == ((1,), ("q",), (("s",),))
    assert [row.tobytes() for row in alone.extras.sentences] == [b"2"]
    assert contents(alone) == [[]]


def test_nothing_to_merge():
    with pytest.raises(UsageError, match="there are no n-best lists to merge"):
        NBest.merge([])
