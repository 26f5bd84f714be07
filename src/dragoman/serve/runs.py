"""Runs and experiments in a folder: what there is, what each says of itself, and what it says while it goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman.core.errors import DragomanError
from dragoman.core.weights import Weights
from dragoman.evaluation.statistics.measured import full_signature
from dragoman.metrics.combined import parse_metric
from dragoman.serve import schemas
from dragoman.serve.failures import RequestError
from dragoman.tuning.runs.run import Run

#: An experiment's runs are below it at runs/METHOD/SEED.
_DEPTH = 5
_MOST = 1000
_RUN, _PLAN, _REPORT = "run.toml", "plan.toml", "report.html"

#: The most weights after an iteration that are told: a model may have millions of sparse ones.
_MOST_WEIGHTS = 200


class Runs:
    """The runs and experiments of a folder, by their names in it.

    A name in a request is looked up in the list of what is there and never joined to a path.
    """

    def __init__(self, folder: Path | None):
        self._folder = folder

    def all(self) -> list[schemas.RunInfo]:
        """What there is, each in a line."""
        return [_info(name, path) for name, path in self._found().items()]

    def one(self, name: str) -> schemas.RunAnswer:
        """A run with its events and the weights of each iteration; of an experiment, its plan."""
        path = self._path(name)
        info = _info(name, path).model_dump()
        if not (path / _RUN).exists():
            return schemas.RunAnswer(**info, options={}, events=[], weights=[], best_weights={})
        run = Run(path)
        events = run.events()
        weights = [_some(run, i) for i in range(len(events))]
        return schemas.RunAnswer(
            **info, options=_plain(run.options), events=events, weights=weights, best_weights=_some(run, None)
        )

    def events(self, name: str) -> list[dict[str, Any]]:
        """What a run has told so far."""
        path = self._path(name)
        if not (path / _RUN).exists():
            raise RequestError(404, f"'{name}' is an experiment; its runs have events")
        return Run(path).events()

    def report(self, name: str) -> bytes:
        """The page about an experiment."""
        try:
            return (self._path(name) / _REPORT).read_bytes()
        except OSError:
            raise RequestError(404, f"'{name}' has no report yet") from None

    def _path(self, name: str) -> Path:
        found = self._found()
        if name not in found:
            raise RequestError(404, f"there is no run called '{name}'")
        return found[name]

    def _found(self) -> dict[str, Path]:
        if self._folder is None:
            return {}
        return dict(sorted(_walk(self._folder))[:_MOST])


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    """Folders of runs and experiments with their names, links not followed."""
    waiting = [(folder, 0)]
    while waiting:
        here, depth = waiting.pop()
        try:
            entries = [entry for entry in os.scandir(here) if entry.is_dir(follow_symlinks=False)]
        except OSError:  # it may have gone since
            continue
        for entry in entries:
            path = Path(entry.path)
            is_run = (path / _RUN).exists()
            if is_run or (path / _PLAN).exists():
                yield path.relative_to(folder).as_posix(), path
            if not is_run and depth + 1 < _DEPTH:
                waiting.append((path, depth + 1))


def _info(name: str, path: Path) -> schemas.RunInfo:
    """What can be said of a run, also of one that is being written or damaged."""
    report = (path / _REPORT).exists()
    if not (path / _RUN).exists():
        runs = sorted(f"{name}/{below}" for below, _ in _walk(path))
        return schemas.RunInfo(name=name, kind="experiment", report=report, runs=runs)
    info = schemas.RunInfo(name=name, kind="run", report=report)
    try:
        run = Run(path)
        options, events = run.options, run.events()
        metric = parse_metric(str(options["metric"]))
        higher = metric.higher_is_better
        scores = [float(event["score"]) for event in events]
    except (DragomanError, OSError, ValueError, KeyError, TypeError):
        return info
    return info.model_copy(
        update={
            "method": str(options.get("method")),
            "metric": str(options["metric"]),
            "signature": full_signature(metric, None, prepared=True),
            "higher_is_better": higher,
            "iterations": len(events),
            "best": (max if higher else min)(scores, default=None),
            "stopped": events[-1].get("stop") if events else None,
        }
    )


def _some(run: Run, iteration: int | None) -> dict[str, float]:
    """Weights of an iteration, or the best, the first of them if there are very many; none if they are not there."""
    try:
        weights = run.weights(iteration)
    except (DragomanError, OSError):
        weights = Weights()
    return dict([*weights.items()][:_MOST_WEIGHTS])


def _plain(value: Any) -> Any:
    """Options without paths of the server: of a path, only its last part is told."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return Path(value).name if isinstance(value, str) and os.sep in value else value
