"""SampleRank: chains over derivations that change the weights whenever model and metric disagree on two neighbours.

Haddow, Arun & Koehn, "SampleRank training for phrase-based machine translation", 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import option
from dragoman.core.progress import SILENT, Progress
from dragoman.core.weights import Weights
from dragoman.sampling.chains import check_weights, checked_seed
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.tuning.batch_gain import MetricGain, bleu_arrays, check_statistics
from dragoman.tuning.feature_table import FeatureTable
from dragoman.tuning.learner import Checkpoint, Learner, Lesson, State


@dataclass(frozen=True)
class SampleRank(Learner):
    """Learns online from neighbours of derivations, with a metric of whole batches as the judge.

    A chain keeps a derivation of each sentence of a batch. Each step picks a sentence, an operator of the sampler and a
    place for it, and lists the derivations that the operator can lead to there. One, e', is drawn by its probability;
    the oracle e+ has the best sum of gain and score, where the gain is the metric of the batch with that derivation in
    it. If the model prefers e' and the gain e+, the weights change: w += τ (h(e+) - h(e')), with
    τ = min((M (gain+ - gain') - (score+ - score')) / |h(e+) - h(e')|², C), which is the smallest change that makes
    score+ - score' at least M (gain+ - gain'), unless C clips it. The chain goes on from e'. Weights are averaged over
    all steps after burn-in; chains work on different parts of the tuning set, and their weights are averaged after each
    epoch.

    Weights are used as they are given: their scale decides how close to each other in score derivations must be for a
    gain to decide (`gain_scale` weighs gains against scores), and how far `C` lets a step go.

    Cost: a step takes some ten microseconds for BLEU (about 400 neighbours), whatever the size of the batch and the
    number of features; other metrics are called once a step, and take a hundred times as long.
    """

    name: ClassVar[str] = "samplerank"

    epochs: int = option(10, "passes over the tuning set", minimum=1)
    chains: int = option(8, "chains, each with its own part of the tuning set and its own weights", minimum=1)
    batch_size: int | None = option(None, "sentences that gains look at; by default all that a chain has", minimum=1)
    samples: int = option(100, "steps a sentence that may change weights", minimum=1)
    burn_in: int = option(100, "steps a sentence before them", minimum=0)
    merge_split: float = option(1.0, "how often phrases are merged and split", minimum=0)
    reorder: float = option(1.0, "how often two phrases are exchanged", minimum=0)
    retranslate: float = option(0.0, "how often a phrase is translated anew", minimum=0)
    temperature: float = option(1.0, "scores are divided by this when a neighbour is drawn", minimum=1e-6)
    aggressiveness: float = option(0.01, "C, the most that a step may multiply a difference of features by", minimum=0)
    gain_scale: float = option(1.0, "what a gain of 1 (100 points) is worth in score", minimum=1e-9)
    margin: float | None = option(None, "M, the factor of the margin; by default the oracle's gain", minimum=0)
    smoothing: float = option(0.01, "added to all counts of BLEU", minimum=0)
    update: Literal["closed-form", "hildreth"] = option(
        "closed-form", "one constraint a step, or several by Hildreth's algorithm"
    )
    constraints: int = option(5, "hildreth: the drawn neighbour and the most violated others, so many", minimum=1)
    average: Literal["all", "epoch", "none"] = option(
        "all", "weights to report: averages of all steps so far, of those of the epoch, or the present ones"
    )
    initial: Literal["given", "zero"] = option("given", "begin with the given weights, or with 0")
    evaluate_every: int | None = option(None, "sentences between checkpoints; by default an epoch", minimum=1)

    def learn(
        self,
        lesson: Lesson,
        start: Weights,
        state: State | None = None,
        *,
        seed: int = 1,
        threads: int = 1,
        progress: Progress = SILENT,
    ) -> Iterator[Checkpoint]:
        """Learn from `start`, or go on from a checkpoint."""
        school = _School(self, lesson, start, seed=checked_seed(seed), threads=threads)
        now = school.begin() if state is None else school.resumed(state)
        while now.epoch < self.epochs:
            with progress.stage(f"epoch {now.epoch + 1}") as share_done:
                now, report = school.round(now, share_done)
            weights = school.table.changed(start, now.reported(self.average))
            stop = f"{self.epochs} epochs" if now.epoch == self.epochs else None
            yield Checkpoint(weights, now.arrays(), report, stop)


@dataclass(frozen=True, eq=False)
class _Standing:
    """How far chains have got: their weights, and sums over all steps so far and over those of the epoch.

    Only weights that are learnt are here. `wave` batches of each chain are done in this epoch.
    """

    weights: NDArray[np.float64]
    sums: NDArray[np.float64]  # two rows: of all steps, of the steps of the epoch
    collected: NDArray[np.int64]  # likewise
    epoch: int = 0
    wave: int = 0

    def arrays(self) -> dict[str, NDArray[Any]]:
        place = np.array([self.epoch, self.wave])
        return {"weights": self.weights, "sums": self.sums, "collected": self.collected, "place": place}

    def reported(self, average: Literal["all", "epoch", "none"]) -> NDArray[np.float64]:
        if average == "none":
            return np.asarray(self.weights.mean(axis=0))
        row = 0 if average == "all" else 1
        return np.asarray(self.sums[row] / self.collected[row])


class _School:
    """A lesson in the kernel's terms."""

    def __init__(self, options: SampleRank, lesson: Lesson, start: Weights, *, seed: int, threads: int):
        _check(options, lesson)
        check_weights(start)
        self._options, self._lesson, self._seed, self._threads = options, lesson, seed, threads
        translator = lesson.translator(start)
        self._limit = translator.reordering_limit
        self._batch = translator.batch(lesson.lines)
        global_features = tuple(getattr(lesson.model, "global_features", ()))
        self._functions = GlobalFunctions(global_features, start) if global_features else None
        self.table = FeatureTable.of(self._batch, lesson, [feature.name for feature in global_features])
        self._start = start.vector(self.table.names)
        documents = self._functions is not None and self._functions.see_documents
        self._units = lesson.document_bounds if documents else np.arange(len(lesson) + 1)
        self._chains = min(options.chains, max(1, len(self._units) - 1))
        phrase_options = self._batch.options
        self._bleu = bleu_arrays(lesson.scorer, phrase_options, options.smoothing)
        self._gain = None
        if self._bleu is None:
            self._gain = MetricGain(
                lesson.scorer, phrase_options.vocab, sign=lesson.sign, smoothing=options.smoothing
            )

    def begin(self) -> _Standing:
        learnt = self._start[self.table.learnt] * (self._options.initial == "given")
        sums, collected = np.zeros((2, len(learnt))), np.zeros(2, np.int64)
        return _Standing(np.tile(learnt, (self._chains, 1)), sums, collected)

    def resumed(self, state: State) -> _Standing:
        expected = self._chains, int(self.table.learnt.sum())
        if state["weights"].shape != expected:
            raise DataError(
                f"the saved state has {state['weights'].shape[0]} chains and {state['weights'].shape[1]} weights",
                expected=f"{expected[0]} chains and {expected[1]} weights",
            )
        epoch, wave = state["place"].tolist()
        return _Standing(state["weights"], state["sums"], state["collected"], epoch, wave)

    def round(self, now: _Standing, share_done: Any) -> tuple[_Standing, dict[str, float]]:
        """Learn until the next checkpoint."""
        options = self._options
        plan = self._plan(now.epoch)
        waves = max(len(batches) for batches in plan)
        stop = self._next_stop(plan, now.wave, waves)
        mine = [batches[now.wave : stop] for batches in plan]
        weights = np.tile(self._start, (self._chains, 1))
        weights[:, self.table.learnt] = now.weights
        found = self._run(mine, weights, now.epoch << 32 | now.wave, share_done)
        counts = found["counts"].sum(axis=0)
        collected, steps, changes, updates, clipped, batches = counts.tolist()
        learnt = found["weights"][:, self.table.learnt]
        total = found["totals"][:, self.table.learnt].sum(axis=0)
        sums = now.sums * [[1], [now.wave > 0]] + total
        done = now.collected * [1, now.wave > 0] + collected
        after = _Standing(learnt, sums, done, now.epoch, stop)
        if stop == waves:
            mixed = np.tile(learnt.mean(axis=0), (self._chains, 1))
            after = _Standing(mixed, sums, done, now.epoch + 1, 0)
        gain, moved = found["measures"].sum(axis=0).tolist()
        report = {
            "epoch": now.epoch + stop / waves,
            "updates": updates / max(collected, 1),
            "clipped": clipped / max(updates, 1),
            "changes": changes / max(steps, 1),
            "moved": moved / self._chains,
            "gain": 100 * gain / max(batches, 1),
        }
        assert options.chains >= self._chains
        return after, report

    def _run(
        self, plan: list[list[NDArray[np.int64]]], weights: NDArray[np.float64], first_batch: int, share_done: Any
    ) -> dict[str, Any]:
        options, phrase_options = self._options, self._batch.options
        batches = [batch for chain in plan for batch in chain]
        try:
            found = kernels.samplerank(
                self._batch.arrays,
                self.table.arrays,
                [] if self._functions is None else self._functions.arrays(self._batch),
                self.table.global_ids,
                self._bleu,
                self._gain,
                phrase_options.words.values,
                phrase_options.source.sentences.offsets,
                self._units,
                self.table.learnt.astype(np.uint8),
                weights,
                np.concatenate([np.empty(0, np.int64), *batches]),
                np.cumsum([0, *(len(batch) for batch in batches)]),
                np.cumsum([0, *(len(chain) for chain in plan)]),
                reordering_limit=self._limit,
                seed=self._seed,
                first_batch=first_batch,
                rates=(options.merge_split, options.reorder, options.retranslate),
                burn_in=options.burn_in,
                samples=options.samples,
                temperature=options.temperature,
                gain_scale=options.gain_scale,
                margin=-1.0 if options.margin is None else options.margin,
                bound=options.aggressiveness,
                constraints=options.constraints if options.update == "hildreth" else 1,
                sign=float(self._lesson.sign),
                trace=False,
                threads=self._threads,
                progress=share_done,
            )
        except ValueError as error:
            if self._functions is None:
                raise
            raise self._functions.failure(error) from None
        for sentence in found["missing"][found["missing"] >= 0].tolist():
            raise DataError(
                f"sentence {sentence + 1} ('{self._lesson.lines[sentence]}') has no derivation",
                expected="options that cover each word, in an order that the reordering limit allows",
            )
        return found

    def _plan(self, epoch: int) -> list[list[NDArray[np.int64]]]:
        """The batches of each chain in an epoch, as units: a random part of all, cut into batches of about a size."""
        order = np.random.default_rng([self._seed, epoch]).permutation(len(self._units) - 1)
        plan = []
        for part in np.array_split(order, self._chains):
            lengths = np.diff(self._units)[part]
            total = int(lengths.sum())
            count = 1 if self._options.batch_size is None else -(-total // self._options.batch_size)
            batch = (np.cumsum(lengths) - lengths) * count // max(total, 1)
            plan.append([part[batch == i] for i in range(count) if (batch == i).any()])
        return plan

    def _next_stop(self, plan: list[list[NDArray[np.int64]]], wave: int, waves: int) -> int:
        if self._options.evaluate_every is None:
            return waves
        lengths, done = np.diff(self._units), 0
        for stop in range(wave, waves):
            done += sum(int(lengths[batches[stop]].sum()) for batches in plan if stop < len(batches))
            if done >= self._options.evaluate_every:
                return stop + 1
        return waves


def _check(options: SampleRank, lesson: Lesson) -> None:
    if not len(lesson):
        raise UsageError("there is no sentence to learn from")
    if not (options.merge_split or options.reorder or options.retranslate):
        raise UsageError("samplerank has no operator; expected merge-split, reorder or retranslate")
    if lesson.space.table_limit_by == "score":
        raise UsageError("samplerank needs options that do not depend on weights; set table-limit-by to probability")
    check_statistics(lesson.scorer)
