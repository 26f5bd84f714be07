"""Journals of JSON lines with checksums, and the folder of a tuning run that is read by one.

Their entries say which files were written, with the checksums of these: `files` has them by their paths.

`events.jsonl` is a journal with a line for each finished iteration. The `files` of a line are those that the iteration
wrote, and `weights.txt`, the best weights after it. Runs of older versions have no checksums, and are read as they are.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dragoman.core.checksums import is_whole
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output
from dragoman.core.progress import SILENT, Progress
from dragoman.core.store import LARGEST
from dragoman.core.toml import read_toml

#: The key under which an entry has the checksums of files.
FILES = "files"

_CHECKSUM = "checksum"
_SEALED = re.compile(rb'(.+), "checksum": (0|[1-9][0-9]{0,9})\}', re.DOTALL)


def sealed(entry: Mapping[str, Any], before: int = 0) -> bytes:
    """Write an entry as JSON that ends with a checksum of it and of what stands before it, whose checksum is given.

    >>> sealed({"score": 1.5})
    b'{"score": 1.5, "checksum": 916986133}'
    """
    text = json.dumps(entry).encode()[:-1]
    return text + f', "{_CHECKSUM}": {zlib.crc32(text, before)}}}'.encode()


def opened(data: bytes, before: int = 0) -> tuple[dict[str, Any], bool] | None:
    """Return the entry that was written, and whether it has a checksum (older ones have none); None if it is damaged.

    >>> opened(b'{"score": 1.5, "checksum": 916986133}'), opened(b'{"score": 2.5, "checksum": 916986133}')
    (({'score': 1.5}, True), None)
    """
    match = _SEALED.fullmatch(data)
    if match is not None and zlib.crc32(match[1], before) != int(match[2]):
        return None
    try:
        found = json.loads(data if match is None else match[1] + b"}")
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or (match is None and found.keys() & {FILES, _CHECKSUM}):
        return None
    return found, match is not None


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a journal: what it says, whether it has a checksum, and where in the file it ends."""

    entry: dict[str, Any]
    checked: bool
    end: int

    @property
    def files(self) -> dict[str, int]:
        """The checksums of files that the entry tells of; none if it is of the older form."""
        return dict(self.entry.get(FILES, {})) if self.checked else {}


@dataclass(frozen=True, eq=False)
class Told:
    """All lines of a journal that are whole, and the first one that is damaged, as it stands there."""

    data: bytes
    lines: tuple[Line, ...]
    damaged: bytes | None = None


class Journal:
    """A journal on disk. A last line that is cut off does not count."""

    def __init__(self, path: Path):
        self.path = path
        self._told = Told(b"", ())

    def read(self) -> Told:
        """Read what there is; it is looked through again only if it has changed."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror})", path=self.path) from None
        if data != self._told.data:
            self._told = parse_journal(data)
        return self._told

    def append(self, entry: Mapping[str, Any]) -> None:
        """Add an entry behind lines that are whole; the file is replaced, so that it is never half a line longer."""
        told = self.read()
        self._write(_whole(told, len(told.lines)), entry)

    def cut(self, lines: int) -> None:
        """Keep so many lines only."""
        self._write(_whole(self.read(), lines))

    def _write(self, before: bytes, *entries: Mapping[str, Any]) -> None:
        with open_output(self.path) as stream:
            stream.write(before)
            for entry in entries:
                stream.write(sealed(entry, zlib.crc32(before)) + b"\n")


def _whole(told: Told, lines: int) -> bytes:
    return told.data[: told.lines[lines - 1].end] if lines else b""


def parse_journal(data: bytes) -> Told:
    """Read the bytes of a journal."""
    lines: list[Line] = []
    end = before = 0
    for text in data.split(b"\n")[:-1]:
        found = opened(text, before)
        if found is None or (lines and lines[-1].checked and not found[1]):
            return Told(data, tuple(lines), text)
        end += len(text) + 1
        before = zlib.crc32(b"\n", zlib.crc32(text, before))
        lines.append(Line(*found, end))
    return Told(data, tuple(lines))


OPTIONS, EVENTS, WEIGHTS = "run.toml", "events.jsonl", "weights.txt"


def weights_name(iteration: int) -> str:
    """Where the weights after an iteration are."""
    return f"weights/{iteration:03}.txt"


def state_name(iteration: int) -> str:
    """Where what a learner needs to go on after an iteration is."""
    return f"state/{iteration:03}.npz"


def evidence_name(iteration: int) -> str:
    """The folder of what an iteration decoded."""
    return f"evidence/{iteration:03}"


def weights_file(path: PathLike, progress: Progress = SILENT) -> Path:
    """The file of the weights that a path means: itself, or of a run or a model the weights in its folder."""
    found = Path(path)
    if not found.is_dir():
        return found
    is_run = any((found / name).exists() for name in (OPTIONS, EVENTS))
    if not is_run:
        return found / WEIGHTS
    run = RecordedRun(found)
    run.warn_if_older(progress)
    return run.best_weights()


class RecordedRun:
    """A run that has been begun, and perhaps ended."""

    def __init__(self, folder: PathLike):
        self.folder = Path(folder)

    @cached_property
    def _journal(self) -> Journal:
        return Journal(self.folder / EVENTS)

    @property
    def options(self) -> dict[str, Any]:
        """What the run was begun with."""
        self._verify(OPTIONS, 1)
        return _Options(self.folder / OPTIONS, read_toml(self.folder / OPTIONS))

    def events(self) -> list[dict[str, Any]]:
        """One mapping for each finished iteration, in order; a line that a kill cut off does not count."""
        return [_event(line) for line in self._lines()]

    @property
    def has_checksums(self) -> bool:
        """Whether there are checksums of all that it has done; those of older versions have none."""
        return all(line.checked for line in self._lines())

    def warn_if_older(self, progress: Progress) -> None:
        """Say of a run of an older version what it lacks."""
        if not self.has_checksums:
            progress.warn(f"{self.folder}: is of an older version, without checksums: damage may go unnoticed")

    def resumable(self) -> int:
        """The last iteration after which the run can go on, because all that it needs is whole; 0 if there is none."""
        last = 0
        for number, line in enumerate(_good(self._journal.read()), 1):
            lasting = {name: value for name, value in line.files.items() if name not in (WEIGHTS, state_name(number))}
            if not all(is_whole(self.folder / name, value) for name, value in lasting.items()):
                break
            state = line.files.get(state_name(number))
            if state is None:
                if line.checked or not (self.folder / "state").exists() or self._path(state_name(number)).is_file():
                    last = number
            elif is_whole(self._path(state_name(number)), state):
                last = number
        return last

    def best_weights(self) -> Path:
        """The file of the best weights so far: `weights.txt`, or a copy that is whole if a kill left an older one."""
        file = self.folder / WEIGHTS
        while True:
            lines = self._lines()
            if not lines:
                return self._first_weights(file)
            best = lines[-1].files.get(WEIGHTS)
            if best is None or is_whole(file, best):
                return file
            known = {name: value for line in lines for name, value in line.files.items() if name != WEIGHTS}
            before = lines[-2].files.get(WEIGHTS) if len(lines) > 1 else known.get(weights_name(0))
            if before is not None and is_whole(file, before):
                copies = [self._path(name) for name, value in known.items() if value == best]
                if found := [copy for copy in copies if is_whole(copy, best)]:
                    return found[0]
            if len(self._lines()) == len(lines):  # else the run has gone on meanwhile
                raise DataError(
                    f"is not what iteration {len(lines)} left",
                    path=file,
                    expected=f"weights of checksum {best}; the same `dragoman tune` writes them again, and if the"
                    f" change is wanted, give {file} itself in place of the folder",
                )

    def _first_weights(self, file: Path) -> Path:
        """The best weights of a run that has done nothing: those that it begins with."""
        first = self._path(weights_name(0))
        if file.is_file() and first.is_file() and file.read_bytes() != first.read_bytes():
            raise DataError(
                "is not what the run begins with, though it has done no iteration",
                path=file,
                expected=f"what {first} holds; if the change is wanted, give {file} itself in place of the folder",
            )
        return file

    def damaged(self, file: Path, found: str, iteration: int, line: int | None = None) -> DataError:
        """The error that says which iteration is lost, and how to go on."""
        last = min(self.resumable(), iteration - 1)
        way = f"`resume_from={last}` goes on after iteration {last}, " if last > 0 else ""
        return DataError(
            f"{found}, so that iteration {iteration} is lost",
            path=file,
            line=line,
            expected=f"what the run has written; {way}`restart=True` begins anew",
        )

    def verified(self, name: str, iteration: int) -> Path:
        """A file or folder of an iteration, after a look at its checksums, if there are any."""
        self._verify(name, iteration)
        return self._path(name)

    def _verify(self, name: str, iteration: int) -> None:
        lines = self._lines()
        if len(lines) < iteration:  # it is being written
            return
        files, path = lines[iteration - 1].files, self._path(name)
        known = {file: value for file, value in files.items() if file == name or file.startswith(f"{name}/")}
        for file, value in known.items():
            if not is_whole(self._path(file), value):
                found = "is damaged" if self._path(file).exists() else "is missing"
                raise self.damaged(self._path(file), found, iteration)
        if known and path.is_dir():
            there = {file.relative_to(self.folder).as_posix() for file in path.rglob("*") if not file.is_dir()}
            for stranger in sorted(there - known.keys()):
                raise self.damaged(self._path(stranger), "is no file of the run", iteration)

    def _path(self, name: str) -> Path:
        return self.folder / name

    def _lines(self) -> Sequence[Line]:
        """The lines of all finished iterations; refuses a log that is damaged anywhere."""
        told = self._journal.read()
        good = _good(told)
        if (shown := _damage(told, good)) is not None:
            raise self.damaged(self._journal.path, shown, len(good) + 1, len(good) + 1)
        return good


class _Options(dict[str, Any]):
    """Options by name; one that is missing is the file's fault."""

    def __init__(self, file: Path, values: Mapping[str, Any]):
        super().__init__(values)
        self._file = file

    def __missing__(self, name: str) -> Any:
        raise DataError(f"says nothing of '{name}'", path=self._file, expected="the options of a tuning run")


def parse_events(data: bytes, path: PathLike) -> list[dict[str, Any]]:
    """Read events from the bytes of a log; refuses one that is damaged anywhere."""
    told = parse_journal(data)
    good = _good(told)
    if (shown := _damage(told, good)) is not None:
        raise DataError(shown, path=path, line=len(good) + 1, expected="what the run has written")
    return [_event(line) for line in good]


def _event(line: Line) -> dict[str, Any]:
    return {key: value for key, value in line.entry.items() if key != FILES}


def _damage(told: Told, good: Sequence[Line]) -> str | None:
    """What stands in a log where the next event should, if there is anything."""
    if len(good) == len(told.lines) and told.damaged is None:
        return None
    text = told.data[good[-1].end if good else 0 :].partition(b"\n")[0]
    return f"found '{text[:80].decode(errors='replace')}'"


def _good(told: Told) -> Sequence[Line]:
    """The lines up to the first that is no event."""
    wrong = (i for i, line in enumerate(told.lines) if not _is_event(line.entry, i + 1))
    return told.lines[: next(wrong, len(told.lines))]


def _is_event(event: Mapping[str, Any], number: int) -> bool:
    """Whether this is an event of a run: iterations count from 1, each has a score, and says if it is the last."""
    seconds = event.get("seconds", {})
    times = seconds.values() if isinstance(seconds, dict) else [seconds]
    return (
        event.get("iteration") == number
        and _is_number(event.get("score"))
        and all(map(_is_number, times))
        and "stop" in event
        and all(event.get(key) is None or isinstance(event.get(key), str) for key in ("stop", "ends"))
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST
