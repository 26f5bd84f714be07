"""The loop that every method shares: decode, merge, optimise, until nothing changes (Schuth 2010, algorithm 1).

Each iteration ends with one line in the run's `events.jsonl`. Whatever an iteration needs is derived from the seed and
from what is in the folder, so that a run that was killed goes on as if nothing had happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.live import duration
from dragoman.core.options import Options, option
from dragoman.core.recorded_run import evidence_name
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.metrics.metric import Scorer
from dragoman.tuning.methods.tuner import Tuner
from dragoman.tuning.problems.evidence import Decoded
from dragoman.tuning.problems.nbest_evidence import DecodedLists
from dragoman.tuning.problems.ranges import Ranges, changed, no_sparse
from dragoman.tuning.runs.kept import Keep, kept_weights
from dragoman.tuning.runs.run import Run
from dragoman.tuning.runs.steps import Steps, is_same

#: A run that has looked so often further than evidence goes, without a better score, does not look once more.
LOOKS = 3

#: Large steps are tried on so many sentences at most.
SAMPLE = 100

#: Seconds from which on a run says how long it may take.
LONG = 30.0


class Decoder(Protocol):
    """Whatever decodes the tuning set under some weights."""

    def __call__(self, weights: Weights, *, runtime: Runtime) -> Decoded:
        """Return what there is to choose from."""
        ...


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
    largest_turn: float = option(
        30.0,
        "degrees that new weights may at most turn away from all that were decoded with, because nothing is known of"
        " what is beyond; 180: any (risk-nbest and risk-forest are not held back)",
        minimum=1,
        maximum=180,
    )
    keep: Keep = option(
        "best", "weights to end with: best on the tuning set, the last, or the mean over the second half"
    )


@dataclass(frozen=True, eq=False)
class Task:
    """What is tuned: a decoder and its kind of evidence, a metric with references, names and ranges of the weights.

    `sparse` says which of the names that occur in the evidence are tuned beside `names`, in order and with ranges.
    `translate` gives translations of some sentences under some weights, by which large steps are tried before they are
    made.
    """

    decoder: Decoder
    scorer: Scorer
    names: Sequence[str]
    ranges: Ranges
    sign: int = 1
    evidence: type[Decoded] = DecodedLists
    sparse: Callable[[Iterable[str]], Ranges] = no_sparse
    translate: Callable[[Weights, NDArray[np.int64]], Corpus] | None = None


def tune(
    run: Run,
    task: Task,
    tuner: Tuner,
    start: Weights,
    loop: Loop = Loop(),
    *,
    seed: int = 1,
    runtime: Runtime = Runtime(),
) -> Weights:
    """Tune, or go on tuning, in the folder of `run`; returns the weights that it ends with."""
    events = run.started(start)

    def kept() -> Weights:
        return kept_weights(run, events, task.names, task.sparse, task.sign, loop.keep)

    if events:  # it may have been killed between its last event and this
        run.write_weights(kept())
    pool = None if events and events[-1]["stop"] else pooled(run, task.evidence)
    while not (events and events[-1]["stop"]):
        iteration = len(events) + 1
        tried = [run.weights(i) for i in range(iteration)]
        decoded, pool, after, event = _iterate(task, tuner, tried, pool, loop, seed, runtime)
        event["stop"] = event["stop"] or _looked_enough([*events, event], task.sign)
        decoded.save(run.evidence(iteration))
        run.write_weights(after, iteration)
        events.append(event)
        run.record(event, kept())
        runtime.note(
            f"iteration {iteration}: {event['score']:.2f} on the tuning set, {event['candidates']:,} {pool.unit}"
            + _said_of_step(event)
            + (f" ({event['stop']})" if event["stop"] else "")
        )
        if iteration == 1 and not event["stop"]:
            say_how_long(event, loop.iterations, runtime=runtime)
    return run.weights()


def say_how_long(first: Mapping[str, Any], iterations: int, *, runtime: Runtime = Runtime()) -> None:
    """Say after the first iteration how long all may take, if that is long."""
    seconds = sum(first["seconds"].values()) * iterations
    if seconds >= LONG:
        runtime.note(f"about {duration(seconds, rough=True)} for {iterations} iterations, or less if it ends before")


def _said_of_step(event: Mapping[str, Any]) -> str:
    if event.get("further") and not event["stop"]:
        return ", nothing better in reach: looking further"
    return f", {event['step']:.0%} of the way to new weights" if event.get("step", 1) < 1 else ""


def pooled(run: Run, evidence: type[Decoded]) -> Decoded | None:
    """All that a run has decoded, or None before its first iteration."""
    pool: Decoded | None = None
    for event in run.events():
        iteration = event["iteration"]
        folder = run.verified(evidence_name(iteration), iteration)
        try:
            pool = _added(pool, evidence.load(folder))
        except DataError as error:
            raise run.damaged(Path(error.path or folder), error.found, iteration) from None
    return pool


def _added(pool: Decoded | None, decoded: Decoded) -> Decoded:
    if pool is None:
        return decoded
    if len(pool) != len(decoded):
        raise DataError(f"has evidence of {len(decoded)} sentences, and before it of {len(pool)}")
    return decoded.after(pool)


def _iterate(
    task: Task,
    tuner: Tuner,
    tried: Sequence[Weights],
    pool: Decoded | None,
    loop: Loop,
    seed: int,
    runtime: Runtime,
) -> tuple[Decoded, Decoded, Weights, dict[str, Any]]:
    """Decode under the last of the weights that were `tried`, one an iteration, and optimise."""
    iteration, weights = len(tried), tried[-1]
    clock = [time.monotonic()]
    decoded = task.decoder(weights, runtime=runtime)
    clock.append(time.monotonic())
    translations = decoded.first()
    statistics = task.scorer.statistics(translations)
    score = float(task.scorer.score(statistics.sum(axis=0)))
    _warn_of_odd_output(translations, score, runtime)
    before = 0 if pool is None else pool.size
    pool = _added(pool, decoded)
    event: dict[str, Any] = {
        "iteration": iteration,
        "score": score,
        "candidates": pool.size,
        "new": pool.size - before,
    }
    after, objective = weights, None
    sparse = task.sparse(pool.names)
    names = [*task.names, *sparse]
    if event["new"] and iteration <= loop.iterations:
        problem = pool.problem(names, {**task.ranges, **sparse}, task.scorer, sign=task.sign, runtime=runtime)
        rng = np.random.default_rng([seed, iteration])
        begin = weights.vector(names)
        optimum = tuner.optimise(problem, begin, rng=rng, runtime=runtime)
        _check(optimum.weights, tuner.name)
        steps = Steps(tuner, loop.interpolation, loop.largest_turn, loop.minimum_change)

        def loss(there: NDArray[np.float64]) -> float:
            return _loss(task, statistics, changed(weights, names, there, sparse))

        known = [earlier.vector(names) for earlier in tried]
        way = steps.on(optimum, problem, known, None if task.translate is None else loss)
        event |= {"step": way.share} | ({"further": True} if way.further else {})
        after = changed(weights, names, way.end, sparse)
        objective = optimum.objective
        event |= optimum.details
    event |= decoded.details()
    clock.append(time.monotonic())
    event["objective"] = objective
    event["stop"] = reason_to_stop(event, names, weights, after, loop)
    event["seconds"] = {"decode": round(clock[1] - clock[0], 3), "optimise": round(clock[2] - clock[1], 3)}
    return decoded, pool, after, event


def _loss(task: Task, statistics: NDArray[Any], weights: Weights) -> float:
    """The share of the score that is lost under other weights, on sentences from all over the tuning set."""
    assert task.translate is not None
    every = -(-len(statistics) // SAMPLE)
    some = np.arange(0, len(statistics), every)
    found = task.scorer.statistics(task.translate(weights, some), some)
    before, after = (task.scorer.score(counts.sum(axis=0)) for counts in (statistics[some], found))
    return task.sign * float(before - after) / max(abs(float(before)), 1e-300)


def _warn_of_odd_output(translations: Corpus, score: float, runtime: Runtime) -> None:
    """Say when translations look as if something were wrong, whatever their score."""
    lengths = translations.sentences.lengths
    if (lengths == 0).any():
        runtime.warn(f"{int((lengths == 0).sum())} of {len(lengths)} translations are empty")
    if len(lengths) > 1 and float(np.mean(lengths)) <= 1:
        runtime.warn("translations have one word or none on average: are the weights all right?")
    if score == 0:
        runtime.warn("translations score 0: do the references belong to the source?")


def _check(weights: Any, name: str) -> None:
    if not np.isfinite(weights).all():
        raise DataError(f"{name} gave weights that are not finite numbers")
    if not np.any(weights):
        raise DataError(f"{name} gave weights that are all zero")


def _looked_enough(events: Sequence[Mapping[str, Any]], sign: int) -> str | None:
    """Why a run ends that would look further again, though nothing better was found there, or None."""
    best = max(range(len(events)), key=lambda i: sign * events[i]["score"])
    looks = sum(event.get("further", False) for event in events[best:])
    return "nothing better is found, nor a little further on" if looks > LOOKS else None


def reason_to_stop(
    event: Mapping[str, Any], names: Sequence[str], old: Weights, new: Weights, loop: Loop
) -> str | None:
    """Why a run ends after an iteration with some weights before and after, or None."""
    if event["iteration"] > loop.iterations:
        return "all iterations are done"
    if not event["new"]:
        return "the lists do not change any more"
    if is_same(names, old.vector(names), new.vector(names), loop.minimum_change):
        return "the weights do not change any more"
    return None
