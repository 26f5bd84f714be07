"""What can be chosen as a method of tuning: an optimiser of what is decoded, or a learner that does that itself."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

from dragoman.core.options import Options


@dataclass(frozen=True)
class TuningMethod(Options, ABC):
    """A method and its options. The same seed gives the same result, whatever the number of threads."""

    name: ClassVar[str]
