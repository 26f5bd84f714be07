"""What target phrases count in all partitions of a text's phrase pairs, each of which has some of their pairs only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.progress import Progress
from dragoman.core.ragged import Ragged
from dragoman.core.runs import BUCKETS, Kept, Runs
from dragoman.core.store import Arrays
from dragoman.core.workspace import Workspace
from dragoman.training.score import CountedPairs

#: What the work on a question and on an answer takes, in bytes.
_QUESTION, _ANSWER = 150, 64


class Marginals(NamedTuple):
    """For each target phrase how often it occurs, in how many pairs, and the number of its first instance."""

    total: NDArray[np.int64]
    distinct: NDArray[np.int64]
    first: NDArray[np.int64]


class TargetExchange:
    """Each partition asks for its target phrases, in turn; when all have asked, each reads its answer.

    Questions are dealt out by the words of the phrase, so that all that is said of one comes together; answers by the
    partition that asked.
    """

    def __init__(self, corpus: Corpus, workspace: Workspace, threads: int):
        self._corpus, self._workspace, self._threads = corpus, workspace, threads
        self._asked = Runs(workspace, "questions", self._buckets, bytes_per_row=_QUESTION)
        self._bounds = [0]  # of the questions of each partition
        self._answers: Runs | None = None
        self.pairs: list[int] = []

    def ask(self, counted: CountedPairs, instances: Arrays) -> NDArray[np.int64]:
        """Ask for the target phrases of a partition; returns the numbers of the first instances of its sources."""
        pair_of_instance, number = counted.pair_of_instance, instances["number"]
        sources = _first_of(counted.source_ids[pair_of_instance], len(counted.sources))
        some = _first_of(counted.target_ids[pair_of_instance], len(counted.targets))
        first = self._bounds[-1]
        self._asked.add(
            {
                "row": np.arange(first, first + len(some)),
                "sentence": instances["sentence"][some],
                "begin": instances["target_begin"][some],
                "length": instances["target_length"][some],
                "total": np.bincount(counted.target_ids, counted.joint, len(some)).astype(np.int64),
                "distinct": np.bincount(counted.target_ids, minlength=len(some)),
                "first": number[some],
            }
        )
        self._bounds.append(first + len(some))
        self.pairs.append(len(counted))
        return np.asarray(number[sources], np.int64)

    def answer(self, progress: Progress) -> list[Kept]:
        """Put together what was said of each phrase; returns the distinct phrases, by their first instances."""
        bounds = np.array(self._bounds[1:])
        self._answers = Runs(
            self._workspace,
            "answers",
            lambda rows: np.searchsorted(bounds, rows["row"], side="right"),
            bytes_per_row=_ANSWER,
            buckets=len(bounds),
        )
        done, targets = 0, list[Kept]()
        with progress.stage("counting target phrases") as share:
            for rows in self._asked.partitions():
                ids, words, offsets = kernels.number_spans(
                    self._corpus.sentences.values, self._corpus.sentences.offsets, *_spans(rows), self._threads, None
                )
                total, distinct = (_sums(ids, rows[name], len(offsets) - 1) for name in ("total", "distinct"))
                first = np.full(len(offsets) - 1, np.iinfo(np.int64).max)
                np.minimum.at(first, ids, rows["first"])
                self._answers.add(
                    {"row": rows["row"], "total": total[ids], "distinct": distinct[ids], "first": first[ids]}
                )
                order = np.argsort(first)
                phrases = Ragged(words, offsets).take(order)
                arrays: Arrays = {"first": first[order], "words": phrases.values, "offsets": phrases.offsets}
                targets.append(Kept(self._workspace, f"targets-{len(targets)}", arrays))
                done += len(ids)
                share(done / self._asked.rows)
        self._answers.write()
        return targets

    def read(self, part: int) -> Marginals:
        """The answers of a partition, in the order in which it numbered its target phrases."""
        assert self._answers is not None
        rows = self._answers.read(part, part + 1)
        at = rows["row"] - self._bounds[part]
        answers = []
        for name in Marginals._fields:
            column = np.empty(len(at), np.int64)
            column[at] = rows[name]
            answers.append(column)
        return Marginals(*answers)

    def _buckets(self, rows: Arrays) -> NDArray[np.uint16]:
        text = self._corpus.sentences
        return kernels.span_buckets(text.values, text.offsets, *_spans(rows), BUCKETS, self._threads)


def _spans(rows: Arrays) -> tuple[Any, Any, Any]:
    return rows["sentence"], rows["begin"], rows["length"]


def _first_of(ids: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """The first row of each id."""
    first = np.empty(size, np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)  # of assignments to one place the last holds
    return first


def _sums(ids: NDArray[np.int32], values: NDArray[Any], size: int) -> NDArray[np.int64]:
    return np.bincount(ids, values, size).astype(np.int64)
