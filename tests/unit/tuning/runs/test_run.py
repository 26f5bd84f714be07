"""Files of a run that something has damaged are named in one sentence."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.tuning.runs.run import Run


@pytest.fixture
def run(tmp_path):
    run = Run.begin(tmp_path / "run", {"metric": "bleu"})
    run.record({"iteration": 1, "score": 1.5, "stop": None})
    run.write_state({"at": np.array(7), "names": np.array(["lm"])}, 1)
    return run


def test_a_state_comes_back(run):
    assert {name: array.tolist() for name, array in run.state(1).items()} == {"at": 7, "names": ["lm"]}


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 and nothing more", b"no archive"])
def test_a_state_that_is_none_is_refused(run, damage):
    (run.folder / "state" / "001.npz").write_bytes(damage)
    with pytest.raises(
        DataError, match=r"001\.npz: is no saved state .*; expected what the run has written; `restart=True`"
    ):
        run.state(1)


def test_a_state_is_refused_wherever_it_is_cut_off_or_changed(run):
    file = run.folder / "state" / "001.npz"
    whole = file.read_bytes()
    for size in range(0, len(whole), 7):
        file.write_bytes(whole[:size])
        with pytest.raises(DataError, match="is no saved state"):
            run.state(1)
    for place in range(0, len(whole), 5):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with contextlib.suppress(DataError):  # nothing else
            run.state(1)


def test_an_array_that_is_missing_is_named(run):
    with pytest.raises(DataError, match=r"001\.npz: has no array 'weights'; expected"):
        run.state(1)["weights"]


@pytest.mark.parametrize(
    "line",
    [b"{}", b"[1]", b"\xff", b"", b'{"iteration": 3, "score": 1, "stop": null}', b'{"iteration": 2, "score": "1"}'],
)
def test_an_event_that_is_none_is_refused_with_its_line(run, line):
    with (run.folder / "events.jsonl").open("ab") as stream:
        stream.write(line + b"\n")
    with pytest.raises(
        DataError, match=r"events\.jsonl:2: found '.*'; expected what the run has written; `restart=True`"
    ):
        run.events()


def test_a_last_look_that_is_none_is_refused(run):
    run.write_last_look({"sentence": 1})
    assert run.last_look() == {"sentence": 1}
    (run.folder / "last_look.json").write_bytes(b"{")
    with pytest.raises(DataError, match="last_look"):
        run.last_look()
