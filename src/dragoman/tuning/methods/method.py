"""A tuning method: an optimiser of decoded evidence or an online learner, and the checkpoints that both yield."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Union

from numpy.typing import NDArray

from dragoman.core.options import Options
from dragoman.core.weights import Weights
from dragoman.tuning.problems.evidence import Decoded

#: All that a learner needs to go on, as arrays by name.
State = Mapping[str, NDArray[Any]]

#: What a method says of an iteration: numbers by name, or tables of them.
Report = Mapping[str, Union[float, "Report", None]]


@dataclass(frozen=True)
class TuningMethod(Options, ABC):
    """A method and its options. The same seed gives the same result, whatever the number of threads."""

    name: ClassVar[str]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Where a method has got to: weights worth judging, and all that it needs to go on from there.

    That is a learner's `state`, or the `evidence` that an optimiser has decoded. `report` has numbers for whoever
    follows it: a temperature, an objective, how many updates there were. `stop` says why this is the end, if it is.

    A method that measures the weights that it begins with gives their `score`, its `seconds` by part, and a `summary`
    for people; the others are judged on held-out text.
    """

    weights: Weights
    state: State | None = None
    report: Report = field(default_factory=dict)
    stop: str | None = None
    evidence: Decoded | None = None
    score: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    summary: str = ""
