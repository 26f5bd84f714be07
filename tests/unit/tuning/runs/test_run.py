"""Files of a run that something has damaged are named in one sentence, which says how to go on."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.feature_rows import Weights
from dragoman.core.journal import weights_file
from dragoman.tuning.runs.run import Record, Run

WEIGHTS = [Weights({"lm": 0.5 + i, "tm": 1.0}) for i in range(4)]


def iterate(run, iteration, best):
    """Write what an iteration of a learner that also keeps evidence would."""
    (run.evidence(iteration) / "words").mkdir(parents=True)
    (run.evidence(iteration) / "words" / "blob.npy").write_bytes(bytes([iteration] * 99))
    (run.evidence(iteration) / "features.txt").write_text(f"lm\ntm{iteration}\n", encoding="utf-8")
    run.write_weights(WEIGHTS[iteration], iteration)
    run.write_state({"at": np.array(iteration), "names": np.array(["lm"])}, iteration)
    run.record(
        Record.from_event({"iteration": iteration, "score": 1.5, "stop": None, "seconds": {"learn": 0.25}}),
        WEIGHTS[best],
    )
    run.drop_states(iteration - 1)


@pytest.fixture
def run(tmp_path):
    run = Run.begin(tmp_path / "run", {"metric": "bleu"})
    run.started(WEIGHTS[0])
    for iteration, best in ((1, 0), (2, 1), (3, 1)):
        iterate(run, iteration, best)
    return run


def flip(file, at=-3):
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


def test_what_is_whole_comes_back(run):
    assert [event["iteration"] for event in run.events()] == [1, 2, 3]
    assert {name: array.tolist() for name, array in run.state(3).items()} == {"at": 3, "names": ["lm"]}
    assert [run.weights(i) for i in range(4)] == WEIGHTS
    assert run.weights() == WEIGHTS[1]
    assert run.verified("evidence/002", 2) == run.evidence(2)
    assert (run.options["metric"], run.resumable(), run.has_checksums) == ("bleu", 3, True)


def test_users_see_no_checksums_in_events(run):
    assert run.events()[0] == {"iteration": 1, "score": 1.5, "stop": None, "seconds": {"learn": 0.25}}


@pytest.mark.parametrize(
    ("file", "read", "lost", "way"),
    [
        ("weights/003.txt", lambda run: run.weights(3), 3, "`resume_from=2` goes on after iteration 2, "),
        ("weights/000.txt", lambda run: run.weights(0), 1, ""),
        ("run.toml", lambda run: run.options, 1, ""),
        ("state/003.npz", lambda run: run.state(3), 3, "`resume_from=2` goes on after iteration 2, "),
        ("evidence/002/words/blob.npy", lambda run: run.verified("evidence/002", 2), 2, ""),  # no state of 1 any more
    ],
)
@pytest.mark.parametrize("damage", ["flipped", "missing"])
def test_damage_names_the_file_the_iteration_and_the_way_on(run, file, read, lost, way, damage):
    path = run.folder / file
    flip(path) if damage == "flipped" else path.unlink()
    with pytest.raises(DataError) as error:
        read(run)
    said = "is damaged" if damage == "flipped" else "is missing"
    assert str(error.value) == (
        f"{path}: {said}, so that iteration {lost} is lost; expected what the run has written; {way}`restart=True`"
        " begins anew"
    )


def test_every_changed_byte_of_the_log_is_found(run):
    """With what stands before the change, the run could go on, if it has the state."""
    file = run.folder / "events.jsonl"
    whole = file.read_bytes()
    ends = [i for i, byte in enumerate(whole) if byte == ord("\n")]
    for place in range(len(whole) - 1):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x01]) + whole[place + 1 :])
        line = 1 + sum(end < place for end in ends)
        with pytest.raises(DataError, match=rf"events\.jsonl:{line}: found '.*', so that iteration {line} is lost"):
            run.events()
        assert run.resumable() == (2 if line == 3 else 0)


def test_lines_that_are_swapped_left_out_or_twice_are_found(run):
    file = run.folder / "events.jsonl"
    one, two, three = file.read_bytes().splitlines(keepends=True)
    for lines in ([two, one, three], [one, three], [one, one, two, three], [two, three], [one, two, three, three]):
        file.write_bytes(b"".join(lines))
        with pytest.raises(DataError, match=r"events\.jsonl:\d: found"):
            run.events()


def test_a_log_without_its_last_line_is_that_of_a_run_that_has_not_got_so_far(run):
    file = run.folder / "events.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:2]))
    assert len(run.events()) == 2


def test_two_files_that_changed_places_are_found(run):
    one, two = run.folder / "weights" / "001.txt", run.folder / "weights" / "002.txt"
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)
    for iteration in (1, 2):
        with pytest.raises(DataError, match=f"iteration {iteration} is lost"):
            run.weights(iteration)


def test_a_file_more_in_the_evidence_is_found(run):
    shutil.copytree(run.evidence(2) / "words", run.evidence(2) / "forced0")
    with pytest.raises(DataError, match=r"forced0/blob\.npy: is no file of the run"):
        run.verified("evidence/002", 2)


def test_best_weights_that_differ_are_refused_and_taken_if_the_file_itself_is_meant(run):
    file = run.folder / "weights.txt"
    for changed in (WEIGHTS[3].format(), "", "lm 7\n"):
        file.write_text(changed)
        with pytest.raises(
            DataError, match=r"weights\.txt: is not what iteration 3 left; .* give .* itself in place of"
        ):
            run.weights()
        assert weights_file(file) == file
    file.unlink()
    with pytest.raises(DataError, match="is not what iteration 3 left"):
        run.weights()


def test_best_weights_that_a_kill_left_behind_are_those_of_the_record(tmp_path):
    """A run that was killed after its log told of better weights, and before it wrote them."""
    run = Run.begin(tmp_path / "run", {"metric": "bleu"})
    run.started(WEIGHTS[0])
    iterate(run, 1, 1)
    run.write_weights(WEIGHTS[0])
    assert run.weights() == WEIGHTS[1]


def test_best_weights_of_a_run_without_an_iteration_are_its_first(tmp_path):
    run = Run.begin(tmp_path / "run", {"metric": "bleu"})
    run.started(WEIGHTS[0])
    assert run.weights() == WEIGHTS[0]
    run.write_weights(WEIGHTS[1])
    with pytest.raises(DataError, match="is not what the run begins with"):
        run.weights()


def test_first_weights_are_written_again_if_they_are_those_that_were(run):
    flip(run.folder / "weights" / "000.txt")
    run.started(WEIGHTS[1])
    with pytest.raises(DataError, match="iteration 1 is lost"):
        run.weights(0)
    run.started(WEIGHTS[0])
    assert run.weights(0) == WEIGHTS[0]


def test_a_run_is_cut_back(run):
    flip(run.folder / "weights" / "003.txt")
    run.write_final_report({"sentence": 1})
    run.cut_back(2)
    assert [event["iteration"] for event in run.events()] == [1, 2]
    names = sorted(path.relative_to(run.folder).as_posix() for path in run.folder.rglob("*") if path.is_file())
    assert not [name for name in names if "003" in name or "last_look" in name]
    assert [run.weights(i) for i in range(3)] == WEIGHTS[:3]
    assert run.state(2)["at"] == 2
    iterate(run, 3, 2)
    assert (run.resumable(), run.weights()) == (3, WEIGHTS[2])


def test_a_run_is_not_cut_back_to_what_is_lost_or_not_there(run):
    with pytest.raises(DataError, match="has no state of iteration 1 any more; expected `resume_from=3`"):
        run.cut_back(1)
    flip(run.folder / "state" / "003.npz")
    with pytest.raises(
        DataError, match="cannot resume after iteration 3; expected at most `resume_from=2`, or `restart=True`"
    ):
        run.cut_back(3)
    flip(run.folder / "weights" / "001.txt")
    with pytest.raises(DataError, match="cannot resume after iteration 2; expected `restart=True`, which begins anew"):
        run.cut_back(2)
    assert len(run.events()) == 3
    run.cut_back(0)
    assert run.events() == []


def older(run):
    """Make a run as older versions wrote them."""
    file = run.folder / "events.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    texts = [json.dumps({key: row[key] for key in row if key not in ("files", "checksum")}) for row in rows]
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return run


def test_runs_of_older_versions_are_read_as_they_are_and_go_on(run):
    older(run)
    assert [event["iteration"] for event in run.events()] == [1, 2, 3]
    assert not run.has_checksums
    (run.folder / "weights.txt").write_text("lm 7\n")
    assert run.weights() == {"lm": 7.0}
    shutil.rmtree(run.folder / "state")
    run.record(Record.from_event({"iteration": 4, "score": 1.5, "stop": None}), WEIGHTS[0])
    assert (len(run.events()), run.has_checksums, run.resumable()) == (4, False, 4)
    file = run.folder / "events.jsonl"
    file.write_bytes(file.read_bytes().replace(b"1.5", b"1.7", 1))
    with pytest.raises(DataError, match="so that iteration 4 is lost"):
        run.events()


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 and nothing more", b"no archive"])
def test_an_older_state_that_is_none_is_refused(run, damage):
    (older(run).folder / "state" / "003.npz").write_bytes(damage)
    with pytest.raises(
        DataError, match=r"003\.npz: is no saved state .*, so that iteration 3 is lost; expected .*from=2`"
    ):
        run.state(3)


def test_an_array_that_is_missing_is_named(run):
    with pytest.raises(DataError, match=r"003\.npz: has no array 'weights'; expected"):
        run.state(3)["weights"]


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b"[1]",
        b"\xff",
        b"",
        b'{"iteration": 5, "score": 1, "stop": null}',
        b'{"iteration": 4, "score": "1"}',
        b'{"iteration": 4, "score": 1' + b"0" * 400 + b', "stop": null}',
        b'{"iteration": 4, "score": NaN, "stop": null}',
        b'{"iteration": 4, "score": 1, "stop": null, "seconds": "x"}',
        b'{"iteration": 4, "score": 1, "stop": 3}',
    ],
)
@pytest.mark.parametrize("form", [older, lambda run: run])
def test_an_event_that_is_none_is_refused_with_its_line(run, form, line):
    with (form(run).folder / "events.jsonl").open("ab") as stream:
        stream.write(line + b"\n")
    with pytest.raises(
        DataError, match=r"events\.jsonl:4: found '.*', so that iteration 4 is lost; .* `resume_from=3`"
    ):
        run.events()


def test_a_final_report_that_is_damaged_is_refused_and_made_again(run):
    assert not run.has_final_report()
    run.write_final_report({"sentence": 1})
    assert run.final_report() == {"sentence": 1}
    assert run.has_final_report()
    for data in (b"{", b'{"sentence": 2}', (run.folder / "last_look.json").read_bytes().replace(b"1", b"2", 1)):
        (run.folder / "last_look.json").write_bytes(data)
        with pytest.raises(DataError, match=r"last_look\.json: is damaged"):
            run.final_report()
        assert not run.has_final_report()
