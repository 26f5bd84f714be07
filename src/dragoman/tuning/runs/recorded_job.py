"""The job of a tuning run, read from the run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError
from dragoman.tuning import TUNERS
from dragoman.tuning.problems.evidence import Decoding
from dragoman.tuning.runs.job import Job
from dragoman.tuning.runs.loop import Loop
from dragoman.tuning.runs.run import Run


def recorded_job(run: Run) -> Job:
    """Return the job of a batch method's run, as far as its evidence needs it: not its searches and starts.

    Runs of online learners and of lists of other systems are refused: they save no evidence, or have no model.
    """
    if not run.events():
        raise DataError("has no events", path=run.folder, expected="a run with at least one iteration")
    options = run.options
    if "decoding" not in options or not run.evidence(1).exists():
        raise DataError(
            "has no n-best lists or hypergraphs", path=run.folder, expected="a run of `dragoman tune` by a batch method"
        )
    loop: dict[str, Any] = {name: value for name, value in options["loop"].items() if name == "preset"}
    return Job(
        model=Path(options["model"]),
        source=Path(options["source"]),
        references=tuple(Path(file) for file in options["reference"]),
        tuner=TUNERS.get(options["method"]).from_dict(options["options"]),
        metric=options["metric"],
        loop=Loop.from_dict(loop),
        decoding=Decoding.from_dict(options["decoding"]),
        fixed=tuple(options["fixed"]),
        ranges={name: (low, high) for name, (low, high) in options["ranges"].items()},
        prepared=options["prepared"],
        seed=options["seed"],
    )
