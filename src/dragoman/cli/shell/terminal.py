"""Consoles and tables of commands, and the flags that say what a command runs on."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dragoman.core.errors import UsageError
from dragoman.core.progress import available_cores, live_progress
from dragoman.core.runtime import Runtime
from dragoman.core.work.workers import RequiredFile, Workers
from dragoman.model.bundle import model_digest

_NO_WIDTH = 10_000


def output() -> Console:
    """The console for results: standard output."""
    # A pipe or a file has no width: a line of a table stays a line.
    return Console(highlight=False, width=None if sys.stdout.isatty() else _NO_WIDTH)


def diagnostics() -> Console:
    """The console for what is said about results: standard error."""
    return Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _NO_WIDTH)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Group:
    """Lay out rows under a title; columns whose first row is a number are set to the right."""
    drawn = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        right = bool(rows) and isinstance(rows[0][i], int | float)
        drawn.add_column(escape(column), justify="right" if right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(_cell(value) for value in row))
    return Group(Text(title, "bold"), drawn)  # a table's own title would be broken to its width


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape(str(value))


def runtime_of(threads: int | None = None) -> Runtime:
    """This process, with so many threads, by default as many as there are cores, and whoever is watching."""
    return Runtime(threads=threads or available_cores(), progress=live_progress()).here()


_PANEL = "Cluster (needs dragoman[cluster])"

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        rich_help_panel=_PANEL,
        help="Who works: local:4 (processes), tcp://host:8786 (a Dask scheduler), or a TOML file of a job queue.",
    ),
]
ClusterWait = Annotated[
    float,
    typer.Option("--cluster-wait", min=0.1, rich_help_panel=_PANEL, help="Seconds that a scheduler has to answer."),
]
SendModel = Annotated[
    bool,
    typer.Option(
        "--send-model", rich_help_panel=_PANEL, help="Send the model to each worker, once: they do not see its folder."
    ),
]


@contextlib.contextmanager
def opened_runtime(
    cluster: str | None,
    threads: int | None,
    wait: float,
    *,
    model: Path | None = None,
    send: bool = False,
    runtime: Runtime | None = None,
) -> Iterator[Runtime]:
    """Yield this process, or it with the workers of a cluster, which must have the model if one is named.

    A command that has made its `runtime` already gets that one with the workers.
    """
    if send and cluster is None:
        raise UsageError("--send-model goes with --cluster")
    if cluster is not None and threads is not None:
        raise UsageError("--threads are those of this process; expected that or --cluster")
    here = runtime or runtime_of(threads)
    with Workers.of(cluster, threads=here.threads, patience=wait, progress=here.progress) as workers:
        workers.require([] if model is None else [RequiredFile.of(model, model_digest, send=send)])
        yield replace(here, workers=workers)
