"""Counting and scoring of phrase pairs or rules in partitions, in as much memory as there is.

Instances are extracted block by block and partitioned by their source sides, so that a partition has all instances of
a source side. A shuffle by target side then sums up the counts of target sides in all partitions; after that, each
partition is scored and pruned by itself. If one partition holds everything, nothing is exchanged or written.
`phrase_model.py` and `rules/model.py` define how each kind of pair is extracted, counted and scored.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Bitext
from dragoman.core.errors import DataError, UsageError
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import LocalProgressCallback, ProgressCallback, within
from dragoman.core.runtime import Runtime, Work
from dragoman.core.spill import BUCKETS, BucketFunction, SpillBuffer, SpilledArrays
from dragoman.core.store import Arrays, release_pages
from dragoman.core.workspace import Workspace
from dragoman.model.grammar import Grammar

#: Bytes that the work on a row of a response takes.
_RESPONSE_BYTES = 64


class ShuffleJoin:
    """A join over all partitions: each requests values for its things, and reads them once all have been resolved.

    Requests are partitioned by `bucket_of`, so that all requests about one thing are resolved together. Responses are
    partitioned by the partition that made the request. A partition numbers its things from 0.

    >>> with Workspace(memory=1) as workspace:
    ...     join = ShuffleJoin(workspace, lambda rows: rows["word"], bytes_per_row=8)
    ...     for words, counts in (([7, 4], [1, 2]), ([4, 5], [10, 20])):
    ...         join.request(np.arange(2), {"word": np.array(words), "count": np.array(counts)})
    ...     join.resolve(lambda rows: {"total": np.full(len(rows["word"]), rows["count"].sum())})
    ...     [join.read(part)["total"].tolist() for part in range(2)]
    [[1, 12], [12, 20]]
    """

    def __init__(self, workspace: Workspace, bucket_of: BucketFunction, *, bytes_per_row: int, buckets: int = BUCKETS):
        self._workspace = workspace
        self._requests = SpillBuffer(workspace, "requests", bucket_of, bytes_per_row=bytes_per_row, buckets=buckets)
        self._bounds = [0]  # of the things of each partition
        self._responses: SpillBuffer | None = None

    def request(self, things: NDArray[np.integer], columns: Arrays) -> None:
        """Request values for the things of a partition; row `i` of the columns is about `things[i]`."""
        first = self._bounds[-1]
        self._requests.add({"thing": first + things.astype(np.int64), **columns})
        self._bounds.append(first + int(things.max(initial=-1)) + 1)

    def resolve(
        self, resolve: Callable[[Arrays], Arrays], progress_callback: ProgressCallback = lambda done: None
    ) -> None:
        """Resolve all requests: `resolve` gets all rows about some things, and returns a response to each row."""
        bounds = np.array(self._bounds[1:])
        self._responses = SpillBuffer(
            self._workspace,
            "responses",
            lambda rows: np.searchsorted(bounds, rows["thing"], side="right"),
            bytes_per_row=_RESPONSE_BYTES,
            buckets=len(bounds),
        )
        done = 0
        for rows in self._requests.partitions():
            self._responses.add({"thing": rows["thing"], **resolve(rows)})
            done += len(rows["thing"])
            progress_callback(done / self._requests.rows)
        self._responses.write()

    def read(self, part: int) -> dict[str, NDArray[Any]]:
        """Return the responses to a partition, indexed by its things."""
        assert self._responses is not None
        rows = self._responses.read(part, part + 1)
        at = rows.pop("thing") - self._bounds[part]
        responses = {}
        for name, values in rows.items():
            responses[name] = np.empty(self._bounds[part + 1] - self._bounds[part], values.dtype)
            responses[name][at] = values
        return responses

    def close(self) -> None:
        """Remove the responses."""
        if self._responses is not None:
            self._responses.close()


BlockText = TypeVar("BlockText")


@dataclass(frozen=True)
class PairKind:
    """Phrase pairs or rules: what messages call them, and the memory that the work on them takes, in bytes."""

    instances: str
    pair: str
    targets: str
    #: Memory for the work on an instance, and on a request about a target side.
    instance_bytes: int
    request_bytes: int
    #: Temporary files, per word of either side.
    temporary_bytes: int
    #: Approximate number of instances per word of either side.
    instances_per_word: int
    #: Words of both sides that instances are extracted from together, if memory allows.
    words_at_once: int
    #: Instances are numbered in the order of the text.
    is_numbered: bool = False

    def check_disk(self, bitext: Bitext, workspace: Workspace) -> None:
        """Refuse a text that needs more temporary space than there is."""
        words = bitext.source.words + bitext.target.words
        if words * self.instances_per_word * self.instance_bytes > workspace.room():
            workspace.check_disk(words * self.temporary_bytes)


@dataclass(frozen=True, eq=False)
class ScoredParts:
    """The scored pairs of a text: all in memory (`whole`), or in parts on disk that are to be merged.

    Parts of a phrase table have their source phrases in order of first occurrence; `targets` are the distinct target
    phrases of all parts. A phrase is identified by the number of its first instance, of `instances`.
    """

    whole: PhrasePairs | None
    parts: list[SpilledArrays]
    targets: list[SpilledArrays]
    instances: int


@dataclass(frozen=True, eq=False)
class SentenceBlock(Generic[BlockText]):
    """Some sentence pairs to extract instances from, with a callback for progress."""

    text: BlockText
    progress_callback: ProgressCallback


def extract_instances(
    kind: PairKind,
    bitext: Bitext,
    extract: Work[SentenceBlock[BlockText], Arrays],
    part: Callable[[slice], BlockText],
    buckets: BucketFunction,
    *,
    runtime: Runtime = Runtime(),
) -> SpillBuffer:
    """Extract all instances block by block, to be partitioned by `buckets`.

    A block is what `part` makes of a range of sentence pairs, which `extract` numbers from 0.
    """
    workspace, sentences = runtime.workspace, len(bitext)
    order = "number" if kind.is_numbered else "sentence"
    buffer = SpillBuffer(workspace, "instances", buckets, bytes_per_row=kind.instance_bytes, order=order)
    with runtime.stage(f"extracting {kind.instances}") as progress_callback:
        words = min(workspace.room() // (2 * kind.instance_bytes * kind.instances_per_word), kind.words_at_once)
        ranges = list(bitext.blocks(max(words // runtime.parts_at_once, 1)))
        blocks = (
            SentenceBlock(
                part(at), LocalProgressCallback(within(progress_callback, at.start / sentences, at.stop / sentences))
            )
            for at in ranges
        )
        for at, found in zip(ranges, runtime.map_parts(extract, blocks), strict=True):
            rows: dict[str, NDArray[Any]] = {**found}
            rows["sentence"] = rows["sentence"] + np.int32(at.start)
            if kind.is_numbered:
                rows["number"] = np.arange(buffer.rows, buffer.rows + len(rows["sentence"]))
            buffer.add(rows)
            progress_callback(at.stop / sentences)
    if not buffer.rows:
        raise DataError(f"no {kind.pair} could be extracted", expected="a parallel text with some aligned words")
    return buffer


@dataclass(frozen=True, eq=False)
class CountedPartition:
    """A partition after counting, with the counts of its target sides, and totals, over all partitions."""

    first: bool
    arrays: Arrays
    responses: Arrays
    totals: NDArray[np.int64]


class PartitionWork(ABC):
    """Work on a partition: counting, and after all partitions are counted, scoring. It is sent to workers whole."""

    kind: ClassVar[PairKind]

    def __call__(self, part: Arrays | CountedPartition, runtime: Runtime) -> Any:
        """Count a partition: return its number of rows, its counts and its requests. Or score it: return its pairs."""
        if not isinstance(part, CountedPartition):
            return len(part["sentence"]), *self.count(part, alone=False, runtime=runtime)
        pairs = self.score(part.arrays, part.responses, part.totals, runtime=runtime.quiet(warns=part.first))
        return len(pairs), self.final(pairs, part)

    @abstractmethod
    def count(self, rows: Arrays, *, alone: bool, runtime: Runtime = Runtime()) -> tuple[Arrays, Arrays]:
        """Return what scoring needs, and the requests to other partitions; if it is `alone`, the responses instead.

        A request is a row with the counts of a target side in this partition; column `thing` has the side's number.
        """

    def totals(self, arrays: Arrays) -> NDArray[np.int64]:
        """Return the numbers of a partition that are summed up over all."""
        return np.zeros(1, np.int64)

    @property
    def counting_only(self) -> tuple[NDArray[Any], ...]:
        """Arrays that are not needed, or only in part, after all partitions are counted."""
        return ()

    @abstractmethod
    def buckets(self, requests: Arrays, *, runtime: Runtime = Runtime()) -> NDArray[np.integer]:
        """Partition requests, so that all about one target side come together."""

    @abstractmethod
    def resolve(self, requests: Arrays, *, runtime: Runtime = Runtime()) -> tuple[Arrays, Arrays]:
        """Resolve each request; return also the distinct target sides if the merge needs them, or nothing."""

    @abstractmethod
    def score(
        self, arrays: Arrays, responses: Arrays, totals: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> PhrasePairs:
        """Score and prune the pairs of a partition."""

    def final(self, pairs: PhrasePairs, part: CountedPartition) -> Arrays:
        """Return what the merge needs of a partition: by default a grammar of its own."""
        return Grammar.from_pairs(pairs).arrays()


def score_parts(work: PartitionWork, buffer: SpillBuffer, *, runtime: Runtime = Runtime()) -> ScoredParts:
    """Count, score and prune instances; the result is in parts if it does not fit or there are several workers."""
    partitions, kind = buffer.partitions(runtime.parts_at_once), work.kind
    rows = next(partitions)
    if runtime.parts_at_once == 1 and len(rows["sentence"]) == buffer.rows:
        arrays, responses = work.count(rows, alone=True, runtime=runtime)
        del rows
        whole = work.score(arrays, responses, work.totals(arrays), runtime=runtime)
        _check_left(len(whole), kind)
        return ScoredParts(whole, [], [], buffer.rows)

    workspace, waiting, totals, done = runtime.workspace, list[SpilledArrays](), np.zeros(1, np.int64), 0
    join = ShuffleJoin(workspace, lambda asked: work.buckets(asked, runtime=runtime), bytes_per_row=kind.request_bytes)
    all_parts = itertools.chain([rows], partitions)
    del rows
    with runtime.stage(f"counting {kind.pair}s") as progress_callback:
        for number, arrays, asked in runtime.map_parts(work, all_parts):
            join.request(asked.pop("thing"), asked)
            totals = totals + work.totals(arrays)
            waiting.append(SpilledArrays(workspace, f"counted-{len(waiting)}", arrays))
            done += number
            del arrays, asked
            progress_callback(done / buffer.rows)
    release_pages(*work.counting_only)
    parts, targets, left = list[SpilledArrays](), list[SpilledArrays](), 0

    def resolve(requests: Arrays) -> Arrays:
        responses, found = work.resolve(requests, runtime=runtime)
        if found:
            targets.append(SpilledArrays(workspace, f"targets-{len(targets)}", found))
        return responses

    def to_score() -> Iterator[CountedPartition]:
        for number, kept in enumerate(waiting):
            yield CountedPartition(number == 0, kept.load(), join.read(number), totals)
            kept.discard()

    with runtime.stage(f"counting {kind.targets}") as progress_callback:
        join.resolve(resolve, progress_callback)
    with runtime.stage(f"scoring {kind.pair}s") as progress_callback:
        for number, final in runtime.map_parts(work, to_score()):
            left += number
            parts.append(SpilledArrays(workspace, f"part-{len(parts)}", final))
            del final
            progress_callback(len(parts) / len(waiting))
    join.close()
    _check_left(left, kind)
    return ScoredParts(None, parts, targets, buffer.rows)


def _check_left(pairs: int, kind: PairKind) -> None:
    if not pairs:
        raise UsageError(f"pruning left no {kind.pair}; prune less")
