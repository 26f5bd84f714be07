"""The loop of all tuning methods: it validates, records, selects weights, stops and resumes.

Each iteration ends with one line in the run's `events.jsonl`. An iteration depends only on the seed and on the run's
folder, so that a run that was killed resumes with the same results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from dragoman.core.feature_rows import Weights
from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import (
    LARGEST_WEIGHT,
    Checkpoint,
    Learner,
    Report,
    TrainingSet,
    diverged,
)
from dragoman.tuning.problems.fixed_score import fixed_weights
from dragoman.tuning.problems.problem import Preset, Ranges, is_weight, replace_weights
from dragoman.tuning.runs.run import Record, Run
from dragoman.tuning.runs.trust_region import ANY_DIRECTION
from dragoman.tuning.runs.validator import Validated, Validation

#: Score on the tuning set, in the report of an iteration whose weights are validated on held-out text.
TUNING_SCORE = "tuning_score"

Keep = Literal["best", "held-out", "last", "average"]

#: What is said of a run that ends where it began.
UNCHANGED = "no iteration improved on the initial weights, which are kept"


@dataclass(frozen=True)
class Loop(Options):
    """Options of the loop: when to stop, how far to step, and which weights to end with.

    The preset `schuth` is algorithm 1 of Schuth (2010) for all methods that optimise decoded evidence: each decoding
    uses what the optimiser returned, without a trust region or exploration, the run ends when the weights or the
    evidence do not change any more, and the last weights are kept; random starts have the ranges of table 7.1 (see
    `weight_ranges`).
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "schuth": {"interpolation": 1.0, "max_angle": ANY_DIRECTION, "keep": "last"}
    }

    iterations: int = option(15, "maximum number of iterations; the last weights are scored once more", minimum=1)
    minimum_change: float = option(
        1e-4, "stop when no weight changes by more than this fraction of the largest", minimum=0
    )
    interpolation: float | None = option(
        None,
        "fraction of the step from the old to the new weights; by default as large as max_angle allows, and with"
        " pro at most 0.5",
        minimum=0,
        maximum=1,
    )
    max_angle: float = option(
        30.0,
        "largest angle, in degrees, between new weights and the nearest weights already decoded with; 180: no limit"
        " (risk-nbest and risk-forest have none)",
        minimum=1,
        maximum=180,
    )
    keep: Keep = option(
        "best",
        "final weights: the best on the tuning set (of mira-online, risk-sentence, risk-corpus and samplerank on"
        " held-out text, if given), the best on held-out text, the last, or the mean over the second half",
    )
    preset: Preset | None = option(
        None,
        "schuth: algorithm 1 of Schuth (2010): interpolation 1, max_angle 180, keep last, and random starts in the"
        " ranges of table 7.1; options that are given take precedence",
    )


class TunedWeights(Protocol):
    """The tuned weights: `names`, and of other features those that `sparse` selects; `sign` is -1 for error rates."""

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
    def task(self) -> TunedWeights:
        """The tuned weights."""

    def checkpoints(self, run: Run, records: Sequence[Record], seed: int, runtime: Runtime) -> Iterator[Checkpoint]:
        """Begin, or resume after these iterations of a run; all random numbers depend on the seed."""

    def final_report(self, weights: Weights) -> Mapping[str, Any]:
        """Return what a report shows of the final weights, as values for JSON; perhaps nothing."""


def run_tuning(
    run: Run,
    training: Training,
    start: Weights,
    *,
    keep: Keep = "best",
    validator: Callable[..., Validated] | None = None,
    validation: Validation = Validation(),
    seed: int = 1,
    runtime: Runtime = Runtime(),
) -> Weights:
    """Tune, or resume tuning, in the folder of `run`; return the final weights.

    Methods that do not score the weights that they begin with need a `validator`, which does that (see `Validator`).
    If there is one, its score decides on the weights to keep, also of methods with scores of their own.
    """
    records = run.started(start)
    sign = training.task.sign
    if records:  # the run may have been killed after its last record and before this
        run.write_weights(select_weights(run, records, training.task, keep))
        run.drop_states(len(records) - 1)
    if not (records and records[-1].stop):
        weights = run.weights(len(records))
        checkpoints = training.checkpoints(run, tuple(records), seed, runtime)
    while not (records and records[-1].stop):
        iteration, clock = len(records) + 1, [time.monotonic()]
        validated = None if validator is None else validator(weights, runtime=runtime)
        clock.append(time.monotonic())
        stop = None if validated is None else validation.reason_to_stop(records, validated.score, sign)
        checkpoint = Checkpoint(weights, {}) if stop else next(checkpoints, None)
        if checkpoint is None:
            stop, checkpoint = "there is nothing more to learn", Checkpoint(weights, {})
        if validated is not None and diverged(checkpoint.weights):
            stop, checkpoint = "the weights diverge; the last good ones are kept", Checkpoint(weights, {})
            runtime.warn(f"after iteration {iteration} weights are not finite or larger than {LARGEST_WEIGHT:g}")
        clock.append(time.monotonic())
        if validated is None:
            assert checkpoint.score is not None, "without a validator, methods score weights themselves"
            record = Record(iteration, checkpoint.score, checkpoint.report, checkpoint.stop, checkpoint.seconds)
        else:
            seconds = {"judge": round(clock[1] - clock[0], 3), "learn": round(clock[2] - clock[1], 3)}
            told: Report = {**checkpoint.report, **validated.report}
            if checkpoint.score is not None:  # the weights at the end of such a method are those that it began with
                told = {TUNING_SCORE: checkpoint.score, **told}
                stop = stop or checkpoint.stop
            record = Record(iteration, validated.score, told, stop, seconds, validated=True, ends=checkpoint.stop)
        weights = checkpoint.weights
        run.write_checkpoint(checkpoint, iteration)
        best = select_weights(run, [*records, record], training.task, keep)
        records.append(replace(record, unchanged=bool(record.stop) and best == run.weights(0)))
        run.record(records[-1], best)
        run.drop_states(iteration - 1)  # the state before this one stays, in case this one is damaged
        runtime.note(_describe_iteration(record, checkpoint.summary))
        if records[-1].unchanged:
            runtime.note(UNCHANGED)
    if not run.has_final_report() and (report := training.final_report(run.weights())):
        run.write_final_report(report)
    return run.weights()


def select_weights(run: Run, records: Sequence[Record], task: TunedWeights, keep: Keep) -> Weights:
    """Return the final weights after some iterations, each of which scored the weights that it began with."""
    last = len(records)
    if keep == "last":
        return run.weights(last)
    if keep == "average":
        later = [run.weights(i) for i in range(last // 2 + 1, last + 1)]
        sparse = task.sparse({name for weights in later for name in weights})
        names = [*task.names, *sparse]
        vectors = np.array([weights.vector(names) for weights in later])
        # Only the direction of weights matters, so all are scaled to one size first, except interpolation weights,
        # unless fixed weights set the scale.
        weighed = is_weight(names)
        free = not fixed_weights(later[-1], names)
        sizes = np.abs(np.where(weighed, vectors, 0.0)).sum(axis=1, keepdims=True) if free else 1.0
        mean = np.where(weighed, vectors / sizes, vectors).mean(axis=0)
        return replace_weights(later[-1], names, mean, sparse)
    best = max(records, key=lambda record: task.sign * record.score)
    return run.weights(best.iteration - 1)


def _describe_iteration(record: Record, summary: str) -> str:
    where, told = ("held out", _numbers(record.report)) if record.validated else ("on the tuning set", summary)
    end = f" ({record.stop})" if record.stop else ""
    return f"iteration {record.iteration}: {record.score:.2f} {where}{', ' + told if told else ''}{end}"


def _numbers(report: Report) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in report.items() if _is_float(value))


def _is_float(value: object) -> bool:
    return isinstance(value, float)


@dataclass(frozen=True, eq=False)
class OnlineTraining:
    """An online learner and its training set."""

    learner: Learner
    task: TrainingSet

    def checkpoints(self, run: Run, records: Sequence[Record], seed: int, runtime: Runtime) -> Iterator[Checkpoint]:
        """Learn, or resume learning."""
        done = len(records)
        state = run.state(done) if done else None
        found = self.learner.learn(self.task, run.weights(done), state, seed=seed, runtime=runtime)
        for one in found:
            yield replace(one, report={name: float(value) for name, value in one.report.items()})  # type: ignore[arg-type]

    def final_report(self, weights: Weights) -> Mapping[str, Any]:
        """Return what the learner reports of the final weights."""
        return self.learner.final_report(self.task, weights)
