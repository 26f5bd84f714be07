"""The flags of commands that can work on a cluster, and what these run on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell.runtime import runtime_of
from dragoman.core.errors import UsageError
from dragoman.core.runtime import Runtime
from dragoman.core.work.handshake import Needed
from dragoman.core.work.workers import Workers
from dragoman.model.bundle import model_digest

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
        workers.require([] if model is None else [Needed.of(model, model_digest, send=send)])
        yield replace(here, workers=workers)
