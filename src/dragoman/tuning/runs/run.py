"""The folder of a tuning run: options, events, weights and evidence, enough to inspect it and to resume it."""

from __future__ import annotations

import contextlib
import shutil
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, version
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike, open_output
from dragoman.core.journal import (
    FILES,
    OPTIONS as _OPTIONS,
    WEIGHTS,
    RecordedRun,
    evidence_name,
    seal,
    state_name,
    unseal,
    weights_name,
)
from dragoman.core.options import format_toml, read_toml
from dragoman.core.own_files import LOCK, RUN, is_leftover, lock_folder
from dragoman.core.store import checksum, is_whole
from dragoman.tuning.methods.method import Checkpoint, Report

_VERSION = "version"


@dataclass(frozen=True)
class Record:
    """An iteration: the score of the weights that it began with, and the method's report.

    `stop` is the reason why the run ended with it. A run whose weights are `validated` scores the last ones in another
    iteration: `ends` in the iteration before has the reason. `unchanged` is True in the last iteration of a run that
    ends with its initial weights. Lines of version 1 do not name their version.

    >>> Record.from_event({"iteration": 1, "score": 30.5, "step": 0.3, "stop": None, "seconds": {"decode": 2.0}}).report
    {'step': 0.3}
    """

    version: ClassVar[int] = 1

    iteration: int
    score: float
    report: Report = field(default_factory=dict)
    stop: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    validated: bool = False
    ends: str | None = None
    unchanged: bool = False

    @property
    def total_seconds(self) -> float:
        """The duration of the iteration."""
        return float(sum(self.seconds.values()))

    def to_event(self) -> dict[str, Any]:
        """Return the record as a line of the log has it."""
        event: dict[str, Any] = {"iteration": self.iteration, "score": self.score, **self.report}
        event |= {"ends": self.ends} if self.validated else {}
        event |= {"unchanged": True} if self.unchanged else {}
        return event | {"stop": self.stop, "seconds": dict(self.seconds)}

    @classmethod
    def from_event(cls, event: Mapping[str, Any]) -> Record:
        """Read what `to_event` returned; older runs may have one number of seconds, or none."""
        if event.get(_VERSION, cls.version) != cls.version:
            raise DataError(
                f"iteration {event['iteration']} is recorded in version {event[_VERSION]}",
                expected=f"version {cls.version}, or a newer Dragoman",
            )
        known = {"iteration", "score", "stop", "seconds", "ends", "unchanged", _VERSION}
        seconds = event.get("seconds", {})
        return cls(
            iteration=event["iteration"],
            score=event["score"],
            report={name: value for name, value in event.items() if name not in known},
            stop=event["stop"],
            seconds=seconds if isinstance(seconds, dict) else {"all": seconds},
            validated="ends" in event,
            ends=event.get("ends"),
            unchanged=event.get("unchanged", False),
        )


_FINAL_REPORT = "last_look.json"


class Run(RecordedRun):
    """The folder of a run. Only `events.jsonl`, with a line for each finished iteration, tells how far it got."""

    @classmethod
    def begin(cls, folder: PathLike, options: Mapping[str, Any], *, restart: bool = False) -> Run:
        """Begin a run, or resume one with the same options and texts; refuse others, or restart."""
        with cls.claimed(folder, options, restart=restart) as run:
            return run

    @classmethod
    @contextlib.contextmanager
    def claimed(cls, folder: PathLike, options: Mapping[str, Any], *, restart: bool = False) -> Iterator[Run]:
        """Begin or resume, and lock the folder until the context ends.

        A restart does not touch files that Dragoman did not write.
        """
        run = cls(folder)
        file = run.folder / _OPTIONS
        if run.folder.exists() and not run.folder.is_dir():
            raise DataError("exists and is not a folder", path=folder, expected="a folder for the run, or a new name")
        _refuse_used(run.folder)
        with lock_folder(run.folder):
            wanted = {"dragoman": version(), **options}
            if not file.exists():
                _refuse_used(run.folder)
                _write(file, format_toml(wanted))
            elif restart:  # without options, the folder would be no run's if this is killed
                RUN.remove(run.folder, keep=[_OPTIONS])
                _write(file, format_toml(wanted))
            check_unchanged(folder, read_toml(file), wanted)
            yield run

    def records(self) -> list[Record]:
        """Return what the run recorded of each finished iteration, in order."""
        return [Record.from_event(event) for event in self.events()]

    def started(self, start: Weights) -> list[Record]:
        """Write the start weights unless they are there and intact; return the records of the run."""
        events, name = self.records(), weights_name(0)
        if not events:
            self.write_weights(start)
        known = self._lines()[0].files.get(name) if events else None
        if not events or (known == zlib.crc32(start.format().encode()) and not is_whole(self.folder / name, known)):
            self.write_weights(start, 0)
        return events

    def write_checkpoint(self, checkpoint: Checkpoint, iteration: int) -> None:
        """Write the weights of an iteration and what the method needs to resume after it."""
        if checkpoint.evidence is not None:
            checkpoint.evidence.save(self.evidence(iteration))
        self.write_weights(checkpoint.weights, iteration)
        if checkpoint.state is not None:
            self.write_state(checkpoint.state, iteration)

    def record(self, record: Record, best: Weights | None = None) -> None:
        """Append a record, with checksums of the files of its iteration; then write the `best` weights, if given."""
        iteration = record.iteration
        names = [weights_name(iteration), state_name(iteration)]
        names += [_OPTIONS, weights_name(0)] if iteration == 1 else []
        folder = self.evidence(iteration)
        names += sorted(file.relative_to(self.folder).as_posix() for file in folder.rglob("*") if file.is_file())
        files = {name: checksum(self.folder / name) for name in names if (self.folder / name).is_file()}
        if best is not None:
            files[WEIGHTS] = zlib.crc32(best.format().encode())
        self._journal.append({**record.to_event(), FILES: files})
        if best is not None:
            self.write_weights(best)

    def cut_back(self, iteration: int) -> None:
        """Delete everything after an iteration, so that the run resumes there."""
        last = self.resumable()
        if iteration > last:
            way = f"at most `resume_from={last}`, or `restart=True`" if last else "`restart=True`, which begins anew"
            raise DataError(f"cannot resume after iteration {iteration}", path=self.folder, expected=way)
        if (
            iteration
            and (state := self.folder / "state").exists()
            and not (self.folder / state_name(iteration)).exists()
        ):
            raise DataError(
                f"has no state of iteration {iteration} any more", path=state, expected=f"`resume_from={last}`"
            )
        (self.folder / _FINAL_REPORT).unlink(missing_ok=True)
        self._journal.cut(iteration)
        for name in (weights_name, state_name, evidence_name):
            for path in sorted((self.folder / name(0)).parent.glob("[0-9][0-9][0-9]*")):
                number = path.name.partition(".")[0]
                if number.isdecimal() and path == self.folder / name(int(number)) and int(number) > iteration:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def weights(self, iteration: int | None = None) -> Weights:
        """Return the weights after an iteration, or the best so far."""
        if iteration is None:
            return Weights.read(self.best_weights())
        return Weights.read(self.verified(weights_name(iteration), max(iteration, 1)))

    def write_weights(self, weights: Weights, iteration: int | None = None) -> None:
        """Write the weights of an iteration, or the best so far."""
        _write(self.folder / (WEIGHTS if iteration is None else weights_name(iteration)), weights.format())

    def evidence(self, iteration: int) -> Path:
        """Return the folder of the evidence of an iteration."""
        return self.folder / evidence_name(iteration)

    def state(self, iteration: int) -> dict[str, NDArray[Any]]:
        """Return the state that a learner resumes from after an iteration."""
        file = self.verified(state_name(iteration), iteration)
        try:
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                return _State(file, arrays)
        except Exception as error:  # damaged archives fail in many ways
            raise self.damaged(file, f"is no saved state ({error})", iteration) from None

    def write_state(self, state: Mapping[str, NDArray[Any]], iteration: int) -> None:
        """Write the state that a learner resumes from."""
        with open_output(self.folder / state_name(iteration)) as stream:
            np.savez_compressed(stream, **dict(state))  # type: ignore[arg-type]

    def drop_states(self, before: int) -> None:
        """Delete the states of iterations that no run resumes from."""
        for file in (self.folder / state_name(0)).parent.glob("*.npz"):
            if file.stem.isdecimal() and int(file.stem) < before:
                file.unlink()

    def final_report(self) -> dict[str, Any]:
        """Return a learner's report of the final weights; empty if there is none."""
        file = self.folder / _FINAL_REPORT
        if not file.exists():
            return {}
        found = unseal(file.read_bytes())
        if found is None or (self.has_checksums and not found[1]):
            raise DataError(
                "is damaged", path=file, expected="the file as the run wrote it; resume the run to check it again"
            )
        return found[0]

    def has_final_report(self) -> bool:
        """Return whether there is an intact final report."""
        try:
            return bool(self.final_report())
        except DataError:
            return False

    def write_final_report(self, found: Mapping[str, Any]) -> None:
        """Write a learner's report of the final weights."""
        _write(self.folder / _FINAL_REPORT, seal(found).decode())


class _State(dict[str, NDArray[Any]]):
    """Arrays by name; a missing one is an error of the file."""

    def __init__(self, file: Path, arrays: Mapping[str, NDArray[Any]]):
        super().__init__(arrays)
        self._file = file

    def __missing__(self, name: str) -> NDArray[Any]:
        raise DataError(
            f"has no array '{name}'", path=self._file, expected="what the run has written; `restart=True` begins anew"
        )


def _refuse_used(folder: Path) -> None:
    """Refuse a folder that has files but no run; a run may just be beginning."""
    used = folder.exists() and any(not is_leftover(entry) and entry.name != LOCK for entry in folder.iterdir())
    if used and not (folder / _OPTIONS).exists():
        raise DataError("is not empty and not a tuning run's", path=folder, expected="a new folder")


def check_unchanged(folder: PathLike, begun: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse to resume in a folder that was begun with other options, or with texts of other content."""
    for key in sorted(begun.keys() | wanted.keys()):
        before, now = begun.get(key), wanted.get(key)
        if before == now:
            continue
        if key == "content":
            old, new = (value if isinstance(value, dict) else {} for value in (before, now))
            changed = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
            found = f"was begun when {', '.join(changed).replace('_', ' ')} had another content"
        else:
            found = f"was begun with {key} = {before!r}, not {now!r}"
        raise DataError(
            found, path=folder, expected="the same to resume, `restart=True` to begin anew, or a new folder"
        )


def _write(path: Path, text: str) -> None:
    with open_output(path) as stream:
        stream.write(text.encode())
