"""A training that is killed goes on with the last stage that was whole, to the same model."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from dragoman.core.checkpoint import StageCheckpoint
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.core.workspace import Workspace
from dragoman.training import pipeline
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.phrase_model import PhraseModel
from dragoman.training.pipeline import TrainRecipe, train_model
from dragoman.training.prepare import PreparedText
from dragoman.training.rules.model import RuleModel
from oracles.phrase_table import random_bitext

pytestmark = pytest.mark.slow

RULES = {"rule_model": RuleModel(max_span=4), "with_phrases": True}


class Notes(Progress):
    def __init__(self):
        self.said, self.warned = [], []

    def note(self, text):
        self.said.append(text.split(" of an interrupted training")[0])

    def warn(self, text):
        self.warned.append(text)


def trained(bitext, out, memory, checkpoint, **options):
    notes = Notes()
    with Workspace(memory) as workspace:
        runtime = Runtime(workspace=workspace, checkpoint=checkpoint, progress=notes)
        model = train_model(PreparedText(bitext), TrainRecipe(**options), runtime=runtime).model
        model.save(out)
    files = sorted(path for path in out.rglob("*") if path.is_file())
    return [said for said in notes.said if "continuing" in said], [
        (path.relative_to(out), path.read_bytes()) for path in files
    ]


@pytest.fixture
def bitext():
    return random_bitext(np.random.default_rng(7), 60, words=12, longest=6, links=0.9)[0]


@pytest.mark.parametrize(
    ("killed_in", "memory", "options", "kept"),
    [
        ("phrase_parts", None, {}, ["the word alignment"]),
        ("estimate_model", 200_000, {}, ["the word alignment", "the phrase table"]),
        ("phrase_parts", 200_000, RULES, ["the word alignment", "the rules"]),
        ("estimate_model", 200_000, RULES, ["the word alignment", "the rules", "the phrases"]),
    ],
)
def test_training_goes_on_after_each_stage(bitext, tmp_path, monkeypatch, killed_in, memory, options, kept):
    checkpoint = StageCheckpoint(tmp_path / "out")
    none, expected = trained(bitext, tmp_path / "whole", memory, None, **options)
    assert expected == trained(bitext, tmp_path / "in-memory", None, None, **options)[1]
    with monkeypatch.context() as broken:
        broken.setattr(pipeline, killed_in, lambda *arguments, **options: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            trained(bitext, tmp_path / "out", memory, checkpoint, **options)
    goes_on, found = trained(bitext, tmp_path / "out", memory, checkpoint, **options)
    assert none == []
    assert goes_on == [f"continuing with {stage}" for stage in kept]
    assert found == expected
    with checkpoint:
        assert checkpoint.folder.is_dir()
    assert not checkpoint.folder.exists()


def test_a_stage_of_other_options_or_text_is_made_again(bitext, tmp_path):
    checkpoint = StageCheckpoint(tmp_path / "out")
    trained(bitext, tmp_path / "out", 200_000, checkpoint)
    for text, options, kept in (
        (bitext, {}, ["the word alignment", "the phrase table"]),
        (bitext, {"phrase_model": PhraseModel(max_phrase_length=2)}, ["the word alignment"]),
        (bitext, {"aligner": Diagonal(iterations=2)}, []),
        (bitext.part(slice(0, 50)), {}, []),
    ):
        goes_on, found = trained(text, tmp_path / "out", 200_000, checkpoint, **options)
        assert goes_on == [f"continuing with {stage}" for stage in kept]
        assert found == trained(text, tmp_path / "whole", None, None, **options)[1]


def flipped(data):
    return data[:-9] + bytes([data[-9] ^ 16]) + data[-8:]


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("links/links.npy", flipped),
        ("links/links.npy", lambda data: data[:-4]),
        ("links/offsets.npy", lambda data: None),
        ("links/checksums.toml", flipped),
        ("links/checksums.toml", lambda data: b""),
        ("links/checksums.toml", lambda data: None),
        ("links/more.npy", lambda data: b"x"),
        ("table/log_scores.npy", flipped),
        ("table/key", flipped),
    ],
)
def test_a_stage_that_is_damaged_is_made_again(bitext, tmp_path, file, damage):
    checkpoint, stage = StageCheckpoint(tmp_path / "out"), file.split("/")[0]
    _, expected = trained(bitext, tmp_path / "out", 200_000, checkpoint)
    path = checkpoint.folder / file
    data = damage(path.read_bytes() if path.exists() else b"")
    path.unlink(missing_ok=True) if data is None else path.write_bytes(data)
    notes = Notes()
    key = (checkpoint.folder / stage / "key").read_bytes().decode("latin-1")
    found = checkpoint.load(stage, key, notes) if not file.endswith("key") else None
    assert found is None
    assert [
        text.startswith("a stage of the interrupted training is damaged and will be computed again: ")
        for text in notes.warned
    ] == ([] if file.endswith("key") else [True])
    goes_on, again = trained(bitext, tmp_path / "out", 200_000, checkpoint)
    assert len(goes_on) == 1  # with the stage that is whole
    assert again == expected


def test_half_a_stage_is_none(bitext, tmp_path):
    checkpoint = StageCheckpoint(tmp_path / "out")
    (checkpoint.folder / "links.partial").mkdir(parents=True)
    (checkpoint.folder / "links").mkdir()
    assert checkpoint.load("links", "key") is None
    assert trained(bitext, tmp_path / "out", None, checkpoint)[0] == []


def test_what_a_killed_process_left_is_used_and_removed(bitext, tmp_path):
    for name, corpus in (("s", bitext.source), ("t", bitext.target)):
        (tmp_path / name).write_bytes(corpus.text())
    program = """
import os, signal, sys
from dragoman.training import pipeline
from dragoman.cli.main import main
if sys.argv.pop(1) == "killed":
    pipeline.estimate_model = lambda *arguments, **options: os.kill(os.getpid(), signal.SIGKILL)
main()
"""
    (tmp_path / "temporary").mkdir()

    def command(how, *options):
        words = ["train", "--source", tmp_path / "s", "--target", tmp_path / "t", "--tokenised", "--threads", "1"]
        return subprocess.run(
            [sys.executable, "-c", program, how, *map(str, [*words, *options])],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=False,
        )

    small = ["--memory", "200K", "--temporary", tmp_path / "temporary", "--out", tmp_path / "out"]
    assert command("killed", *small).returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    result = command("not", *small)
    assert result.returncode == 0, result.stderr
    assert b"continuing with the phrase table" in result.stderr
    assert command("not", "--out", tmp_path / "whole").returncode == 0
    models = [
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("out", "whole")
    ]
    assert models[0] == models[1]
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not (tmp_path / ".out.checkpoint").exists()
