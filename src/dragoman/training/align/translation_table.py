"""p(generated | given) of all pairs of words that occur together, by ranges of generated words.

A pass of EM handles all tokens of a generated word together, so that a range of words needs only its own pairs. One
range has all words if memory suffices; otherwise ranges are on disk while another is worked on. Sums continue from
range to range, so that they are the same whatever the ranges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.progress import LocalProgressCallback, ProgressCallback, within
from dragoman.core.ragged import blocks_of
from dragoman.core.runtime import Runtime
from dragoman.core.spill import SpilledArrays
from dragoman.core.workspace import Workspace
from dragoman.training.align.passes import Cooccurrence, RangeResult, RangeTask, RangeWork, range_table, token_places

#: Memory for the work on a pair and on a token, in bytes.
_PAIR, _TOKEN = 32, 8


class TranslationTable:
    """The pairs of a bitext and a number for each: its probability, or between the steps of EM its count."""

    def __init__(
        self,
        given: Corpus,
        generated: Corpus,
        *,
        progress_callback: ProgressCallback = lambda done: None,
        runtime: Runtime = Runtime(),
    ):
        self.runtime = runtime
        ours, theirs = given.sentences, generated.sentences
        self.given, self.generated = ours, theirs
        self.null_word, self.types = len(given.vocab), len(generated.vocab)
        tokens = kernels.group_tokens(theirs.values, theirs.offsets, ours.offsets, len(generated.vocab))
        groups = tokens[2]
        self.tokens = len(tokens[0])
        ranges, in_memory = self._cut(groups, len(ours.values) / max(len(ours), 1))
        self.words = ranges
        self._work = RangeWork(ours, theirs, self.null_word, self.types, tuple(ranges))
        self._ranges = []
        for number, words in enumerate(ranges):
            table = range_table(ours, theirs, tokens, words, self.null_word, runtime=runtime)
            values = np.full(len(table.pair_given), 1.0 / max(int(np.count_nonzero(np.diff(groups))), 1))
            place = None if in_memory else (runtime.workspace, f"words-{number}")
            self._ranges.append(_Range(table, values, place))
            self._work.tables[number] = self._ranges[-1].table
            progress_callback((number + 1) / len(ranges))

    def _cut(self, groups: NDArray[np.int64], given_length: float) -> tuple[list[slice], bool]:
        """Return ranges of generated words whose pairs and tokens fit into memory, and True if all ranges fit together.

        The number of pairs is estimated. Workers get some ranges each.
        """
        tokens = np.diff(groups)
        cost = _PAIR * np.minimum(tokens * (2 * given_length) + 1, self.null_word + 1) + _TOKEN * tokens
        ends = np.cumsum(np.where(tokens > 0, cost, 0)).astype(np.int64)
        room, needed = self.runtime.workspace.room(), int(ends[-1]) if len(ends) else 0
        most = min(needed if needed <= room else room // 4, needed // (2 * self.runtime.parts_at_once - 1))
        if most >= needed:
            return [slice(0, len(tokens))], True
        return list(blocks_of(np.concatenate([[0], ends]), max(most, 1))), needed <= room

    def whole(self) -> Cooccurrence:
        """Return all pairs of a table that has one range."""
        (one,) = self._ranges
        return one.table()

    def rows(self) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.int32]]]:
        """Yield the generated words of each range, the offset of the row of each, and the given word of each pair."""
        for words, one in zip(self.words, self._ranges, strict=True):
            yield words, one.offsets(), one.pairs()[0]

    def probabilities(self) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities of the pairs of each range."""
        return (one.values() for one in self._ranges)

    def improve(
        self,
        null_probability: float,
        tension: float | None,
        alpha: float | None,
        progress_callback: ProgressCallback,
        *,
        as_fast_align: bool = False,
        wants_linked: bool = False,
    ) -> tuple[float, NDArray[np.float64] | None]:
        """Do a pass of EM; return the sum of the diagonal's feature, and if wanted each token's posterior of a link."""
        feature, linked = 0.0, np.zeros(len(self.generated.values)) if wants_linked else None

        def counts() -> Iterator[NDArray[np.float64]]:
            nonlocal feature
            asked = RangeTask(0, np.empty(0), null_probability, tension, False, as_fast_align, wants_linked)
            for one, found in self._each(asked, progress_callback):
                # From the first word to the last, so that the sum is the same whatever the ranges.
                feature = float(np.cumsum(np.append(feature, found.features))[-1])
                if linked is not None:
                    linked[token_places(one.table())] = found.linked
                yield found.counts

        self.reestimate(counts(), alpha)
        return feature, linked

    def reestimate(self, counts: Iterator[NDArray[np.float64]], alpha: float | None) -> None:
        """Re-estimate the probabilities from the counts of the pairs of each range."""
        totals = np.zeros(self.null_word + 1)
        for one, counted in zip(self._ranges, counts, strict=True):
            totals = kernels.given_totals(one.pairs()[0], counted, totals, alpha)
            one.write(counted)
        for one in self._ranges:
            given, counted = one.pairs()
            one.write(kernels.translation_probabilities(given, counted, totals, alpha, self.runtime.threads))

    def likeliest(
        self, null_probability: float, tension: float | None, progress_callback: ProgressCallback
    ) -> NDArray[np.int32]:
        """Return the given position of each generated token, or -1 if it has none; the table's data are removed."""
        best = np.full(len(self.generated.values), -1, np.int32)
        for one, found in self._each(
            RangeTask(0, np.empty(0), null_probability, tension, last=True), progress_callback
        ):
            best[token_places(one.table())] = found.links
            one.discard()
        return best

    def discard(self) -> None:
        """Remove what is on disk."""
        for one in self._ranges:
            one.discard()

    def _each(self, asked: RangeTask, progress_callback: ProgressCallback) -> Iterator[tuple[_Range, RangeResult]]:
        """Yield each range with the result of the task for it."""
        number = len(self._ranges)

        def item(i: int, one: _Range) -> RangeTask:
            part = LocalProgressCallback(within(progress_callback, i / number, (i + 1) / number))
            return replace(asked, number=i, probabilities=one.values(), progress_callback=part)

        items = (item(i, one) for i, one in enumerate(self._ranges))
        found = self.runtime.map_parts(self._work, items)
        for i, (one, made) in enumerate(zip(self._ranges, found, strict=True)):
            yield one, made
            progress_callback((i + 1) / number)


class _Range:
    """The tokens and pairs of some generated words, and a number for each pair; with a `place`, they are on disk."""

    def __init__(self, table: Cooccurrence, values: NDArray[np.float64], place: tuple[Workspace, str] | None):
        self._arrays: dict[str, NDArray[Any]] = {name: getattr(table, name) for name in _COLUMNS}
        self._given, self._generated = table.given, table.generated
        self._null_word, self._place = table.null_word, place
        self._kept: SpilledArrays | None = None
        self._values_kept: SpilledArrays | None = None
        self.write(values)
        if place is not None:
            self._kept = SpilledArrays(*place, self._arrays)
            self._arrays = {}

    def table(self) -> Cooccurrence:
        """Return the table of these words."""
        arrays: dict[str, Any] = self._kept.load() if self._kept is not None else self._arrays
        return Cooccurrence(given=self._given, generated=self._generated, **arrays, null_word=self._null_word)

    def pairs(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the given word and the number of each pair."""
        return self._column("pair_given"), self.values()

    def offsets(self) -> NDArray[np.int64]:
        """Return the offset of the row of each generated word."""
        return self._column("pair_offsets")

    def _column(self, name: str) -> NDArray[Any]:
        return self._kept.load_one(name) if self._kept is not None else self._arrays[name]

    def write(self, values: NDArray[np.float64]) -> None:
        """Replace the number of each pair."""
        if self._place is None:
            self._values = values
        else:
            workspace, name = self._place
            self._values_kept = SpilledArrays(workspace, f"{name}-values", {"values": values})

    def values(self) -> NDArray[np.float64]:
        """Return the number of each pair."""
        return self._values if self._values_kept is None else self._values_kept.load_one("values")

    def discard(self) -> None:
        """Remove what is on disk."""
        for kept in (self._kept, self._values_kept):
            if kept is not None:
                kept.discard()


_COLUMNS = ("token_sentences", "token_positions", "token_groups", "pair_offsets", "pair_given")
