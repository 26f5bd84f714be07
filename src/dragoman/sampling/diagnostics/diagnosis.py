"""Diagnoses of the sampler on short sentences, compared with an exhaustive search where one is possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import Options, option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.derivation import derivation_scores, sample, yields
from dragoman.sampling.diagnostics.convergence import (
    autocorrelation,
    effective_sample_size,
    rank_normalise,
    round_sizes,
    sample_counts,
    split_r_hat,
)
from dragoman.sampling.diagnostics.diagnosis_results import (
    Curve,
    Curves,
    Expectation,
    MissingProportions,
    RunDiagnostics,
    SentenceDiagnostics,
)
from dragoman.sampling.sampler import SampleBatch, Sampler
from dragoman.sampling.schedule import Sampling, Schedule
from dragoman.sampling.search_forest import Forest, weighted_features
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator

#: Sizes of samples and n-best lists whose expectations are compared, as in table 7.1 of the thesis.
EXPECTATION_SIZES = (200, 1000, 2000, 5000, 10_000, 20_000)

#: Lags of the autocorrelation that are kept.
_LAGS = 200

_START_POINTS: tuple[str, ...] = get_args(get_type_hints(Sampling)["initial"])


@dataclass(frozen=True)
class Diagnosis(Options):
    """Options of a diagnosis: samples, and what to compare them with."""

    samples: int = option(25_000, "samples per chain", minimum=4)
    chains: int = option(2, "independent chains per starting point", minimum=1)
    initial: str = option(
        "gloss,random,beam", "starting points, separated by commas: gloss, monotone, random, random-decoding, beam"
    )
    burn_in: int = option(
        100,
        "scans before the first sample, during which the temperature falls from three times `temperature`",
        minimum=0,
    )
    temperature: float = option(1.0, "scores are divided by this: 0.2 is the model with five times its weights")
    nbest: int = option(20_000, "length of the longest n-best list to compare with", minimum=1)
    exhaustive_size: int = option(
        10_000_000, "no exact numbers for sentences with more hypotheses and arcs (about 100 bytes each)", minimum=1
    )
    independent: bool = option(
        True, "also draw as many independent samples from the exact distribution, for comparison"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.start_points
        for name in names:
            if name not in _START_POINTS:
                raise UsageError(f"initial has '{name}'; expected some of {', '.join(_START_POINTS)}")
        if len(set(names)) < len(names):
            raise UsageError(f"initial is '{self.initial}'; expected each only once")
        if not self.temperature > 0:
            raise UsageError(f"temperature is {self.temperature}; expected more than 0")

    @property
    def start_points(self) -> list[str]:
        """The starting points."""
        return [name.strip() for name in self.initial.split(",")]

    def sampling(self, schedule: Schedule, initial: str) -> Sampling:
        """Return the options of a sampler with one of the starting points."""
        return Sampling(
            **{field.name: getattr(schedule, field.name) for field in fields(Schedule)},
            samples=self.samples,
            chains=self.chains,
            burn_in=self.burn_in,
            temperature=self.temperature,
            initial=initial,  # type: ignore[arg-type]
        )


def diagnose(
    translator: Translator,
    lines: Iterable[tuple[int, str]],
    options: Diagnosis = Diagnosis(),
    schedule: Schedule = Schedule(),
    *,
    seed: int = 1,
    runtime: Runtime | None = None,
) -> Iterator[SentenceDiagnostics]:
    """Sample tokenised sentences, given with their numbers, and compare the samples with other evidence.

    The lattice and the n-best lists come from a search under the translator's limits. Random numbers depend on the
    seed, the sentence's number and the starting point. `runtime` defaults to the translator's.
    """
    translator = translator.reweighted(translator.weights, runtime=runtime)
    translator.refuse_global_features()
    samplers = [Sampler.of(translator, options.sampling(schedule, name)) for name in options.start_points]
    for number, line in lines:
        seeds = np.random.SeedSequence([seed, number]).generate_state(len(samplers) + 1, np.uint64).tolist()
        parts = [
            part
            for sampler, own in zip(samplers, seeds, strict=False)
            for part in sampler.batches([line], seed=own, trace=True)
        ]
        yield _Sentence(samplers[0], options, number, line, parts).diagnose(seeds[-1])


@dataclass(frozen=True, eq=False)
class _SampleTrace:
    """Samples in order of time: a row of derivations for each chain; derivations have scores and words."""

    trace: NDArray[np.int32]
    scores: NDArray[np.float64]
    hypotheses: Ragged[np.int32]


class _Sentence:
    """Diagnosis of one sentence from its samples."""

    def __init__(self, sampler: Sampler, options: Diagnosis, number: int, line: str, parts: list[SampleBatch]):
        self._sampler, self._options = sampler, options
        self._number, self._line, self._parts = number, line, parts
        # Chains may have run out of time: compare as many samples as all of them have.
        self._samples = min(int(part.collected.min()) for part in parts)
        if self._samples < 4:
            raise DataError(
                f"line {number} has {self._samples} samples per chain; expected at least 4 in the time given"
            )
        self._drawn = [_sampled(part, options.temperature, self._samples) for part in parts]
        limits = sampler.translator.limits
        found = sampler.forest(line, limits)
        if found is None:
            raise DataError(
                f"line {number} needs more than {limits.max_size:,} hypotheses and arcs",
                expected="a shorter sentence, tighter limits, or a larger max-size",
            )
        self._lattice = found
        self._exact = sampler.forest(line, SearchLimits(algorithm="exhaustive", max_size=options.exhaustive_size))
        most = max(len(drawn.scores) for drawn in self._drawn)
        self._best = self._lattice.best(max(options.nbest, most))

    def diagnose(self, seed: int) -> SentenceDiagnostics:
        """Compute all diagnostics; the seed is for independent draws."""
        exact, drawn = self._exact, list(self._drawn)
        if exact is not None and self._options.independent:
            runtime = self._sampler.translator.runtime
            drawn.append(_independent(exact, self._options.chains, self._samples, seed, runtime))
        sizes = round_sizes(self._samples, self._options.chains)
        curves = self._curves(drawn, sizes)
        scores = [one.scores[one.trace] for one in self._drawn]
        runs = zip(self._options.start_points, self._parts, scores, curves, strict=False)
        return SentenceDiagnostics(
            number=self._number,
            source=self._line,
            words=len(self._line.split()),
            components=int(self._parts[0].components[0]),
            exact=exact is not None,
            log_derivations=None if exact is None else exact.log_size,
            derivation_entropy=None if exact is None else exact.entropy,
            lattice_log_derivations=self._lattice.log_size,
            sizes=sizes,
            runs=[self._run(*run) for run in runs],
            independent=curves[-1] if len(curves) > len(self._parts) else None,
            r_hat=split_r_hat(rank_normalise(np.concatenate(scores))),
            features=tuple(self._sampler.translator.model.dense_features),
            expectations=self._expectations(),
        )

    def _curves(self, drawn: list[_SampleTrace], sizes: list[int]) -> list[Curves]:
        """Return the curves of derivations and translations; each translation's probability is computed once."""
        rows = Ragged.concatenate([one.hypotheses for one in drawn])
        numbers, words, offsets = kernels.intern_sequences(rows.values, rows.offsets)
        exact = self._exact
        of_translations = None
        if exact is not None:
            of_translations = self._sampler.log_scores(self._line, Ragged(words, offsets)) - exact.log_partition
        curves = []
        for one, own in zip(drawn, np.split(numbers, np.cumsum([len(one.scores) for one in drawn])[:-1]), strict=True):
            of_derivations = None if exact is None else one.scores - exact.log_partition
            curves.append(
                Curves(Curve.of(one.trace, sizes, of_derivations), Curve.of(own[one.trace], sizes, of_translations))
            )
        return curves

    def _run(self, initial: str, part: SampleBatch, scores: NDArray[np.float64], curves: Curves) -> RunDiagnostics:
        ranked = rank_normalise(scores)
        derivations, counts = part.derivations, part.samples.counts.sum(axis=1)
        size = len(counts)
        best = self._best.derivations.take(np.arange(min(size, len(self._best))))
        covered = [self._lattice.log_partition, np.logaddexp.reduce(self._best.scores[:size])]
        inside = [self._lattice.contains(derivations), _are_among(derivations, best)]
        by_lattice, by_nbest = (
            MissingProportions(
                samples=float(counts[~there].sum() / counts.sum()),
                derivations=float((~there).mean()),
                probability=None
                if self._exact is None
                else max(-float(np.expm1(mass - self._exact.log_partition)), 0.0),
            )
            for there, mass in zip(inside, covered, strict=True)
        )
        counted = {move: part.counts(move) for move in part.moves}
        return RunDiagnostics(
            initial=initial,
            curves=curves,
            effective_samples=effective_sample_size(ranked),
            r_hat=split_r_hat(ranked),
            autocorrelation=autocorrelation(scores)[:_LAGS].tolist(),
            by_lattice=by_lattice,
            by_nbest=by_nbest,
            accepted={move: accepted / tried if tried else None for move, (tried, accepted) in counted.items()},
        )

    def _expectations(self) -> list[Expectation]:
        names = self._sampler.translator.model.dense_features
        rows = [
            Expectation(evidence, None, lattice.log_size, lattice.expected_features().tolist())
            for evidence, lattice in (("exact", self._exact), ("lattice", self._lattice))
            if lattice is not None
        ]
        for size in EXPECTATION_SIZES:
            if size <= self._options.nbest:
                there = min(size, len(self._best))
                values = self._best.expected_features(there, names)
                rows.append(Expectation("n-best", size, float(np.log(there)), values.tolist()))
            if self._options.chains <= size <= self._samples * self._options.chains:
                for initial, part, one in zip(self._options.start_points, self._parts, self._drawn, strict=True):
                    counts = sample_counts(one.trace, size, len(one.scores))
                    values = weighted_features(part.samples.features, counts / counts.sum(), names)
                    rows.append(Expectation(f"samples, {initial}", size, float(np.log(size)), values.tolist()))
        return rows


def _sampled(part: SampleBatch, temperature: float, samples: int) -> _SampleTrace:
    trace = part.samples.trace
    assert trace is not None
    return _SampleTrace(trace[0, :, :samples], part.samples.scores / temperature, part.samples.hypotheses)


def _independent(exact: Forest, chains: int, samples: int, seed: int, runtime: Runtime) -> _SampleTrace:
    draws = sample(exact.graph, chains * samples, seed, runtime=runtime.quiet())
    numbers, edges, offsets = kernels.intern_sequences(draws.values, draws.offsets)
    distinct = Ragged(edges, offsets)
    scores = derivation_scores(exact.graph, distinct)
    return _SampleTrace(numbers.reshape(chains, samples), scores, yields(exact.graph, distinct))


def _are_among(rows: Ragged[np.int32], others: Ragged[np.int32]) -> NDArray[np.bool_]:
    """Return whether each row is one of the others."""
    both = Ragged.concatenate([others, rows])
    numbers = kernels.intern_sequences(both.values, both.offsets)[0]
    return np.isin(numbers[len(others) :], numbers[: len(others)])
