"""A small file of each format, written by hand: recognised as that format and no other, or refused with a reason."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.progress import Progress, ProgressRecorder
from dragoman.core.runtime import Runtime
from dragoman.formats.nbest import chunks
from dragoman.formats.nbest.format import NBEST_FORMATS, sniff
from oracles.fuzzing import QUIET

SAMPLES = sorted((Path(__file__).parent / "samples").iterdir())
NAMES = [path.name for path in SAMPLES]


def of(path):
    """The format of a sample, by the beginning of its name, with what the file does not say."""
    kind = NBEST_FORMATS.get(path.name.partition(".")[0])
    return kind(size=2) if kind.name == "opennmt" else kind()


def test_every_format_has_a_sample():
    assert {of(path).name for path in SAMPLES} == set(NBEST_FORMATS.names())


@pytest.mark.parametrize("path", SAMPLES, ids=NAMES)
@pytest.mark.parametrize("name", NBEST_FORMATS.names())
def test_each_sample_looks_like_its_own_format_only(path, name):
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    assert NBEST_FORMATS.get(name).looks_like(lines) == (name == of(path).name)


@pytest.mark.parametrize("path", SAMPLES, ids=NAMES)
def test_each_sample_is_recognised_read_and_written_as_the_same(path, tmp_path):
    assert sniff(path) is type(of(path))
    nbest = of(path).read(path, runtime=Runtime(progress=QUIET))
    assert len(nbest.hypotheses) >= 2
    of(path).write(tmp_path / "out", nbest, runtime=Runtime(progress=QUIET))
    assert sniff(tmp_path / "out") is type(of(path))
    again = of(path).read(tmp_path / "out", runtime=Runtime(progress=QUIET))
    assert again.texts() == nbest.texts()
    assert again.sentences.tolist() == nbest.sentences.tolist()
    assert again.sentence_ids == nbest.sentence_ids
    assert (again.sources, again.references) == (nbest.sources, nbest.references)
    np.testing.assert_array_equal(again.scores, nbest.scores)
    assert (again.logprobs is None) == (nbest.logprobs is None)
    if nbest.logprobs is not None:
        np.testing.assert_array_equal(again.logprobs, nbest.logprobs)
    assert [again.features.row(h) for h in range(len(again.features))] == [
        nbest.features.row(h) for h in range(len(nbest.features))
    ]


#: Formats whose sentences may come in any order, or whose files do not say before their end what belongs together.
WHOLE = ("csv.", "fairseq.", "flat.", "openai.", "huggingface.jsonl")


@pytest.mark.parametrize("path", SAMPLES, ids=NAMES)
def test_blocks_are_the_file_some_sentences_at_a_time(path, monkeypatch):
    monkeypatch.setattr(chunks, "BLOCK_BYTES", 1)
    said, said_of_all = ProgressRecorder(), ProgressRecorder()
    nbest = of(path).read(path, runtime=Runtime(progress=said_of_all))
    blocks = [*of(path).read_blocks(path, runtime=Runtime(progress=said))]
    assert [name for block in blocks for name in block.sentence_ids] == [*nbest.sentence_ids]
    assert [text for block in blocks for text in block.texts()] == nbest.texts()
    assert [size for block in blocks for size in np.diff(block.sentences)] == np.diff(nbest.sentences).tolist()
    np.testing.assert_array_equal(np.concatenate([block.scores for block in blocks]), nbest.scores)
    assert [source for block in blocks for source in block.sources or ()] == [*(nbest.sources or ())]
    assert said.messages == said_of_all.messages
    if path.name.startswith(WHOLE) or ".list." in path.name or path.suffix == ".json":
        assert len(blocks) == 1
    else:  # a first line that is a list may be the whole file, so that it waits for the second
        assert len(blocks) == len(nbest) - (path.name == "huggingface.lists.jsonl")


@pytest.mark.parametrize("path", SAMPLES, ids=NAMES)
@pytest.mark.parametrize("name", NBEST_FORMATS.names())
def test_no_sample_is_read_as_another_format(path, name):
    """Also when a user names the wrong format: the sentence says what the file looks like instead."""
    form = NBEST_FORMATS.get(name)()
    if name == of(path).name:
        return
    with pytest.raises(DataError) as error:
        form.read(path, runtime=Runtime(progress=QUIET))
    assert str(error.value).startswith(f"{path}:")


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ("0\t5.5\n1\t7.25\n", "opennmt or tsv"),
        ('{"translations": ["a"], "outputs": [{"text": "a"}]}\n', "sockeye or vllm"),
        ('{"hypotheses": [["a"]], "translation": "a"}\n', "ctranslate2 or sockeye"),
        ("0 ||| a |||  ||| \n", "joshua or moses or travatar"),
    ],
)
def test_what_may_be_two_formats_is_refused_with_both_names(text, fitting, tmp_path):
    (tmp_path / "in").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        sniff(tmp_path / "in")
    assert f"in: the format may be {fitting}; expected to be told which:" in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}\n',
        '{"hyps": [\n',
        '[{"translation_text": "a"\n',
        '["a", "b"]\n',
        "a\tb\n",
        "-0.5\ta house\n",
        "0\ta\tb\tc\n",
        "a ||| b\n",
        "0 ||| a ||| b\n",
        "H-0 -0.5 a\tb\n",
        "2024-05-06 07:08:09 | INFO | fairseq_cli.generate | loading\tmodel\n",
        '{"choices": {"text": "a"}}\n',
        '{"outputs": "a"}\n',
        '{"text": "a", "text": "b"}\n',
    ],
)
def test_broken_and_foreign_files_are_taken_for_nothing(text, tmp_path):
    (tmp_path / "in").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="the first lines are in no format that we know; expected to be told which"):
        sniff(tmp_path / "in")


@pytest.mark.slow
def test_a_long_list_on_one_line_is_recognised(tmp_path):
    one = '{"hypotheses": [["a", "b"]], "scores": [-1.0]}'
    (tmp_path / "in").write_text(f"[{', '.join([one] * 50_000)}]", encoding="utf-8")
    assert sniff(tmp_path / "in").name == "ctranslate2"
    assert len(NBEST_FORMATS.get("ctranslate2")().read(tmp_path / "in", runtime=Runtime(progress=Progress()))) == 50_000
