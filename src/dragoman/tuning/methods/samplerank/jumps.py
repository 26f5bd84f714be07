"""SampleRank's steps within pools: all derivations of a sentence that were decoded are neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.options import option
from dragoman.tuning.methods.samplerank.pools import Pools
from dragoman.tuning.methods.samplerank.rank_chains import BatchValue, Plan, RankRequest, RankResult, RankSteps
from dragoman.tuning.problems.problem import best_rows

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class JumpSteps(RankSteps):
    """Options of jumps, and their number; options without `jump:` in their help are shared with local steps."""

    pool: int = option(100, "jump: derivations per sentence that the decoder adds to the pool in each epoch", minimum=1)
    pool_from: Literal["lists", "forests"] = option(
        "lists", "jump: take the model's best derivations, or from forests a third each of best, hope and fear"
    )
    visits: int = option(5, "jump: steps per sentence", minimum=1)
    scale: float = option(10.0, "jump: score that one unit of gain is worth", minimum=1e-9)
    jump_aggressiveness: float = option(
        0.005, "jump: C, the largest step size: the factor of a difference of features", minimum=0
    )


class Jumps:
    """Chains that jump within pools; `learnt` marks trained features.

    Sentences u[i] to u[i + 1] of `units` u stay together; `lengths` are the source words of each sentence.
    """

    def __init__(
        self,
        steps: JumpSteps,
        pools: Pools,
        units: NDArray[np.int64],
        value: BatchValue,
        learnt: NDArray[np.bool_],
        lengths: NDArray[np.int64],
    ):
        self._lengths = lengths
        self.steps, self.pools, self.units, self.value, self.learnt = steps, pools, units, value, learnt
        self.bounds, self.rows = pools.sentences.tolist(), pools.features.offsets.tolist()
        self.row_of = np.repeat(np.arange(len(pools.features)), np.diff(pools.features.offsets))
        # Each chain starts with the best derivation of every pool under the metric.
        single = value.sign * np.nan_to_num(value.scorer.sentence_scores(pools.statistics))
        self.first = best_rows(single, pools.sentences)

    def run(self, plan: Plan, weights: Vector, asked: RankRequest) -> RankResult:
        """Run chains, each from its row of `weights` through its batches; see `RankChains.run`."""
        walks = []
        for number, (batches, row) in enumerate(zip(plan, weights, strict=True)):
            walks.append(walk := _Walk(self, row, asked))
            for place, batch in enumerate(batches):
                walk.through(
                    self._sentences(batch), np.random.default_rng([asked.seed, asked.first_batch + place, number])
                )
            if asked.progress_callback is not None:
                asked.progress_callback((number + 1) / len(plan))
        return RankResult(
            weights=np.array([walk.weights for walk in walks]),
            totals=np.array([walk.steps * walk.weights - walk.drift for walk in walks]),
            squares=np.array([walk.squares for walk in walks]),
            collected=np.array([walk.steps for walk in walks]),
            counts=np.array([[walk.steps, walk.changes, walk.updates, walk.clipped, walk.batches] for walk in walks]),
            gains=np.array([walk.gains for walk in walks]),
            moved=np.array([walk.moved for walk in walks]),
            traces=[],
        )

    def _sentences(self, batch: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([np.arange(self.units[unit], self.units[unit + 1]) for unit in batch.tolist()])

    def gain_scale(self, sentences: NDArray[np.int64]) -> float:
        """Return the score that one point of the metric is worth in a batch of sentences."""
        words = float(self._lengths[sentences].sum())
        return self.steps.scale * (words / 100 if self.steps.gain_unit == "words" else 1.0)

    def scores(self, sentence: int, weights: Vector) -> Vector:
        """Return the model's scores of a sentence's rows."""
        begin, end = self.bounds[sentence], self.bounds[sentence + 1]
        part = slice(self.rows[begin], self.rows[end])
        features = self.pools.features
        products = features.values[part] * weights[features.ids[part]]
        return np.bincount(self.row_of[part] - begin, products, end - begin).astype(np.float64)

    def difference(self, better: int, worse: int) -> tuple[NDArray[np.int32], Vector]:
        """Return the difference of two rows in trained features: their numbers, and the differences."""
        features, parts = self.pools.features, [slice(*self.rows[row : row + 2]) for row in (better, worse)]
        ids = np.concatenate([features.ids[part] for part in parts])
        values = np.concatenate([features.values[parts[0]], -features.values[parts[1]]])
        learnt = self.learnt[ids]
        found, places = np.unique(ids[learnt], return_inverse=True)
        return found, np.bincount(places, values[learnt], len(found)).astype(np.float64)


class _Walk:
    """A chain: its weights, `drift` (each change times the steps before it), and statistics."""

    def __init__(self, jumps: Jumps, weights: Vector, asked: RankRequest):
        self._jumps, self._bound = jumps, jumps.steps.jump_aggressiveness / asked.cooled
        self._units = np.ones(len(weights)) if asked.units is None else asked.units
        self.weights, self.drift, self.squares = weights.copy(), np.zeros_like(weights), np.zeros_like(weights)
        self.steps = self.changes = self.updates = self.clipped = self.batches = 0
        self.gains = self.moved = 0.0

    def through(self, sentences: NDArray[np.int64], rng: np.random.Generator) -> None:
        """Visit the sentences of a batch, in a new order each time."""
        jumps = self._jumps
        statistics = jumps.pools.statistics
        scale = jumps.gain_scale(sentences)
        at = dict(zip(sentences.tolist(), jumps.first[sentences].tolist(), strict=True))
        total = statistics[jumps.first[sentences]].sum(axis=0)
        for _ in range(jumps.steps.visits):
            for sentence in rng.permutation(sentences).tolist():
                rest = total - statistics[at[sentence]]
                goal = self._step(sentence, rest, scale, rng)
                self.changes += goal != at[sentence]
                at[sentence], total = goal, rest + statistics[goal]
        self.gains += float(jumps.value(total))
        self.batches += 1

    def _step(self, sentence: int, rest: Vector, scale: float, rng: np.random.Generator) -> int:
        """Change weights if model and gain disagree, and return the chain's next row."""
        jumps, steps = self._jumps, self._jumps.steps
        begin, end = jumps.bounds[sentence], jumps.bounds[sentence + 1]
        scores = jumps.scores(sentence, self.weights)
        gains = scale * jumps.value(rest + jumps.pools.statistics[begin:end])
        if not np.isfinite(gains).all():
            raise UsageError("the metric has no finite score for a batch of sentences, which samplerank needs")
        better = int(np.argmax(scores + gains)) if steps.better == "gain+score" else _best(gains, scores)
        best = int(np.argmax(scores))
        worse = best
        if steps.worse in (None, "fear"):
            worse = int(np.argmax(scores - gains))
        elif steps.worse == "drawn":
            worse = best = _drawn(scores / steps.temperature, rng)
        ahead, gap = scores[better] - scores[worse], gains[better] - gains[worse]
        if gap > 0 and (gap > ahead if steps.violation == "margin" else ahead < 0):
            self._update(begin + better, begin + worse, float(gap - ahead))
        self.steps += 1
        return int(begin + best)

    def _update(self, better: int, worse: int, lack: float) -> None:
        ids, vector = self._jumps.difference(better, worse)
        self.squares[ids] += vector**2
        vector = vector / self._units[ids]
        squared, bound = float(vector @ vector), self._bound
        if not squared:
            return
        change = min(lack / squared, bound) * (vector / self._units[ids])
        self.weights[ids] += change
        self.drift[ids] += self.steps * change
        self.updates += 1
        self.clipped += lack / squared >= bound
        self.moved += float(np.linalg.norm(change))


def _best(gains: Vector, scores: Vector) -> int:
    """Return the row with the best gain; among equal ones, the best score."""
    return int(np.argmax(np.where(gains == gains.max(), scores, -np.inf)))


def _drawn(scores: Vector, rng: np.random.Generator) -> int:
    """Draw a row by its probability."""
    sums = np.cumsum(np.exp(scores - scores.max()))
    return int(min(np.searchsorted(sums, rng.random() * sums[-1], "right"), len(sums) - 1))
