"""Translation probabilities by ranges of words: the same bytes, however many ranges there are."""

import numpy as np
import pytest

from dragoman.core.runtime import Runtime
from dragoman.core.workspace import Workspace
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.align.hmm import Hmm
from dragoman.training.align.model1 import Model1
from dragoman.training.align.translation_table import TranslationTable
from oracles.elsewhere import Elsewhere
from oracles.phrase_table import random_bitext


@pytest.fixture
def bitext():
    return random_bitext(np.random.default_rng(3), 200, words=40, longest=9, links=0.9)[0]


def silent(share):
    pass


@pytest.mark.parametrize("alpha", [None, 0.01])
def test_ranges_change_nothing(bitext, tmp_path, alpha):
    found = []
    for memory in (None, 400_000, 100_000):
        with Workspace(memory, tmp_path) as workspace:
            table = TranslationTable(bitext.source, bitext.target, runtime=Runtime(workspace=workspace))
            sums = [table.improve(0.08, 4.0, alpha, silent, wants_linked=True) for _ in range(3)]
            parts = [one.pairs() for one in table._ranges]
            assert (len(parts) > 1) == (memory is not None)
            values = [np.concatenate(column).tobytes() for column in zip(*parts, strict=True)]
            sums = [(feature, linked.tobytes()) for feature, linked in sums]
            found.append((table.tokens, values, sums, table.likeliest(0.08, 4.0, silent).tobytes()))
            assert memory is None or not list(workspace.folder.iterdir())
    assert found[0] == found[1] == found[2]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("aligner", [Diagonal(), Diagonal(gradient="exact"), Model1(), Hmm(iterations=1)])
def test_links_are_the_same_whatever_the_memory_and_whoever_works(bitext, tmp_path, aligner):
    expected = aligner.align(bitext)
    with Workspace(400_000, tmp_path) as workspace:
        limited = aligner.align(bitext, runtime=Runtime(threads=2, workspace=workspace))
        both = aligner.align(bitext, runtime=Runtime(workspace=workspace, workers=Elsewhere(2)))
    for found in (limited, both, aligner.align(bitext, runtime=Runtime(workers=Elsewhere(3)))):
        for one, other in ((found.forward, expected.forward), (found.reverse, expected.reverse)):
            assert one.values.tobytes() == other.values.tobytes()
            assert one.offsets.tobytes() == other.offsets.tobytes()
