"""What the loop trains with: a learner and its lesson, or an optimiser of evidence that is decoded for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.journal import evidence_name
from dragoman.core.progress import format_duration
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.metrics.metric import Scorer
from dragoman.tuning.methods.method import Checkpoint, Learner, Lesson, Optimum, Report, Tuner
from dragoman.tuning.problems.evidence import Decoded, DecodedLists
from dragoman.tuning.problems.ranges import Ranges, changed, is_weight, no_sparse
from dragoman.tuning.runs.loop import Loop
from dragoman.tuning.runs.run import Record, Run
from dragoman.tuning.runs.trust_region import ANY_DIRECTION, Step, TrustRegion, is_same

#: Seconds from which on a run says how long it may take.
LONG = 30.0


@dataclass(frozen=True, eq=False)
class OnlineTraining:
    """A learner, which yields checkpoints as it is, and what it learns from."""

    learner: Learner
    task: Lesson

    def checkpoints(self, run: Run, records: Sequence[Record], seed: int, runtime: Runtime) -> Iterator[Checkpoint]:
        """Learn, or go on learning."""
        done = len(records)
        state = run.state(done) if done else None
        found = self.learner.learn(self.task, run.weights(done), state, seed=seed, runtime=runtime)
        for one in found:
            yield replace(one, report={name: float(value) for name, value in one.report.items()})  # type: ignore[arg-type]

    def final_report(self, weights: Weights) -> Mapping[str, Any]:
        """What the learner shows of the weights that a run ended with."""
        return self.learner.final_report(self.task, weights)


class Decoder(Protocol):
    """Decodes the tuning set."""

    def __call__(self, weights: Weights, *, runtime: Runtime) -> Decoded:
        """Return what there is to choose from under some weights."""
        ...


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


class _Proposal(NamedTuple):
    """What an optimiser found, how far the run goes towards it, and the weights there."""

    optimum: Optimum
    step: Step
    weights: Weights


@dataclass(frozen=True, eq=False)
class BatchTraining:
    """An optimiser, which the loop of Schuth (2010, algorithm 1) makes yield checkpoints.

    Decode under the last weights, merge with all that was decoded before, optimise, and make a step towards what the
    optimiser found, until the weights or the evidence do not change any more. Without a trust region (`region`), the
    optimiser's weights are those that are decoded with next.
    """

    tuner: Tuner
    task: Task
    loop: Loop = Loop()

    @property
    def region(self) -> TrustRegion:
        """The method's trust region, as the options of the loop have it."""
        region, part = self.tuner.region, self.loop.interpolation
        if region is None:
            return TrustRegion(radius=ANY_DIRECTION, part=1.0 if part is None else part)
        if part is not None:
            return replace(region, radius=ANY_DIRECTION, part=part)
        return replace(region, radius=self.loop.largest_turn)

    def final_report(self, weights: Weights) -> Mapping[str, Any]:
        """Nothing: the records of the run say all."""
        return {}

    def checkpoints(self, run: Run, records: Sequence[Record], seed: int, runtime: Runtime) -> Iterator[Checkpoint]:
        """Decode, merge, optimise, step, and so on."""
        task, records = self.task, [*records]
        visited = [run.weights(i) for i in range(len(records) + 1)]
        pool = merged_evidence(run, len(records), task.evidence)
        while True:
            iteration, clock = len(visited), [time.monotonic()]
            decoded = task.decoder(visited[-1], runtime=runtime)
            clock.append(time.monotonic())
            translations = decoded.first()
            statistics = task.scorer.statistics(translations)
            score = float(task.scorer.score(statistics.sum(axis=0)))
            _warn_of_odd_output(translations, score, runtime)
            before = 0 if pool is None else pool.size
            pool = _merged(pool, decoded)
            new, found = pool.size - before, None
            if new and iteration <= self.loop.iterations:
                rng = np.random.default_rng([seed, iteration])
                found = self._proposal(pool, visited, statistics, rng, runtime)
            report = {"candidates": pool.size, "new": new, **_report_of(found), **decoded.details()}
            report["objective"] = None if found is None else found.optimum.objective
            clock.append(time.monotonic())
            weights = visited[-1] if found is None else found.weights
            records.append(Record(iteration, score, report))
            stop = reason_to_stop(iteration, new, self._names(pool), visited[-1], weights, self.loop)
            stop = stop or self._explored_enough(records)
            seconds = {"decode": round(clock[1] - clock[0], 3), "optimise": round(clock[2] - clock[1], 3)}
            yield Checkpoint(
                weights,
                report=report,
                stop=stop,
                evidence=decoded,
                score=score,
                seconds=seconds,
                summary=f"{pool.size:,} {pool.unit}{_described(found, stop)}",
            )
            visited.append(weights)
            if iteration == 1:
                say_how_long(sum(seconds.values()), self.loop.iterations, runtime=runtime)

    def _names(self, pool: Decoded) -> list[str]:
        return [*self.task.names, *self.task.sparse(pool.names)]

    def _proposal(
        self,
        pool: Decoded,
        visited: Sequence[Weights],
        statistics: NDArray[Any],
        rng: np.random.Generator,
        runtime: Runtime,
    ) -> _Proposal:
        """Optimise on all evidence, and make a step; `statistics` are of the translations under the last weights."""
        task, region = self.task, self.region
        sparse = task.sparse(pool.names)
        names = [*task.names, *sparse]
        problem = pool.problem(names, {**task.ranges, **sparse}, task.scorer, sign=task.sign, runtime=runtime)
        decoded_with = [weights.vector(names) for weights in visited]
        optimum = self.tuner.optimise(problem, decoded_with[-1], rng=rng, runtime=runtime)
        _check(optimum.weights, self.tuner.name)

        def loss(vector: NDArray[np.float64]) -> float:
            return _loss(task, statistics, changed(visited[-1], names, vector, sparse), region.sample)

        step = region.step(
            [optimum.weights, *(() if optimum.others is None else optimum.others)],
            problem,
            decoded_with,
            self.loop.minimum_change,
            None if task.translate is None else loss,
        )
        return _Proposal(optimum, step, changed(visited[-1], names, step.weights, sparse))

    def _explored_enough(self, records: Sequence[Record]) -> str | None:
        """Why a run ends that would explore again, though nothing better was found so far, or None."""
        best = max(range(len(records)), key=lambda i: self.task.sign * records[i].score)
        explored = sum("further" in record.report for record in records[best:])
        return "nothing better is found, nor a little further on" if explored > self.region.explorations else None


def merged_evidence(run: Run, iterations: int, evidence: type[Decoded]) -> Decoded | None:
    """All that the first iterations of a run decoded; None if there are none."""
    pool: Decoded | None = None
    for iteration in range(1, iterations + 1):
        folder = run.verified(evidence_name(iteration), iteration)
        try:
            pool = _merged(pool, evidence.load(folder))
        except DataError as error:
            raise run.damaged(Path(error.path or folder), error.found, iteration) from None
    return pool


def _merged(pool: Decoded | None, decoded: Decoded) -> Decoded:
    if pool is None:
        return decoded
    if len(pool) != len(decoded):
        raise DataError(f"has evidence of {len(decoded)} sentences, and before it of {len(pool)}")
    return decoded.after(pool)


def reason_to_stop(
    iteration: int, new: int, names: Sequence[str], before: Weights, after: Weights, loop: Loop
) -> str | None:
    """Why a run ends after an iteration with `new` candidates and some weights before and after, or None."""
    if iteration > loop.iterations:
        return "all iterations are done"
    if not new:
        return "the lists do not change any more"
    if is_same(before.vector(names), after.vector(names), loop.minimum_change, is_weight(names)):
        return "the weights do not change any more"
    return None


def say_how_long(seconds: float, iterations: int, *, runtime: Runtime = Runtime()) -> None:
    """Say after the first iteration, which took some seconds, how long all may take, if that is long."""
    if seconds * iterations >= LONG:
        about = format_duration(seconds * iterations, rough=True)
        runtime.note(f"about {about} for {iterations} iterations, or less if it ends before")


def _report_of(found: _Proposal | None) -> Report:
    if found is None:
        return {}
    further = {"further": True} if found.step.explores else {}
    return {"step": found.step.part, **further, **found.optimum.details}


def _described(found: _Proposal | None, stop: str | None) -> str:
    if found is not None and found.step.explores and not stop:
        return ", nothing better in reach: looking further"
    part = 1.0 if found is None else found.step.part
    return f", {part:.0%} of the way to new weights" if part < 1 else ""


def _loss(task: Task, statistics: NDArray[Any], weights: Weights, sample: int) -> float:
    """The share of the score that is lost under other weights, on sentences from all over the tuning set."""
    assert task.translate is not None
    every = -(-len(statistics) // sample)
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


def _check(weights: NDArray[np.float64], name: str) -> None:
    if not np.isfinite(weights).all():
        raise DataError(f"{name} gave weights that are not finite numbers")
    if not np.any(weights):
        raise DataError(f"{name} gave weights that are all zero")
