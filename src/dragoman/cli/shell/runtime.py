"""What commands run on, by their flags."""

from __future__ import annotations

from dragoman.core.live import live_progress
from dragoman.core.progress import available_cores
from dragoman.core.runtime import Runtime


def runtime_of(threads: int | None = None) -> Runtime:
    """This process, with so many threads, by default as many as there are cores, and whoever is watching."""
    return Runtime(threads=threads or available_cores(), progress=live_progress()).here()
