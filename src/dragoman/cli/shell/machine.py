"""Flags that say what a command runs on: threads of this process, or the workers of a cluster.

A parameter of a command whose type is one of these classes becomes its flags (see `flags`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from dragoman.core.errors import UsageError
from dragoman.core.progress import available_cores, live_progress
from dragoman.core.runtime import Runtime
from dragoman.core.work.workers import RequiredFile, Workers
from dragoman.model.bundle import model_digest

_PANEL = "Cluster (needs dragoman[cluster])"


@dataclass(frozen=True)
class Machine:
    """Threads of this process."""

    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Number of worker threads. Default: all cores.")
    ] = None

    def runtime(self) -> Runtime:
        """Return a runtime of this process that reports its progress on the terminal."""
        return Runtime(threads=self.threads or available_cores(), progress=live_progress()).here()


@dataclass(frozen=True)
class ClusterMachine(Machine):
    """Threads of this process, or the workers of a cluster."""

    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            rich_help_panel=_PANEL,
            help="Workers: local:4 (processes), tcp://host:8786 (a Dask scheduler), or a TOML file of a job queue.",
        ),
    ] = None
    cluster_wait: Annotated[
        float,
        typer.Option(
            "--cluster-wait", min=0.1, rich_help_panel=_PANEL, help="Seconds to wait for the scheduler's answer."
        ),
    ] = 10.0

    @contextlib.contextmanager
    def open(self, *, needs: Sequence[RequiredFile] = (), runtime: Runtime | None = None) -> Iterator[Runtime]:
        """Yield a runtime with the workers of the cluster, if there is one; check that these have what is needed.

        `runtime` is the one of this process, if the command has made it already.
        """
        if self.cluster is not None and self.threads is not None:
            raise UsageError("--threads are those of this process; expected that or --cluster")
        here = runtime or self.runtime()
        with Workers.of(
            self.cluster, threads=here.threads, patience=self.cluster_wait, progress=here.progress
        ) as workers:
            workers.require(needs)
            yield replace(here, workers=workers)


@dataclass(frozen=True)
class ModelMachine(ClusterMachine):
    """Threads of this process, or the workers of a cluster, which need the model."""

    send_model: Annotated[
        bool,
        typer.Option(
            "--send-model",
            rich_help_panel=_PANEL,
            help="Send the model once to each worker, for workers that do not see its folder.",
        ),
    ] = False

    def open_for(self, model: Path, *, runtime: Runtime | None = None) -> AbstractContextManager[Runtime]:
        """Do as `open` does, and check that workers have the model; send it to them if the user says so."""
        if self.send_model and self.cluster is None:
            raise UsageError("--send-model goes with --cluster")
        return self.open(needs=[RequiredFile.of(model, model_digest, send=self.send_model)], runtime=runtime)
