"""Sentences that failed: they keep their places, are left out, or are refused; and they are counted."""

import json

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.progress import ProgressRecorder
from dragoman.core.runtime import Runtime
from dragoman.formats.nbest import chunks
from dragoman.formats.nbest.format import NBEST_FORMATS, sniff
from dragoman.formats.nbest.jsonl import JsonlNBest
from dragoman.formats.nbest.openai import OpenAiNBest


def answered(name, *texts):
    choices = [{"index": i, "message": {"role": "assistant", "content": text}} for i, text in enumerate(texts)]
    return {
        "custom_id": name,
        "response": {"status_code": 200, "body": {"prompt": "f", "choices": choices}},
        "error": None,
    }


FAILED = [
    ({"response": {"status_code": 429, "body": {"error": {"code": "rate_limit_exceeded"}}}}, "rate_limit_exceeded"),
    ({"response": {"status_code": 500, "body": None}, "error": None}, "status 500"),
    ({"response": None, "error": {"code": "batch_expired", "message": "late"}}, "batch_expired"),
    ({"response": None, "error": None}, "no response"),
    ({"response": {"status_code": 400, "body": {"error": {"message": "too\nlong"}}}}, "too�long"),
    (answered("", None), "no text"),
    (answered(""), "an empty list"),
]


@pytest.fixture
def batch(tmp_path):
    def write(*rows):
        path = tmp_path / "batch.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(("line", "reason"), FAILED, ids=[reason for _, reason in FAILED])
def test_a_request_that_failed(batch, tmp_path, line, reason):
    path = batch({**line, "custom_id": "r-3"}, answered("r-1", "a"), answered("r-2", "b"))
    assert sniff(path) is OpenAiNBest
    said = ProgressRecorder()
    nbest = OpenAiNBest().read(path, runtime=Runtime(progress=said))
    assert nbest.ids == ("r-1", "r-2", "r-3")
    assert np.diff(nbest.sentences).tolist() == [1, 1, 0]
    counted = f"{path}: 1 of 3 sentences have no hypotheses and are left {{}}: 'r-3' ({reason})"
    assert ("warn", counted.format("empty")) in said.messages
    said = ProgressRecorder()
    assert OpenAiNBest(failed="skip").read(path, sentences=3, runtime=Runtime(progress=said)).ids == ("r-1", "r-2")
    assert ("warn", counted.format("out")) in said.messages
    with pytest.raises(DataError, match=r"batch.jsonl:1: 'r-3' has no hypotheses \("):
        OpenAiNBest(failed="refuse").read(path, runtime=Runtime(progress=said))
    OpenAiNBest().write(tmp_path / "again", nbest)
    again = OpenAiNBest().read(tmp_path / "again", runtime=Runtime(progress=said))
    assert (again.ids, again.texts(), again.sources) == (nbest.ids, ["a", "b"], nbest.sources)


def test_a_choice_without_a_text_among_others(batch):
    path, said = batch(answered("r-1", "a", None, "b"), answered("r-2", None, "c")), ProgressRecorder()
    nbest = OpenAiNBest().read(path, runtime=Runtime(progress=said))
    assert (nbest.texts(), nbest.sentences.tolist()) == (["a", "b", "c"], [0, 2, 3])
    assert said.messages == [
        ("warn", f"{path}: 2 hypotheses have no text and are left out, the first of them of 'r-1'")
    ]
    with pytest.raises(DataError, match="1: 1 of the hypotheses of 'r-1' have no text; expected a text for"):
        OpenAiNBest(failed="refuse").read(path)


def test_only_the_first_three_are_named(batch):
    path, said = batch(*({"hyps": []} for _ in range(4)), {"hyps": [{"text": "a"}]}), ProgressRecorder()
    nbest = JsonlNBest(failed="skip").read(path, runtime=Runtime(progress=said))
    assert nbest.sentence_ids == (0,)
    places = ", ".join(f"sentence {i} (an empty list)" for i in (1, 2, 3))
    assert said.messages == [("warn", f"{path}: 4 of 5 sentences have no hypotheses and are left out: {places}, ...")]


NULLS = {
    "jsonl": ['{"id": 0, "hyps": null}', '{"id": 0, "hyps": [{"text": null, "logprob": -1}]}'],
    "vllm": ['{"id": 0, "outputs": null}', '{"id": 0, "outputs": [{"text": null}]}'],
    "ctranslate2": ['{"id": 0, "hypotheses": null}', '{"id": 0, "hypotheses": [null], "scores": [-1]}'],
    "sockeye": ['{"sentence_id": 0, "translation": null}', '{"sentence_id": 0, "translations": [null]}'],
    "huggingface": ['{"id": 0, "translation_text": null}', '{"id": 0, "translation_text": [null]}'],
    "opennmt-json": ['[[{"src": "a", "tgt": null, "n_best": 1}]]'],
    "openai": ['{"choices": null}', '{"choices": [{"text": null}]}'],
}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in NULLS.items() for line in lines])
def test_null_is_no_text_in_any_json(tmp_path, name, line):
    (tmp_path / "in").write_text(line + "\n" + line.replace('": 0', '": 1') + "\n", encoding="utf-8")
    said = ProgressRecorder()
    nbest = NBEST_FORMATS.get(name)().read(tmp_path / "in", runtime=Runtime(progress=said))
    assert np.diff(nbest.sentences).tolist() == [0, 0]
    assert "2 of 2 sentences have no hypotheses and are left empty" in said.messages[0][1]


def test_blocks_count_on(batch):
    long = "x" * (chunks.BLOCK_BYTES // 2 + 1)  # so that two lines are a block
    rows = [{"hyps": [{"text": "a"}] if i % 2 else [], "note": long} for i in range(6)]
    path, said = batch(*rows), ProgressRecorder()
    blocks = JsonlNBest().read_blocks(path, runtime=Runtime(progress=said))
    assert [block.sentence_ids for block in blocks] == [(0, 1), (2, 3), (4, 5)]
    counted = "3 of 6 sentences have no hypotheses and are left empty: sentence 1 (an empty list), sentence 3 (an"
    assert counted in said.messages[0][1]
    skipped = [*JsonlNBest(failed="skip").read_blocks(path, runtime=Runtime(progress=said))]
    assert [block.sentence_ids for block in skipped] == [(0,), (1,), (2,)]
