"""The runner: does the steps of plans that are not done, several at a time, within some minutes if asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.errors import DragomanError
from dragoman.core.options import read_toml
from dragoman.core.runtime import Runtime
from reproduction.materials import Materials
from reproduction.times import UNKNOWN_SECONDS, Times, in_words
from reproduction.work import Step, Timed, Work


@dataclass(frozen=True)
class Settings:
    """How to run: processes, and the time by which to stop (of `time.monotonic`), if there is one."""

    processes: int = 2
    deadline: float | None = None

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return float("inf") if self.deadline is None else self.deadline - time.monotonic()


def chosen(all_works: Sequence[Work], only: Sequence[str]) -> list[Work]:
    """Return the experiments and measures that tables or names in `only` ask for; all of them if there are none."""
    if not only:
        return list(all_works)
    wanted: set[str] = set()
    for name in only:
        used = [
            f"{paper.name}/{result}"
            for paper in {work.paper for work in all_works}
            for result in paper.plans().get(name.rpartition("/")[2], {}).get("results", [])
            if name.rpartition("/")[0] in ("", paper.name)
        ]
        wanted |= {*used, name}
    return [work for work in all_works if {work.title, work.name} & wanted]


def results_of(work: Work, quick: Path | None) -> Path:
    """Return the folder of raw results; those of the quick reproduction are apart."""
    return (work.paper if quick is None else work.paper.elsewhere(quick)).results(work.name)


def listing(all_works: Sequence[Work], times: Times, quick: Path | None) -> Iterator[str]:
    """Yield a line for each experiment and measure: how many steps are done, and how long the others will take."""
    total = assumed = 0.0
    for work in all_works:
        outline, seconds, unknown, done = work.outline(), 0.0, 0, 0
        states = [step.is_done for step in work.steps()] if work.is_ready else [False] * len(outline)
        for (name, kind, lines), is_done in zip(outline, states, strict=True):
            found = times.estimate(name, kind, lines)
            done += is_done
            unknown += not is_done and found is None
            seconds += 0 if is_done else UNKNOWN_SECONDS if found is None else found
        state = "results are there" if (results_of(work, quick) / "origin.toml").exists() else ""
        guess = f"about {in_words(seconds)}{f' ({unknown} of unknown duration)' if unknown else ''}"
        total, assumed = total + seconds, assumed + UNKNOWN_SECONDS * unknown
        left = "" if done == len(outline) else guess
        yield f"{work.title}: {done} of {len(outline)} steps done; {', '.join(filter(None, (left, state)))}"
    assumption = f", {in_words(assumed)} of it assumed for steps of unknown duration" if assumed else ""
    yield f"in all about {in_words(total)} of one core{assumption}"


def run_all(all_works: Sequence[Work], times: Times, quick: Path | None, settings: Settings) -> bool:
    """Do what is not done and collect results; return whether everything is complete."""
    complete = True
    for work in all_works:
        try:
            complete &= _run(work, times, results_of(work, quick), settings)
        except DragomanError as error:
            _say(f"{work.title}: {error}")
            complete = False
    return complete


def _run(work: Work, times: Times, results: Path, settings: Settings) -> bool:
    for name in work.needs:
        if not work.materials.is_there(name):
            if settings.left <= 0:
                return False
            _say(f"{work.title}: making {name}")
            _say(f"{work.title}: {name} took {in_words(work.materials.make(name))}")
    steps = [step for step in work.steps() if not step.is_done]
    fitting = _fitting(steps, times, settings)
    if fitting:
        seconds = sum(seconds for _, seconds in fitting)
        _say(
            f"{work.title}: {len(fitting)} of {len(steps)} steps, about {in_words(seconds / settings.processes)} with "
            f"{settings.processes} processes"
        )
        # Steps of a fitting prefix run side by side; each records its duration when it ends.
        jobs = {step.name: Timed(step, times) for step, _ in fitting}
        failed = Runtime(threads=settings.processes).workers.run_all(jobs, lambda: None)
        for name, error in failed.items():
            _say(f"{name}: {error}")
        if failed:
            return False
    if len(fitting) < len(steps):
        _say(f"{work.title}: {len(steps) - len(fitting)} steps are left")
        _collect_finished(work, results, times, settings)
        return False
    if fitting or _left(results) != []:
        _collect(work, results, times, settings)
    return True


def _left(results: Path) -> list[str] | None:
    """Return the methods that results lack, or None if there are no results."""
    origin = results / "origin.toml"
    return read_toml(origin).get("left", []) if origin.exists() else None


def _collect_finished(work: Work, results: Path, times: Times, settings: Settings) -> None:
    """Collect results of the methods that are done, if there are none yet, or of fewer methods."""
    finished, before = work.finished(), _left(results)
    if finished is not None and before != [] and before != finished.recipe["left"]:
        _collect(finished, results, times, settings)


def _collect(work: Work, results: Path, times: Times, settings: Settings) -> None:
    begun = time.monotonic()
    work.collect(results, times, runtime=Runtime(threads=settings.processes))
    _say(f"{work.title}: results in {results} ({in_words(time.monotonic() - begun)})")


def _fitting(steps: Sequence[Step], times: Times, settings: Settings) -> list[tuple[Step, float]]:
    """Return the steps that end before the deadline by estimate, with their estimates."""
    lanes = [settings.left] * settings.processes
    found = []
    for step in steps:
        estimate = times.estimate(step.name, step.kind, step.lines)
        seconds = UNKNOWN_SECONDS if estimate is None else estimate
        lane = max(range(len(lanes)), key=lanes.__getitem__)
        if lanes[lane] >= seconds:
            lanes[lane] -= seconds
            found.append((step, seconds))
    return found


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def quick_folder(materials: Materials) -> Path | None:
    """Return the folder of the quick reproduction's results and pages, or None for the full one."""
    return materials.work / "quick" if materials.quick else None
