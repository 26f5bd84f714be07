"""Minimum Bayes risk some sentences at a time: what all of them together would choose."""

import json
from pathlib import Path

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.decision.blocks import EvidenceBlock, decide_by_metric
from dragoman.decision.mbr import Mbr
from dragoman.formats.nbest import chunks
from dragoman.formats.nbest.jsonl import JsonlNBest
from dragoman.metrics.bleu import Bleu

WORDS = ["a", "man", "woman", "sleeps", "runs", "on", "the", "beach"]
FILE = Path("lists.jsonl")


@pytest.fixture
def lists(tmp_path):
    """Seven sentences with one to six random candidates."""
    rng = np.random.default_rng(3)
    path = tmp_path / FILE
    rows = [
        {"hyps": [{"text": " ".join(rng.choice(WORDS, 5)), "score": float(rng.normal())} for _ in range(count)]}
        for count in (6, 1, 4, 5, 2, 6, 3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_blocks_are_decided_as_the_whole_is(lists, monkeypatch):
    whole = Mbr().decide(JsonlNBest().read(lists))
    monkeypatch.setattr(chunks, "BLOCK_BYTES", 300)
    blocks = [EvidenceBlock.of(Mbr(), block, block, lists) for block in JsonlNBest().read_blocks(lists)]
    assert len(blocks) > 2
    decided = [*decide_by_metric(blocks, Bleu())]
    assert [line for one in decided for line in one.chosen.lines()] == whole.lines()
    assert np.concatenate([one.chosen.values for one in decided]).tolist() == whole.values.tolist()


def test_evidence_without_weights_is_named(lists):
    candidates = JsonlNBest().read(lists)
    with pytest.raises(DataError, match=str(lists)):
        EvidenceBlock.of(Mbr(weights_from="logprob"), candidates, candidates, lists)
