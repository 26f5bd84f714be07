from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.model.mixture import (
    check_interpolation_weights,
    collapse_mixture,
    components_of,
    fill_up,
    interpolation_weight_names,
    normalise_interpolation_weights,
    read_interpolation_weights,
    unite_tables,
    with_interpolation_weights,
)
from dragoman.model.phrase_table import PhraseTable
from oracles.mixtures import mixed, random_interpolation_weights, random_tables
from oracles.phrase_pairs import as_dict, phrase_pairs


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_mixture_has_the_pairs_of_all_tables_with_weighted_sums(count):
    rng = np.random.default_rng(count)
    tables, interpolation_weights = random_tables(rng, count), random_interpolation_weights(rng, 4, count)
    found, expected = (
        as_dict(collapse_mixture(unite_tables(tables), interpolation_weights)),
        mixed(tables, interpolation_weights),
    )
    assert found.keys() == expected.keys()
    for key, scores in expected.items():
        assert found[key][0] == pytest.approx(scores, rel=1e-6)


def test_links_and_orientations_are_of_the_first_table_that_has_the_pair():
    tables = random_tables(np.random.default_rng(1), 3)
    first = {}
    for table in reversed(tables.values()):
        first |= as_dict(table)
    union = as_dict(unite_tables(tables))
    assert {key: row[1] for key, row in union.items()} == {key: row[1] for key, row in first.items()}
    assert {key: row[3] for key, row in union.items()} == {key: row[3] for key, row in first.items()}


def test_orientations_can_be_those_of_another_table():
    rng = np.random.default_rng(2)
    tables, (other,) = random_tables(rng, 2), random_tables(rng, 1, size=20).values()
    union, plain, theirs = (
        as_dict(unite_tables(tables, reordering=other)),
        as_dict(unite_tables(tables)),
        as_dict(other),
    )
    assert any(key in theirs for key in union)
    assert any(key not in theirs for key in union)
    for key, row in union.items():
        assert row[3]["lr"] == (theirs if key in theirs else plain)[key][3]["lr"]


def test_the_mixture_of_equal_tables_is_that_table():
    (table,) = random_tables(np.random.default_rng(3), 1).values()
    ours = as_dict(table)
    both = as_dict(collapse_mixture(unite_tables({"a": table, "b": table}), np.array([[0.3, 0.7]] * 4)))
    assert both.keys() == ours.keys()
    for key, row in ours.items():
        assert both[key][0] == pytest.approx(row[0], rel=1e-6)


def test_pairs_without_a_share_are_left_out_of_a_baked_table():
    tables = random_tables(np.random.default_rng(4), 2)
    union = unite_tables(tables)
    assert as_dict(collapse_mixture(union, np.array([[1.0, 0.0]] * 4))).keys() == as_dict(tables["a"]).keys()
    assert len(with_interpolation_weights(union, np.array([[1.0, 0.0]] * 4))) == len(union)


def test_fill_up_takes_each_pair_from_the_first_table_that_has_it_and_says_from_where():
    tables = random_tables(np.random.default_rng(5), 3)
    found = fill_up(unite_tables(tables))
    assert found.score_names == ("bwd", "bwd_lex", "fwd", "fwd_lex", "from_b", "from_c")
    one, two, three = (as_dict(table) for table in tables.values())
    for key, row in as_dict(found).items():
        origin = one if key in one else two if key in two else three
        marks = [np.exp(-1) if origin is two else 1, np.exp(-1) if origin is three else 1]
        assert row[0] == pytest.approx([*origin[key][0], *marks], rel=1e-6)


def test_components_are_found_by_words():
    rng = np.random.default_rng(6)
    tables, (wanted,) = random_tables(rng, 2), random_tables(rng, 1, size=20).values()
    has, found = components_of(unite_tables(tables), wanted)
    dictionaries = [as_dict(table) for table in tables.values()]
    keys = list(as_dict(wanted))
    assert has.tolist() == [any(key in table for table in dictionaries) for key in keys]
    for key, row in zip([key for key, there in zip(keys, has, strict=True) if there], found, strict=True):
        for table, scores in zip(dictionaries, row, strict=True):
            assert scores.tolist() == (table[key][0] if key in table else [0] * 4)


def test_components_go_with_their_pairs_to_disk_and_back():
    union = unite_tables(random_tables(np.random.default_rng(7), 2))
    table = PhraseTable.from_pairs(union)
    again = PhraseTable.rebuild(table.about(), table.arrays())
    assert again.components.names == ("a", "b")
    np.testing.assert_array_equal(again.components.probabilities, table.components.probabilities)
    back = as_dict(collapse_mixture(again.to_pairs(union.source_vocab, union.target_vocab), np.array([[0.1, 0.9]] * 4)))
    for key, row in as_dict(collapse_mixture(union, np.array([[0.1, 0.9]] * 4))).items():
        assert back[key][0] == pytest.approx(row[0], rel=1e-6)


def test_components_that_cannot_be_are_refused():
    union = unite_tables(random_tables(np.random.default_rng(7), 2))
    table = PhraseTable.from_pairs(union)
    with pytest.raises(DataError, match="'components' is of the wrong type or shape"):
        PhraseTable.rebuild({**table.about(), "components": ["a", "b", "c"]}, table.arrays())
    with pytest.raises(DataError, match="'components' is missing"):
        PhraseTable.rebuild(table.about(), {k: v for k, v in table.arrays().items() if k != "components"})
    with pytest.raises(DataError, match="calls its components 'a'"):
        PhraseTable.rebuild({**table.about(), "components": "a"}, table.arrays())
    arrays = {**table.arrays(), "components": -table.components.probabilities}
    with pytest.raises(DataError, match="'components' has a negative number"):
        PhraseTable.rebuild(table.about(), arrays).check(union.source_vocab, union.target_vocab)


def test_tables_that_cannot_be_mixed_are_refused():
    rows = [("la", "the", (1, 1))]
    ours, theirs = phrase_pairs(rows, score_names=("bwd", "fwd")), phrase_pairs(rows, score_names=("fwd", "bwd"))
    with pytest.raises(UsageError, match="'in' has the scores bwd, fwd, and 'out' has fwd, bwd; expected the same"):
        unite_tables({"in": ours, "out": theirs})
    german = phrase_pairs([("das", "the", (1, 1))], score_names=("bwd", "fwd"))
    with pytest.raises(UsageError, match="no source word of the table 'out' is in 'in'"):
        unite_tables({"in": ours, "out": german})
    with pytest.raises(UsageError, match="1 table to mix; expected two or more"):
        unite_tables({"in": ours})
    with pytest.raises(UsageError, match="is called 'a b'"):
        unite_tables({"a b": ours, "out": ours})


def test_shares_are_read_by_name_and_must_sum_to_one():
    names = interpolation_weight_names("tm", ["bwd", "fwd"], ["in", "out"])
    weights = {"mix.tm.bwd.in": 0.25, "mix.tm.bwd.out": 0.75, "mix.tm.fwd.in": 1.0, "mix.tm.fwd.out": 0.0, "lm": 2}
    assert read_interpolation_weights(names, weights).tolist() == [[0.25, 0.75], [1.0, 0.0]]
    with pytest.raises(UsageError, match=r"the shares 0.5, 0.75 of mix.tm.bwd sum to 1.25; expected 1"):
        read_interpolation_weights(names, weights | {"mix.tm.bwd.in": 0.5})
    with pytest.raises(UsageError, match=r"of mix.tm.bwd are not all at least 0"):
        read_interpolation_weights(names, weights | {"mix.tm.bwd.in": -0.25, "mix.tm.bwd.out": 1.25})
    with pytest.raises(UsageError, match=r"no weight for mix.tm.fwd.out"):
        read_interpolation_weights(names, {name: value for name, value in weights.items() if name != "mix.tm.fwd.out"})


def test_shares_are_normalised_row_by_row_if_they_can_be():
    assert normalise_interpolation_weights(np.array([[1.0, 3.0], [2.0, 2.0]]), ["a", "b"]).tolist() == [
        [0.25, 0.75],
        [0.5, 0.5],
    ]
    for row in ([0.0, 0.0], [-1.0, 2.0], [np.inf, 1.0]):
        with pytest.raises(UsageError, match="of a cannot be made to sum to 1"):
            normalise_interpolation_weights(np.array([row]), ["a"])
    check_interpolation_weights(np.array([[0.1] * 10]), ["ten tenths"])


def test_orientations_are_mixed_by_direction_and_stay_distributions():
    """A table that lacks a pair says nothing of its orientations: a third each."""
    own = np.array([0.6, 0.3, 0.1, 0.2, 0.2, 0.6], np.float32)
    tables = {
        name: replace(phrase_pairs([(source, "the", (0.5,) * 4)]), reordering={"lr": orientations[None]})
        for name, source, orientations in (("a", "la", own), ("b", "la maison", own[::-1].copy()))
    }
    union = unite_tables(tables, mix_reordering=True)
    weights = {"lr": np.array([[0.75, 0.25], [0.5, 0.5]])}
    found = as_dict(collapse_mixture(union, np.array([[0.5, 0.5]] * 4), weights))
    unseen = np.full(6, 1 / 3)
    share = np.repeat([0.75, 0.5], 3)
    assert found["la", "the"][3]["lr"] == pytest.approx(share * own + (1 - share) * unseen)
    assert found["la maison", "the"][3]["lr"] == pytest.approx(share * unseen + (1 - share) * own[::-1])
    for row in found.values():
        assert np.array(row[3]["lr"]).reshape(2, 3).sum(axis=1) == pytest.approx([1, 1])
    with pytest.raises(UsageError, match="no orientations in common"):
        unite_tables({name: replace(table, reordering={}) for name, table in tables.items()}, mix_reordering=True)


def test_a_mixture_of_orientations_comes_back_from_its_arrays():
    lr = {"lr": np.full((1, 6), 1 / 3, np.float32)}
    tables = {name: replace(phrase_pairs([("la", "the", (0.5,) * 4)]), reordering=lr) for name in "ab"}
    table = PhraseTable.from_pairs(unite_tables(tables, mix_reordering=True))
    again = PhraseTable.rebuild(table.about(), table.arrays())
    assert again.reordering_components["lr"].names == ("a", "b")
    with pytest.raises(DataError, match=r"reordering_components\.lr"):
        PhraseTable.rebuild(table.about(), {**table.arrays(), "reordering_components.lr": np.ones((1, 1), np.float32)})
