"""The flags of commands that can work on a cluster, and the workers that they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.core.errors import UsageError
from dragoman.core.live import live_progress
from dragoman.core.progress import available_cores
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


def opened_workers(
    cluster: str | None, threads: int | None, wait: float, *, model: Path | None = None, send: bool = False
) -> Workers:
    """Return threads of this process, or the workers of a cluster, which must have the model if one is named."""
    if send and cluster is None:
        raise UsageError("--send-model goes with --cluster")
    if cluster is not None and threads is not None:
        raise UsageError("--threads are those of this process; expected that or --cluster")
    workers = Workers.of(cluster, threads=threads or available_cores(), patience=wait, progress=live_progress())
    if model is not None:
        try:
            workers.require([Needed.of(model, model_digest, send=send)])
        except BaseException:
            workers.close()
            raise
    return workers
