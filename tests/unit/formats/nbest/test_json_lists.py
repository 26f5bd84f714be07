"""The JSON of neural systems: what each shape means, and what is said of values that are wrong."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.progress import DragomanWarning
from dragoman.formats.nbest import chunks
from dragoman.formats.nbest.ctranslate2 import CTranslate2NBest
from dragoman.formats.nbest.format import NBEST_FORMATS, read_nbest
from dragoman.formats.nbest.huggingface import HuggingFaceNBest
from dragoman.formats.nbest.jsonl import JsonlNBest
from dragoman.formats.nbest.openai import OpenAiNBest
from dragoman.formats.nbest.opennmt_json import OpenNmtJsonNBest
from dragoman.formats.nbest.sockeye import SockeyeNBest
from dragoman.formats.nbest.vllm import VllmNBest

SAMPLES = Path(__file__).parent / "samples"


def read(form, text, tmp_path):
    (tmp_path / "in").write_text(text, encoding="utf-8")
    return form.read(tmp_path / "in")


def test_sockeyes_scores_change_their_sign(tmp_path):
    nbest = SockeyeNBest().read(SAMPLES / "sockeye.jsonl")
    assert nbest.scores.tolist() == [-0.5, -0.75, -0.25, -1.5]
    assert nbest.logprobs is None
    line = '{"score": -0.5, "sentence_id": 0, "translation": "a"}\n'
    with pytest.raises(
        DataError, match=r"in:1: a score is -0.5, which is not a neglogprob; expected .* scores=logprob"
    ):
        read(SockeyeNBest(), line, tmp_path)
    assert read(SockeyeNBest(scores="logprob"), line, tmp_path).scores.tolist() == [-0.5]
    assert SockeyeNBest().read(SAMPLES / "sockeye.factors.jsonl").scores.tolist() == [-0.5, -0.75]
    with pytest.warns(DragomanWarning, match="1 of 2 hypotheses have no words"):
        assert np.isnan(SockeyeNBest().read(SAMPLES / "sockeye.single.jsonl").scores).tolist() == [False, True]
    positive = read(SockeyeNBest(scores="logprob"), line, tmp_path)
    positive.scores[:] = 2.0
    with pytest.raises(DataError, match="list 1 to write has the score 2, which is not a log-probability"):
        SockeyeNBest().write(tmp_path / "out", positive)


def test_what_belongs_to_a_hypothesis_moves_with_it(tmp_path):
    nbest = SockeyeNBest().read(SAMPLES / "sockeye.factors.jsonl").reordered(np.array([1, 0]))
    SockeyeNBest().write(tmp_path / "out", nbest)
    fields = json.loads((tmp_path / "out").read_text(encoding="utf-8"))
    assert fields["translation"] == "the house"
    assert fields["translations_factors"] == [{"factor1": "D M"}, {"factor1": "D N"}]
    nbest = CTranslate2NBest().read(SAMPLES / "ctranslate2.jsonl").reordered(np.array([1, 0, 2]))
    CTranslate2NBest().write(tmp_path / "out", nbest)
    fields = json.loads((tmp_path / "out").read_text(encoding="utf-8").splitlines()[0])
    assert (fields["scores"], fields["attention"]) == ([-0.75, -0.5], [[[1.0]], [[0.5]]])
    nbest = VllmNBest().read(SAMPLES / "vllm.jsonl").reordered(np.array([1, 0, 2]))
    VllmNBest().write(tmp_path / "out", nbest)
    fields = json.loads((tmp_path / "out").read_text(encoding="utf-8").splitlines()[0])
    assert [(one["index"], one["text"]) for one in fields["outputs"]] == [(0, "the house"), (1, " a house")]
    assert fields["outputs"][1]["token_ids"] == [5, 6]


def test_pieces_become_words():
    path = SAMPLES / "ctranslate2.jsonl"
    assert CTranslate2NBest(pieces="sentencepiece").read(path).texts() == ["a house", "the house", "yes"]


def test_bpe_becomes_words(tmp_path):
    line = '{"hypotheses": [["a", "hou@@", "se", "x@@"]], "scores": [-1.0]}\n'
    assert read(CTranslate2NBest(pieces="bpe"), line, tmp_path).texts() == ["a house x"]


@pytest.mark.parametrize("name", ["opennmt-json.json", "opennmt-json.flat.jsonl"])
def test_opennmts_ranks_become_lists(name):
    nbest = OpenNmtJsonNBest().read(SAMPLES / name)
    assert nbest.texts() == ["a house", "the house", "yes", "oh yes"]
    assert nbest.sentences.tolist() == [0, 2, 4]
    assert nbest.sources == ("la maison", "oui")


def test_opennmts_lists_without_their_size(tmp_path):
    by_rank = '[[{"src":"x","tgt":"a"},{"src":"y","tgt":"b"}],[{"src":"x","tgt":"c"},{"src":"y","tgt":"d"}]]\n'
    by_sentence = '[[{"src":"x","tgt":"a"},{"src":"x","tgt":"b"}],[{"src":"y","tgt":"c"},{"src":"y","tgt":"d"}]]\n'
    assert read(OpenNmtJsonNBest(), by_rank, tmp_path).texts() == ["a", "c", "b", "d"]
    assert read(OpenNmtJsonNBest(), by_sentence, tmp_path).texts() == ["a", "b", "c", "d"]
    with pytest.raises(DataError, match="in:1: there is no 'n_best', and the sources do not say"):
        read(OpenNmtJsonNBest(), by_rank.replace("y", "x"), tmp_path)


def test_hugging_faces_hypotheses_belong_together_by_id_or_size(tmp_path):
    lines = '{"generated_text": "a"}\n{"generated_text": "b"}\n'
    assert read(HuggingFaceNBest(), lines, tmp_path).sentences.tolist() == [0, 1, 2]
    assert read(HuggingFaceNBest(size=2), lines, tmp_path).sentences.tolist() == [0, 2]
    whole = '[{"generated_text": "a"}, {"generated_text": "b"}]'
    with pytest.raises(DataError, match="in:1: the list's hypotheses have no 'id', and may be of one sentence or of"):
        read(HuggingFaceNBest(), whole, tmp_path)
    assert read(HuggingFaceNBest(size=1), whole, tmp_path).sentences.tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="in:2: there are 2 hypotheses; expected 3 for each sentence"):
        read(HuggingFaceNBest(size=3), lines, tmp_path)
    again = '{"id": 1, "generated_text": "a"}\n{"id": 2, "generated_text": "b"}\n{"id": 1, "generated_text": "c"}\n'
    with pytest.raises(DataError, match="in:3: the sentence with the id 1 comes again, after line 1"):
        read(HuggingFaceNBest(), again, tmp_path)


def test_log_probabilities_of_tokens_add_up():
    assert OpenAiNBest().read(SAMPLES / "openai.jsonl").logprobs.tolist() == [-0.5, -0.75, -0.25]
    logprobs = OpenAiNBest().read(SAMPLES / "openai.chat.jsonl").logprobs
    assert logprobs[0] == -0.5
    assert np.isnan(logprobs[1])


def test_batches_are_brought_into_order(tmp_path):
    nbest = OpenAiNBest().read(SAMPLES / "openai.batch.jsonl")
    assert nbest.texts() == ["a house", "yes"]
    assert nbest.ids is None
    named = (SAMPLES / "openai.batch.jsonl").read_text(encoding="utf-8").replace('"custom_id": "', '"custom_id": "r-')
    nbest = read(OpenAiNBest(), named, tmp_path)
    assert (nbest.ids, nbest.texts()) == (("r-0", "r-1"), ["a house", "yes"])


def test_a_prompt_is_the_source_and_texts_keep_their_space(tmp_path):
    nbest = VllmNBest().read(SAMPLES / "vllm.jsonl")
    assert nbest.sources == ("la maison", "oui")
    assert nbest.logprobs.tolist() == [-0.5, -0.75, -0.25]
    VllmNBest().write(tmp_path / "out", nbest)
    first, second = map(json.loads, (tmp_path / "out").read_text(encoding="utf-8").splitlines())
    assert (first["request_id"], first["outputs"][0]["text"], second["outputs"][0]["text"]) == (
        "4",
        " a house",
        "yes\n",
    )


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        (SockeyeNBest, '{"sentence_id": 0}', "1: found '{\"sentence_id\": 0}', without a 'translation'; expected"),
        (SockeyeNBest, '{"translations": ["a"], "scores": [1, 2]}', "1: 'scores' has 2 elements for 1 hypotheses"),
        (SockeyeNBest, '{"translations": "a"}', "1: 'translations' is '\"a\"'; expected a list of strings"),
        (SockeyeNBest, '{"translation": "a", "score": Infinity}', "1: 'score' is '-inf'; expected a finite number"),
        (SockeyeNBest, '{"translation": "a", "score": "1"}', "1: a score is '\"1\"'; expected a number"),
        (CTranslate2NBest, '{"hypotheses": ["a"]}', "1: a hypothesis is '\"a\"'; expected a list of tokens"),
        (CTranslate2NBest, '[{"hypotheses": []},\n\n{"a": 1}]', "3: found '{\"a\": 1}', without a list 'hypotheses'"),
        (CTranslate2NBest, '[{"hypotheses": []},\n]', "2: found ']', which is not JSON; expected"),
        (CTranslate2NBest, '[{"hypotheses": []}\n{"hypotheses": []}]', "2: found '{\"hypotheses\": []}]' after an"),
        (CTranslate2NBest, "[[1]]", "1: found '[1]', which is not an object; expected"),
        (VllmNBest, '{"outputs": [{"txt": 1}]}', "1: found the output '{\"txt\": 1}', without a string 'text'"),
        (VllmNBest, '{"prompt": 1, "outputs": []}', "1: 'prompt' is '1'; expected a string"),
        (VllmNBest, '{"prompt": "a", "outputs": []}\n{"outputs": []}', "2: some sentences have a 'prompt' and some"),
        (
            VllmNBest,
            '{"outputs": [{"text": "a", "cumulative_logprob": NaN}]}',
            "1: found NaN; expected a finite number",
        ),
        (OpenAiNBest, '{"choices": [{"message": {"content": 1}}]}', "1: found the choice"),
        (OpenAiNBest, '{"custom_id": "1", "response": {"error": 1}}', '1: found \'{"custom_id"'),
        (OpenAiNBest, '{"choices": [{"text": "a", "logprobs": [1]}]}', "1: 'logprobs' is '[1]'; expected 'token_lo"),
        (OpenNmtJsonNBest, '{"error": "x"}', '1: found \'{"error": "x"}\', which is not a list of lists'),
        (OpenNmtJsonNBest, '[[{"src": "a"}]]', "1: found '{\"src\": \"a\"}', without a string 'tgt'"),
        (OpenNmtJsonNBest, '[[{"tgt": "a", "n_best": 3}]]', "1: 'n_best' is '3', and the response has 1 lists"),
        (
            OpenNmtJsonNBest,
            '[[{"tgt": "a", "src": "x", "n_best": 2}], [{"tgt": "b", "src": "y", "n_best": 2}]]',
            "1: hypotheses of one sentence have different sources",
        ),
        (HuggingFaceNBest, '{"text": "a"}', '1: found \'{"text": "a"}\', which has no text; expected a string under'),
        (
            HuggingFaceNBest,
            '{"generated_text": "a", "translation_text": "a"}',
            "1: there are both 'translation_text' and 'generated_text' in one object; expected one of them",
        ),
        (HuggingFaceNBest, '{"generated_text": ["a"], "sequences_scores": [1, 2]}', "1: 'sequences_scores' has 2 el"),
    ],
)
def test_what_is_wrong_is_said(kind, text, sentence, tmp_path):
    with pytest.raises(DataError) as error:
        read(kind(), text, tmp_path)
    assert f"in:{sentence}" in str(error.value)


@pytest.mark.parametrize(
    ("ids", "first"),
    [([5, 6, 7, 6], 2), ([5, 6, 7, 5], 1), ([5, 6, 9, 7, 9], 3), (["a", 3, "b", "a"], 1), ([2, 1, 0, 0], 3)],
)
def test_an_id_that_comes_again_is_found_though_blocks_have_been_read(tmp_path, monkeypatch, ids, first):
    monkeypatch.setattr(chunks, "BLOCK_BYTES", 1)
    path = tmp_path / "twice.jsonl"
    path.write_text("".join(json.dumps({"id": i, "hyps": [{"text": "a"}]}) + "\n" for i in ids), encoding="utf-8")
    said = f"{path}:{len(ids)}: the sentence with the id {ids[-1]!r} comes again, after line {first}; expected"
    with pytest.raises(DataError, match=re.escape(said)):
        JsonlNBest().read(path)
    blocks = JsonlNBest().read_blocks(path)
    assert [next(blocks).sentence_ids for _ in ids[:-1]] == [(name,) for name in ids[:-1]]
    with pytest.raises(DataError, match=re.escape(said)):
        next(blocks)


def test_what_all_sentences_have_is_asked_of_all_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "BLOCK_BYTES", 1)
    path = tmp_path / "some.jsonl"
    path.write_text('{"id":0,"hyps":[{"text":"a"}]}\n{"hyps":[{"text":"b"}]}\n', encoding="utf-8")
    with pytest.raises(DataError, match=":2: some sentences have an 'id' and some have none"):
        [*JsonlNBest().read_blocks(path)]


def test_what_a_text_holds_says_nothing_of_the_style(tmp_path):
    """Which sentence comes first changes when they are sorted, and its text may look like a key."""
    lines = ['{"translation":"b","sentence_id":1}', '{"translation":"a \\"x\\": y","sentence_id":0}']
    (tmp_path / "file").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    form = NBEST_FORMATS.get("sockeye")()
    form.write(tmp_path / "once", form.read(tmp_path / "file"))
    form.write(tmp_path / "twice", form.read(tmp_path / "once"))
    assert (tmp_path / "once").read_bytes() == (tmp_path / "twice").read_bytes()


@pytest.mark.parametrize("key", ["hyps", "candidates", "samples"])
def test_lists_of_strings_are_lists_of_hypotheses(tmp_path, key):
    path, out = tmp_path / "lists.jsonl", tmp_path / "out.jsonl"
    rows = [{"source": "maison", key: ["a house", "a", "the\nhouse"], "topic": 3}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    lists = read_nbest(path)
    assert lists.texts() == ["a house", "a", "the house"]
    assert lists.sources[0] == "maison"
    NBEST_FORMATS.get("jsonl")().write(out, lists)
    first = json.loads(out.read_text(encoding="utf-8").splitlines()[0])
    assert (first["src"], first["topic"]) == ("maison", 3)
    assert [one["text"] for one in first["hyps"]] == ["a house", "a", "the\nhouse"]
