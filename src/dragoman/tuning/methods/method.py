"""What can be chosen as a method of tuning: an optimiser of what is decoded, or a learner that does that itself."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, field
from typing import ClassVar

from dragoman.core.options import Options
from dragoman.core.progress import Progress
from dragoman.core.work.workers import ThreadWorkers, Workers


@dataclass(frozen=True)
class TuningMethod(Options, ABC):
    """A method and its options. The same seed gives the same result, whatever the number of threads."""

    name: ClassVar[str]


@dataclass(frozen=True, eq=False)
class Resources:
    """What a method has to work with: threads, somebody who is told how far it is, and perhaps a cluster."""

    threads: int
    progress: Progress
    workers: Workers = field(default=ThreadWorkers(), kw_only=True)
