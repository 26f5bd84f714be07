"""Classes that are handed to kernels: what they refuse, and that they keep what they are made of."""

import gc
import weakref

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.ragged import Ragged
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import chart_space, phrase_space

ROWS = Ragged.of([[3, 4], [], [5]], np.int32)


def fields_of_rows(dtype):
    return {"values": np.arange(3, dtype=dtype), "offsets": np.array([0, 2, 2, 3])}


def automaton():
    return {
        "slots": np.zeros((4, 2), np.uint64),
        "states": np.zeros((2, 4), np.uint64),
        "unigrams": np.zeros(5, np.uint64),
        "bounds": np.array([0, 1, 2]),
    }


def features():
    return {"offsets": np.array([0, 1, 3]), "ids": np.arange(3, dtype=np.int32), "values": np.ones(3)}


#: The fields of classes that are made of arrays of as many things, or of each other.
MADE = {
    "Rows": fields_of_rows(np.int32),
    "Texts": fields_of_rows(np.uint8),
    "Points": fields_of_rows(np.uint16),
    "UnsignedRows": fields_of_rows(np.uint32),
    "FeatureRows": features(),
    "Automaton": automaton(),
    "Forest": {"first_edge": np.array([0, 1, 2]), "tails": np.full((2, 2), -1, np.int32), "scores": np.zeros(2)},
    "Candidates": {"sentences": np.array([0, 2]), "features": kernels.FeatureRows(**features())},
    "Compared": {
        "hypotheses": ROWS.for_kernels(),
        "sentences": np.arange(3),
        "references": ROWS.for_kernels(),
    },
    "PhrasePlaces": {
        "sentence": np.zeros(2, np.int32),
        "source_begin": np.zeros(2, np.uint16),
        "source_length": np.ones(2, np.uint8),
        "target_begin": np.zeros(2, np.uint16),
    },
    "NBestColumns": {
        "ids": np.zeros(3, np.int64),
        "words": ROWS.for_kernels(),
        "vocab": kernels.Texts(**fields_of_rows(np.uint8)),
        "features": kernels.FeatureRows(offsets=np.zeros(4, np.int64), ids=np.empty(0, np.int32), values=np.empty(0)),
        "scores": np.zeros(3),
    },
}
ARRAYS = [(name, field) for name, made in MADE.items() for field in made if isinstance(made[field], np.ndarray)]
RECORDS = [(name, field) for name, made in MADE.items() for field in made if not isinstance(made[field], np.ndarray)]


@pytest.mark.parametrize("name", MADE)
def test_fields_are_keywords(name):
    made = MADE[name]
    assert getattr(kernels, name)(**made)
    with pytest.raises(TypeError):
        getattr(kernels, name)(*made.values())
    with pytest.raises(TypeError):
        getattr(kernels, name)(**made, another=1)


@pytest.mark.parametrize(("name", "field"), ARRAYS)
def test_arrays_are_taken_as_they_are_or_not_at_all(name, field):
    made, array = MADE[name], MADE[name][field]
    assert getattr(getattr(kernels, name)(**made), field) is array
    spread = np.repeat(array, 2, axis=0)[::2]
    swapped = array.astype(array.dtype.newbyteorder("S"))
    wrong = [spread, array[None], array.astype(complex), array.tolist(), None]
    if array.dtype.itemsize > 1:
        wrong += [swapped, array.astype(np.int8)]
    for other in wrong:
        with pytest.raises(TypeError):
            getattr(kernels, name)(**{**made, field: other})
    with pytest.raises(TypeError):
        getattr(kernels, name)(**{key: value for key, value in made.items() if key != field})


@pytest.mark.parametrize(("name", "field"), ARRAYS)
def test_sizes_have_to_agree(name, field):
    array = MADE[name][field]
    with pytest.raises(ValueError, match=r"need|fit|differ|offsets"):
        getattr(kernels, name)(**{**MADE[name], field: array[:0]})


@pytest.mark.parametrize(("name", "field"), RECORDS)
def test_records_in_records_are_of_their_class(name, field):
    kind = type(MADE[name][field])
    for other in (MADE["Rows"], None, kernels.Trie.__new__(kernels.Trie), kind.__new__(kind)):
        with pytest.raises(TypeError):
            getattr(kernels, name)(**{**MADE[name], field: other})


def test_offsets_stay_within_their_values():
    values = np.arange(3, dtype=np.int32)
    for offsets in ([], [0, 4], [-1, 3], [3, 0]):
        with pytest.raises(ValueError, match="offsets"):
            kernels.Rows(values=values, offsets=np.array(offsets, np.int64))


@pytest.mark.filterwarnings("ignore:nanobind")
def test_nothing_but_the_class_is_an_argument():
    for other in (None, (ROWS.values, ROWS.offsets), kernels.Rows.__new__(kernels.Rows)):
        with pytest.raises(TypeError):
            kernels.sum_feature_rows(other, kernels.FeatureRows(**features()), 3)


def test_arrays_live_as_long_as_what_is_made_of_them():
    values = np.arange(1000, dtype=np.int32)
    alive = weakref.ref(values)
    rows = kernels.Rows(values=values, offsets=np.array([0, 1000]))
    compared = kernels.Compared(hypotheses=rows, sentences=np.zeros(1, np.int64), references=rows)
    del values, rows
    gc.collect()
    assert alive() is not None
    assert kernels.edit_distances(compared).tolist() == [0]
    del compared
    gc.collect()
    assert alive() is None


def parameters(signature):
    """How many there are in `name(one: type, two: type = value) -> type`."""
    depth, count = 0, 0
    for character in signature[signature.index("(") :]:
        depth += (character in "([") - (character in ")]")
        count += depth == 1 and character == ":"
        if depth == 0:
            return count
    raise AssertionError(signature)


def test_no_kernel_has_more_than_ten_parameters():
    functions = [getattr(kernels, name) for name in kernels.__all__]
    signatures = [found[0] for function in functions for found in getattr(function, "__nb_signature__", ())]
    assert len(signatures) > 100
    assert [signature for signature in signatures if parameters(signature) > 10] == []


def made_of(monkeypatch, name, make):
    """The fields of what a search makes."""
    real, seen = getattr(kernels, name), {}
    monkeypatch.setattr(kernels, name, lambda **fields: seen.update(fields) or real(**fields))
    assert make().arrays
    return real, seen


@pytest.mark.parametrize("kind", ["PhraseBatch", "ChartBatch"])
def test_batches_refuse_columns_of_another_length(kind, monkeypatch):
    rng = np.random.default_rng(1)
    space, translator = (phrase_space, PhraseTranslator) if kind == "PhraseBatch" else (chart_space, ChartTranslator)
    model = space.random_model(rng)
    real, made = made_of(monkeypatch, kind, lambda: translator(model).batch([space.random_sentence(rng, 5)]))
    refused = {field for field, value in made.items() if isinstance(value, np.ndarray) and len(value)}
    # No rows of these mean that no feature looks there.
    for field in refused - {"boundary", "match_scores", "rule_classes"}:
        with pytest.raises(ValueError, match=r"need|fit|differ|offsets"):
            real(**{**made, field: made[field][:-1]})
    for field in refused:
        with pytest.raises(TypeError):
            real(**{**made, field: made[field].astype(np.float16)})
    with pytest.raises(TypeError):
        real(**{**made, "language_models": [None]})
