"""Journals of JSON lines with checksums, and the folder of a tuning run, which is read by its journal.

An entry lists the files that were written, with their checksums: `files` maps paths to checksums.

`events.jsonl` is a journal with one line per finished iteration. The `files` of a line are those that the iteration
wrote, and `weights.txt`, the best weights after it. Runs of older versions have no checksums and are read without them.
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

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output
from dragoman.core.options import read_toml
from dragoman.core.progress import SILENT, Progress
from dragoman.core.store import LARGEST, is_whole

#: The key of an entry that holds the checksums of files.
FILES = "files"

_CHECKSUM = "checksum"
_SEALED = re.compile(rb'(.+), "checksum": (0|[1-9][0-9]{0,9})\}', re.DOTALL)


def seal(entry: Mapping[str, Any], before: int = 0) -> bytes:
    """Write an entry as JSON that ends with a checksum of itself and of all that precedes it (checksum `before`).

    >>> seal({"score": 1.5})
    b'{"score": 1.5, "checksum": 916986133}'
    """
    text = json.dumps(entry).encode()[:-1]
    return text + f', "{_CHECKSUM}": {zlib.crc32(text, before)}}}'.encode()


def unseal(data: bytes, before: int = 0) -> tuple[dict[str, Any], bool] | None:
    """Return an entry, and whether it has a checksum (those of older versions have none); None if it is damaged.

    >>> unseal(b'{"score": 1.5, "checksum": 916986133}'), unseal(b'{"score": 2.5, "checksum": 916986133}')
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
class JournalLine:
    """A line of a journal: its entry, whether it has a checksum, and the position in the file where it ends."""

    entry: dict[str, Any]
    checked: bool
    end: int

    @property
    def files(self) -> dict[str, int]:
        """Checksums of the files that the entry lists; none for entries of older versions."""
        return dict(self.entry.get(FILES, {})) if self.checked else {}


@dataclass(frozen=True, eq=False)
class JournalContents:
    """All intact lines of a journal up to the first damaged one, and the text of that one."""

    data: bytes
    lines: tuple[JournalLine, ...]
    damaged: bytes | None = None


class Journal:
    """A journal on disk. A truncated last line is ignored."""

    def __init__(self, path: Path):
        self.path = path
        self._contents = JournalContents(b"", ())

    def read(self) -> JournalContents:
        """Read the journal; it is parsed again only if it has changed."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror})", path=self.path) from None
        if data != self._contents.data:
            self._contents = parse_journal(data)
        return self._contents

    def append(self, entry: Mapping[str, Any]) -> None:
        """Add an entry after the intact lines; the file is replaced, so that it never ends in half a line."""
        contents = self.read()
        self._write(_whole(contents, len(contents.lines)), entry)

    def cut(self, lines: int) -> None:
        """Keep only the first `lines` lines."""
        self._write(_whole(self.read(), lines))

    def _write(self, before: bytes, *entries: Mapping[str, Any]) -> None:
        with open_output(self.path) as stream:
            stream.write(before)
            for entry in entries:
                stream.write(seal(entry, zlib.crc32(before)) + b"\n")


def _whole(contents: JournalContents, lines: int) -> bytes:
    return contents.data[: contents.lines[lines - 1].end] if lines else b""


def parse_journal(data: bytes) -> JournalContents:
    """Read the bytes of a journal."""
    lines: list[JournalLine] = []
    end = before = 0
    for text in data.split(b"\n")[:-1]:
        found = unseal(text, before)
        if found is None or (lines and lines[-1].checked and not found[1]):
            return JournalContents(data, tuple(lines), text)
        end += len(text) + 1
        before = zlib.crc32(b"\n", zlib.crc32(text, before))
        lines.append(JournalLine(*found, end))
    return JournalContents(data, tuple(lines))


OPTIONS, EVENTS, WEIGHTS = "run.toml", "events.jsonl", "weights.txt"


def weights_name(iteration: int) -> str:
    """Return the name of the file with the weights after an iteration."""
    return f"weights/{iteration:03}.txt"


def state_name(iteration: int) -> str:
    """Return the name of the file with the learner's state after an iteration."""
    return f"state/{iteration:03}.npz"


def evidence_name(iteration: int) -> str:
    """Return the name of the folder with the evidence of an iteration."""
    return f"evidence/{iteration:03}"


def weights_file(path: PathLike, progress: Progress = SILENT) -> Path:
    """Return the weights file that a path means: the file itself, or the weights of a run's or model's folder."""
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
    """The folder of a tuning run that has been started, and perhaps finished."""

    def __init__(self, folder: PathLike):
        self.folder = Path(folder)

    @cached_property
    def _journal(self) -> Journal:
        return Journal(self.folder / EVENTS)

    @property
    def options(self) -> dict[str, Any]:
        """Options that the run was started with."""
        self._verify(OPTIONS, 1)
        return _Options(self.folder / OPTIONS, read_toml(self.folder / OPTIONS))

    def events(self) -> list[dict[str, Any]]:
        """Return the events of all finished iterations, in order; a truncated last line is ignored."""
        return [_event(line) for line in self._lines()]

    @property
    def has_checksums(self) -> bool:
        """True if all iterations have checksums; runs of older versions have none."""
        return all(line.checked for line in self._lines())

    def warn_if_older(self, progress: Progress) -> None:
        """Warn if the run is of an older version, without checksums."""
        if not self.has_checksums:
            progress.warn(f"{self.folder}: was written by an older version without checksums: damage may go unnoticed")

    def resumable(self) -> int:
        """Return the last iteration from which the run can be resumed, as all its files are intact; 0 if none."""
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
        """Return the file of the best weights so far: `weights.txt`, or an intact copy if a kill left an older one."""
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
        """Return the best weights of a run without finished iterations: its initial weights."""
        first = self._path(weights_name(0))
        if file.is_file() and first.is_file() and file.read_bytes() != first.read_bytes():
            raise DataError(
                "is not what the run begins with, though it has done no iteration",
                path=file,
                expected=f"what {first} holds; if the change is wanted, give {file} itself in place of the folder",
            )
        return file

    def damaged(self, file: Path, found: str, iteration: int, line: int | None = None) -> DataError:
        """Return the error that says which iteration is lost, and how to resume."""
        last = min(self.resumable(), iteration - 1)
        way = f"`resume_from={last}` goes on after iteration {last}, " if last > 0 else ""
        return DataError(
            f"{found}, so that iteration {iteration} is lost",
            path=file,
            line=line,
            expected=f"what the run has written; {way}`restart=True` begins anew",
        )

    def verified(self, name: str, iteration: int) -> Path:
        """Return the path of a file or folder of an iteration, after checking its checksums, if it has any."""
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
            for foreign in sorted(there - known.keys()):
                raise self.damaged(self._path(foreign), "is no file of the run", iteration)

    def _path(self, name: str) -> Path:
        return self.folder / name

    def _lines(self) -> Sequence[JournalLine]:
        """Return the lines of all finished iterations; refuse a log that is damaged anywhere."""
        contents = self._journal.read()
        good = _good(contents)
        if (damage := _damage(contents, good)) is not None:
            raise self.damaged(self._journal.path, damage, len(good) + 1, len(good) + 1)
        return good


class _Options(dict[str, Any]):
    """Options by name; a missing one is an error in the file."""

    def __init__(self, file: Path, values: Mapping[str, Any]):
        super().__init__(values)
        self._file = file

    def __missing__(self, name: str) -> Any:
        raise DataError(f"does not mention '{name}'", path=self._file, expected="the options of a tuning run")


def parse_events(data: bytes, path: PathLike) -> list[dict[str, Any]]:
    """Parse the events of a log; refuse one that is damaged anywhere."""
    contents = parse_journal(data)
    good = _good(contents)
    if (damage := _damage(contents, good)) is not None:
        raise DataError(damage, path=path, line=len(good) + 1, expected="what the run has written")
    return [_event(line) for line in good]


def _event(line: JournalLine) -> dict[str, Any]:
    return {key: value for key, value in line.entry.items() if key != FILES}


def _damage(contents: JournalContents, good: Sequence[JournalLine]) -> str | None:
    """Return what the log has in place of the next event, if anything."""
    if len(good) == len(contents.lines) and contents.damaged is None:
        return None
    text = contents.data[good[-1].end if good else 0 :].partition(b"\n")[0]
    return f"found '{text[:80].decode(errors='replace')}'"


def _good(contents: JournalContents) -> Sequence[JournalLine]:
    """Return the lines before the first that is not an event."""
    wrong = (i for i, line in enumerate(contents.lines) if not _is_event(line.entry, i + 1))
    return contents.lines[: next(wrong, len(contents.lines))]


def _is_event(event: Mapping[str, Any], number: int) -> bool:
    """Return True for an event of a run: iterations count from 1, and each has a score and a reason to stop or none."""
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
