import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.phrase_table import LOG_ZERO, PhraseTable
from oracles.phrase_pairs import as_dict, phrase_pairs

ROWS = [
    ("la maison", "the house", (0.5, 0.5, 0.75, 0.5)),
    ("vol", "theft", (1, 1, 0.25, 0.25)),
    ("la", "the", (1, 1, 1, 1)),
    ("vol", "flight", (1, 1, 0.5, 0.75)),
    ("la maison", "house", (0, 0.5, 0.25, 0.5)),
    ("vol", "flying", (1, 1, 0.25, 0.25)),
]


@pytest.fixture
def pairs():
    return phrase_pairs(ROWS)


@pytest.fixture
def table(pairs):
    return PhraseTable.from_pairs(pairs)


def targets_of(table, pairs, phrase):
    rows = table.lookup([pairs.source_vocab.id(word) for word in phrase.split()])
    return [pairs.target_vocab.text(table.targets[int(table.target_ids[row])]) for row in rows]


def test_look_up_gives_the_pairs_of_a_phrase_best_first(table, pairs):
    assert targets_of(table, pairs, "vol") == ["flight", "theft", "flying"]  # equals in the order in which they came
    assert targets_of(table, pairs, "la maison") == ["the house", "house"]
    assert targets_of(table, pairs, "la") == ["the"]


def test_look_up_of_what_is_not_there(table, pairs):
    assert list(table.lookup([])) == []
    assert targets_of(table, pairs, "maison") == []
    assert targets_of(table, pairs, "la maison vol") == []
    assert list(table.lookup(np.array([2**31 - 1], np.int32))) == []
    assert list(table.lookup([-1, 4])) == []


def test_there_and_back_again(table, pairs):
    back = table.to_pairs(pairs.source_vocab, pairs.target_vocab)
    ours, theirs = as_dict(pairs), as_dict(back)
    assert ours.keys() == theirs.keys()
    for key, (scores, *others) in ours.items():
        assert theirs[key][0] == pytest.approx(scores, rel=1e-6)
        assert theirs[key][1:3] == tuple(others[:2])
        assert theirs[key][3]["lr"] == pytest.approx(others[2]["lr"], rel=1e-6)


def test_probability_zero_has_a_finite_logarithm_and_comes_back_as_zero(table, pairs):
    assert table.log_scores.min() == LOG_ZERO
    assert as_dict(table.to_pairs(pairs.source_vocab, pairs.target_vocab))["la maison", "house"][0][0] == 0
    assert np.isfinite(table.log_scores).all()


def test_phrases_without_pairs_are_left_out(pairs):
    table = PhraseTable.from_pairs(pairs.take(np.array([2])))
    assert (len(table), len(table.sources), len(table.targets)) == (1, 1, 1)
    assert table.max_source_length == 1
    assert targets_of(table, pairs, "la") == ["the"]
    assert targets_of(table, pairs, "vol") == []


def test_an_empty_table(pairs):
    table = PhraseTable.from_pairs(pairs.take(np.empty(0, np.int64)))
    assert (len(table), table.max_source_length) == (0, 0)
    assert list(table.lookup([3])) == []
    corpus = Corpus.from_lines(["la maison"], pairs.source_vocab)
    assert table.rows_for(corpus).tolist() == []
    assert len(PhraseTable.from_arrays(table.score_names, table.arrays())) == 0


def test_a_table_without_extras_and_with_other_scores():
    pairs = phrase_pairs(
        [("a", "x", (0.5,)), ("b", "y", (1,)), ("a", "z", (0.75,))],
        score_names=("s0",),
        links=False,
        counts=False,
        reordering=(),
    )
    table = PhraseTable.from_pairs(pairs)
    assert targets_of(table, pairs, "a") == ["x", "z"]  # nothing to sort by
    back = PhraseTable.from_arrays(["s0"], table.arrays())
    assert back.alignments is None
    assert back.counts is None
    assert back.log_reordering == {}
    assert as_dict(back.to_pairs(pairs.source_vocab, pairs.target_vocab)).keys() == as_dict(pairs).keys()


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_for_a_text(table, pairs, threads):
    corpus = Corpus.from_lines(["", "la vol", "la"], pairs.source_vocab)
    found = [table.to_pairs(pairs.source_vocab, pairs.target_vocab).source_ids[row] for row in table.rows_for(corpus)]
    rows = table.rows_for(corpus, runtime=Runtime(threads=threads))
    kept = as_dict(table.to_pairs(pairs.source_vocab, pairs.target_vocab).take(rows))
    assert {source for source, _ in kept} == {"la", "vol"}
    assert len(kept) == len(found) == 4


def test_against_a_dictionary():
    rng = np.random.default_rng(5)
    rows = {}
    for _ in range(2000):
        source = " ".join(f"s{w}" for w in rng.integers(0, 12, rng.integers(1, 4)))
        target = " ".join(f"t{w}" for w in rng.integers(0, 12, rng.integers(1, 4)))
        rows.setdefault((source, target), tuple(rng.random(4).tolist()))
    pairs = phrase_pairs([(*key, scores) for key, scores in rows.items()])
    table = PhraseTable.from_pairs(pairs)
    for source in {source for source, _ in rows}:
        options = [(scores[2], target) for (other, target), scores in rows.items() if other == source]
        assert targets_of(table, pairs, source) == [target for _, target in sorted(options, key=lambda o: -o[0])]


def test_arrays_come_back_as_they_were(table):
    back = PhraseTable.from_arrays(table.score_names, table.arrays())
    assert back.arrays().keys() == table.arrays().keys()
    for name, array in table.arrays().items():
        np.testing.assert_array_equal(back.arrays()[name], array)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("sources", None, "the array 'sources' is missing"),
        ("alignments", None, "the array 'alignments' is missing"),
        ("alignment_offsets", None, "the array 'alignment_offsets' is missing"),
        ("sources", lambda a: a.astype(np.int64), "the array 'sources' is of the wrong type or shape"),
        ("sources", lambda a: a[:-1], "the array 'source_offsets' does not fit 'sources'"),
        ("source_offsets", lambda a: a + 1, "the array 'source_offsets' does not fit 'sources'"),
        ("source_offsets", lambda a: a[:0], "the array 'source_offsets' does not fit 'sources'"),
        ("index", lambda a: a[:3], "the array 'index' does not fit the others"),
        ("index", lambda a: a[:1], "the array 'index' does not fit the others"),
        ("first_pair", lambda a: a[:-1], "the array 'first_pair' is of the wrong type or shape"),
        ("first_pair", lambda a: a + 1, "the array 'first_pair' does not fit the others"),
        ("target_ids", lambda a: a[:-1], "the array 'first_pair' does not fit the others"),
        ("log_scores", lambda a: a[:, :3], "the array 'log_scores' is of the wrong type or shape"),
        ("log_scores", lambda a: a[:2], "the array 'log_scores' is of the wrong type or shape"),
        ("counts", lambda a: a[:2], "the array 'counts' is of the wrong type or shape"),
        ("reordering.lr", lambda a: a[:, :3], "the array 'reordering.lr' is of the wrong type or shape"),
    ],
)
def test_arrays_that_do_not_fit_together(table, name, change, message):
    arrays = table.arrays()
    if change is None:
        del arrays[name]
    else:
        arrays[name] = change(arrays[name])
    with pytest.raises(DataError) as error:
        PhraseTable.from_arrays(table.score_names, arrays)
    assert str(error.value) == f"{message}; expected a phrase table"


def test_links_for_another_number_of_pairs(table):
    links = Ragged.of([[0]] * 3, np.uint16)
    arrays = table.arrays() | {"alignments": links.values, "alignment_offsets": links.offsets}
    with pytest.raises(DataError, match="the array 'alignment_offsets' does not fit the others"):
        PhraseTable.from_arrays(table.score_names, arrays)
