"""SampleRank: chains over derivations that change the weights whenever model and metric disagree on two of them.

Haddow, Arun & Koehn, "SampleRank training for phrase-based machine translation", 2011.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.feature_rows import Weights
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.sampling.schedule import checked_seed
from dragoman.tuning.methods.method import Checkpoint, Learner, State, TrainingSet, saved_numbers
from dragoman.tuning.methods.samplerank.jumps import JumpSteps
from dragoman.tuning.methods.samplerank.neighbours import (
    LocalSteps,
    NamedFeatures,
    PoolSteps,
    check_jumps,
    merge_results,
    with_trained_weights,
)
from dragoman.tuning.methods.samplerank.rank_chains import Plan, RankRequest, RankResult, check_steps
from dragoman.tuning.optimise.online import units_of

#: The settings of the paper, completed from its authors' program: gains are points of BLEU. Weights are evaluated after
#: every 50,000 samples of each chain; there are enough epochs for 500,000.
_PAPER: Mapping[str, Any] = {
    "neighbours": "local",
    "chains": 8,
    "epochs": 40,
    "validate_every": 50_000,
    "average": "all",
    "samples": 100,
    "burn_in": 100,
    "start": "gloss",
    "merge_split": 1.0,
    "reorder": 1.0,
    "retranslate": 0.0,
    "temperature": 1.0,
    "better": "gain+score",
    "worse": "drawn",
    "violation": "order",
    "gain_scale": 1.0,
    "margin": 0.0,
    "aggressiveness": 0.01,
    "smoothing": 0.01,
    "update": "closed-form",
}
#: The defaults of the authors' script, and of their program where the script sets nothing.
_AUTHORS_SCRIPT: Mapping[str, Any] = {
    **_PAPER,
    "epochs": 400,
    "batch_size": 1,
    "samples": 10,
    "counted": "applied",
    "merge_split": 0.2,
    "reorder": 0.6,
    "retranslate": 0.2,
    "temperature": 1e-6,
    "better": "gain",
    "best_found": True,
    "margin": 5.0,
    "aggressiveness": 0.1,
}


@dataclass(frozen=True)
class SampleRank(JumpSteps, Learner):
    """Online learning from pairs of derivations, ordered by a metric of whole batches.

    A chain keeps a derivation of each sentence of a batch. Each step picks a sentence and looks at neighbours of its
    derivation. The better one e+ has the best sum of gain and score, where the gain is the metric of the batch with
    that derivation in it. If the model prefers the worse one e' and the gain e+, the weights change:
    w += τ (h(e+) - h(e')), with τ = min((M (gain+ - gain') - (score+ - score')) / |h(e+) - h(e')|², C), which is the
    smallest change that makes score+ - score' at least M (gain+ - gain'), unless C clips it. Chains work on different
    parts of the tuning set, and their weights are averaged after each epoch.

    By default the neighbours are a pool (`neighbours=jump`): all derivations of the sentence that were among the
    decoder's `pool` best at the start of an epoch. e' is the fear derivation, with the best score minus M gain, where
    M is `scale`; the chain starts with the pools' best and jumps to the model's best. Any model that can be decoded
    works. `neighbours=local` is the walk of the paper: an operator of the sampler at a place of a phrase-based
    derivation leads to the neighbours, e' is drawn by its probability, and the chain goes on from it; nothing is
    decoded. `both` does an epoch of local steps and then one of jumps.

    `preset=paper` sets the options of the paper. The defaults depart from it, also with local steps: weights change
    where the margin is violated, not only the order; M is 10, not the gain of e+; chains start from the best monotone
    derivations, not from glosses. In both, gains are points of the metric, whose unit the paper leaves open, and
    checkpoints are judged on the tuning set unless there is held-out text, which the paper has.

    Weights are not normalised: their scale decides how close in score derivations must be for a gain to decide (`scale`
    and `gain_scale` weigh gains against scores), and how far C lets a step go.

    Cost: an epoch of jumps takes as long as decoding with n-best lists, and a tenth or two of a millisecond a step in
    pools of a few hundred. A local step lists some hundred neighbours and takes some twenty microseconds for BLEU,
    independently of the number of features and the size of the batch. Other metrics are called from Python once per
    step, which takes about twenty times as long.
    """

    name: ClassVar[str] = "samplerank"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": _PAPER, "authors-script": _AUTHORS_SCRIPT}

    preset: Literal["paper", "authors-script"] | None = option(
        None, "defaults of the paper, or of its authors' script; other options override them"
    )
    neighbours: Literal["jump", "local", "both"] = option(
        "jump",
        "jump within pools of decoded derivations, apply operators at one place, or alternate between the two",
    )
    epochs: int = option(10, "passes over the tuning set", minimum=1)
    chains: int | None = option(
        None,
        "chains, each with its own part of the tuning set and its own weights; by default 8 with local steps alone, "
        "otherwise 2",
        minimum=1,
    )
    batch_size: int | None = option(
        None, "sentences per batch, over which gains are computed; by default all of a chain", minimum=1
    )
    average: Literal["all", "epoch", "none"] | None = option(
        None,
        "weights to report: averages over all steps so far, over the steps of the epoch, or the current ones; "
        "by default all with local steps alone, otherwise epoch",
    )
    initial: Literal["given", "zero"] = option("given", "start from the given weights, or from 0")
    evaluate_every: int | None = option(None, "sentences between checkpoints; by default an epoch", minimum=1)
    validate_every: int | None = option(
        None, "samples of a chain between checkpoints, at least, in place of evaluate-every", minimum=1
    )

    def check(self, training_set: TrainingSet) -> None:
        """Refuse options that contradict each other."""
        super().check(training_set)
        if self.neighbours != "jump":
            check_steps(self, training_set.translator.space)
        if self.neighbours != "local":
            check_jumps(training_set)

    def checkpoints(
        self, training_set: TrainingSet, start: Weights, state: State | None, seed: int, runtime: Runtime
    ) -> Iterator[Checkpoint]:
        """Train from `start`, or resume from a checkpoint."""
        alone = self.neighbours == "local"
        reported = self.average or ("all" if alone else "epoch")
        local = None if self.neighbours == "jump" else LocalSteps(self, training_set, start, runtime=runtime)
        jump = None if alone else PoolSteps(self, training_set, start, state, local)
        course = _ChainSchedule(self, training_set.units, checked_seed(seed))
        space = jump or local
        assert space is not None
        given = start.vector(space.names)
        now = course.begin(given[space.learnt]) if state is None else course.resume(state, int(space.learnt.sum()))
        unseen = list[RankResult]()
        while now.epoch < self.epochs:
            plan = course.plan(now.epoch)
            stop = course.next_stop(plan, now)
            if jump is not None and now.wave == 0:
                jump.grow(with_trained_weights(start, jump, now.weights[0]), now.epoch, runtime=runtime)
                now = now.widened(int(jump.learnt.sum()))
            weights = np.tile(start.vector(space.names), (course.chains, 1))
            weights[:, space.learnt] = now.weights
            units, cooled = self._units(space, training_set, now), 1 + self.cooling * now.epoch
            waves, done = [batches[now.wave : stop] for batches in plan], []
            for steps in [one for one in (local, jump) if one is not None]:
                with runtime.stage(f"epoch {now.epoch + 1}") as progress_callback:
                    first = now.epoch << 32 | now.wave
                    asked = RankRequest(
                        seed, first, units, cooled, progress_callback=progress_callback, runtime=runtime
                    )
                    done.append(steps.run(waves, weights, asked))
                weights = done[-1].weights
            found = merge_results(done)
            last, before = stop == max(map(len, plan)), now
            now = now.after(found, space.learnt, stop, last=last)
            unseen.append(found)
            if now.epoch < self.epochs and not course.due(before, now):
                continue
            why = f"{self.epochs} epochs" if now.epoch == self.epochs else None
            arrays = now.arrays() | (jump.pools.arrays() if jump is not None else {})
            if self.units == "plain":
                del arrays["squares"]
            report = _report(unseen) | {"samples": float(now.collected[0]) / course.chains}
            yield Checkpoint(with_trained_weights(start, space, now.reported(reported)), arrays, report, why)
            unseen.clear()

    def _units(self, space: NamedFeatures, training_set: TrainingSet, now: _ChainState) -> NDArray[np.float64] | None:
        """Return the units of all features in this epoch, by the squares of the last one; 1 for sparse ones."""
        if self.units == "plain" or not now.squares[0].any():
            return None
        dense = np.isin(space.names, training_set.names) & space.learnt
        units = np.ones(len(space.names))
        units[dense] = units_of([np.append(now.squares[0][dense[space.learnt]], 1.0)])
        return units


@dataclass(frozen=True, eq=False)
class _ChainState:
    """State of the chains: their weights, and sums over all steps so far and over the steps of the epoch.

    `squares` of differences in updates are of the last epoch and of this one. Only trained weights are here. `wave`
    batches of each chain are done in this epoch.
    """

    weights: NDArray[np.float64]
    sums: NDArray[np.float64]  # two rows: of all steps, of the steps of the epoch
    collected: NDArray[np.int64]  # likewise
    squares: NDArray[np.float64]  # two rows: of the last epoch, of this one
    epoch: int = 0
    wave: int = 0

    def arrays(self) -> dict[str, NDArray[Any]]:
        place = np.array([self.epoch, self.wave])
        sums = {"sums": self.sums, "collected": self.collected}
        return {"weights": self.weights, **sums, "place": place, "squares": self.squares}

    def reported(self, average: Literal["all", "epoch", "none"]) -> NDArray[np.float64]:
        row = 0 if average == "all" else 1
        if average == "none" or not self.collected[row]:
            return np.asarray(self.weights.mean(axis=0))
        return np.asarray(self.sums[row] / self.collected[row])

    def widened(self, learnt: int) -> _ChainState:
        """Return the state with more weights, which have been 0 so far."""
        more = ((0, 0), (0, learnt - self.weights.shape[1]))
        weights, sums, squares = (np.pad(rows, more) for rows in (self.weights, self.sums, self.squares))
        return replace(self, weights=weights, sums=sums, squares=squares)

    def after(self, found: RankResult, learnt: NDArray[np.bool_], wave: int, *, last: bool) -> _ChainState:
        """Return the state after a run of chains; after the last batches of an epoch, their weights are averaged."""
        kept = np.array([True, self.wave > 0])
        sums = self.sums * kept[:, None] + found.totals[:, learnt].sum(axis=0)
        collected = self.collected * kept + found.collected.sum()
        weights = found.weights[:, learnt]
        squares = self.squares + np.array([[0.0], [1.0]]) * found.squares[:, learnt].sum(axis=0)
        if last:
            mixed = np.tile(weights.mean(axis=0), (len(weights), 1))
            done = np.array([squares[1], np.zeros_like(squares[1])])
            return _ChainState(mixed, sums, collected, done, self.epoch + 1)
        return _ChainState(weights, sums, collected, squares, self.epoch, wave)


class _ChainSchedule:
    """Assignment of units to chains, batches and checkpoints."""

    def __init__(self, options: SampleRank, units: NDArray[np.int64], seed: int):
        self._options, self._units, self._seed = options, units, seed
        chains = options.chains or (8 if options.neighbours == "local" else 2)
        self.chains = min(chains, len(units) - 1)

    def begin(self, start: NDArray[np.float64]) -> _ChainState:
        weights = start if self._options.initial == "given" else np.zeros_like(start)
        sums = np.zeros((2, len(start)))
        return _ChainState(np.tile(weights, (self.chains, 1)), sums, np.zeros(2, np.int64), sums)

    def resume(self, state: State, learnt: int) -> _ChainState:
        if state["weights"].ndim == 2 and state["weights"].shape != (self.chains, learnt):
            chains, weights = state["weights"].shape
            raise DataError(
                f"the saved state has {chains} chains and {weights} weights",
                expected=f"{self.chains} chains and {learnt} weights",
            )
        weights, sums = saved_numbers(state, "weights", self.chains, learnt), saved_numbers(state, "sums", 2, learnt)
        epoch, wave = saved_numbers(state, "place", 2).astype(np.int64).tolist()
        if not (0 <= epoch <= self._options.epochs and 0 <= wave < max(map(len, self.plan(epoch)))):
            raise DataError(f"the saved state is in batch {wave} of epoch {epoch}", expected="one of this run")
        squares = np.zeros((2, learnt))
        if self._options.units != "plain":
            squares = saved_numbers(state, "squares", 2, learnt)
        return _ChainState(weights, sums, saved_numbers(state, "collected", 2), squares, epoch, wave)

    def plan(self, epoch: int) -> list[list[NDArray[np.int64]]]:
        """Return the batches of each chain in an epoch: a random part of all units, in batches of similar size."""
        order = np.random.default_rng([self._seed, epoch]).permutation(len(self._units) - 1)
        plan = []
        for part in np.array_split(order, self.chains):
            lengths = np.diff(self._units)[part]
            total = int(lengths.sum())
            count = 1 if self._options.batch_size is None else max(1, -(-total // self._options.batch_size))
            batch = (np.cumsum(lengths) - lengths) * count // max(total, 1)
            plan.append([part[batch == i] for i in range(count) if (batch == i).any()])
        return plan

    def next_stop(self, plan: Plan, now: _ChainState) -> int:
        """Return the number of batches of each chain at the next checkpoint, or at the end of the epoch."""
        waves, options = max(map(len, plan)), self._options
        wanted = options.evaluate_every
        if options.validate_every is not None:
            steps = options.samples * (options.neighbours != "jump") + options.visits * (options.neighbours != "local")
            left = (self._intervals(now) + 1) * options.validate_every * self.chains - int(now.collected[0])
            wanted = -(-left // steps)
        if wanted is None:
            return waves
        lengths, done = np.diff(self._units), 0
        for stop in range(now.wave, waves):
            done += sum(int(lengths[batches[stop]].sum()) for batches in plan if stop < len(batches))
            if done >= wanted:
                return stop + 1
        return waves

    def due(self, before: _ChainState, now: _ChainState) -> bool:
        """Return whether a checkpoint is due."""
        return self._options.validate_every is None or self._intervals(now) > self._intervals(before)

    def _intervals(self, standing: _ChainState) -> int:
        """Return the number of intervals between checkpoints that a chain has completed."""
        assert self._options.validate_every is not None
        return int(standing.collected[0]) // (self._options.validate_every * self.chains)


def _report(parts: Sequence[RankResult]) -> dict[str, float]:
    """Report proportions of steps with updates and of updates clipped by C, the length of changes, and the gain."""
    steps, changes, updates, clipped, batches = sum(part.counts.sum(axis=0) for part in parts).tolist()
    return {
        "updates": updates / max(sum(int(part.collected.sum()) for part in parts), 1),
        "clipped": clipped / max(updates, 1),
        "changes": changes / max(steps, 1),
        "moved": sum(float(part.moved.mean()) for part in parts),
        "gain": sum(float(part.gains.sum()) for part in parts) / max(batches, 1),
    }
