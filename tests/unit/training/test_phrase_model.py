"""Phrase tables in as much memory as there is: the same bytes, whatever it is."""

import numpy as np
import pytest

from dragoman.core.corpus import links_of
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import SILENT, Progress
from dragoman.core.runtime import Runtime
from dragoman.core.workspace import Workspace
from dragoman.model.phrase_table import PhraseTable
from dragoman.training.merge import table_index
from dragoman.training.phrase_model import PhraseModel, phrase_parts
from oracles.elsewhere import Elsewhere
from oracles.phrase_table import random_bitext

pytestmark = pytest.mark.slow

OPTIONS = [
    PhraseModel(max_phrase_length=3),
    PhraseModel(max_phrase_length=4, smoothing="good-turing", reordering=False),
    PhraseModel(max_phrase_length=2, smoothing="kneser-ney", prune_limit=2),
    PhraseModel(max_phrase_length=3, prune_score=0.1, prune_significance="2.5"),
]


def everything(table: PhraseTable) -> dict[str, tuple[object, bytes]]:
    return {name: ((array.dtype, array.shape), array.tobytes()) for name, array in table.arrays().items()}


def made(text, options, memory, tmp_path, threads=1, progress=SILENT):
    with Workspace(memory, tmp_path) as workspace:
        found = phrase_parts(*text, options, runtime=Runtime(threads, progress, workspace))
        return len(found.parts), everything(table_index().build(found, workspace))


@pytest.mark.parametrize(("seed", "options"), list(enumerate(OPTIONS)))
def test_the_same_bytes_whatever_the_memory(seed, options, tmp_path):
    text = random_bitext(np.random.default_rng(seed), 150, words=12, longest=6, links=0.9)[:2]
    whole = phrase_parts(*text, options)
    assert whole.whole is not None
    expected = everything(PhraseTable.from_pairs(whole.whole))
    parts = []
    for memory, threads in ((10_000, 1), (800, 1), (300, 2)):
        number, found = made(text, options, memory * whole.instances, tmp_path, threads)
        parts.append(number)
        assert found == expected
    assert parts[0] == 0 < parts[1] < parts[2]
    for memory in (None, 300 * whole.instances):
        with Workspace(memory, tmp_path) as workspace:
            spread = phrase_parts(*text, options, runtime=Runtime(workspace=workspace, workers=Elsewhere(2)))
            assert len(spread.parts) > 4
            assert everything(table_index().build(spread, workspace)) == expected
    assert list(tmp_path.iterdir()) == []


def test_parts_warn_once(tmp_path):
    said = []

    class Listening(Progress):
        def warn(self, text: str) -> None:
            said.append(text)

    text = random_bitext(np.random.default_rng(3), 2, words=50, longest=3, links=0.9)[:2]
    parts, _ = made(text, PhraseModel(smoothing="kneser-ney"), 1, tmp_path, progress=Listening())
    assert parts > 2
    assert len(said) == 1


def test_what_leaves_nothing_says_so_in_parts_too(tmp_path):
    bitext, links, _ = random_bitext(np.random.default_rng(5), 3, words=3, longest=3, links=0.9)
    with pytest.raises(UsageError, match="pruning left no phrase pair"):
        made((bitext, links), PhraseModel(prune_significance="1e9"), 1, tmp_path)
    with pytest.raises(DataError, match="no phrase pair could be extracted"):
        made((bitext, links_of([[]] * len(bitext))), PhraseModel(), 1, tmp_path)
    assert list(tmp_path.iterdir()) == []
