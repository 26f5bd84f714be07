"""Lists that come in blocks: weighed as all of them together are, and evidence in step with candidates."""

import json

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.decision.blocks import matching_blocks, settle_weights
from dragoman.formats.nbest import chunks
from dragoman.formats.nbest.jsonl import JsonlNBest


@pytest.fixture
def blocks(tmp_path, monkeypatch):
    """Blocks of a sentence each, or of as many as have so many bytes."""

    def read(rows, size=1):
        monkeypatch.setattr(chunks, "BLOCK_BYTES", size)
        path = tmp_path / f"{len([*tmp_path.iterdir()])}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        found = [*JsonlNBest().read_blocks(path)]
        return iter(found)

    return read


def sentence(i, *numbers):
    """A sentence whose hypotheses have scores (s), log-probabilities (l) or both."""
    called = {"s": "score", "l": "logprob"}
    hyps = [{"text": f"w{i} h{h}", **{called[kind]: -1.0 for kind in one}} for h, one in enumerate(numbers)]
    return {"id": i, "hyps": hyps}


@pytest.mark.parametrize(
    ("numbers", "expected", "read"),
    [
        (["l", "l", "l"], "logprob", 1),
        (["s", "s", "s"], "score", 1),
        (["sl", "l", "s"], "logprob", 2),
        (["sl", "s", "sl"], "score", 2),
        (["sl", "sl", "sl"], None, 3),
    ],
)
def test_the_first_that_lacks_a_number_says_what_weighs(blocks, numbers, expected, read):
    stream = blocks([sentence(i, one, "sl") for i, one in enumerate(numbers)])
    left = []

    def counted():
        for block in stream:
            left.append(block)
            yield block

    found, all_blocks = settle_weights(counted(), None)
    assert (found, len(left)) == (expected, read)
    assert [block.sentence_ids for block in all_blocks] == [(0,), (1,), (2,)]


def test_what_is_said_to_weigh_does(blocks):
    found, all_blocks = settle_weights(blocks([sentence(0, "s"), sentence(1, "l")]), "uniform")
    assert found == "uniform"
    assert len([*all_blocks]) == 2


@pytest.mark.parametrize(("order", "pieces"), [([0, 1, 2, 3, 4], 5), ([0, 1, 4, 3, 2], 3), ([4, 3, 2, 1, 0], 1)])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 200), (200, 1), (1000, 1000)])
def test_evidence_goes_with_its_sentence(blocks, order, pieces, sizes):
    ours = blocks([{**sentence(i, "s"), "src": f"f{i}"} for i in range(5)], sizes[0])
    theirs = blocks([sentence(i, "s", "s") for i in order], sizes[1])
    pairs = [*matching_blocks(ours, theirs, "c", "e")]
    assert [name for one, _ in pairs for name in one.sentence_ids] == [0, 1, 2, 3, 4]
    assert [source for one, _ in pairs for source in one.sources] == ["f0", "f1", "f2", "f3", "f4"]
    assert all(one.sentence_ids == other.sentence_ids for one, other in pairs)
    assert [text for _, other in pairs for text in other.texts()] == [f"w{i} h{h}" for i in range(5) for h in range(2)]
    assert all(np.diff(other.sentences).tolist() == [2] * len(other) for _, other in pairs)
    if sizes[0] == 1:  # what comes before the order changes does not wait for what comes after
        assert len(pairs) == pieces


@pytest.mark.parametrize(
    ("theirs", "found"),
    [
        ([0, 1], "e: has 2 sentences, but c has 3; expected as many"),
        ([0, 1, 2, 3], "e: has 4 sentences, but c has 3; expected as many"),
        ([0, 1, 7], "e: has nothing for the id '2', which c has"),
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_evidence_for_other_sentences_is_refused(blocks, theirs, found, size):
    ours = blocks([sentence(i, "s") for i in range(3)], size)
    with pytest.raises(DataError, match=found):
        [*matching_blocks(ours, blocks([sentence(i, "s") for i in theirs], size), "c", "e")]
