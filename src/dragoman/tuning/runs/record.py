"""What a run records of an iteration: one line of its `events.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dragoman.core.errors import DataError
from dragoman.tuning.methods.method import Report

_VERSION = "version"


@dataclass(frozen=True)
class Record:
    """An iteration: the score of the weights that it began with, and what the method reports of it.

    `stop` says why the run ended with it. A run whose weights are `validated` judges the last of them in an iteration
    more: `ends` says in the one before why that will be the last. Lines of version 1 do not name their version.

    >>> Record.from_event({"iteration": 1, "score": 30.5, "step": 0.3, "stop": None, "seconds": {"decode": 2.0}}).report
    {'step': 0.3}
    """

    version: ClassVar[int] = 1

    iteration: int
    score: float
    report: Report = field(default_factory=dict)
    stop: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    validated: bool = False
    ends: str | None = None

    @property
    def total_seconds(self) -> float:
        """How long the iteration took."""
        return float(sum(self.seconds.values()))

    def to_event(self) -> dict[str, Any]:
        """Return the record as a line of the log has it."""
        event: dict[str, Any] = {"iteration": self.iteration, "score": self.score, **self.report}
        event |= {"ends": self.ends} if self.validated else {}
        return event | {"stop": self.stop, "seconds": dict(self.seconds)}

    @classmethod
    def from_event(cls, event: Mapping[str, Any]) -> Record:
        """Read what `to_event` gave; older runs may have one number of seconds, or none."""
        if event.get(_VERSION, cls.version) != cls.version:
            raise DataError(
                f"iteration {event['iteration']} is recorded in version {event[_VERSION]}",
                expected=f"version {cls.version}, or a newer Dragoman",
            )
        known = {"iteration", "score", "stop", "seconds", "ends", _VERSION}
        seconds = event.get("seconds", {})
        return cls(
            iteration=event["iteration"],
            score=event["score"],
            report={name: value for name, value in event.items() if name not in known},
            stop=event["stop"],
            seconds=seconds if isinstance(seconds, dict) else {"all": seconds},
            validated="ends" in event,
            ends=event.get("ends"),
        )
