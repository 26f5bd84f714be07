"""Tuning runs and experiments of a folder: lists, descriptions, and streams of events."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path as InPath, Response
from fastapi.responses import StreamingResponse

from dragoman.core.errors import DataError, DragomanError
from dragoman.core.feature_rows import Weights
from dragoman.core.journal import parse_events
from dragoman.core.options import parse_toml
from dragoman.evaluation.statistics.intervals import full_signature
from dragoman.metrics.combined import parse_metric
from dragoman.serve import schemas
from dragoman.serve.json_bodies import Answer, api_router, to_json
from dragoman.serve.limits import RequestError, busy

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: A pipe or a device that has just taken the place of a file must not keep us waiting.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_DEEPEST = 32
_LARGEST_INTEGER = 2**63


@dataclass(frozen=True)
class ConfinedFolder:
    """A folder and all below it, by paths relative to it; links are not followed, wherever they lead."""

    root: Path

    def folders(self, path: PurePosixPath) -> list[str]:
        """Return the names of the folders in one; none if it is gone."""
        try:
            with self._opened(path) as here, os.scandir(here) as entries:
                return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return []

    def has(self, path: PurePosixPath) -> bool:
        """Return whether a file of any kind, or a folder, exists."""
        return self._mode(path) != 0

    def has_file(self, path: PurePosixPath) -> bool:
        """Return whether a regular file exists."""
        return stat.S_ISREG(self._mode(path))

    def read(self, path: PurePosixPath, most: int, *, head: bool = False) -> bytes:
        """Read a regular file of at most `most` bytes; refuse a longer one, or read its `head` only.

        A file that is not there is a FileNotFoundError.
        """
        try:
            with self._opened(path.parent) as here:
                _check_kind(path.name, os.stat(path.name, dir_fd=here, follow_symlinks=False).st_mode)
                file = os.open(path.name, _FILE, dir_fd=here)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror})", path=path.name) from None
        with os.fdopen(file, "rb") as stream:
            found = os.fstat(file)
            _check_kind(path.name, found.st_mode)
            size = found.st_size
            data = b"" if size > most and not head else stream.read(most + 1)
        if max(size, len(data)) > most and not head:
            raise DataError(f"has {max(size, len(data)):,} bytes", path=path.name, expected=f"at most {most:,}")
        return data[:most]

    def _mode(self, path: PurePosixPath) -> int:
        """Return the mode of a file or folder; 0 if there is none."""
        try:
            with self._opened(path.parent) as here:
                return os.stat(path.name, dir_fd=here, follow_symlinks=False).st_mode
        except OSError:
            return 0

    @contextlib.contextmanager
    def _opened(self, path: PurePosixPath) -> Iterator[int]:
        """Open a folder by way of all folders that it is in."""
        here = os.open(self.root, _FOLDER & ~os.O_NOFOLLOW)  # the root may be a link: the server's owner gave it
        try:
            for part in path.parts:
                if part in ("..", "/"):
                    raise NotADirectoryError(path)
                below = os.open(part, _FOLDER, dir_fd=here)
                os.close(here)
                here = below
            yield here
        finally:
            os.close(here)


def _check_kind(name: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        raise DataError(f"is {kinds.get(stat.S_IFMT(mode), 'a device')}", path=name, expected="a regular file")


def check_plain(value: Any, name: str) -> None:
    """Refuse content that JSON cannot hold: numbers of hundreds of digits, dates, half characters, deep nesting."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > _DEEPEST:
            raise DataError("is nested deeply", path=name, expected=f"at most {_DEEPEST} levels")
        if isinstance(one, dict):
            waiting += [(part, depth + 1) for pair in one.items() for part in pair]
        elif isinstance(one, list):
            waiting += [(part, depth + 1) for part in one]
        elif isinstance(one, int) and abs(one) >= _LARGEST_INTEGER:
            raise DataError("holds a number that is too large", path=name, expected="numbers below 2^63")
        elif isinstance(one, str):
            try:
                one.encode()
            except UnicodeEncodeError:
                raise DataError("holds half a character", path=name, expected="text that UTF-8 can hold") from None
        elif one is not None and not isinstance(one, int | float):
            raise DataError(f"holds a {type(one).__name__}", path=name, expected="numbers and text")


_RUN, _PLAN, _REPORT = "run.toml", "plan.toml", "report.html"
_EVENTS, _WEIGHTS = "events.jsonl", "weights.txt"

#: The depth to which folders are searched, the runs of an experiment being at runs/METHOD/SEED, and bounds of numbers.
_DEPTH, _MOST_FOLDERS, _MOST_RUNS = 5, 50_000, 1000

#: Bounds of the bytes that are read of options, events and a report, and of weights, whose head is enough.
_LARGEST_OPTIONS, _LARGEST_EVENTS, _LARGEST_REPORT, _HEAD = 2**20, 2**24, 2**26, 2**16

_LONGEST_METRIC = 1000

#: The most weights of an iteration in an answer: a model may have millions of sparse ones.
_MOST_WEIGHTS = 200

#: Seconds between two looks at a run that is followed, and looks between two signs of life.
_LOOK, _SIGN = 0.5, 30
_MOST_FOLLOWERS = 16

#: A report is a page by itself: it may look as it likes, and do nothing.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"

Name = Annotated[str, InPath(description="The name of a run, as `runs` has it; it may have slashes.")]


class Runs:
    """The runs and experiments of a folder, by their names in it.

    A name in a request is looked up in a list of them, and never joined to a path. Folders may come from anywhere: each
    is read by itself, and a damaged one is listed as such.
    """

    def __init__(self, folder: Path | None):
        self._folder = None if folder is None else ConfinedFolder(folder)

    def all(self) -> list[schemas.RunInfo]:
        """Describe all of them in short."""
        found = self._found()
        return [_info(name, entry, found) for name, entry in found.items()]

    def one(self, name: str) -> schemas.RunAnswer:
        """Describe a run with its events and the weights of each iteration, or an experiment."""
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
        """Return the events of a run so far."""
        entry = _entry(name, self._found())
        if not entry.is_run:
            raise RequestError(404, f"'{name}' is an experiment; its runs have events")
        try:
            entry.options()  # which may be damaged, and then it has none
            return entry.events()
        except DataError as error:
            raise RequestError(400, f"the run '{name}' is damaged: {error}") from None

    def report(self, name: str) -> bytes:
        """Return the page about an experiment."""
        try:
            return _entry(name, self._found()).read(_REPORT, _LARGEST_REPORT)
        except FileNotFoundError:
            raise RequestError(404, f"'{name}' has no report yet") from None
        except DataError as error:
            raise RequestError(404, f"'{name}' has no report that can be shown: {error}") from None

    def _found(self) -> dict[str, _Entry]:
        return {} if self._folder is None else dict(sorted(_walk(self._folder))[:_MOST_RUNS])


@dataclass(frozen=True, order=True)
class _Entry:
    """The folder of a run or an experiment."""

    path: PurePosixPath
    is_run: bool
    folder: ConfinedFolder

    def read(self, name: str, most: int, *, head: bool = False) -> bytes:
        """Read one of its files."""
        return self.folder.read(self.path / name, most, head=head)

    def options(self) -> dict[str, Any]:
        """Read the options of a run."""
        try:
            options = parse_toml(self.read(_RUN, _LARGEST_OPTIONS), _RUN)
        except FileNotFoundError:
            raise DataError("is gone", path=_RUN) from None
        check_plain(options, _RUN)
        return options

    def events(self) -> list[dict[str, Any]]:
        """Read the events of a run so far."""
        try:
            events = parse_events(self.read(_EVENTS, _LARGEST_EVENTS), Path(_EVENTS))
        except FileNotFoundError:
            return []
        check_plain(events, _EVENTS)
        return events

    def some_weights(self, name: str) -> dict[str, float]:
        """Read the weights of a file, the first of very many, and none if they cannot be read."""
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


def _walk(folder: ConfinedFolder) -> Iterator[tuple[str, _Entry]]:
    """Find the folders of runs and experiments, with their names."""
    waiting = [(PurePosixPath(), 0)]
    seen = 0
    while waiting:
        here, depth = waiting.pop()
        for name in sorted(folder.folders(here)):
            seen += 1
            if seen > _MOST_FOLDERS:
                return
            path = here / name
            is_run = folder.has(path / _RUN)
            if is_run or folder.has(path / _PLAN):
                # Names of files may hold any bytes, those of an answer may not.
                yield os.fsencode(path).decode(errors="backslashreplace"), _Entry(path, is_run, folder)
            if not is_run and depth + 1 < _DEPTH:
                waiting.append((path, depth + 1))


def _info(name: str, entry: _Entry, found: Mapping[str, _Entry]) -> schemas.RunInfo:
    """Describe a run or an experiment, or its damage."""
    info = schemas.RunInfo(
        name=name, kind="run" if entry.is_run else "experiment", report=entry.folder.has_file(entry.path / _REPORT)
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
    """Options without paths of the server: of a path, only the last part stays."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return Path(value).name if isinstance(value, str) and os.sep in value else value


def routes(runs: Runs, is_closing: Callable[[], bool]) -> APIRouter:
    """Make the routes about runs; streams of events end when the service closes."""
    router = api_router("runs")
    followers: set[object] = set()

    @router.get("/runs", name="runs", response_model=schemas.RunsAnswer)
    async def all_runs() -> Response:
        """List tuning runs and experiments of the folder."""
        return Answer(schemas.RunsAnswer(runs=await asyncio.to_thread(runs.all)))

    @router.get(
        "/runs/{name:path}/events",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}}},
    )
    async def events(name: Name, last_event_id: Annotated[str | None, Header()] = None) -> Response:
        """Stream the events of a run: one for each iteration, past ones first; `end` when it has stopped."""
        await asyncio.to_thread(runs.events, name)
        if len(followers) >= _MOST_FOLLOWERS:
            raise busy(f"{_MOST_FOLLOWERS} clients follow runs already")
        first = int(last_event_id) + 1 if (last_event_id or "").isdecimal() else 0  # type: ignore[arg-type]

        async def followed() -> AsyncIterator[str]:
            me = object()
            followers.add(me)
            try:
                async for text in _followed(runs, is_closing, name, first):
                    yield text
            finally:
                followers.discard(me)

        return StreamingResponse(followed(), media_type="text/event-stream")

    @router.get("/runs/{name:path}/report", response_class=Response, responses={200: {"content": {"text/html": {}}}})
    async def report(name: Name) -> Response:
        """Return the page about an experiment."""
        page = await asyncio.to_thread(runs.report, name)
        headers = {"Content-Security-Policy": _REPORT_POLICY, "X-Frame-Options": "SAMEORIGIN"}
        return Response(page, media_type="text/html; charset=utf-8", headers=headers)

    @router.get("/runs/{name:path}", response_model=schemas.RunAnswer)
    async def run(name: Name) -> Response:
        """Return a run with its options, events, and weights after each iteration."""
        return Answer(await asyncio.to_thread(runs.one, name))

    return router


async def _followed(runs: Runs, is_closing: Callable[[], bool], name: str, first: int) -> AsyncIterator[str]:
    """Yield the events of a run from `first` on, as server-sent events, until it has stopped."""
    quiet = 0
    while not is_closing():
        try:
            events = await asyncio.to_thread(runs.events, name)
        except RequestError as error:  # it was there when the answer began
            yield f"event: end\ndata: {to_json({'stop': error.message})}\n\n"
            return
        for number, event in enumerate(events[first:], first):
            yield f"id: {number}\nevent: iteration\ndata: {to_json(event)}\n\n"
        quiet = 0 if len(events) > first else quiet + 1
        first = max(first, len(events))
        if events and events[-1].get("stop"):
            yield f"event: end\ndata: {to_json({'stop': events[-1]['stop']})}\n\n"
            return
        if quiet % _SIGN == 1:
            yield ": waiting\n\n"
        await asyncio.sleep(_LOOK)
