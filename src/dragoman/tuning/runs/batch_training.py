"""Optimisers of decoded evidence in the loop: decode, merge, optimise, step."""

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
from dragoman.core.feature_rows import Weights
from dragoman.core.journal import evidence_name
from dragoman.core.progress import format_duration
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import Scorer
from dragoman.tuning.methods.method import (
    Checkpoint,
    Optimum,
    Report,
    Tuner,
)
from dragoman.tuning.problems.evidence import DecodedLists, DecodingResults
from dragoman.tuning.problems.fixed_score import FixedScore, fixed_weights
from dragoman.tuning.problems.problem import Ranges, is_weight, no_sparse, replace_weights
from dragoman.tuning.runs.loop import TUNING_SCORE, Loop
from dragoman.tuning.runs.run import Record, Run
from dragoman.tuning.runs.trust_region import ANY_DIRECTION, Step, TrustRegion, is_same

#: Expected duration, in seconds, from which a run is announced as long.
LONG = 30.0


class Decoder(Protocol):
    """Decodes the tuning set."""

    def __call__(self, weights: Weights, *, runtime: Runtime) -> DecodingResults:
        """Return the evidence under some weights."""
        ...


@dataclass(frozen=True, eq=False)
class Task:
    """A tuning problem: a decoder and its kind of evidence, a metric with references, names and ranges of weights.

    `sparse` selects the features in the evidence that are tuned besides `names`, in order and with ranges. `translate`
    returns translations of some sentences under some weights, by which large steps are tried before they are made.
    """

    decoder: Decoder
    scorer: Scorer
    names: Sequence[str]
    ranges: Ranges
    sign: int = 1
    evidence: type[DecodingResults] = DecodedLists
    sparse: Callable[[Iterable[str]], Ranges] = no_sparse
    translate: Callable[[Weights, NDArray[np.int64]], Corpus] | None = None


class _Proposal(NamedTuple):
    """The optimum that a method proposes, the step towards it, and the weights after the step."""

    optimum: Optimum
    step: Step
    weights: Weights


@dataclass(frozen=True, eq=False)
class BatchTraining:
    """An optimiser in the loop of Schuth (2010, algorithm 1).

    Decode under the last weights, merge with all that was decoded before, optimise, and make a step towards the
    optimum, until the weights or the evidence do not change any more. Without a trust region (`region`), the next
    decoding uses the optimum itself.
    """

    tuner: Tuner
    task: Task
    loop: Loop = Loop()

    @property
    def region(self) -> TrustRegion:
        """The method's trust region, with the options of the loop."""
        region, part = self.tuner.region, self.loop.interpolation
        if region is None:
            return TrustRegion(radius=ANY_DIRECTION, part=1.0 if part is None else part)
        if part is not None:
            return replace(region, radius=ANY_DIRECTION, part=part)
        return replace(region, radius=self.loop.max_angle)

    def final_report(self, weights: Weights) -> Mapping[str, Any]:
        """Return nothing: the records of the run have everything."""
        return {}

    def checkpoints(self, run: Run, records: Sequence[Record], seed: int, runtime: Runtime) -> Iterator[Checkpoint]:
        """Decode, merge, optimise and step, again and again."""
        task = self.task
        # Scores of validated weights are of held-out text; those of the tuning set are in the report.
        records = [replace(one, score=one.report.get(TUNING_SCORE, one.score)) for one in records]  # type: ignore[arg-type]
        visited = [run.weights(i) for i in range(len(records) + 1)]
        pool = merged_evidence(run, len(records), task.evidence)
        leaves_out = False
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
            if not leaves_out and self._too_many(pool):
                leaves_out = True
                runtime.note(
                    f"{self.tuner.name} tunes at most {self.tuner.most_features} weights, so those of sparse features"
                    " stay as they are; mira tunes any number"
                )
            if new and iteration <= self.loop.iterations:
                rng = np.random.default_rng([seed, iteration])
                found = self._proposal(pool, visited, statistics, rng, runtime)
            report = {"candidates": pool.size, "new": new, **_report_of(found), **decoded.details()}
            report["objective"] = None if found is None else found.optimum.objective
            clock.append(time.monotonic())
            weights = visited[-1] if found is None else found.weights
            records.append(Record(iteration, score, report))
            names = [*self._names(pool), *self._fixed(pool, visited[-1]).weights]
            stop = reason_to_stop(iteration, new, names, visited[-1], weights, self.loop)
            stop = stop or self._explored_enough(records)
            seconds = {"decode": round(clock[1] - clock[0], 3), "optimise": round(clock[2] - clock[1], 3)}
            yield Checkpoint(
                weights,
                report=report,
                stop=stop,
                evidence=decoded,
                score=score,
                seconds=seconds,
                summary=f"{pool.size:,} {pool.unit}{_describe_step(found, stop)}",
            )
            visited.append(weights)
            if iteration == 1:
                say_how_long(sum(seconds.values()), self.loop.iterations, runtime=runtime)

    def _too_many(self, pool: DecodingResults) -> bool:
        """Return whether the evidence has sparse features, and more features than the method tunes."""
        most, sparse = self.tuner.most_features, self.task.sparse(pool.names)
        return most is not None and bool(sparse) and len(self.task.names) + len(sparse) > most

    def _sparse(self, pool: DecodingResults) -> Ranges:
        """Return the sparse features in the evidence whose weights are tuned, with their ranges."""
        return {} if self._too_many(pool) else self.task.sparse(pool.names)

    def _names(self, pool: DecodingResults) -> list[str]:
        return [*self.task.names, *self._sparse(pool)]

    def _fixed(self, pool: DecodingResults, weights: Weights) -> FixedScore:
        """Return the score of the features in the evidence whose weights are not tuned."""
        there = {*pool.names, *pool.mixed_names}
        fixed = fixed_weights(weights, self._names(pool))
        return FixedScore(Weights({name: value for name, value in fixed.items() if name in there}))

    def _proposal(
        self,
        pool: DecodingResults,
        visited: Sequence[Weights],
        statistics: NDArray[Any],
        rng: np.random.Generator,
        runtime: Runtime,
    ) -> _Proposal:
        """Optimise on all evidence, and make a step; `statistics` belong to the translations under the last weights."""
        task, region = self.task, self.region
        sparse, fixed = self._sparse(pool), self._fixed(pool, visited[-1])
        names, ranges = [*task.names, *sparse], {**task.ranges, **sparse}
        problem = pool.problem(names, ranges, task.scorer, sign=task.sign, fixed=fixed, runtime=runtime)
        decoded_with = [fixed.begin(weights, names) for weights in visited]
        optimum = self.tuner.optimise(problem, decoded_with[-1], rng=rng, runtime=runtime)
        _check(optimum.weights, self.tuner.name)
        proposals = [optimum.weights, *(() if optimum.others is None else optimum.others)]

        def named(vector: NDArray[np.float64]) -> Weights:
            return replace_weights(visited[-1], names, fixed.restored(vector, names), sparse)

        step = region.step(
            [fixed.within(decoded_with[-1], one, names) for one in proposals],
            problem,
            decoded_with,
            self.loop.minimum_change,
            None if task.translate is None else lambda vector: _loss(task, statistics, named(vector), region.sample),
        )
        return _Proposal(optimum, step, named(step.weights))

    def _explored_enough(self, records: Sequence[Record]) -> str | None:
        """Return the reason to stop if the run has explored often enough without a better score, or None."""
        best = max(range(len(records)), key=lambda i: self.task.sign * records[i].score)
        explored = sum("further" in record.report for record in records[best:])
        return "nothing better is found, nor a little further on" if explored > self.region.explorations else None


def merged_iterations(run: Run, iterations: int, evidence: type[DecodingResults]) -> Iterator[DecodingResults]:
    """Return all that a run had decoded after each of its first iterations."""
    pool: DecodingResults | None = None
    for iteration in range(1, iterations + 1):
        folder = run.verified(evidence_name(iteration), iteration)
        try:
            pool = _merged(pool, evidence.load(folder))
        except DataError as error:
            raise run.damaged(Path(error.path or folder), error.found, iteration) from None
        yield pool


def merged_evidence(run: Run, iterations: int, evidence: type[DecodingResults]) -> DecodingResults | None:
    """Return all that the first iterations of a run decoded; None if there are none."""
    pool: DecodingResults | None = None
    for merged in merged_iterations(run, iterations, evidence):
        pool = merged
    return pool


def _merged(pool: DecodingResults | None, decoded: DecodingResults) -> DecodingResults:
    if pool is None:
        return decoded
    if len(pool) != len(decoded):
        raise DataError(f"has evidence of {len(decoded)} sentences, and earlier iterations of {len(pool)}")
    return decoded.merged_with(pool)


def reason_to_stop(
    iteration: int, new: int, names: Sequence[str], before: Weights, after: Weights, loop: Loop
) -> str | None:
    """Return the reason to stop after an iteration with `new` candidates and weights before and after it, or None."""
    if iteration > loop.iterations:
        return "all iterations are done"
    if not new:
        return "the lists do not change any more"
    if is_same(before.vector(names), after.vector(names), loop.minimum_change, is_weight(names)):
        return "the weights do not change any more"
    return None


def say_how_long(seconds: float, iterations: int, *, runtime: Runtime = Runtime()) -> None:
    """Note the expected duration after the first iteration, which took some seconds, if it is long."""
    if seconds * iterations >= LONG:
        about = format_duration(seconds * iterations, rough=True)
        runtime.note(f"about {about} for {iterations} iterations, or less if the run converges earlier")


def _report_of(found: _Proposal | None) -> Report:
    if found is None:
        return {}
    explores = {"further": True} if found.step.explores else {}
    return {"step": found.step.part, **explores, **found.optimum.details}


def _describe_step(found: _Proposal | None, stop: str | None) -> str:
    if found is not None and found.step.explores and not stop:
        return ", nothing better in reach: looking further"
    part = 1.0 if found is None else found.step.part
    return f", {part:.0%} of the way to new weights" if part < 1 else ""


def _loss(task: Task, statistics: NDArray[Any], weights: Weights, sample: int) -> float:
    """Return the fraction of the score that is lost under other weights, on a sample of the tuning set."""
    assert task.translate is not None
    every = -(-len(statistics) // sample)
    some = np.arange(0, len(statistics), every)
    found = task.scorer.statistics(task.translate(weights, some), some)
    before, after = (task.scorer.score(counts.sum(axis=0)) for counts in (statistics[some], found))
    return task.sign * float(before - after) / max(abs(float(before)), 1e-300)


def _warn_of_odd_output(translations: Corpus, score: float, runtime: Runtime) -> None:
    """Warn of translations that look wrong, whatever their score."""
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
