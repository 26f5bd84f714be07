"""The shares of mixed tables, and where phrases came from, as the best run of a method went on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.evaluation.experiments.tuned import Tuned
from dragoman.evaluation.figures.experiment_figures import share_curves
from dragoman.evaluation.reports.experiment.sheets import Rows, Sheets
from dragoman.model.mixture import SHARES


def add_mixtures(sheets: Sheets, tuned: Tuned) -> None:
    """A picture for each method that tunes shares, and a file of those of all runs; nothing if none does."""
    rows: Rows = []
    for method in sheets.plan.methods:
        for seed, run in zip(sheets.plan.seeds, tuned.runs(method), strict=True):
            rows += [
                (method.name, seed, event["iteration"], name, value)
                for event in run.events()
                for name, value in told(event).items()
            ]
    if not rows:
        return
    sheets.csv("mixtures.csv", ["method", "seed", "iteration", "name", "share"], rows)
    for method in sheets.plan.methods:
        run = tuned.best_run(method)
        columns, table = mixture_table(run.events())
        if not table:
            continue
        sheets.page.heading(f"{method.name}: shares of mixed tables")
        sheets.page.figure(
            share_curves(mixture_curves(run.events())),
            f"The run with seed {run.options['seed']}: the share of each table in each score with which an iteration"
            " decoded, and in the phrases of the translations that were best then.",
        )
        sheets.page.table(columns, table, folded="The same as numbers")


def told(event: Mapping[str, Any]) -> dict[str, float]:
    """What an event says of mixtures: shares by name, and shares of phrases, `phrases.tm.in`.

    >>> told({"shares": {"mix.tm.fwd.in": 0.7}, "phrases_from": {"tm": {"in": 0.8}}})
    {'mix.tm.fwd.in': 0.7, 'phrases.tm.in': 0.8}
    """
    found = dict(event.get("shares", {}))
    for table, parts in event.get("phrases_from", {}).items():
        found |= {f"phrases.{table}.{name}": share for name, share in parts.items()}
    return found


def mixture_curves(events: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """The shares of tables by what they are shares of: iterations and values."""
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for event in events:
        for name, value in told(event).items():
            of, _, table = name.removeprefix(SHARES).rpartition(".")
            found.setdefault(of, {}).setdefault(table, []).append((event["iteration"], value))
    return found


def mixture_table(events: Sequence[Mapping[str, Any]]) -> tuple[list[str], Rows]:
    """A row for each share, a column for each iteration; no rows if there are no shares."""
    names = dict.fromkeys(name for event in events for name in told(event))
    rows: Rows = [(name, *(f"{told(event)[name]:.3f}" for event in events)) for name in names]
    return ["share", *(str(event["iteration"]) for event in events)], rows
