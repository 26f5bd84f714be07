"""The one loop of all methods: it judges, records, keeps, stops and resumes what they yield.

Each iteration ends with one line in the run's `events.jsonl`. All that an iteration needs is derived from the seed and
from what is in the folder, so that a run that was killed goes on as if nothing had happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.tuning.methods.method import LARGEST_WEIGHT, Checkpoint, Report, diverged
from dragoman.tuning.problems.ranges import Ranges, changed, is_weight
from dragoman.tuning.runs.run import Record, Run
from dragoman.tuning.runs.validator import Validation

Keep = Literal["best", "last", "average"]


@dataclass(frozen=True)
class Loop(Options):
    """How long to go on, and what to end with."""

    iterations: int = option(15, "optimise at most so often; the last weights are measured once more", minimum=1)
    minimum_change: float = option(1e-4, "stop when weights change by less than this share of the largest", minimum=0)
    interpolation: float | None = option(
        None,
        "share of the new weights to go on with, the rest from before; by default as far as the largest turn allows,"
        " and with pro at most 0.5",
        minimum=0,
        maximum=1,
    )
    max_angle: float = option(
        30.0,
        "degrees that new weights may at most turn away from all that were decoded with, because nothing is known of"
        " what is beyond; 180: any (risk-nbest and risk-forest are not held back)",
        minimum=1,
        maximum=180,
    )
    keep: Keep = option(
        "best", "weights to end with: best on the tuning set, the last, or the mean over the second half"
    )


class Tuned(Protocol):
    """Which weights are tuned: `names`, and of others that occur those that `sparse` finds; `sign` -1 for errors."""

    @property
    def names(self) -> Sequence[str]:
        """The features whose weights are tuned."""

    @property
    def sparse(self) -> Callable[[Iterable[str]], Ranges]:
        """Select the sparse features that are tuned, in order and with ranges."""

    @property
    def sign(self) -> int:
        """1 if a higher score is better, else -1."""


class Training(Protocol):
    """A method with all that it works on."""

    @property
    def task(self) -> Tuned:
        """Which weights are tuned."""

    def checkpoints(self, run: Run, records: Sequence[Record], seed: int, runtime: Runtime) -> Iterator[Checkpoint]:
        """Begin, or go on after these iterations of a run; all random numbers depend on the seed."""

    def final_report(self, weights: Weights) -> Mapping[str, Any]:
        """What a report shows of the weights that a run ended with, as values that JSON has; perhaps nothing."""


class Judge(Protocol):
    """Says what weights are worth."""

    def __call__(self, weights: Weights, *, runtime: Runtime) -> float:
        """Return a score."""


def train(
    run: Run,
    training: Training,
    start: Weights,
    *,
    keep: Keep = "best",
    judge: Judge | None = None,
    validation: Validation = Validation(),
    seed: int = 1,
    runtime: Runtime = Runtime(),
) -> Weights:
    """Tune, or go on tuning, in the folder of `run`; returns the weights that it ends with.

    Methods that do not measure the weights that they begin with need a `judge`.
    """
    records = run.started(start)
    sign = training.task.sign
    if records:  # it may have been killed between its last record and this
        run.write_weights(select_weights(run, records, training.task, keep))
        run.drop_states(len(records) - 1)
    if not (records and records[-1].stop):
        weights = run.weights(len(records))
        checkpoints = training.checkpoints(run, tuple(records), seed, runtime)
    while not (records and records[-1].stop):
        iteration, clock = len(records) + 1, [time.monotonic()]
        judged = None if judge is None else judge(weights, runtime=runtime)
        clock.append(time.monotonic())
        stop = None if judged is None else validation.reason_to_stop(records, judged, sign)
        checkpoint = Checkpoint(weights, {}) if stop else next(checkpoints, None)
        if checkpoint is None:
            stop, checkpoint = "there is nothing more to learn", Checkpoint(weights, {})
        if judged is not None and diverged(checkpoint.weights):
            stop, checkpoint = "the weights diverge; the last good ones are kept", Checkpoint(weights, {})
            runtime.warn(f"after iteration {iteration} weights are no numbers or larger than {LARGEST_WEIGHT:g}")
        clock.append(time.monotonic())
        if judged is None:
            assert checkpoint.score is not None, "without a judge, methods measure weights themselves"
            record = Record(iteration, checkpoint.score, checkpoint.report, checkpoint.stop, checkpoint.seconds)
        else:
            seconds = {"judge": round(clock[1] - clock[0], 3), "learn": round(clock[2] - clock[1], 3)}
            record = Record(iteration, judged, checkpoint.report, stop, seconds, validated=True, ends=checkpoint.stop)
        weights = checkpoint.weights
        run.write_checkpoint(checkpoint, iteration)
        records.append(record)
        run.record(record, select_weights(run, records, training.task, keep))
        run.drop_states(iteration - 1)  # that is there to go back to, should this one be damaged
        runtime.note(_described(record, checkpoint.summary))
    if not run.has_final_report() and (report := training.final_report(run.weights())):
        run.write_final_report(report)
    return run.weights()


def select_weights(run: Run, records: Sequence[Record], task: Tuned, keep: Keep) -> Weights:
    """Return what a run ends with after some iterations, each of which measures the weights it begins with."""
    last = len(records)
    if keep == "last":
        return run.weights(last)
    if keep == "average":
        later = [run.weights(i) for i in range(last // 2 + 1, last + 1)]
        sparse = task.sparse({name for weights in later for name in weights})
        names = [*task.names, *sparse]
        vectors = np.array([weights.vector(names) for weights in later])
        # Only the direction of weights matters, so that all get the same size first; but shares stay as they are.
        weighed = is_weight(names)
        sizes = np.abs(np.where(weighed, vectors, 0.0)).sum(axis=1, keepdims=True)
        mean = np.where(weighed, vectors / sizes, vectors).mean(axis=0)
        return changed(later[-1], names, mean, sparse)
    best = max(records, key=lambda record: task.sign * record.score)
    return run.weights(best.iteration - 1)


def _described(record: Record, summary: str) -> str:
    where, told = ("held out", _numbers(record.report)) if record.validated else ("on the tuning set", summary)
    end = f" ({record.stop})" if record.stop else ""
    return f"iteration {record.iteration}: {record.score:.2f} {where}{', ' + told if told else ''}{end}"


def _numbers(report: Report) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in report.items() if _is_float(value))


def _is_float(value: object) -> bool:
    return isinstance(value, float)
