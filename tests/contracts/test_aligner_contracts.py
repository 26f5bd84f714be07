"""What every aligner promises, whoever wrote it; a new file in training/align inherits these tests."""

import importlib
import importlib.util

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus, source_positions, target_positions
from dragoman.core.runtime import Runtime
from dragoman.training.align import ALIGNERS, Aligner
from oracles.toy_language import sentence_pairs

#: Those that can run here; an aligner whose docstring says that its runs differ is excused from being repeatable.
RUNNABLE = [name for name in ALIGNERS.names() if name != "eflomal" or importlib.util.find_spec("eflomal")]
REPEATABLE = [name for name in RUNNABLE if "runs give slightly different" not in (ALIGNERS.get(name).__doc__ or "")]


@pytest.fixture(scope="module")
def toy():
    pairs = sentence_pairs(200)
    return Bitext(
        Corpus.from_lines(" ".join(pair.source) for pair in pairs),
        Corpus.from_lines(" ".join(pair.target) for pair in pairs),
    ), [set(pair.links) for pair in pairs]


def bytes_of(directions):
    links = (directions.forward, directions.reverse)
    return [array.tobytes() for side in links for array in (side.values, side.offsets)]


@pytest.mark.parametrize("name", ALIGNERS.names())
def test_names_lead_to_classes(name):
    cls = ALIGNERS.get(name)
    assert cls.name == name == name.lower()
    assert issubclass(cls, Aligner)
    assert cls.__doc__
    assert importlib.import_module(cls.__module__).__doc__
    assert cls.align.__doc__


def test_names_are_unique():
    classes = [ALIGNERS.get(name) for name in ALIGNERS.names()]
    assert len(set(classes)) == len(classes) > 2


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_plain_dictionary_is_learned(toy, name):
    bitext, true = toy
    both = ALIGNERS.get(name)().align(bitext)
    rows = np.repeat(np.arange(len(bitext)), both.forward.lengths)
    found = zip(
        rows.tolist(), source_positions(both.forward).tolist(), target_positions(both.forward).tolist(), strict=True
    )
    right = sum((s, t) in true[row] for row, s, t in found)
    assert right > 0.7 * sum(map(len, true))


@pytest.mark.parametrize("name", REPEATABLE)
def test_runs_and_threads_give_the_same_bytes(toy, name):
    bitext, _ = toy
    first, *others = (
        bytes_of(ALIGNERS.get(name)().align(bitext, runtime=Runtime(threads=threads))) for threads in (1, 1, 2, 3)
    )
    assert others == [first] * 3


@pytest.mark.parametrize("name", RUNNABLE)
def test_inputs_are_not_changed(toy, name):
    bitext, _ = toy
    arrays = [bitext.source.sentences.values, bitext.target.sentences.values, bitext.source.vocab.blob]
    before = [array.copy() for array in arrays]
    ALIGNERS.get(name)().align(bitext)
    for ours, theirs in zip(before, arrays, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("lines", [[], [("", "")], [("a", ""), ("", "b")]])
def test_little_or_nothing_is_taken_calmly(name, lines):
    bitext = Bitext(Corpus.from_lines(a for a, _ in lines), Corpus.from_lines(b for _, b in lines))
    both = ALIGNERS.get(name)().align(bitext)
    assert len(both.forward) == len(both.reverse) == len(lines)
    assert len(both.forward.values) == len(both.reverse.values) == 0
