"""The loop that every method shares: decode, merge, optimise, until nothing changes (Schuth 2010, algorithm 1).

Each iteration ends with one line in the run's `events.jsonl`. Whatever an iteration needs is derived from the seed and
from what is in the folder, so that a run that was killed goes on as if nothing had happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.options import Options, option
from dragoman.core.progress import SILENT, Progress
from dragoman.core.weights import Weights
from dragoman.core.work.workers import ThreadWorkers, Workers
from dragoman.metrics.metric import Scorer
from dragoman.tuning.methods.tuner import Optimum, Tuner
from dragoman.tuning.problems.evidence import Decoded
from dragoman.tuning.problems.nbest_evidence import DecodedLists
from dragoman.tuning.problems.problem import Evidence
from dragoman.tuning.problems.ranges import Ranges, changed, is_share, no_sparse
from dragoman.tuning.runs.kept import Keep, kept_weights
from dragoman.tuning.runs.run import Run

Vector = NDArray[np.float64]

#: Shares of the way to new weights that are tried, the longest first.
STEPS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)

#: Weights that have turned by fewer degrees are near enough to what was decoded with, whatever the method.
SAFE_TURN = 10.0

#: The share of the gain that some way promises for which a shorter way is preferred to it.
ENOUGH = 0.95


class Decoder(Protocol):
    """Whatever decodes the tuning set under some weights."""

    def __call__(self, weights: Weights, progress: Progress) -> Decoded:
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
    `workers` may help a method that has something for them to do.
    """

    decoder: Decoder
    scorer: Scorer
    names: Sequence[str]
    ranges: Ranges
    sign: int = 1
    evidence: type[Decoded] = DecodedLists
    sparse: Callable[[Iterable[str]], Ranges] = no_sparse
    workers: Workers = ThreadWorkers()


def tune(
    run: Run,
    task: Task,
    tuner: Tuner,
    start: Weights,
    loop: Loop = Loop(),
    *,
    seed: int = 1,
    threads: int = 1,
    progress: Progress = SILENT,
) -> Weights:
    """Tune, or go on tuning, in the folder of `run`; returns the weights that it ends with."""
    events = run.started(start)
    pool = pooled(run, task.evidence)
    while not (events and events[-1]["stop"]):
        iteration = len(events) + 1
        tried = [run.weights(i) for i in range(iteration)]
        decoded, pool, after, event = _iterate(task, tuner, tried, pool, loop, seed, threads, progress)
        decoded.save(run.evidence(iteration))
        run.write_weights(after, iteration)
        run.record(event)
        events.append(event)
        run.write_weights(kept_weights(run, events, task.names, task.sparse, task.sign, loop.keep))
        progress.note(
            f"iteration {iteration}: {event['score']:.2f} on the tuning set, {event['candidates']:,} {pool.unit}"
            + (f", {event['step']:.0%} of the way to new weights" if event.get("step", 1) < 1 else "")
            + (f" ({event['stop']})" if event["stop"] else "")
        )
    # Once more, for a run that was killed between its last event and this.
    run.write_weights(kept_weights(run, events, task.names, task.sparse, task.sign, loop.keep))
    return run.weights()


def pooled(run: Run, evidence: type[Decoded]) -> Decoded | None:
    """All that a run has decoded, or None before its first iteration."""
    pool: Decoded | None = None
    for event in run.events():
        pool = _added(pool, evidence.load(run.evidence(event["iteration"])))
    return pool


def _added(pool: Decoded | None, decoded: Decoded) -> Decoded:
    return decoded if pool is None else decoded.after(pool)


def _iterate(
    task: Task,
    tuner: Tuner,
    tried: Sequence[Weights],
    pool: Decoded | None,
    loop: Loop,
    seed: int,
    threads: int,
    progress: Progress,
) -> tuple[Decoded, Decoded, Weights, dict[str, Any]]:
    """Decode under the last of the weights that were `tried`, one an iteration, and optimise."""
    iteration, weights = len(tried), tried[-1]
    clock = [time.monotonic()]
    decoded = task.decoder(weights, progress)
    clock.append(time.monotonic())
    translations = decoded.first()
    score = float(task.scorer.score(task.scorer.statistics(translations).sum(axis=0)))
    _warn_of_odd_output(translations, score, progress)
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
        problem = pool.problem(names, {**task.ranges, **sparse}, task.scorer, sign=task.sign, threads=threads)
        rng = np.random.default_rng([seed, iteration])
        begin = weights.vector(names)
        optimum = tuner.optimise(problem, begin, rng=rng, threads=threads, workers=task.workers, progress=progress)
        _check(optimum.weights, tuner.name)
        there = optimum.weights if optimum.second is None else optimum.second
        share = tuner.interpolation if loop.interpolation is None else loop.interpolation
        if loop.interpolation is None and tuner.is_held_back:
            known = [earlier.vector(names) for earlier in tried]
            there, share = _held_back(tuner, optimum, problem, known, share, loop.largest_turn)
        event["step"] = share
        after = changed(weights, names, between(names, begin, there, share), sparse)
        objective = optimum.objective
        event |= optimum.details
    event |= decoded.details()
    clock.append(time.monotonic())
    event["objective"] = objective
    event["stop"] = reason_to_stop(event, names, weights, after, loop)
    event["seconds"] = {"decode": round(clock[1] - clock[0], 3), "optimise": round(clock[2] - clock[1], 3)}
    return decoded, pool, after, event


def _held_back(
    tuner: Tuner, optimum: Optimum, problem: Evidence, known: Sequence[Vector], share: float, largest_turn: float
) -> tuple[Vector, float]:
    """Where to go, and how far, of `share` of the way: no further than anything is known of, or than a gain is seen."""
    names, safe_turn = problem.names, min(SAFE_TURN, largest_turn)
    if optimum.second is not None:
        return optimum.second, longest_step(names, known, optimum.second, share, safe_turn)
    there, most = optimum.weights, longest_step(names, known, optimum.weights, share, largest_turn)
    if most < share and optimum.others is not None:
        there, most = _best_within_reach(problem, known, [there, *optimum.others], share, largest_turn)
    if not tuner.may_overshoot:
        return there, most
    safe = longest_step(names, known, there, most, safe_turn)
    return there, most if safe == most else shortest_step(problem, known[-1], there, (safe, most))


def _best_within_reach(
    problem: Evidence, known: Sequence[Vector], optima: Sequence[Vector], share: float, largest_turn: float
) -> tuple[Vector, float]:
    """The optimum towards which the evidence is best where the largest turn ends the way, and how far that is."""
    steps = [longest_step(problem.names, known, there, share, largest_turn) for there in optima]
    scores = [
        problem.objective(between(problem.names, known[-1], there, step))
        for there, step in zip(optima, steps, strict=True)
    ]
    best = int(np.argmax(scores))
    return optima[best], steps[best]


def longest_step(
    names: Sequence[str], known: Sequence[Vector], after: Vector, share: float, largest_turn: float
) -> float:
    """How far to go from the last of known weights to new ones: `share` of the way, or less where that turns too far.

    >>> longest_step(["lm", "distortion"], [np.array([1.0, 0.0])], np.array([0.0, 1.0]), 1.0, 30)
    0.3
    """
    weighed = np.array([not is_share(name) for name in names], bool)
    steps = [share * step for step in STEPS]
    for step in steps:
        there = between(names, known[-1], after, step)[weighed]
        if min(degrees_between(there, weights[weighed]) for weights in known) <= largest_turn:
            return step
    return steps[-1]


def shortest_step(problem: Evidence, before: Vector, after: Vector, bounds: tuple[float, float]) -> float:
    """The shortest step within bounds that has nearly all of the gain that the evidence sees in any of them."""
    least, most = bounds
    steps = [least, *(step for step in sorted(most * step for step in STEPS) if step > least)]
    scores = np.array([problem.objective(between(problem.names, before, after, step)) for step in steps])
    gains = scores - problem.objective(before)
    return most if gains.max() <= 0 else steps[int(np.argmax(gains >= ENOUGH * gains.max()))]


def degrees_between(one: Vector, other: Vector) -> float:
    """The angle between two directions; 0 if one of them is no direction at all."""
    sizes = float(np.linalg.norm(one) * np.linalg.norm(other))
    return 0.0 if sizes == 0 else float(np.degrees(np.arccos(np.clip(one @ other / sizes, -1, 1))))


def interpolated(before: Vector, after: Vector, share: float) -> Vector:
    """Weights between two: `share` of the new ones and the rest of those before, scaled to the size of the new ones.

    >>> interpolated(np.array([0.0, 1.0]), np.array([2.0, 0.0]), 0.25).tolist()
    [0.5, 1.5]
    """
    size = float(np.abs(before).sum())
    if share == 1 or size == 0:
        return after
    return share * after + (1 - share) * before * (float(np.abs(after).sum()) / size)


def between(names: Sequence[str], before: Vector, after: Vector, share: float) -> Vector:
    """Weights between two, as `interpolated` has them; shares of mixed tables are not scaled, so that they sum to 1."""
    found = share * after + (1 - share) * before
    weighed = np.array([not is_share(name) for name in names], bool)
    found[weighed] = interpolated(before[weighed], after[weighed], share)
    return found


def _warn_of_odd_output(translations: Corpus, score: float, progress: Progress) -> None:
    """Say when translations look as if something were wrong, whatever their score."""
    lengths = translations.sentences.lengths
    if (lengths == 0).any():
        progress.warn(f"{int((lengths == 0).sum())} of {len(lengths)} translations are empty")
    if len(lengths) > 1 and float(np.mean(lengths)) <= 1:
        progress.warn("translations have one word or none on average: are the weights all right?")
    if score == 0:
        progress.warn("translations score 0: do the references belong to the source?")


def _check(weights: Any, name: str) -> None:
    if not np.isfinite(weights).all():
        raise DataError(f"{name} gave weights that are not finite numbers")
    if not np.any(weights):
        raise DataError(f"{name} gave weights that are all zero")


def reason_to_stop(
    event: Mapping[str, Any], names: Sequence[str], old: Weights, new: Weights, loop: Loop
) -> str | None:
    """Why a run ends after an iteration with some weights before and after, or None."""
    if event["iteration"] > loop.iterations:
        return "all iterations are done"
    if not event["new"]:
        return "the lists do not change any more"
    shares = [name for name in names if is_share(name)]
    if np.abs(new.vector(shares) - old.vector(shares)).max(initial=0) > loop.minimum_change:
        return None
    weighed = [name for name in names if not is_share(name)]
    before, after = old.vector(weighed), new.vector(weighed)
    scale = np.abs(after).sum() / max(np.abs(before).sum(), 1e-300)
    if np.abs(after / scale - before).max() <= loop.minimum_change * np.abs(before).max():
        return "the weights do not change any more"
    return None
