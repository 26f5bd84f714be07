"""The loop of all tuning methods: it validates, records, selects weights, stops and resumes.

Each iteration ends with one line in the run's `events.jsonl`. An iteration depends only on the seed and on the run's
folder, so that a run that was killed resumes with the same results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import Weights
from dragoman.core.journal import evidence_name
from dragoman.core.options import Options, option
from dragoman.core.progress import format_duration
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import Scorer
from dragoman.tuning.methods.method import (
    LARGEST_WEIGHT,
    Checkpoint,
    Learner,
    Optimum,
    Report,
    TrainingSet,
    Tuner,
    diverged,
)
from dragoman.tuning.problems.evidence import DecodedLists, DecodingResults
from dragoman.tuning.problems.problem import Preset, Ranges, is_weight, no_sparse, replace_weights
from dragoman.tuning.runs.run import Record, Run
from dragoman.tuning.runs.trust_region import ANY_DIRECTION, Step, TrustRegion, is_same
from dragoman.tuning.runs.validator import Validated, Validation

#: Score on the tuning set, in the report of an iteration whose weights are validated on held-out text.
_TUNING_SCORE = "tuning_score"

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
                told = {_TUNING_SCORE: checkpoint.score, **told}
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
        # Only the direction of weights matters, so all are scaled to one size first, except interpolation weights.
        weighed = is_weight(names)
        sizes = np.abs(np.where(weighed, vectors, 0.0)).sum(axis=1, keepdims=True)
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


#: Expected duration, in seconds, from which a run is announced as long.
LONG = 30.0


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
        records = [replace(one, score=one.report.get(_TUNING_SCORE, one.score)) for one in records]  # type: ignore[arg-type]
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
                summary=f"{pool.size:,} {pool.unit}{_describe_step(found, stop)}",
            )
            visited.append(weights)
            if iteration == 1:
                say_how_long(sum(seconds.values()), self.loop.iterations, runtime=runtime)

    def _names(self, pool: DecodingResults) -> list[str]:
        return [*self.task.names, *self.task.sparse(pool.names)]

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
        sparse = task.sparse(pool.names)
        names = [*task.names, *sparse]
        problem = pool.problem(names, {**task.ranges, **sparse}, task.scorer, sign=task.sign, runtime=runtime)
        decoded_with = [weights.vector(names) for weights in visited]
        optimum = self.tuner.optimise(problem, decoded_with[-1], rng=rng, runtime=runtime)
        _check(optimum.weights, self.tuner.name)

        def loss(vector: NDArray[np.float64]) -> float:
            return _loss(task, statistics, replace_weights(visited[-1], names, vector, sparse), region.sample)

        step = region.step(
            [optimum.weights, *(() if optimum.others is None else optimum.others)],
            problem,
            decoded_with,
            self.loop.minimum_change,
            None if task.translate is None else loss,
        )
        return _Proposal(optimum, step, replace_weights(visited[-1], names, step.weights, sparse))

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
