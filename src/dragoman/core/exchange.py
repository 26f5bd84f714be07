"""What partitions of a text know of the same things, put together: each asks, all are answered, each reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.progress import ShareDone
from dragoman.core.runs import BUCKETS, BucketsOf, Runs
from dragoman.core.store import Arrays
from dragoman.core.workspace import Workspace

#: What the work on an answer takes, in bytes.
_ANSWER = 64


class Exchange:
    """Partitions ask in turn, with what they know; when all have asked, each reads its answers.

    Questions are dealt out by `bucket_of`, so that all that is said of one thing comes together; answers by the
    partition that asked. A partition numbers its things from 0.

    >>> with Workspace(memory=1) as workspace:
    ...     exchange = Exchange(workspace, lambda rows: rows["word"], bytes_per_row=8)
    ...     for words, counts in (([7, 4], [1, 2]), ([4, 5], [10, 20])):
    ...         exchange.ask(np.arange(2), {"word": np.array(words), "count": np.array(counts)})
    ...     exchange.answer(lambda rows: {"total": np.full(len(rows["word"]), rows["count"].sum())})
    ...     [exchange.read(part)["total"].tolist() for part in range(2)]
    [[1, 12], [12, 20]]
    """

    def __init__(self, workspace: Workspace, bucket_of: BucketsOf, *, bytes_per_row: int, buckets: int = BUCKETS):
        self._workspace = workspace
        self._asked = Runs(workspace, "questions", bucket_of, bytes_per_row=bytes_per_row, buckets=buckets)
        self._bounds = [0]  # of the things of each partition
        self._answers: Runs | None = None

    def ask(self, things: NDArray[np.integer], columns: Arrays) -> None:
        """Ask for the things of a partition, each of which has some rows of the columns."""
        first = self._bounds[-1]
        self._asked.add({"thing": first + things.astype(np.int64), **columns})
        self._bounds.append(first + int(things.max(initial=-1)) + 1)

    def answer(self, reply: Callable[[Arrays], Arrays], share: ShareDone = lambda share: None) -> None:
        """Let all questions be answered: `reply` is given those of some things together, and answers each row."""
        bounds = np.array(self._bounds[1:])
        self._answers = Runs(
            self._workspace,
            "answers",
            lambda rows: np.searchsorted(bounds, rows["thing"], side="right"),
            bytes_per_row=_ANSWER,
            buckets=len(bounds),
        )
        done = 0
        for rows in self._asked.partitions():
            self._answers.add({"thing": rows["thing"], **reply(rows)})
            done += len(rows["thing"])
            share(done / self._asked.rows)
        self._answers.write()

    def read(self, part: int) -> dict[str, NDArray[Any]]:
        """The answers of a partition, by the numbers of its things."""
        assert self._answers is not None
        rows = self._answers.read(part, part + 1)
        at = rows.pop("thing") - self._bounds[part]
        answers = {}
        for name, values in rows.items():
            answers[name] = np.empty(self._bounds[part + 1] - self._bounds[part], values.dtype)
            answers[name][at] = values
        return answers

    def close(self) -> None:
        """Remove the answers."""
        if self._answers is not None:
            self._answers.close()
