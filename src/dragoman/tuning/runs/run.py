"""A tuning run is a folder: options, events, weights and evidence, enough to look at it, and to go on after a kill."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output
from dragoman.core.leftovers import is_leftover
from dragoman.core.locks import locked
from dragoman.core.own_files import LOCK, RUN
from dragoman.core.toml import format_toml, read_toml
from dragoman.core.version import version
from dragoman.core.weights import Weights

_OPTIONS, _EVENTS, _WEIGHTS, _LAST_LOOK = "run.toml", "events.jsonl", "weights.txt", "last_look.json"


class Run:
    """The folder of a run. `events.jsonl` has a line for each finished iteration; nothing else says how far it got."""

    def __init__(self, folder: PathLike):
        self.folder = Path(folder)

    @classmethod
    def begin(cls, folder: PathLike, options: Mapping[str, Any], *, restart: bool = False) -> Run:
        """Begin a run, or go on with one that was begun with the same options and texts; else refuse, or restart."""
        with cls.claimed(folder, options, restart=restart) as run:
            return run

    @classmethod
    @contextlib.contextmanager
    def claimed(cls, folder: PathLike, options: Mapping[str, Any], *, restart: bool = False) -> Iterator[Run]:
        """Begin or go on, and keep all others off the folder until the end of this, whatever end that is.

        A run that is begun anew leaves what Dragoman did not write where it is.
        """
        run = cls(folder)
        file = run.folder / _OPTIONS
        if run.folder.exists() and not run.folder.is_dir():
            raise DataError("exists and is not a folder", path=folder, expected="a folder for the run, or a new name")
        _refuse_used(run.folder)
        with locked(run.folder):
            wanted = {"dragoman": version(), **options}
            if not file.exists():
                _refuse_used(run.folder)
                _write(file, format_toml(wanted))
            elif restart:  # a folder without options would be nobody's, if this is killed
                RUN.remove(run.folder, keep=[_OPTIONS])
                _write(file, format_toml(wanted))
            check_unchanged(folder, read_toml(file), wanted)
            yield run

    @property
    def options(self) -> dict[str, Any]:
        """What the run was begun with."""
        return read_toml(self.folder / _OPTIONS)

    def events(self) -> list[dict[str, Any]]:
        """One mapping for each finished iteration, in order; a line that a kill cut off does not count."""
        file = self.folder / _EVENTS
        if not file.exists():
            return []
        lines = file.read_bytes().split(b"\n")
        return [_event(line, file, number) for number, line in enumerate(lines[:-1], 1)]

    def started(self, start: Weights) -> list[dict[str, Any]]:
        """Keep the weights that the run starts with, unless it has done something; returns its events."""
        events = self.events()
        if not events:
            self.write_weights(start, 0)
            self.write_weights(start)
        return events

    def record(self, event: Mapping[str, Any]) -> None:
        """Add an event; the file is replaced as a whole, so that it is never half a line longer."""
        lines = "".join(f"{json.dumps(row)}\n" for row in [*self.events(), dict(event)])
        _write(self.folder / _EVENTS, lines)

    def weights(self, iteration: int | None = None) -> Weights:
        """The weights after an iteration, or the best so far."""
        return Weights.read(self._weights(iteration))

    def write_weights(self, weights: Weights, iteration: int | None = None) -> None:
        """Keep the weights of an iteration, or the best so far."""
        _write(self._weights(iteration), weights.format())

    def evidence(self, iteration: int) -> Path:
        """The folder for what an iteration decoded."""
        return self.folder / "evidence" / f"{iteration:03}"

    def state(self, iteration: int) -> dict[str, NDArray[Any]]:
        """What a learner needs to go on after an iteration."""
        file = self._state(iteration)
        try:
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                return _State(file, arrays)
        except Exception as error:  # damaged archives fail in many ways, and all mean the same
            raise _damaged(file, f"is no saved state ({error})") from None

    def write_state(self, state: Mapping[str, NDArray[Any]], iteration: int) -> None:
        """Keep what a learner needs to go on."""
        with open_output(self._state(iteration)) as stream:
            np.savez_compressed(stream, **dict(state))  # type: ignore[arg-type]

    def drop_state(self, iteration: int) -> None:
        """Forget what nobody will go on from."""
        self._state(iteration).unlink(missing_ok=True)

    def last_look(self) -> dict[str, Any]:
        """What a learner saw under the weights that it ended with; nothing if it did not look."""
        file = self.folder / _LAST_LOOK
        return _object(file.read_bytes(), file) if file.exists() else {}

    def write_last_look(self, found: Mapping[str, Any]) -> None:
        """Keep what a learner saw in the end."""
        _write(self.folder / _LAST_LOOK, json.dumps(found, ensure_ascii=False))

    def _state(self, iteration: int) -> Path:
        return self.folder / "state" / f"{iteration:03}.npz"

    def _weights(self, iteration: int | None) -> Path:
        return self.folder / (_WEIGHTS if iteration is None else f"weights/{iteration:03}.txt")


class _State(dict[str, NDArray[Any]]):
    """Arrays by name; one that is missing is the file's fault."""

    def __init__(self, file: Path, arrays: Mapping[str, NDArray[Any]]):
        super().__init__(arrays)
        self._file = file

    def __missing__(self, name: str) -> NDArray[Any]:
        raise _damaged(self._file, f"has no array '{name}'")


def _refuse_used(folder: Path) -> None:
    """Refuse a folder that has something in it, but no run: one may just be beginning."""
    used = folder.exists() and any(not is_leftover(entry) and entry.name != LOCK for entry in folder.iterdir())
    if used and not (folder / _OPTIONS).exists():
        raise DataError("is not empty and not a tuning run's", path=folder, expected="a new folder")


def _damaged(file: Path, found: str, line: int | None = None) -> DataError:
    return DataError(found, path=file, line=line, expected="what the run has written; --restart begins anew")


def _shown(data: bytes) -> str:
    return f"found '{data[:80].decode(errors='replace')}'"


def _object(data: bytes, file: Path, line: int | None = None) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _damaged(file, _shown(data), line)
    return found


def _event(data: bytes, file: Path, number: int) -> dict[str, Any]:
    """An event of a run: iterations count from 1, each has a score, and says if it is the last."""
    event = _object(data, file, number)
    score = event.get("score")
    if event.get("iteration") != number or not isinstance(score, int | float) or "stop" not in event:
        raise _damaged(file, _shown(data), number)
    return event


def check_unchanged(folder: PathLike, begun: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse to go on with work in a folder that was begun with other options, or texts of other content."""
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
        raise DataError(found, path=folder, expected="the same to go on, --restart to begin anew, or a new folder")


def _write(path: Path, text: str) -> None:
    with open_output(path) as stream:
        stream.write(text.encode())
