"""Raw results of experiments and measures as small text files: scores, weights, seeds, times and versions."""

from __future__ import annotations

import csv
import datetime
import io
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.core.errors import version
from dragoman.core.files import open_output
from dragoman.core.options import format_toml
from dragoman.core.runtime import Runtime
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.results import TuningResults, WeightVectors
from dragoman.evaluation.reports.experiment_report import ExperimentReport
from dragoman.evaluation.statistics.candidate_ranks import candidate_ranks
from dragoman.evaluation.statistics.error_surfaces import error_surfaces, outline
from reproduction.layout import HERE
from reproduction.times import Took

_TABLES = ("runs", "curves", "weights", "pairs", "conclusive", "scales", "decoding_scores")
_CANDIDATES, _COLUMNS = 9, 120


def collect_experiment(
    experiment: Experiment,
    recipe: Mapping[str, Any],
    out: Path,
    took: Sequence[Took],
    *,
    runtime: Runtime = Runtime(),
) -> None:
    """Write the tables of an experiment's report, durations of its runs, and what the recipe asks for besides.

    Of each run: `whole` is the time of processors that the step took, with translations, and `seconds` that of tuning,
    taking it that it had the same share of a processor all the time (0 if unknown).
    """
    ExperimentReport(experiment, runtime=runtime.here().quiet()).write()
    tables = [*_TABLES, *recipe.get("keep", [])]
    for path in (experiment.out / f"{name}.csv" for name in tables):
        if path.exists():
            with path.open(encoding="utf-8", newline="") as stream:
                write_table(out / path.name, csv.reader(stream))
    tuned = TuningResults(experiment)
    steps = iter(took)
    times: list[Sequence[object]] = [("step", "kind", "lines", "method", "seed", "iterations", "seconds", "whole")]
    for method in experiment.plan.methods:
        counts, seconds = tuned.iterations(method).tolist(), tuned.seconds(method).tolist()
        for seed, count, tuning in zip(experiment.plan.seeds, counts, seconds, strict=True):
            step = next(steps)
            used = f"{tuning * step.share:.1f}", f"{step.seconds:.1f}"
            row = step.step, step.kind, step.lines, method.name, seed, count, *used
            times.append(row)
    write_table(out / "times.csv", times)
    for extra in recipe.get("extras", []):
        {"ranks": _write_ranks, "surfaces": _write_surfaces, "numbers": _write_numbers}[extra](experiment, tuned, out)
    write_origin(out, left=recipe.get("left", []))


def _write_ranks(experiment: Experiment, tuned: TuningResults, out: Path) -> None:
    """Write how candidates of one sentence rank after each iteration of each method's best run."""
    rows: list[Sequence[object]] = [("method", "iteration", "rank", "candidate", "score")]
    vectors, sentence = WeightVectors(experiment.plan), None
    for method in experiment.plan.methods:
        evidence = vectors.evidence(method, tuned.best_run(method))
        if evidence is None:
            continue
        found = candidate_ranks(evidence, sentence)
        sentence = found.sentence
        best = found.top(_CANDIDATES)
        for text, ranks, score in zip(best.texts, best.ranks.tolist(), best.scores.tolist(), strict=True):
            rows += [(method.name, i, rank, text, score) for i, rank in zip(found.iterations, ranks, strict=True)]
    write_table(out / "ranks.csv", rows)


def _write_surfaces(experiment: Experiment, tuned: TuningResults, out: Path) -> None:
    """Write the metric along each weight around the first method's best run, the lowest and highest in each column."""
    method = experiment.plan.methods[0]
    run = tuned.best_run(method)
    evidence = WeightVectors(experiment.plan).evidence(method, run)
    rows: list[Sequence[object]] = [("feature", "part", "weight", "lowest", "highest")]
    if evidence is not None:
        vector = evidence.vector(run.weights())
        for surface in error_surfaces(evidence.problem, vector, evidence.tuned):
            reach = 4 * float(np.abs(vector).max())
            for part, (low, high) in {
                "whole": (surface.weight - reach, surface.weight + reach),
                "around": surface.zoom(40, reach),
            }.items():
                places, lowest, highest = outline(*surface.within(low, high), _COLUMNS)
                columns = zip(places.tolist()[: len(lowest)], lowest.tolist(), highest.tolist(), strict=True)
                rows += [(surface.name, part, *row) for row in columns]
    write_table(out / "surfaces.csv", rows)


def _write_numbers(experiment: Experiment, tuned: TuningResults, out: Path) -> None:
    """Write all numbers that methods report of their iterations, and the highest of each run."""
    rows: list[Sequence[object]] = [("method", "seed", "iteration", "number", "value")]
    for method in experiment.plan.methods:
        for key in ("score", *tuned.own_numbers(method)):
            for seed, found in zip(experiment.plan.seeds, tuned.numbers(method, key), strict=True):
                rows += [(method.name, seed, int(iteration), key, value) for iteration, value in found.tolist()]
    write_table(out / "numbers.csv", rows)
    best: dict[tuple[object, ...], float] = {}
    for row in rows[1:]:
        name = row[0], row[1], row[3]
        best[name] = max(best.get(name, float("-inf")), float(str(row[4])))
    write_table(out / "best.csv", [("method", "seed", "number", "value"), *((*name, v) for name, v in best.items())])


def collect_measure(made: Path, recipe: Mapping[str, Any], out: Path, took: Took) -> None:
    """Write the files that a measure keeps, and how long it took."""
    for name in recipe["keep"]:
        with (made / name).open(encoding="utf-8", newline="") as stream:
            write_table(out / Path(name).name, csv.reader(stream))
    write_origin(out, took)


def write_table(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV, with four decimals."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_rounded(cell) for cell in row] for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output(path) as stream:
        stream.write(text.getvalue().encode())


def _rounded(cell: object) -> object:
    try:
        number = float(str(cell))
    except ValueError:
        return cell
    return cell if number == int(number) and "." not in str(cell) else f"{number:.4f}".rstrip("0").rstrip(".")


def write_origin(out: Path, took: Took | None = None, *, left: Sequence[str] = ()) -> None:
    """Write when, with which version and on what machine results were made, how long that took, and what is left."""
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, cwd=HERE)
    values = {
        "dragoman": version(),
        "commit": commit.stdout.strip(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        **({"left": list(left)} if left else {}),
        **({"took": asdict(took)} if took else {}),
    }
    with open_output(out / "origin.toml") as stream:
        stream.write(format_toml(values).encode())
