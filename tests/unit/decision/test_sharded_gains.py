"""Expected gains, block by block: those of all sentences at once, whoever works."""

import itertools
from contextlib import contextmanager

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime, ThreadWorkers
from dragoman.decision import gains as sharded_gains
from dragoman.decision.gains import expected_gains, gains_of_blocks
from dragoman.decision.posterior import Posterior
from dragoman.metrics.combined import parse_metric
from oracles.elsewhere import Elsewhere

METRIC = parse_metric("chrf")


class Apart(Elsewhere):
    """Threads that are taken for other processes, several of which work at a time."""

    map = ThreadWorkers.map


class Heard(Progress):
    """Keeps what it is told."""

    def __init__(self):
        self.stages, self.shares = [], []

    @contextmanager
    def stage(self, name):
        self.stages.append(name)
        yield self.shares.append


def posterior(sizes):
    rng = np.random.default_rng(3)
    text = Corpus.from_lines(" ".join(f"w{w}" for w in rng.integers(0, 99, 5)) for _ in range(sum(sizes)))
    probabilities = np.repeat(1 / np.maximum(sizes, 1), sizes)
    bounds = np.cumsum([0, *sizes])
    return Posterior(text.vocab, bounds, text.sentences, probabilities, np.arange(sum(sizes)), np.array(sizes))


@pytest.mark.parametrize("runtime", [Runtime(threads=2), Runtime(workers=Elsewhere(2))], ids=["threads", "elsewhere"])
def test_blocks_have_the_gains_of_all_sentences_at_once(monkeypatch, runtime):
    monkeypatch.setattr(sharded_gains, "_PAIRS_PER_SHARD", 30)
    whole = posterior([4, 0, 7, 1, 0, 0, 9, 3, 2, 5])
    cuts = [0, 1, 2, 4, 6, 10, 10]
    parts = [whole.part(a, b) for a, b in itertools.pairwise(cuts)]
    found = [*gains_of_blocks(METRIC, [(part, part) for part in parts], matrix=True, runtime=runtime)]
    assert [len(gains) for gains, _ in found] == [len(part.strings) for part in parts]
    gains, matrix = expected_gains(METRIC, whole, whole, matrix=True)
    assert np.array_equal(np.concatenate([part for part, _ in found]), gains)
    assert np.array_equal(np.concatenate([cells for _, cells in found]), matrix)


def test_blocks_are_read_as_they_are_needed():
    whole, read = posterior([4] * 100), []

    def blocks():
        for i in range(100):
            read.append(i)
            part = whole.part(i, i + 1)
            yield part, part

    for runtime, most in ((Runtime(threads=2), 1), (Runtime(workers=Apart(2)), 24)):
        read.clear()
        next(gains_of_blocks(METRIC, blocks(), runtime=runtime))
        assert 1 <= len(read) <= most


@pytest.mark.parametrize("workers", [ThreadWorkers(), Elsewhere(2)], ids=["here", "elsewhere"])
def test_all_hear_how_far_it_is(monkeypatch, workers):
    monkeypatch.setattr(sharded_gains, "_PAIRS_PER_SHARD", 30)
    whole, heard = posterior([4] * 10), Heard()
    found = sharded_gains.sharded_gains(METRIC, whole, whole, runtime=Runtime(progress=heard, workers=workers))
    assert np.array_equal(found[0], expected_gains(METRIC, whole, whole)[0])
    assert heard.stages == ["expected gains"]
    assert sorted(heard.shares) == heard.shares
    assert heard.shares[-1] == 1


def test_a_sentence_without_evidence_is_named_by_its_place_in_the_file():
    ours, theirs = posterior([1, 1, 1]), posterior([1, 1, 0])
    blocks = [(ours.part(i, i + 1), theirs.part(i, i + 1)) for i in range(3)]
    with pytest.raises(DataError, match="sentence 3 has hypotheses but no evidence"):
        [*gains_of_blocks(METRIC, blocks)]
