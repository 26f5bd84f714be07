"""Decisions by growing numbers of samples: their scores, when they settle, and how often rules differ.

Figures 6.2 to 6.5 and 7.1 of Arun's thesis (2011).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.max_derivation import MaxDerivation
from dragoman.decision.max_translation import MaxTranslation
from dragoman.decision.mbr import Mbr
from dragoman.decision.rule import Rule
from dragoman.metrics.metric import Scorer
from dragoman.sampling.diagnostics.convergence import round_sizes
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling, Schedule
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator

Vector = NDArray[np.float64]

_START_POINTS: tuple[str, ...] = get_args(get_type_hints(Sampling)["initial"])

#: Rules by their names in figures: the mode of derivations, the best score, the mode of translations, the least risk.
MAX_DERIVATION, BEST_SCORE, MAX_TRANSLATION, MBR = "max-derivation", "best score", "max-translation", "mbr"


@dataclass(frozen=True)
class CurveOptions(Options):
    """Samples that decisions are made by."""

    samples: int = option(10_000, "samples per chain", minimum=1)
    chains: int = option(
        1, "independent chains per sentence; the first n samples are the first n/chains of each", minimum=1
    )
    initial: str = option("beam,random", "starting points, separated by commas: gloss, monotone, random, beam")
    burn_in: int = option(
        100,
        "scans before the first sample, during which the temperature falls from three times `temperature`",
        minimum=0,
    )
    temperature: float = option(
        1.0, "scores are divided by this: 0.2 is the model with five times its weights", minimum=1e-6
    )
    hypotheses: int = option(200, "candidates of MBR: the most frequent translations; 0: no MBR", minimum=0)
    ranked: int = option(4, "sentences whose exact log-probabilities are shown by sampled rank", minimum=0)
    ranked_words: int = option(
        8, "these have at most this many words: exhaustive searches of others are slow", minimum=1
    )
    exhaustive_size: int = option(
        5_000_000, "no exact log-probabilities for sentences with more hypotheses and arcs", minimum=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.start_points:
            if name not in _START_POINTS:
                raise UsageError(f"initial has '{name}'; expected some of {', '.join(_START_POINTS)}")
        if len(set(self.start_points)) < len(self.start_points):
            raise UsageError(f"initial is '{self.initial}'; expected each only once")

    @property
    def start_points(self) -> list[str]:
        """The starting points."""
        return [name.strip() for name in self.initial.split(",")]

    @property
    def rules(self) -> dict[str, Rule]:
        """The decision rules, by name."""
        plain: dict[str, Rule] = {
            MAX_DERIVATION: MaxDerivation(samples_by="frequency"),
            BEST_SCORE: MaxDerivation(samples_by="score"),
            MAX_TRANSLATION: MaxTranslation(),
        }
        return plain | ({MBR: Mbr(hypotheses=self.hypotheses)} if self.hypotheses else {})

    def sampling(self, schedule: Schedule, initial: str) -> Sampling:
        """Return the options of a sampler with one of the starting points."""
        if schedule.max_seconds is not None:
            raise UsageError("max-seconds would end chains at other numbers of samples each time; expected none")
        return Sampling(
            **{field.name: getattr(schedule, field.name) for field in fields(Schedule)},
            samples=self.samples,
            chains=self.chains,
            burn_in=self.burn_in,
            temperature=self.temperature,
            initial=initial,  # type: ignore[arg-type]
        )


@dataclass(frozen=True, eq=False)
class SampledRanks:
    """Exact log-probabilities of the sampled derivations of a sentence, by their rank among the samples.

    `best` are those of as many derivations that are really the most probable, best first; `counts` are the numbers of
    samples, the most frequent derivation first.
    """

    number: int
    words: int
    counts: NDArray[np.int64]
    sampled: Vector
    best: Vector


@dataclass(frozen=True, eq=False)
class StartCurves:
    """Decisions by the samples from one starting point, at each number of samples.

    `scores` has the metric of each rule's translations, `best_score` the mean score of the best derivation so far,
    `differ` the proportion of sentences whose translations by two rules differ. `settled` has for each rule and
    sentence the number of samples after which its decision changes no more, and `changes` the mean number of changes
    until each size. Decisions of MBR are made at the sizes only, those of the others at each sample.
    """

    initial: str
    best_score: Vector
    scores: Mapping[str, Vector]
    differ: Mapping[tuple[str, str], Vector]
    settled: Mapping[str, NDArray[np.int64]]
    changes: Mapping[str, Vector]
    ranked: Sequence[SampledRanks]


@dataclass(frozen=True, eq=False)
class SamplerCurves:
    """Curves of all starting points at `sizes` samples, with the decoder's scores for comparison."""

    sizes: list[int]
    sentences: int
    beam_score: float
    beam_metric: float
    starts: list[StartCurves]

    def rows(self) -> Iterator[dict[str, str | int | float]]:
        """Return a row for each starting point, number of samples and measure."""
        for start in self.starts:
            for i, size in enumerate(self.sizes):
                named: dict[str, Vector] = {"best score so far": start.best_score}
                named |= {f"score, {rule}": values for rule, values in start.scores.items()}
                named |= {f"differ, {a} / {b}": values for (a, b), values in start.differ.items()}
                named |= {f"changes, {rule}": values for rule, values in start.changes.items()}
                for name, values in named.items():
                    yield {"initial": start.initial, "samples": size, "measure": name, "value": float(values[i])}
                for rule, settled in start.settled.items():
                    share = float((settled <= size).mean())
                    yield {"initial": start.initial, "samples": size, "measure": f"settled, {rule}", "value": share}


def sampler_curves(
    translator: Translator,
    lines: Sequence[str],
    scorer: Scorer,
    options: CurveOptions = CurveOptions(),
    schedule: Schedule = Schedule(),
    *,
    seed: int = 1,
    runtime: Runtime | None = None,
) -> SamplerCurves:
    """Sample tokenised sentences, and decide by the first samples at growing numbers of them.

    Costs the samples, and for each number of samples the decisions, of which only MBR's take time.
    """
    runtime = translator.runtime if runtime is None else runtime
    translator = translator.reweighted(translator.weights, runtime=runtime.quiet())
    sizes = round_sizes(options.samples, options.chains)
    with runtime.stage("translating by the beam"):
        beam = list(translator.translate(lines))
    statistics = scorer.statistics(Corpus.from_lines([found.text for found in beam]))
    seeds = np.random.SeedSequence(seed).generate_state(len(options.start_points), np.uint64).tolist()
    starts = []
    for initial, own in zip(options.start_points, seeds, strict=True):
        sampler = Sampler.of(translator, options.sampling(schedule, initial))
        counted = _Counted(options, sizes, len(lines))
        with runtime.stage(f"sampling from {initial}") as progress_callback:
            for part in sampler.batches(lines, seed=own, features=False, trace=True):
                counted.add(part.samples, scorer, translator.runtime)
                counted.rank(sampler, lines, part.samples)
                progress_callback(counted.done / len(lines))
        starts.append(counted.curves(initial, scorer))
    return SamplerCurves(
        sizes=sizes,
        sentences=len(lines),
        beam_score=float(np.mean([found.score for found in beam])),
        beam_metric=float(scorer.score(statistics.sum(axis=0))),
        starts=starts,
    )


class _Counted:
    """Sums over sentences, for one starting point."""

    def __init__(self, options: CurveOptions, sizes: list[int], sentences: int):
        self._options, self._sizes, self._sentences = options, sizes, sentences
        self._rules = options.rules
        self._best = np.zeros(len(sizes))
        self._statistics: dict[str, list[Vector]] = {rule: [np.zeros(1)] * len(sizes) for rule in self._rules}
        self._differ = {pair: np.zeros(len(sizes)) for pair in _pairs(list(self._rules))}
        self._settled: dict[str, list[int]] = {rule: [] for rule in self._rules}
        self._changes = {rule: np.zeros(len(sizes)) for rule in self._rules}
        self._ranked: list[SampledRanks] = []
        self.done = 0

    def add(self, samples: Samples, scorer: Scorer, runtime: Runtime) -> None:
        """Decide by the first samples of some sentences, which follow those before."""
        numbers = np.arange(self.done, self.done + len(samples))
        decided: dict[str, list[list[str]]] = {rule: [] for rule in self._rules}
        for i, size in enumerate(self._sizes):
            first = first_samples(samples, size)
            for name, rule in self._rules.items():
                found = rule.decide(first, runtime=runtime)
                decided[name].append(found.lines())
                sums = scorer.statistics(found.corpus, numbers, runtime=runtime).sum(axis=0)
                self._statistics[name][i] = self._statistics[name][i] + sums
            best = np.maximum.reduceat(first.scores, first.sentences[:-1])
            self._best[i] += best.sum()
            for a, b in self._differ:
                self._differ[a, b][i] += sum(map(str.__ne__, decided[a][-1], decided[b][-1]))
        for s in range(len(samples)):
            self._follow(samples.sentence(s), [row[s] for row in decided.get(MBR, [])])
        self.done += len(samples)

    def _follow(self, samples: Samples, by_mbr: list[str]) -> None:
        """Add the changes of a sentence's decisions."""
        assert samples.trace is not None
        trace = samples.trace[0].T.ravel()  # in order of time, the chains in turn
        strings, _, _ = kernels.intern_sequences(samples.hypotheses.values, samples.hypotheses.offsets)
        levels = np.unique(samples.scores, return_inverse=True)[1]
        # Another derivation of the same string is no other decision.
        changes = {
            MAX_DERIVATION: _changes(strings[modes(trace)]),
            BEST_SCORE: _changes(strings[leaders(levels[trace], trace)]),
            MAX_TRANSLATION: _changes(modes(strings[trace])),
        }
        if MBR in self._rules:
            places = [i for i in range(1, len(by_mbr)) if by_mbr[i] != by_mbr[i - 1]]
            changes[MBR] = np.array([self._sizes[i] for i in places], np.int64)
        for rule, found in changes.items():
            self._settled[rule].append(int(found[-1]) if len(found) else 1)
            self._changes[rule] += np.searchsorted(found, self._sizes, "right")

    def rank(self, sampler: Sampler, lines: Sequence[str], samples: Samples) -> None:
        """Add the exact log-probabilities of the sentences just added, as far as they are wanted and possible."""
        limits = SearchLimits(algorithm="exhaustive", max_size=self._options.exhaustive_size)
        for s in range(len(samples)):
            if len(self._ranked) == self._options.ranked:
                return
            number = self.done - len(samples) + s
            words = len(lines[number].split())
            exact = sampler.forest(lines[number], limits) if words <= self._options.ranked_words else None
            if exact is None:
                continue
            own = samples.sentence(s)
            counts = own.counts.sum(axis=1)
            # Among equally frequent derivations the one that was collected first comes first.
            order = np.argsort(-counts, kind="stable")
            sampled = own.scores[order] / self._options.temperature - exact.log_partition
            best = exact.best(len(order)).scores - exact.log_partition
            self._ranked.append(SampledRanks(number + 1, words, counts[order], sampled, np.asarray(best)))

    def curves(self, initial: str, scorer: Scorer) -> StartCurves:
        """Return the means."""
        return StartCurves(
            initial=initial,
            best_score=self._best / self._sentences,
            scores={rule: np.asarray(scorer.score(np.array(rows))) for rule, rows in self._statistics.items()},
            differ={pair: counts / self._sentences for pair, counts in self._differ.items()},
            settled={rule: np.array(rows, np.int64) for rule, rows in self._settled.items()},
            changes={rule: counts / self._sentences for rule, counts in self._changes.items()},
            ranked=self._ranked,
        )


def _pairs(rules: list[str]) -> list[tuple[str, str]]:
    """Return the pairs of rules whose decisions are compared, as in section 6.1.2.3, and MBR with both."""
    pairs = [(MAX_TRANSLATION, MAX_DERIVATION), (MBR, MAX_DERIVATION), (MBR, MAX_TRANSLATION)]
    return [pair for pair in pairs if set(pair) <= set(rules)]


def first_samples(samples: Samples, size: int) -> Samples:
    """Return the first samples of each sentence, `size` over all chains, without those that came later."""
    trace = samples.trace
    if trace is None:
        raise UsageError("samples have no trace; expected `trace=True`, which keeps their order")
    taken = trace[:, :, : size // samples.chains] + samples.sentences[:-1, None, None]
    chains = np.broadcast_to(np.arange(samples.chains)[None, :, None], taken.shape)
    cells = np.bincount((taken * samples.chains + chains).ravel(), minlength=samples.counts.size)
    counts = cells.reshape(samples.counts.shape)
    kept = np.flatnonzero(counts.sum(axis=1))
    return Samples(
        vocab=samples.vocab,
        sentences=np.searchsorted(kept, samples.sentences),
        hypotheses=samples.hypotheses.take(kept),
        scores=samples.scores[kept],
        features=samples.features.take(kept),
        segmentations=samples.segmentations.take(kept),
        counts=counts[kept],
    )


def leaders(levels: NDArray[np.integer], items: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the item with the highest level so far at each time, the one with the lowest number among equals.

    >>> leaders(np.array([1, 1, 3, 2, 3]), np.array([5, 4, 7, 9, 6])).tolist()
    [5, 4, 7, 7, 6]
    """
    levels, items = levels.astype(np.int64), items.astype(np.int64)
    highest = np.maximum.accumulate(levels)
    # An item counts at the level that is the highest at its time. A key that falls with each new level, by more than
    # items differ, restarts the running minimum of items.
    step = int(items.max(initial=0)) + 1
    keys = np.where(levels == highest, items - highest * step, np.iinfo(np.int64).max)
    return np.asarray(np.minimum.accumulate(keys) + highest * step)


def modes(trace: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the most frequent item so far at each time, the one with the lowest number among equals.

    >>> modes(np.array([2, 1, 1, 2, 2])).tolist()
    [2, 1, 1, 1, 2]
    """
    order = np.argsort(trace, kind="stable")
    ordered = trace[order]
    times = np.empty(len(trace), np.int64)
    # How often an item has been there, this time included.
    times[order] = np.arange(len(trace)) - np.searchsorted(ordered, ordered, "left") + 1
    return leaders(times, trace)


def _changes(decisions: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the number of samples at each change of a sequence of decisions."""
    return np.flatnonzero(np.diff(decisions)) + 2
