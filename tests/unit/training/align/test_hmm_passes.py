"""The HMM by groups of sentence pairs: the same bytes, however many groups and ranges of words there are."""

import numpy as np
import pytest

from dragoman.core.runtime import Runtime
from dragoman.core.workspace import Workspace
from dragoman.training.align import hmm_passes
from dragoman.training.align.hmm import Hmm
from dragoman.training.align.hmm_passes import HmmPasses
from dragoman.training.align.translation_table import TranslationTable
from oracles.phrase_table import random_bitext


@pytest.fixture
def bitext():
    return random_bitext(np.random.default_rng(4), 300, words=40, longest=9, links=0.9)[0]


def silent(share):
    pass


@pytest.mark.parametrize("alpha", [None, 0.01])
def test_groups_and_ranges_change_nothing(bitext, tmp_path, alpha):
    found, numbers = [], []
    for memory, threads in ((None, 1), (None, 2), (2_000_000, 1), (800_000, 2), (400_000, 1)):
        with Workspace(memory, tmp_path) as workspace:
            table = TranslationTable(bitext.source, bitext.target, runtime=Runtime(threads, workspace=workspace))
            groups = HmmPasses(table)
            numbers.append((len(groups._groups), len(table.words)))
            jumps = np.linspace(1, 2, 9)
            sums = [np.stack(groups.improve(jumps, 0.2, 0.2, alpha, silent)).tobytes() for _ in range(3)]
            values = np.concatenate(list(table.probabilities())).tobytes()
            found.append((sums, values, groups.likeliest(jumps, 0.2, 0.2, silent).tobytes()))
            assert memory is None or not list(workspace.folder.iterdir())
    assert all(one == found[0] for one in found)
    assert numbers[0] == (1, 1)
    assert max(number for number, _ in numbers) > 5
    assert max(number for _, number in numbers) > 1
    assert list(tmp_path.iterdir()) == []


def test_pairs_that_are_too_long_have_no_links_whatever_the_memory(bitext, tmp_path, monkeypatch):
    monkeypatch.setattr(hmm_passes, "MAX_MATRIX", 50)
    with Workspace(400_000, tmp_path) as workspace:
        table = TranslationTable(bitext.source, bitext.target, runtime=Runtime(workspace=workspace))
        assert HmmPasses(table).left_out
    with pytest.warns(UserWarning, match="does not align"):
        expected = Hmm(iterations=1).align(bitext)
    with Workspace(400_000, tmp_path) as workspace, pytest.warns(UserWarning, match="does not align"):
        limited = Hmm(iterations=1).align(bitext, runtime=Runtime(workspace=workspace))
    assert limited.forward.values.tobytes() == expected.forward.values.tobytes()
    assert limited.reverse.offsets.tobytes() == expected.reverse.offsets.tobytes()
