"""What target phrases count in all partitions of a text's phrase pairs, each of which has some of their pairs only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.exchange import Exchange
from dragoman.core.progress import Progress
from dragoman.core.ragged import Ragged
from dragoman.core.runs import BUCKETS, Kept
from dragoman.core.store import Arrays
from dragoman.core.workspace import Workspace
from dragoman.training.score import CountedPairs

#: What the work on a question takes, in bytes.
_QUESTION = 150


class Marginals(NamedTuple):
    """For each target phrase how often it occurs, in how many pairs, and the number of its first instance."""

    total: NDArray[np.int64]
    distinct: NDArray[np.int64]
    first: NDArray[np.int64]


class TargetExchange:
    """Each partition asks for its target phrases, in turn; when all have asked, each reads its answer.

    A phrase is known by a place in the text where it stands, and compared word by word.
    """

    def __init__(self, corpus: Corpus, workspace: Workspace, threads: int):
        self._corpus, self._workspace, self._threads = corpus, workspace, threads
        self._exchange = Exchange(workspace, self._buckets, bytes_per_row=_QUESTION)
        self.pairs: list[int] = []

    def ask(self, questions: Arrays, pairs: int) -> None:
        """Ask for the target phrases of a partition, which has so many pairs; see `questions_of`."""
        self._exchange.ask(np.arange(len(questions["first"])), questions)
        self.pairs.append(pairs)

    def answer(self, progress: Progress) -> list[Kept]:
        """Put together what was said of each phrase; returns the distinct phrases, by their first instances."""
        targets = list[Kept]()

        def reply(rows: Arrays) -> Arrays:
            text = self._corpus.sentences
            ids, words, offsets = kernels.number_spans(text.values, text.offsets, *_spans(rows), self._threads, None)
            total, distinct = (_sums(ids, rows[name], len(offsets) - 1) for name in ("total", "distinct"))
            first = np.full(len(offsets) - 1, np.iinfo(np.int64).max)
            np.minimum.at(first, ids, rows["first"])
            order = np.argsort(first)
            phrases = Ragged(words, offsets).take(order)
            arrays: Arrays = {"first": first[order], "words": phrases.values, "offsets": phrases.offsets}
            targets.append(Kept(self._workspace, f"targets-{len(targets)}", arrays))
            return {"total": total[ids], "distinct": distinct[ids], "first": first[ids]}

        with progress.stage("counting target phrases") as share:
            self._exchange.answer(reply, share)
        return targets

    def read(self, part: int) -> Marginals:
        """The answers of a partition, in the order in which it numbered its target phrases."""
        return Marginals(**self._exchange.read(part))

    def close(self) -> None:
        """Remove the answers."""
        self._exchange.close()

    def _buckets(self, rows: Arrays) -> NDArray[np.uint16]:
        text = self._corpus.sentences
        return kernels.span_buckets(text.values, text.offsets, *_spans(rows), BUCKETS, self._threads)


def _spans(rows: Arrays) -> tuple[Any, Any, Any]:
    return rows["sentence"], rows["begin"], rows["length"]


def questions_of(counted: CountedPairs, instances: Arrays) -> tuple[Arrays, NDArray[np.int64]]:
    """What a partition says and asks of its target phrases, and the numbers of the first instances of its sources."""
    pair_of_instance, number = counted.pair_of_instance, instances["number"]
    sources = _first_of(counted.source_ids[pair_of_instance], len(counted.sources))
    some = _first_of(counted.target_ids[pair_of_instance], len(counted.targets))
    questions: Arrays = {
        "sentence": instances["sentence"][some],
        "begin": instances["target_begin"][some],
        "length": instances["target_length"][some],
        "total": np.bincount(counted.target_ids, counted.joint, len(some)).astype(np.int64),
        "distinct": np.bincount(counted.target_ids, minlength=len(some)),
        "first": number[some],
    }
    return questions, np.asarray(number[sources], np.int64)


def _first_of(ids: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """The first row of each id."""
    first = np.empty(size, np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)  # of assignments to one place the last holds
    return first


def _sums(ids: NDArray[np.int32], values: NDArray[Any], size: int) -> NDArray[np.int64]:
    return np.bincount(ids, values, size).astype(np.int64)
