"""The loop that every method shares: decode, merge, optimise, until nothing changes (Schuth 2010, algorithm 1).

Each iteration ends with one line in the run's `events.jsonl`. Whatever an iteration needs is derived from the seed and
from what is in the folder, so that a run that was killed goes on as if nothing had happened.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.nbest import NBest
from dragoman.core.options import Options, option
from dragoman.core.progress import SILENT, Progress
from dragoman.core.weights import Weights
from dragoman.metrics.metric import Scorer
from dragoman.tuning.evidence import load_nbest, problem_of, save_nbest
from dragoman.tuning.run import Run
from dragoman.tuning.tuner import Tuner


class Decoder(Protocol):
    """Whatever gives n-best lists of the tuning set under some weights."""

    def __call__(self, weights: Weights, size: int, progress: Progress) -> NBest:
        """Return the best `size` hypotheses of every sentence, best first."""
        ...


@dataclass(frozen=True)
class Loop(Options):
    """How long to go on, and with what."""

    iterations: int = option(15, "optimise at most so often; the last weights are measured once more", minimum=1)
    nbest: int = option(100, "hypotheses a sentence in each iteration", minimum=1)
    minimum_change: float = option(1e-4, "stop when weights change by less than this share of the largest", minimum=0)
    keep: Literal["best", "last"] = option("best", "weights to end with: best on the tuning set, or the last")


@dataclass(frozen=True, eq=False)
class Task:
    """What is tuned: a decoder, a metric with references, and the names and ranges of the weights to choose."""

    decoder: Decoder
    scorer: Scorer
    names: Sequence[str]
    ranges: Mapping[str, tuple[float, float]]
    sign: int = 1


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
    events = run.events()
    if not events:
        run.write_weights(start, 0)
        run.write_weights(start)
    lists = [load_nbest(run.evidence(event["iteration"])) for event in events]
    weights = run.weights(len(events))
    while not (events and events[-1]["stop"]):
        iteration = len(events) + 1
        event, decoded, after = _iterate(task, tuner, weights, lists, loop, iteration, seed, threads, progress)
        save_nbest(run.evidence(iteration), decoded)
        run.write_weights(after, iteration)
        run.record(event)
        events.append(event)
        run.write_weights(_final(run, events, loop, task.sign))
        lists.append(decoded)
        weights = after
        progress.note(
            f"iteration {iteration}: {event['score']:.2f} on the tuning set, {event['candidates']:,} candidates"
            + (f" ({event['stop']})" if event["stop"] else "")
        )
    # Once more, for a run that was killed between its last event and this.
    run.write_weights(_final(run, events, loop, task.sign))
    return run.weights()


def _iterate(
    task: Task,
    tuner: Tuner,
    weights: Weights,
    lists: Sequence[NBest],
    loop: Loop,
    iteration: int,
    seed: int,
    threads: int,
    progress: Progress,
) -> tuple[dict[str, Any], NBest, Weights]:
    clock = [time.monotonic()]
    decoded = task.decoder(weights, loop.nbest, progress)
    clock.append(time.monotonic())
    score = one_best_score(decoded, task.scorer)
    _warn_of_odd_output(decoded, score, progress)
    before = len(NBest.merge(lists).scores) if lists else 0
    merged = NBest.merge([*lists, decoded])
    event: dict[str, Any] = {
        "iteration": iteration,
        "score": score,
        "candidates": len(merged.scores),
        "new": len(merged.scores) - before,
    }
    after, objective = weights, None
    if event["new"] and iteration <= loop.iterations:
        problem = problem_of(merged, task.names, task.ranges, task.scorer, sign=task.sign, threads=threads)
        rng = np.random.default_rng([seed, iteration])
        begin = weights.vector(task.names)
        optimum = tuner.optimise(problem, begin, rng=rng, threads=threads, progress=progress)
        _check(optimum.weights, tuner.name)
        after = weights.updated(dict(zip(task.names, optimum.weights.tolist(), strict=True)))
        objective = optimum.objective
    clock.append(time.monotonic())
    event["objective"] = objective
    event["stop"] = _reason_to_stop(event, weights.vector(task.names), after.vector(task.names), loop)
    event["seconds"] = {"decode": round(clock[1] - clock[0], 3), "optimise": round(clock[2] - clock[1], 3)}
    return event, decoded, after


def one_best_score(nbest: NBest, scorer: Scorer) -> float:
    """The metric of the first hypothesis of every list."""
    first = nbest.hypotheses.take(nbest.sentences[:-1])
    return float(scorer.score(scorer.statistics(Corpus(nbest.vocab, first)).sum(axis=0)))


def _warn_of_odd_output(decoded: NBest, score: float, progress: Progress) -> None:
    """Say when translations look as if something were wrong, whatever their score."""
    lengths = decoded.hypotheses.lengths[decoded.sentences[:-1]]
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


def _final(run: Run, events: Sequence[Mapping[str, Any]], loop: Loop, sign: int) -> Weights:
    """The last weights, or those whose translations were best; an iteration measures the weights it begins with."""
    if loop.keep == "last":
        return run.weights(len(events))
    best = max(events, key=lambda event: sign * event["score"])
    return run.weights(best["iteration"] - 1)


def _reason_to_stop(event: Mapping[str, Any], before: Any, after: Any, loop: Loop) -> str | None:
    if event["iteration"] > loop.iterations:
        return "all iterations are done"
    if not event["new"]:
        return "the lists do not change any more"
    scale = np.abs(after).sum() / max(np.abs(before).sum(), 1e-300)
    if np.abs(after / scale - before).max() <= loop.minimum_change * np.abs(before).max():
        return "the weights do not change any more"
    return None
