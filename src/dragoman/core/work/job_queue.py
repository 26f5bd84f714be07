"""Job queues: a TOML file describes the queue and its jobs; dask-jobqueue writes and submits them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import read_toml
from dragoman.core.store import cache_folder

#: The class of each queue in dask-jobqueue, and the names of its options there.
_QUEUES = {
    "slurm": ("SLURMCluster", {"partition": "queue", "account": "account", "walltime": "walltime"}),
    "sge": ("SGECluster", {"partition": "queue", "account": "project", "walltime": "walltime"}),
    "pbs": ("PBSCluster", {"partition": "queue", "account": "account", "walltime": "walltime"}),
    "htcondor": ("HTCondorCluster", {"disk": "disk"}),
}

#: Options of all queues, and their names there.
_EVERYWHERE = {
    "cores": "cores",
    "memory": "memory",
    "interface": "interface",
    "log_directory": "log_directory",
    "local_directory": "local_directory",
    "python": "python",
    "prologue": "job_script_prologue",
    "directives": "job_extra_directives",
}


@dataclass(frozen=True)
class JobQueue:
    """Settings of a job queue, from a file.

    Each of the `jobs` requests `cores` and `memory`, and runs one worker per core. `prologue` holds shell lines to run
    before the worker starts, `directives` lines for the queue.
    """

    queue: str
    cores: int
    memory: str
    jobs: int = 1
    walltime: str | None = None
    partition: str | None = None
    account: str | None = None
    disk: str | None = None
    interface: str | None = None
    log_directory: str | None = None
    local_directory: str | None = None
    python: str | None = None
    prologue: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> JobQueue:
        """Read a file; unknown keys, and keys that the queue does not have, are refused."""
        values = read_toml(path)
        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                raise DataError(f"has a key '{key}'", path=path, expected=f"only {', '.join(known)}")
        if values.get("queue") not in _QUEUES:
            found = f"has the queue {values['queue']!r}" if "queue" in values else "names no queue"
            raise DataError(found, path=path, expected=f"queue = one of {', '.join(_QUEUES)}")
        for key in ("cores", "memory"):
            if key not in values:
                raise DataError(f"lacks {key}", path=path, expected="cores and memory of a job")
        for key, value in values.items():
            _check(key, value, path)
            values[key] = tuple(value) if isinstance(value, list) else value
        own = _QUEUES[values["queue"]][1]
        for key in values:
            if key not in own and key not in _EVERYWHERE and key not in ("queue", "jobs"):
                raise DataError(f"has '{key}', which {values['queue']} does not know", path=path)
        if values["queue"] == "htcondor" and "disk" not in values:
            raise DataError("lacks disk", path=path, expected='what HTCondor wants to know, such as disk = "1GB"')
        return cls(**values)

    def cluster(self, connection: Mapping[str, Any]) -> Any:
        """Return the cluster of dask-jobqueue, without jobs; `connection` holds the security settings.

        Jobs find their certificates in the user's cache folder, which all machines of a queue see.
        """
        handler = signal.getsignal(signal.SIGINT)
        try:
            import dask_jobqueue
        except ImportError:
            raise UsageError(
                "a job queue needs dask-jobqueue; expected that you install it: pip install 'dragoman[cluster]'"
            ) from None
        finally:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, handler)  # dask-jobqueue turns Ctrl-C into an ordinary exit
        name, own = _QUEUES[self.queue]
        values = {
            theirs: list(value) if isinstance(value, tuple) else value
            for ours, theirs in {**_EVERYWHERE, **own}.items()
            if (value := getattr(self, ours)) not in (None, ())
        }
        values["job_script_prologue"] = [*_MEMORY_STAYS, *values.get("job_script_prologue", [])]
        # Mapped models look like used memory.
        extra = ["--memory-limit", "0"]
        keys = cache_folder() / "keys"
        keys.mkdir(mode=0o700, parents=True, exist_ok=True)
        return getattr(dask_jobqueue, name)(
            processes=self.cores,
            worker_extra_args=extra,
            scheduler_options={"dashboard_address": ":0"},
            shared_temp_directory=str(keys),
            **connection,
            **values,
        )


#: By Dask's default, workers release memory all the time, which costs up to a quarter of a search.
_MEMORY_STAYS = ("export MALLOC_TRIM_THRESHOLD_=134217728", "export MALLOC_MMAP_THRESHOLD_=33554432")


def _check(key: str, value: Any, path: str | Path) -> None:
    if key in ("cores", "jobs"):
        good, expected = isinstance(value, int) and not isinstance(value, bool) and value >= 1, "a number of at least 1"
    elif key in ("prologue", "directives"):
        good, expected = isinstance(value, list) and all(isinstance(line, str) for line in value), "a list of lines"
    else:
        good, expected = isinstance(value, str), "a string"
    if not good:
        raise DataError(f"has {key} = {value!r}", path=path, expected=expected)
