"""Online learning by parallel workers that share their updates; units of features; averages of weights.

Each worker has weights of its own. The sentences of a pass stand in a queue, from which the workers take in turn: with
W of them, worker w takes sentence t · W + w at its step t. At that step it looks for something under its weights (that
takes long, and is done in threads), and then learns from one batch: what it found, and what the others found at their
step t - 1. So no worker waits for others at the same step, and still results do not depend on timing. When a pass
ends, each learns from what the others found last, so that nothing is pending between passes.

Features are of different sizes: hypotheses of a sentence differ by some units of a language model, and by a tenth of
one in how likely phrases are to be swapped. A step along their difference hardly moves the weights of the latter.
Measured in units of the root of their deviation, each weight moves by its feature's difference divided by that
deviation (as AdaGrad would have it, with deviations in place of sums of gradients: Duchi, Hazan & Singer 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, DragomanError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime

Found = TypeVar("Found")


def even_queue(lengths: Sequence[int], workers: int, rng: np.random.Generator) -> list[int]:
    """Draw a queue of all sentences in which those that workers take at one step are about equally long.

    Then no worker waits long for the others. Sentences of one step are drawn among those of similar length, and the
    order of steps among all orders. The sentences of a last step that is not full are drawn among all.

    >>> queue = even_queue([3, 9, 2, 9, 3, 2], 2, np.random.default_rng(1))
    >>> sorted(sorted([a, b]) for a, b in zip(queue[::2], queue[1::2]))
    [[0, 4], [1, 3], [2, 5]]
    """
    drawn = rng.permutation(len(lengths))
    rest = len(drawn) % workers
    by_length = drawn[rest:][np.argsort(np.asarray(lengths)[drawn[rest:]], kind="stable")]
    steps = rng.permuted(by_length.reshape(-1, workers), axis=1)
    return [*rng.permutation(steps).ravel().tolist(), *drawn[:rest].tolist()]


class ParallelLearners(Generic[Found]):
    """Parallel learners. `find(worker, sentence)` is called in threads, `learn(worker, batch)` in one thread.

    The first of a batch is the worker's own, except in the last batch of a pass. A worker's next `find` is called
    after its `learn` has returned, so that it sees the new weights.
    """

    def __init__(
        self,
        count: int,
        find: Callable[[int, int], Found],
        learn: Callable[[int, Sequence[Found]], None],
        *,
        share: bool = True,
    ):
        self._count, self._find, self._learn, self._share = count, find, learn, share

    def run(
        self, queue: Sequence[int], *, progress_callback: ProgressCallback | None = None, runtime: Runtime = Runtime()
    ) -> None:
        """Run a pass over a queue of sentences."""
        turns = [queue[worker :: self._count] for worker in range(self._count)]
        board = _Board[Found](list(map(len, turns)), share=self._share)
        running: dict[Future[Found], int] = {}
        # Threads that only wait for remote workers cost nothing; there are as many as these can serve.
        pool = ThreadPoolExecutor(min(max(runtime.threads, runtime.parts_at_once), self._count))

        def begin(worker: int) -> None:
            if board.learnt[worker] < len(turns[worker]):
                running[pool.submit(self._find, worker, turns[worker][board.learnt[worker]])] = worker

        try:
            for worker in range(self._count):
                begin(worker)
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    worker = running.pop(future)
                    board.post(worker, _result(future, worker, turns[worker][board.learnt[worker]]))
                for worker in range(self._count):
                    if board.ready(worker):
                        self._learn(worker, board.batch(worker))
                        begin(worker)
                if progress_callback is not None:
                    progress_callback(sum(board.learnt) / len(queue))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        for worker in range(self._count):
            if rest := board.rest(worker):
                self._learn(worker, rest)


class _Board(Generic[Found]):
    """The results of workers at each of their steps, and the number of steps that each has learnt from."""

    def __init__(self, steps: Sequence[int], *, share: bool):
        self.learnt = [0] * len(steps)
        self._steps, self._share = steps, share
        self._found: list[dict[int, Found]] = [{} for _ in steps]
        self._done = [0] * len(steps)

    def post(self, worker: int, found: Found) -> None:
        self._found[worker][self._done[worker]] = found
        self._done[worker] += 1

    def ready(self, worker: int) -> bool:
        """Return whether a worker has a result, and the results of the others that it needs are there."""
        step = self.learnt[worker]
        if not self._share:
            return self._done[worker] > step
        enough = all(done >= min(step, steps) for done, steps in zip(self._done, self._steps, strict=True))
        return enough and self._done[worker] > step

    def batch(self, worker: int) -> list[Found]:
        """Return the batch of a worker's next step; drop results that all have learnt from."""
        step = self.learnt[worker]
        batch = [self._found[worker][step], *self._news(worker, step)]
        self.learnt[worker] += 1
        for found in self._found:
            found.pop(min(self.learnt) - 2, None)
        return batch

    def rest(self, worker: int) -> list[Found]:
        """Return the results of the others that a worker has not seen when it has done its part."""
        return [one for step in range(self.learnt[worker], max(self._steps) + 1) for one in self._news(worker, step)]

    def _news(self, worker: int, step: int) -> list[Found]:
        if not self._share:
            return []
        return [found[step - 1] for v, found in enumerate(self._found) if v != worker and step - 1 in found]


def _result(future: Future[Found], worker: int, sentence: int) -> Found:
    try:
        return future.result()
    except DragomanError:
        raise
    except Exception as error:
        raise DataError(
            f"worker {worker + 1} died at sentence {sentence + 1} ({type(error).__name__}: {error}); what was learnt "
            "up to the last checkpoint is kept, and the same command goes on from there"
        ) from error


Vector = NDArray[np.float64]

#: Least deviation of a feature relative to the mean of all, because little is known of rare ones.
LEAST_SHARE = 0.1


def squares_within(rows: FeatureRows, names: Sequence[str]) -> Vector:
    """Return the sum of squared differences to the mean of the rows for each name, and then the number of rows.

    >>> squares_within(FeatureRows.from_dense(["lm"], np.array([[1.0], [3.0]])), ["lm", "tm"]).tolist()
    [2.0, 0.0, 2.0]
    """
    dense = rows.restricted(names).dense()
    return np.append(((dense - dense.mean(axis=0)) ** 2).sum(axis=0), len(dense))


def units_of(squares: Iterable[Vector]) -> Vector:
    """Return units of features, from `squares_within` of some sentences, such that steps keep their length.

    >>> units_of([np.array([1.0, 1.0, 1.0])]).tolist()
    [1.0, 1.0]
    """
    *sums, rows = np.sum([*squares], axis=0)
    variances = np.array(sums) / max(rows, 1)
    mean = float(variances.mean()) if len(variances) else 0.0
    if mean == 0:
        return np.ones(len(variances))
    shares = np.maximum(np.sqrt(variances / mean), LEAST_SHARE)
    # Squares of units are the shares times a factor, such that variances divided by them have the mean that they had.
    return np.asarray(np.sqrt(shares * float((variances / shares).mean()) / mean))


class _Mark(NamedTuple):
    """The weights after a number of steps, and the drift that gives their sum (see `StepAverages`)."""

    steps: int
    weights: Weights
    drift: Mapping[str, float]

    def total(self, names: Sequence[str]) -> NDArray[np.float64]:
        drift = np.array([self.drift.get(name, 0.0) for name in names])
        return np.asarray(self.steps * self.weights.vector(names) - drift)


class StepAverages:
    """The weights of a learner, and their averages over its steps or over equal parts of them.

    `drift` has for each weight the sum of its changes, each times the steps before it: the sum of the weights after
    each of n steps is n times the last ones less their drift, so that the cost of a step is the number of its
    changes. `steps` is the expected number; further steps belong to the last part.

    >>> averages = StepAverages(Weights({"lm": 1.0}), steps=2, parts=2)
    >>> averages.step({"lm": 2.0})
    >>> averages.step({"lm": 5.0})
    >>> averages.mean(["lm"]).tolist(), averages.mean(["lm"], 1, 2).tolist()
    ([3.5], [5.0])
    """

    def __init__(self, weights: Weights, steps: int, parts: int = 1):
        self.weights, self.parts = weights, parts
        self._steps, self._drift = 0, dict[str, float]()
        self._ends = [part * steps // parts for part in range(parts)]
        self._marks = {0: _Mark(0, weights, {})}

    def step(self, changed: Mapping[str, float]) -> None:
        """Make a step in which these weights change."""
        for name, value in changed.items():
            self._drift[name] = self._drift.get(name, 0.0) + self._steps * (value - self.weights.get(name, 0.0))
        self.weights = self.weights.updated(changed)
        self._steps += 1
        if self._steps in self._ends:
            self._marks[self._steps] = _Mark(self._steps, self.weights, dict(self._drift))

    def moves_within(self, begin: int, end: int) -> bool:
        """Return whether there are steps from the beginning of one part to the beginning of another, or to the end."""
        return self._mark(end).steps > self._mark(begin).steps

    def mean(self, names: Sequence[str], begin: int = 0, end: int | None = None) -> NDArray[np.float64]:
        """Return the average over all steps, or over the parts from `begin` to before `end`."""
        first, last = self._mark(begin), self._mark(self.parts if end is None else end)
        steps = last.steps - first.steps
        if not steps:
            return last.weights.vector(names)
        return (last.total(names) - first.total(names)) / steps

    def _mark(self, part: int) -> _Mark:
        if part == self.parts:
            return _Mark(self._steps, self.weights, self._drift)
        return self._marks[self._ends[part]]
