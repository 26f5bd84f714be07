"""Workers that learn online from what they and the others find, and that do the same whatever the number of threads.

Each worker has weights of its own. The sentences of a pass stand in a queue, from which the workers take in turn: with
W of them, worker w takes sentence t · W + w at its step t. At that step it looks for something under its weights (that
takes long, and is done in threads), and then learns from one batch: what it found, and what the others found at their
step t - 1. So nobody waits for those who are at the same step, and still it is determined who knows what when. When
a pass ends, each learns from what the others found last, so that nothing is under way between passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

import numpy as np

from dragoman.core.errors import DataError, DragomanError
from dragoman.core.progress import ShareDone
from dragoman.core.runtime import Runtime

Found = TypeVar("Found")


def even_queue(lengths: Sequence[int], workers: int, rng: np.random.Generator) -> list[int]:
    """Draw a queue of all sentences in which those that workers take at one step are about equally long.

    Nobody waits long for the others then. Which sentences stand together is drawn among those of similar length, and in
    which order the steps come is drawn among all orders; what is left over for a last step that is not full is drawn
    among all sentences.

    >>> queue = even_queue([3, 9, 2, 9, 3, 2], 2, np.random.default_rng(1))
    >>> sorted(sorted([a, b]) for a, b in zip(queue[::2], queue[1::2]))
    [[0, 4], [1, 3], [2, 5]]
    """
    drawn = rng.permutation(len(lengths))
    rest = len(drawn) % workers
    by_length = drawn[rest:][np.argsort(np.asarray(lengths)[drawn[rest:]], kind="stable")]
    steps = rng.permuted(by_length.reshape(-1, workers), axis=1)
    return [*rng.permutation(steps).ravel().tolist(), *drawn[:rest].tolist()]


class Workers(Generic[Found]):
    """So many workers. `find(worker, sentence)` is called in threads, `learn(worker, batch)` never at the same time.

    The first of a batch is the worker's own, except in the last batch of a pass. What `find` needs to know of the
    worker's weights it gets when `learn` has returned.
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

    def run(self, queue: Sequence[int], *, share_done: ShareDone | None = None, runtime: Runtime = Runtime()) -> None:
        """Do a pass over a queue of sentences."""
        turns = [queue[worker :: self._count] for worker in range(self._count)]
        board = _Board[Found](list(map(len, turns)), share=self._share)
        running: dict[Future[Found], int] = {}
        # Those who wait for workers elsewhere, as many as these can serve, are no burden.
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
                if share_done is not None:
                    share_done(sum(board.learnt) / len(queue))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        for worker in range(self._count):
            if rest := board.rest(worker):
                self._learn(worker, rest)


class _Board(Generic[Found]):
    """What workers have found at each of their steps, and how many steps each has learnt from."""

    def __init__(self, steps: Sequence[int], *, share: bool):
        self.learnt = [0] * len(steps)
        self._steps, self._share = steps, share
        self._found: list[dict[int, Found]] = [{} for _ in steps]
        self._done = [0] * len(steps)

    def post(self, worker: int, found: Found) -> None:
        self._found[worker][self._done[worker]] = found
        self._done[worker] += 1

    def ready(self, worker: int) -> bool:
        """Whether a worker has found something, and can know what it should of the others."""
        step = self.learnt[worker]
        if not self._share:
            return self._done[worker] > step
        enough = all(done >= min(step, steps) for done, steps in zip(self._done, self._steps, strict=True))
        return enough and self._done[worker] > step

    def batch(self, worker: int) -> list[Found]:
        """What a worker learns from at its next step; what all have learnt from is forgotten."""
        step = self.learnt[worker]
        batch = [self._found[worker][step], *self._news(worker, step)]
        self.learnt[worker] += 1
        for found in self._found:
            found.pop(min(self.learnt) - 2, None)
        return batch

    def rest(self, worker: int) -> list[Found]:
        """What a worker that has done its part still does not know of the others."""
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
