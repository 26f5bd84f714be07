"""The loop around a learner: judge its weights, let it go on to the next checkpoint, until it is done.

As in `loop.py`, each iteration ends with one line in the run's `events.jsonl`, with the score of the weights that it
began with, and a run that was killed goes on as if nothing had happened.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.tuning.methods.learner import LARGEST_WEIGHT, Checkpoint, Learner, Lesson, diverged
from dragoman.tuning.runs.kept import Keep, kept_weights
from dragoman.tuning.runs.run import Run, seconds_of


@dataclass(frozen=True)
class Course(Options):
    """How what a learner learns is judged, and when it is enough."""

    judge_by: str = option("max-derivation", "rule (or file of tune-decision) under which held-out text is translated")
    judge_evidence: Literal["nbest", "hypergraph", "samples"] | None = option(
        None, "what that rule sees; by default what suits it best, or samples if the model has global features"
    )
    judge_samples: int = option(200, "samples a chain, if that rule sees samples", minimum=1)
    max_minutes: float | None = option(None, "stop after so many minutes", minimum=0)
    patience: int | None = option(None, "stop after so many checkpoints without a better score", minimum=1)


class Judging(Protocol):
    """Whatever says what weights are worth."""

    def __call__(self, weights: Weights, *, runtime: Runtime) -> float:
        """Return a score."""
        ...


def learn(
    run: Run,
    lesson: Lesson,
    learner: Learner,
    judge: Judging,
    start: Weights,
    course: Course = Course(),
    *,
    keep: Keep = "best",
    seed: int = 1,
    runtime: Runtime = Runtime(),
) -> Weights:
    """Learn, or go on learning, in the folder of `run`; returns the weights that it ends with."""
    events = run.started(start)

    def kept() -> Weights:
        return kept_weights(run, events, lesson.names, lesson.sparse, lesson.sign, keep)

    if events:  # it may have been killed between its last event and this
        run.write_weights(kept())
        run.drop_states(len(events) - 1)
    ended = bool(events and events[-1]["stop"])
    weights, state = run.weights(len(events)), run.state(len(events)) if events and not ended else None
    checkpoints = learner.learn(lesson, weights, state, seed=seed, runtime=runtime)
    while not (events and events[-1]["stop"]):
        iteration = len(events) + 1
        clock = [time.monotonic()]
        score = judge(weights, runtime=runtime)
        clock.append(time.monotonic())
        event: dict[str, Any] = {"iteration": iteration, "score": score}
        stop = _reason_to_stop([*events, event], lesson.sign, course)
        checkpoint = Checkpoint(weights, {}) if stop else next(checkpoints, None)
        if checkpoint is None:
            stop, checkpoint = "there is nothing more to learn", Checkpoint(weights, {})
        if diverged(checkpoint.weights):
            stop, checkpoint = "the weights diverge; the last good ones are kept", Checkpoint(weights, {})
            runtime.warn(f"after iteration {iteration} weights are no numbers or larger than {LARGEST_WEIGHT:g}")
        clock.append(time.monotonic())
        event |= {name: float(value) for name, value in checkpoint.report.items()}
        event |= {"ends": checkpoint.stop, "stop": stop}
        event["seconds"] = {"judge": round(clock[1] - clock[0], 3), "learn": round(clock[2] - clock[1], 3)}
        weights = checkpoint.weights
        run.write_weights(weights, iteration)
        run.write_state(checkpoint.state, iteration)
        events.append(event)
        run.record(event, kept())
        run.drop_states(iteration - 1)  # that is there to go back to, should this one be damaged
        runtime.note(_told(event))
    if not run.has_looked():
        seen = learner.last_look(lesson, run.weights())
        if seen:
            run.write_last_look(seen)
    return run.weights()


def _reason_to_stop(events: Sequence[Mapping[str, Any]], sign: int, course: Course) -> str | None:
    """Why the last iteration, whose weights have been judged, is to learn no more."""
    before = events[:-1]
    if before and before[-1].get("ends"):
        return str(before[-1]["ends"])
    seconds = sum(seconds_of(event) for event in before)
    if course.max_minutes is not None and before and seconds >= 60 * course.max_minutes:
        return "the time is over"
    scores = [sign * event["score"] for event in events]
    if course.patience is not None and len(scores) - 1 - int(np.argmax(scores)) >= course.patience:
        return f"no better score at the last {course.patience} checkpoints"
    return None


def _told(event: Mapping[str, Any]) -> str:
    numbers = {name: value for name, value in event.items() if isinstance(value, float) and name != "score"}
    text = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in numbers.items())
    end = f" ({event['stop']})" if event["stop"] else ""
    return f"iteration {event['iteration']}: {event['score']:.2f} held out{', ' + text if text else ''}{end}"
