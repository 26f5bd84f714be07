"""Runs and experiments in a folder: what there is, what each says of itself, and what it says while it goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from dragoman.core.errors import DataError, DragomanError
from dragoman.core.recorded_run import parse_events
from dragoman.core.toml import parse_toml
from dragoman.core.weights import Weights
from dragoman.evaluation.statistics.measured import full_signature
from dragoman.metrics.combined import parse_metric
from dragoman.serve import schemas
from dragoman.serve.failures import RequestError
from dragoman.serve.run_files import Inside, check_plain

#: An experiment's runs are below it at runs/METHOD/SEED.
_DEPTH = 5
_MOST = 1000
_MOST_FOLDERS = 50_000
_RUN, _PLAN, _REPORT = "run.toml", "plan.toml", "report.html"
_EVENTS, _WEIGHTS = "events.jsonl", "weights.txt"

#: The most bytes that are read of options, events, a report, and weights, of which the first are told.
_LARGEST_OPTIONS, _LARGEST_EVENTS, _LARGEST_REPORT, _HEAD = 2**20, 2**24, 2**26, 2**16

_LONGEST_METRIC = 1000

#: The most weights after an iteration that are told: a model may have millions of sparse ones.
_MOST_WEIGHTS = 200


class Runs:
    """The runs and experiments of a folder, by their names in it.

    A name in a request is looked up in the list of what is there and never joined to a path. Folders may come from
    anywhere: each is read by itself, and what is damaged is listed as such.
    """

    def __init__(self, folder: Path | None):
        self._inside = None if folder is None else Inside(folder)

    def all(self) -> list[schemas.RunInfo]:
        """What there is, each in a line."""
        found = self._found()
        return [_info(name, entry, found) for name, entry in found.items()]

    def one(self, name: str) -> schemas.RunAnswer:
        """A run with its events and the weights of each iteration; of an experiment, its plan."""
        found = self._found()
        entry = _entry(name, found)
        info = _info(name, entry, found)
        if info.damaged is not None:
            raise RequestError(400, f"the {info.kind} '{name}' is damaged: {info.damaged}")
        if not entry.is_run:
            return schemas.RunAnswer(**info.model_dump(), options={}, events=[], weights=[], best_weights={})
        events = entry.events()
        return schemas.RunAnswer(
            **info.model_dump(),
            options=_plain(entry.options()),
            events=events,
            weights=[entry.some_weights(f"weights/{i:03}.txt") for i in range(len(events))],
            best_weights=entry.some_weights(_WEIGHTS),
        )

    def events(self, name: str) -> list[dict[str, Any]]:
        """What a run has told so far."""
        entry = _entry(name, self._found())
        if not entry.is_run:
            raise RequestError(404, f"'{name}' is an experiment; its runs have events")
        try:
            entry.options()  # which may be damaged, and then it has none
            return entry.events()
        except DataError as error:
            raise RequestError(400, f"the run '{name}' is damaged: {error}") from None

    def report(self, name: str) -> bytes:
        """The page about an experiment."""
        try:
            return _entry(name, self._found()).read(_REPORT, _LARGEST_REPORT)
        except FileNotFoundError:
            raise RequestError(404, f"'{name}' has no report yet") from None
        except DataError as error:
            raise RequestError(404, f"'{name}' has no report that can be shown: {error}") from None

    def _found(self) -> dict[str, _Entry]:
        return {} if self._inside is None else dict(sorted(_walk(self._inside))[:_MOST])


@dataclass(frozen=True, order=True)
class _Entry:
    """The folder of a run or an experiment."""

    path: PurePosixPath
    is_run: bool
    inside: Inside

    def read(self, name: str, most: int, *, head: bool = False) -> bytes:
        """Read one of its files."""
        return self.inside.read(self.path / name, most, head=head)

    def options(self) -> dict[str, Any]:
        """What a run was begun with."""
        try:
            options = parse_toml(self.read(_RUN, _LARGEST_OPTIONS), _RUN)
        except FileNotFoundError:
            raise DataError("is gone", path=_RUN) from None
        check_plain(options, _RUN)
        return options

    def events(self) -> list[dict[str, Any]]:
        """What a run has told so far."""
        try:
            events = parse_events(self.read(_EVENTS, _LARGEST_EVENTS), Path(_EVENTS))
        except FileNotFoundError:
            return []
        check_plain(events, _EVENTS)
        return events

    def some_weights(self, name: str) -> dict[str, float]:
        """Weights in a file, the first of them if there are very many; none if there are none that can be read."""
        try:
            data = self.read(name, _HEAD, head=True)
            lines = data.decode(errors="ignore" if len(data) == _HEAD else "strict").split("\n")
            weights = Weights.parse(lines[:-1], name)  # the last is empty, or cut off
        except (DragomanError, OSError, UnicodeDecodeError):
            weights = Weights()
        return dict([*weights.items()][:_MOST_WEIGHTS])


def _entry(name: str, found: Mapping[str, _Entry]) -> _Entry:
    if name not in found:
        raise RequestError(404, f"there is no run called '{name}'")
    return found[name]


def _walk(inside: Inside) -> Iterator[tuple[str, _Entry]]:
    """Folders of runs and experiments with their names."""
    waiting = [(PurePosixPath(), 0)]
    seen = 0
    while waiting:
        here, depth = waiting.pop()
        for name in sorted(inside.folders(here)):
            seen += 1
            if seen > _MOST_FOLDERS:
                return
            path = here / name
            is_run = inside.has(path / _RUN)
            if is_run or inside.has(path / _PLAN):
                # Names of files may hold any bytes, those of an answer may not.
                yield os.fsencode(path).decode(errors="backslashreplace"), _Entry(path, is_run, inside)
            if not is_run and depth + 1 < _DEPTH:
                waiting.append((path, depth + 1))


def _info(name: str, entry: _Entry, found: Mapping[str, _Entry]) -> schemas.RunInfo:
    """What can be said of a run or an experiment, and if it is damaged, how."""
    info = schemas.RunInfo(
        name=name, kind="run" if entry.is_run else "experiment", report=entry.inside.has_file(entry.path / _REPORT)
    )
    try:
        return info.model_copy(update=_facts(entry) if entry.is_run else _runs_of(name, entry, found))
    except DragomanError as error:
        return info.model_copy(update={"damaged": str(error)})
    except Exception as error:  # whatever it is, the others are to be seen
        return info.model_copy(update={"damaged": f"cannot be read ({type(error).__name__})"})


def _runs_of(name: str, entry: _Entry, found: Mapping[str, _Entry]) -> dict[str, Any]:
    entry.read(_PLAN, 0, head=True)
    return {"runs": [other for other in found if other.startswith(f"{name}/")]}


def _facts(entry: _Entry) -> dict[str, Any]:
    options, events = entry.options(), entry.events()
    metric, method = options.get("metric"), options.get("method")
    if not isinstance(metric, str) or not isinstance(method, str) or len(metric) > _LONGEST_METRIC:
        raise DataError("names no metric, or no method", path=_RUN, expected="what the run has written")
    known = parse_metric(metric)
    higher = known.higher_is_better
    return {
        "method": method,
        "metric": metric,
        "signature": full_signature(known, None, prepared=True),
        "higher_is_better": higher,
        "iterations": len(events),
        "best": (max if higher else min)((float(event["score"]) for event in events), default=None),
        "stopped": events[-1]["stop"] if events else None,
    }


def _plain(value: Any) -> Any:
    """Options without paths of the server: of a path, only its last part is told."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return Path(value).name if isinstance(value, str) and os.sep in value else value
