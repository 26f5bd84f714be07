"""Damaged runs and experiments are refused in one sentence, which says how to go on; and going on so works."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dragoman.core.feature_rows import Weights
from dragoman.model.bundle import Model
from oracles.damaged_folders import experiment_subjects, make_older, tiny_texts

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tuned(command, toy, model, tmp_path_factory):
    """A run that has ended, with the command that gave it."""
    folder = tmp_path_factory.mktemp("tuned")
    toy.write(folder, dev=slice(12))
    start = folder / "start"
    Weights(dict.fromkeys(Model.load(model).feature_names, -0.2)).write(start)
    texts = ["--source", folder / "dev.s", "--reference", folder / "dev.t", "--prepared"]
    tune = ["tune", "--model", model, *texts, "--nbest", 20, "--iterations", 3, "--minimum-change", 0, "--threads", 2]
    tune += ["--method", "mert", "--method-option", "restarts=1", "--start", start]
    subprocess.run([*map(str, [command, *tune, "--out", folder / "run"])], check=True, capture_output=True)
    return folder / "run", tune


@pytest.fixture
def damaged(tuned, tmp_path):
    return Path(shutil.copytree(tuned[0], tmp_path / "run"))


def flip(file):
    data = bytearray(file.read_bytes())
    data[-2] ^= 1
    file.write_bytes(data)


def cut(folder, lines):
    """Make a run one that was killed after so many iterations."""
    file = folder / "events.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:lines]))


def told(folder):
    """What a run leaves, but for times and the checksums of lines that have them."""
    found = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
    events = [json.loads(line) for line in found.pop("events.jsonl").splitlines()]
    return found, [{k: v for k, v in event.items() if k not in ("seconds", "checksum")} for event in events]


def test_damaged_evidence_is_named_and_the_run_goes_on_before_it(dragoman, tuned, damaged):
    cut(damaged, 2)
    file = damaged / "evidence" / "002" / "words.npy"
    flip(file)
    refused = dragoman(*tuned[1], "--out", damaged)
    assert refused.code == 1
    assert refused.error == (
        f"{file}: is damaged, so that iteration 2 is lost; expected what the run has written; --resume-from 1 goes on"
        " after iteration 1, --restart begins anew"
    )
    refused = dragoman(*tuned[1], "--out", damaged, "--resume-from", 2)
    assert refused.code == 1
    assert refused.error.endswith("cannot resume after iteration 2; expected at most --resume-from 1, or --restart")
    done = dragoman(*tuned[1], "--out", damaged, "--resume-from", 1)
    assert done.code == 0, done.err
    assert told(damaged) == told(tuned[0])


def test_going_back_and_beginning_anew_do_not_go_together(dragoman, tuned, damaged):
    refused = dragoman(*tuned[1], "--out", damaged, "--resume-from", 1, "--restart")
    assert refused.code == 2
    assert "expected one of them" in refused.error


def test_changed_weights_are_taken_only_as_a_file(dragoman, model, damaged):
    file = damaged / "weights.txt"
    file.write_text(file.read_text().replace("lm ", "lm 1", 1).replace("1-", "-1"))
    for command in (["translate", "--model", model, "--weights"], ["weights", "show"]):
        refused = dragoman(*command, damaged, stdin=b"la\n")
        assert refused.code == 1
        assert refused.error.startswith(f"{file}: is not what iteration ")
        assert refused.error.endswith(f"if the change is wanted, give {file} itself in place of the folder")
        assert dragoman(*command, file, stdin=b"la\n").code == 0


def test_a_run_of_an_older_version_goes_on_with_a_warning(dragoman, model, tuned, damaged):
    cut(damaged, 2)
    make_older(damaged)
    done = dragoman(*tuned[1], "--out", damaged)
    assert done.code == 0, done.err
    assert done.err.count("was written by an older version without checksums") == 1
    used = dragoman("translate", "--model", model, "--weights", damaged, stdin=b"la\n")
    assert used.warnings == [f"{damaged}: was written by an older version without checksums: damage may go unnoticed"]
    assert told(damaged)[0] == told(tuned[0])[0]


@pytest.mark.parametrize(
    ("name", "at", "value", "expected"),
    [
        ("words", 0, 10**6, "the array 'words' holds 1000000"),
        ("sentences", 1, 10**6, "the array 'sentences' falls from 1000000"),
        ("word_offsets", 1, -5, "the array 'word_offsets' falls from 0 to -5"),
        ("feature_ids", 0, -1, "the array 'feature_ids' holds -1"),
        ("feature_values", 0, float("nan"), "the array 'feature_values' holds nan"),
        ("vocab/offsets", 5, 10**6, "the arrays of a vocabulary are missing or damaged"),
    ],
)
def test_no_kernel_sees_damaged_evidence_without_checksums(dragoman, tuned, damaged, name, at, value, expected):
    cut(damaged, 2)
    make_older(damaged)
    file = damaged / "evidence" / "002" / f"{name}.npy"
    array = np.load(file)
    array.reshape(-1)[at] = value
    np.save(file, array)
    refused = dragoman(*tuned[1], "--out", damaged)
    assert refused.code == 1
    assert refused.error.startswith(f"{file.parent}: {expected}")
    assert "so that iteration 2 is lost" in refused.error
    assert "--resume-from 1 goes on after iteration 1" in refused.error


@pytest.mark.parametrize(
    ("file", "cell"),
    [
        ("runs/mert/1/tests/test/best/final.txt", "mert, seed 1"),
        ("runs/mira-online/1/decisions/mbr.toml", "mira-online, seed 1"),
        ("untuned/tests/test/mbr/final.txt", "untuned"),
    ],
)
def test_a_damaged_file_of_an_experiment_is_named_and_made_again_once_it_is_removed(small_experiment, file, cell):
    subject, expected = small_experiment
    path = subject.folder / file
    whole = path.read_bytes()
    flip(path)
    refused = subject.use(subject.folder)["end"].sentence
    assert refused.startswith(f"{cell}: {path}: is damaged ({cell}); expected checksum ")
    path.unlink()
    assert subject.use(subject.folder) == expected
    assert path.read_bytes() == whole


@pytest.mark.parametrize("data", [b"\x93\xff", b"", b"seeds = [1]\n"])
@pytest.mark.parametrize(("file", "found"), [("plan.toml", "another plan"), ("content.toml", "")])
def test_a_damaged_plan_or_what_its_files_held_is_refused(small_experiment, file, found, data):
    subject, expected = small_experiment
    path = subject.folder / file
    whole = path.read_bytes()
    path.write_bytes(data)
    assert found in subject.use(subject.folder)["end"].sentence
    path.write_bytes(whole)
    assert subject.use(subject.folder) == expected


@pytest.fixture(scope="module")
def small_experiment(tmp_path_factory):
    work = tmp_path_factory.mktemp("work")
    tiny_texts(work)
    (subject,) = experiment_subjects(work)
    return subject, subject.use(subject.folder)


def test_no_damage_to_a_folder_does_harm(tmp_path):
    script = Path(__file__).with_name("mutate_folders.py")
    arguments = [sys.executable, script, tmp_path, "7", "56"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr)
    found = Counter(lines[1::2])
    harm = [pair for pair in zip(lines[::2], lines[1::2], strict=True) if pair[1] not in ("refused", "same", "other")]
    assert not harm
    assert found.total() == 56
    assert found["refused"] > 20
