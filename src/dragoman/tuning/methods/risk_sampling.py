"""Minimum risk training by sampling, the common part of its two objectives (Arun's thesis, chapter 7).

Each update draws a minibatch, samples its derivations under the present weights, estimates the gradient of the expected
gain plus temperature times entropy, and takes a step along it. The temperature falls over time: deterministic annealing
(7.3.3). A Gaussian prior of the weights may be added; it counts as in `likelihood`, divided by the number of sentences.

Each checkpoint reports the mean over its minibatches of the expected gain (`objective`), and of the entropy of
derivations by their relative frequencies among the samples (6.6), in nats (`entropy`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.metrics.metric import Scorer
from dragoman.sampling.draw import Draw, draw_samples
from dragoman.sampling.sampler import SampleBatch
from dragoman.sampling.schedule import Sampling
from dragoman.tuning.methods.method import (
    Checkpoint,
    Learner,
    State,
    TrainingSet,
    saved_count,
    saved_names,
    saved_numbers,
)
from dragoman.tuning.optimise.ascent import Ascent, AscentName, ascent_of
from dragoman.tuning.problems.problem import replace_weights
from dragoman.tuning.problems.sample_statistics import SampleStatistics

Vector = NDArray[np.float64]

_DECAY = {"slow": 0.9, "fast": 0.5}

#: Settings that the thesis has for both objectives (7.3.2 to 7.3.4, 7.4.2).
PAPER: Mapping[str, Any] = {
    "start": "zero",
    "minibatch": 100,
    "order": "random",
    "samples": 2000,
    "chains": 2,
    "burn_in": 100,
    "start_temperature": 3.0,
    "jump_every": 0,
    "initial": "random",
    "annealing": "slow",
    "entropy_by": "frequency",
    "temperature": 100.0,
    "coldest": 1e-4,
    "updates_per_temperature": 20,
    "ascent": "eg",
    "rate": 2.0,
    "meta_rate": 2.0,
    "max_growth": 0.0,
    "deviation": 0.0,
    "average": False,
}


@dataclass(frozen=True)
class Estimate:
    """The expected gain of a minibatch, and what each sample's features contribute to the gradient of the objective.

    `sentences` is the number of sentences that the objective is a sum over; 1 for a mean.
    """

    gain: float
    shares: Vector
    sentences: int = 1


class _Update(NamedTuple):
    """An update: the weights after it, and of its minibatch before it the expected gain and the mean entropy.

    `sentences` are those of the minibatch, and `unconnected` those of them whose derivations fall into parts.
    """

    weights: Weights
    gain: float
    entropy: float
    sentences: list[int]
    unconnected: list[int]


@dataclass(frozen=True)
class RiskSampling(Learner):
    """Options of minimum risk training by sampling."""

    preset: Literal["paper"] | None = option(
        None, "the settings of the thesis in place of the defaults; other options override them"
    )
    start: Literal["zero", "given"] = option("zero", "start from weights of 0, or from the given ones")
    minibatch: int = option(100, "sentences per update", minimum=1)
    order: Literal["random", "sequence"] = option("random", "draw minibatches at random, or take them in turn")
    samples: int = option(50, "samples per sentence and chain", minimum=2)
    chains: int = option(1, "independent chains per sentence", minimum=1)
    burn_in: int = option(20, "scans before the first sample", minimum=0)
    start_temperature: float = option(
        1.0, "temperature of a chain's first scan, which falls to 1 during burn-in; 1: no heating", minimum=1e-6
    )
    jump_every: int = option(
        0, "after every n-th scan, propose a derivation from the decoder's lattice; 0: never", minimum=0
    )
    initial: Literal["gloss", "monotone", "random", "beam"] = option(
        "monotone",
        "state in which chains begin: word by word, the best monotone phrases, at random, the decoder's best",
    )
    annealing: Literal["slow", "fast", "none"] = option(
        "fast", "multiply the temperature by 0.9 or 0.5, or keep it at 0"
    )
    entropy_by: Literal["score", "frequency"] = option(
        "score",
        "log p of derivations in the gradient of the entropy: by the score, or by the relative frequency among samples",
    )
    decay: float | None = option(None, "another factor for the temperature", minimum=0)
    temperature: float = option(0.005, "initial temperature: worth of a nat of entropy, in gain from 0 to 1", minimum=0)
    coldest: float = option(1e-5, "stop when the temperature is below this", minimum=0)
    updates_per_temperature: int = option(20, "updates before the temperature falls", minimum=1)
    updates: int | None = option(None, "maximum number of updates (without annealing: 300)", minimum=1)
    ascent: AscentName = option("adam", "Adam, approximated exponentiated gradient, or the plain gradient")
    rate: float | None = option(None, "learning rate, for eg the initial one; adam: 0.1, others: 2", minimum=0)
    meta_rate: float = option(2.0, "rate at which eg changes its learning rates", minimum=0)
    max_growth: float = option(
        2.0, "largest factor by which eg multiplies a learning rate in an update; 0: no limit", minimum=0
    )
    deviation: float = option(0.0, "standard deviation of a Gaussian prior of the weights; 0: no prior", minimum=0)
    evaluate_every: int = option(20, "updates between checkpoints", minimum=1)
    average: bool = option(True, "a checkpoint has the mean weights over its updates, not the last ones")

    @abstractmethod
    def estimate(
        self, drawn: SampleStatistics, scorer: Scorer, sign: int, temperature: float, rng: np.random.Generator
    ) -> Estimate:
        """Estimate the gain and the gradient; the gain is `sign` times the metric's score divided by 100."""

    def log_probabilities(self, drawn: SampleStatistics) -> Vector:
        """Return log p of each row, up to a constant for each sentence, as the gradient of the entropy needs it."""
        return drawn.scores if self.entropy_by == "score" else np.log(drawn.probabilities)

    def temperature_of(self, update: int) -> float:
        """Return the temperature of an update, counted from 0."""
        if self.annealing == "none":
            return 0.0
        return self.temperature * self._decay ** (update // self.updates_per_temperature)

    @property
    def _decay(self) -> float:
        return self.decay if self.decay is not None else _DECAY.get(self.annealing, 1.0)

    @property
    def _rate(self) -> float:
        return self.rate if self.rate is not None else 0.1 if self.ascent == "adam" else 2.0

    @property
    def _updates(self) -> int | None:
        return self.updates or (300 if self.annealing == "none" else None)

    def reason_to_stop(self, update: int) -> str | None:
        """Return the reason to stop before an update, counted from 0, or None."""
        if self._updates is not None and update >= self._updates:
            return f"{update} updates are done"
        if self.annealing != "none" and self.temperature_of(update) < self.coldest:
            return f"the temperature is below {self.coldest:g}"
        return None

    def checkpoints(
        self, training_set: TrainingSet, start: Weights, state: State | None, seed: int, runtime: Runtime
    ) -> Iterator[Checkpoint]:
        """Climb, with a checkpoint after every `evaluate_every` updates."""
        ascent = ascent_of(self.ascent, self._rate, self.meta_rate, self.max_growth)
        weights, update = self._first(start, training_set), 0
        if state is not None:
            ascent.restore(state)
            names = saved_names(state)
            values = saved_numbers(state, "weights", len(names)).tolist()
            weights, update = Weights(zip(names, values, strict=True)), saved_count(state, "update")
        stop, warned = None, self.jump_every > 0
        while stop is None:
            done, passed = list[_Update](), list[Weights]()
            with runtime.stage("learning") as progress_callback:
                for _ in range(self.evaluate_every):
                    done.append(self._updated(training_set, weights, ascent, update, seed, runtime))
                    weights = done[-1].weights
                    passed.append(weights)
                    update += 1
                    stop = self.reason_to_stop(update)
                    progress_callback(len(done) / self.evaluate_every)
                    if stop is not None or not weights.finite:
                        break
            report = {
                "updates": update,
                "temperature": self.temperature_of(update - 1),
                "objective": 100 * float(np.mean([one.gain for one in done])),
                "entropy": float(np.mean([one.entropy for one in done])),
            }
            if not warned and (cut_off := {i for one in done for i in one.unconnected}):
                warned = True
                self._warn(len(cut_off), len({i for one in done for i in one.sentences}), runtime)
            now = {
                "update": np.array(update),
                "names": np.array(list(weights), np.str_),
                "weights": weights.vector(list(weights)),
            }
            judged = _mean(passed if self.average else passed[-1:], training_set)
            yield Checkpoint(judged, {**now, **ascent.state()}, report, stop)

    def check(self, training_set: TrainingSet) -> None:
        """Refuse schedules that never end, or never begin."""
        super().check(training_set)
        if 0 < self.max_growth < 1:
            raise UsageError(f"max_growth is {self.max_growth:g}, so that rates only fall; expected 1 or more, or 0")
        if self.annealing != "none" and self.updates is None:
            if not self._decay < 1:
                raise UsageError(f"the decay is {self._decay:g}, so that the temperature never falls; expected below 1")
            if not self.coldest > 0:
                raise UsageError("the temperature never falls to 0; expected a coldest above 0, or a number of updates")
        if self.reason_to_stop(0):
            raise UsageError(f"the temperature begins at {self.temperature:g}, below the coldest, {self.coldest:g}")

    def _first(self, start: Weights, training_set: TrainingSet) -> Weights:
        if self.start == "given":
            return start
        return start.updated(dict.fromkeys([*training_set.names, *training_set.sparse(start)], 0.0))

    def _updated(
        self, training_set: TrainingSet, weights: Weights, ascent: Ascent, update: int, seed: int, runtime: Runtime
    ) -> _Update:
        """Make one update."""
        rng = np.random.default_rng([seed, update])
        units = self.minibatch_of(training_set.units, update, rng)
        sentences = training_set.sentences_of(units)
        batches = self._draw(training_set, weights, units, int(rng.integers(2**63)), runtime)
        samples = Samples.concatenate([batch.samples for batch in batches])
        drawn = SampleStatistics.of(samples, training_set.scorer, sentences, weights, runtime=runtime)
        temperature = self.temperature_of(update)
        estimate = self.estimate(drawn, training_set.scorer, training_set.sign, temperature, rng)
        sparse = training_set.sparse(drawn.features.names)
        names = [*training_set.names, *sparse]
        before = weights.vector(names)
        gradient = drawn.weighted_features(names, estimate.shares)
        gradient += estimate.sentences * self.prior(before, len(training_set))[1]
        values = before + ascent.step(names, gradient, update + 1)
        # Sparse weights that this minibatch lacks stay as they are, after the others.
        after = replace_weights(
            weights, names, values, dict.fromkeys(sorted({*sparse, *training_set.sparse(weights)}), (0, 0))
        )
        parts = np.concatenate([batch.components for batch in batches])
        return _Update(
            after, estimate.gain, float(drawn.entropies.mean()), sentences.tolist(), sentences[parts > 1].tolist()
        )

    def prior(self, weights: Vector, sentences: int) -> tuple[float, Vector]:
        """Return the logarithm of the Gaussian prior's density, divided by the number of sentences, and its gradient.

        The logarithm is that of the ratio to the density at 0.
        """
        precision = 1 / (self.deviation**2 * sentences) if self.deviation else 0.0
        return -precision / 2 * float((weights * weights).sum()), -precision * weights

    def _warn(self, unconnected: int, sentences: int, runtime: Runtime) -> None:
        runtime.warn(
            f"the derivations of {unconnected:,} of {sentences:,} sentences fall into parts between which a chain"
            " cannot move, so that it samples only one of them; `jump_every` lets it jump"
        )

    def minibatch_of(self, units: NDArray[np.int64], update: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the units of a minibatch, in order: as many as have `minibatch` sentences; `units` are all bounds."""
        sizes = np.diff(units)
        if self.order == "sequence":
            first = int(np.searchsorted(units, update * self.minibatch % units[-1], side="right")) - 1
            order = (first + np.arange(len(sizes))) % len(sizes)
        else:
            order = rng.permutation(len(sizes))
        count = 1 + int(np.searchsorted(np.cumsum(sizes[order]), self.minibatch))
        return np.sort(order[:count])

    def _draw(
        self, training_set: TrainingSet, weights: Weights, units: NDArray[np.int64], seed: int, runtime: Runtime
    ) -> list[SampleBatch]:
        sampling = Sampling(
            samples=self.samples,
            chains=self.chains,
            burn_in=self.burn_in,
            start_temperature=self.start_temperature,
            initial=self.initial,
            jump_every=self.jump_every,
        )
        sizes = np.diff(training_set.units)[units]
        found = draw_samples(
            training_set.spread(weights, runtime=runtime),
            Draw(sampling, seed, trace=training_set.sees_documents),
            [training_set.lines[i] for i in training_set.sentences_of(units).tolist()],
            np.repeat(units, sizes).tolist(),
        )
        return list(found)


def _mean(passed: Sequence[Weights], training_set: TrainingSet) -> Weights:
    """Return the mean of some weights, without sparse ones that are 0."""
    sparse = training_set.sparse({name for weights in passed for name in weights})
    names = [*training_set.names, *sparse]
    return replace_weights(passed[-1], names, np.mean([weights.vector(names) for weights in passed], axis=0), sparse)
