"""p(generated | given) of all pairs of words that occur together, by ranges of generated words.

A pass of EM looks at all tokens of a generated word together, so that the words of a range need only the pairs of
their own. One range has all words if memory suffices; otherwise ranges wait on disk while another is worked on. Sums go
on from range to range, so that they are the same whatever the ranges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.progress import ShareDone, within
from dragoman.core.ragged import blocks_of
from dragoman.core.runs import Kept
from dragoman.core.workspace import Workspace
from dragoman.training.align.cooccurrence import Cooccurrence

#: What the work on a pair and on a token takes, in bytes.
_PAIR, _TOKEN = 32, 8


class TranslationTable:
    """The pairs of a bitext and a number for each: its probability, or between the steps of EM its count."""

    def __init__(
        self,
        given: Corpus,
        generated: Corpus,
        *,
        workspace: Workspace | None = None,
        threads: int = 1,
        share: ShareDone = lambda share: None,
    ):
        self._threads, self._workspace = threads, workspace or Workspace()
        ours, theirs = given.sentences, generated.sentences
        self.given_offsets, self.generated_offsets = ours.offsets, theirs.offsets
        self._text = ours.values, ours.offsets, theirs.values, theirs.offsets
        self._null_word = len(given.vocab)
        sentences, positions, groups = kernels.group_tokens(
            theirs.values, theirs.offsets, ours.offsets, len(generated.vocab)
        )
        self.tokens = len(sentences)
        ranges = self._cut(groups, len(ours.values) / max(len(ours), 1))
        self._ranges = []
        for number, words in enumerate(ranges):
            tokens = slice(int(groups[words.start]), int(groups[words.stop]))
            some = sentences[tokens], positions[tokens], groups[words.start : words.stop + 1] - tokens.start
            table = self._table(*some)
            values = np.full(len(table.pair_given), 1.0 / max(int(np.count_nonzero(np.diff(groups))), 1))
            place = (self._workspace, f"words-{number}") if len(ranges) > 1 else None
            self._ranges.append(_Range(table, values, place))
            share((number + 1) / len(ranges))

    def _cut(self, groups: NDArray[np.int64], given_length: float) -> list[slice]:
        """Ranges of generated words whose pairs and tokens fit into memory; how many pairs there are is estimated."""
        tokens = np.diff(groups)
        cost = _PAIR * np.minimum(tokens * (2 * given_length) + 1, self._null_word + 1) + _TOKEN * tokens
        ends = np.cumsum(np.where(tokens > 0, cost, 0)).astype(np.int64)
        room = self._workspace.room()
        if not len(ends) or ends[-1] <= room:
            return [slice(0, len(tokens))]
        return list(blocks_of(np.concatenate([[0], ends]), max(room // 4, 1)))

    def _table(self, sentences: Any, positions: Any, groups: Any) -> Cooccurrence:
        pairs = kernels.cooccurring_words(*self._text[:2], sentences, groups, self._null_word, self._threads)
        return Cooccurrence(*self._text, sentences, positions, groups, *pairs, self._null_word)

    def whole(self) -> tuple[Cooccurrence, NDArray[np.float64]]:
        """All pairs and their probabilities, of a table that was made in memory."""
        (one,) = self._ranges
        return one.read(self._text)

    def improve(
        self,
        null_probability: float,
        tension: float | None,
        alpha: float | None,
        share: ShareDone,
        *,
        as_fast_align: bool = False,
        wants_linked: bool = False,
    ) -> tuple[float, NDArray[np.float64] | None]:
        """A pass of EM. Returns the sum of the diagonal's feature, and if wanted each token's posterior of a link."""
        likelihood = feature = 0.0
        linked: NDArray[np.float64] | None = None
        totals = np.zeros(self._null_word + 1)
        for one, part in self._each(share):
            table, probabilities = one.read(self._text)
            counts, likelihood, feature, some = kernels.expected_counts(
                table,
                probabilities,
                null_probability,
                tension,
                self._threads,
                part,
                as_fast_align,
                likelihood,
                feature,
                wants_linked,
            )
            if wants_linked:
                linked = some if linked is None else np.add(linked, some, out=linked)
            totals = kernels.given_totals(table.pair_given, counts, totals, alpha)
            one.write(counts)
        for one in self._ranges:
            given, counts = one.pairs()
            one.write(kernels.translation_probabilities(given, counts, totals, alpha, self._threads))
        return feature, linked

    def likeliest(self, null_probability: float, tension: float | None, share: ShareDone) -> NDArray[np.int32]:
        """The given position of each generated token, or -1 where it has none; the table is of no use afterwards."""
        best: NDArray[np.int32] | None = None
        for one, part in self._each(share):
            table, probabilities = one.read(self._text)
            found = kernels.likeliest_given(table, probabilities, null_probability, tension, self._threads, part)
            best = found if best is None else np.maximum(best, found, out=best)
            one.discard()
        assert best is not None
        return best

    def _each(self, share: ShareDone) -> Iterator[tuple[_Range, ShareDone]]:
        for i, one in enumerate(self._ranges):
            yield one, within(share, i / len(self._ranges), (i + 1) / len(self._ranges))


class _Range:
    """The tokens and pairs of some generated words, and a number for each pair; with a `place`, they are on disk."""

    def __init__(self, table: Cooccurrence, values: NDArray[np.float64], place: tuple[Workspace, str] | None):
        self._arrays: dict[str, NDArray[Any]] = {name: getattr(table, name) for name in _COLUMNS}
        self._null_word, self._place = table.null_word, place
        self._kept: Kept | None = None
        self._values_kept: Kept | None = None
        self.write(values)
        if place is not None:
            self._kept = Kept(*place, self._arrays)
            self._arrays = {}

    def read(self, text: tuple[Any, ...]) -> tuple[Cooccurrence, NDArray[np.float64]]:
        """The table of these words, and the number of each pair."""
        arrays: dict[str, Any] = self._kept.load() if self._kept is not None else self._arrays
        given, given_offsets, generated, generated_offsets = text
        table = Cooccurrence(given, given_offsets, generated, generated_offsets, **arrays, null_word=self._null_word)
        return table, self._read_values()

    def pairs(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The given word and the number of each pair."""
        given = self._kept.load_one("pair_given") if self._kept is not None else self._arrays["pair_given"]
        return given, self._read_values()

    def write(self, values: NDArray[np.float64]) -> None:
        """Give each pair another number."""
        if self._place is None:
            self._values = values
        else:
            workspace, name = self._place
            self._values_kept = Kept(workspace, f"{name}-values", {"values": values})

    def _read_values(self) -> NDArray[np.float64]:
        return self._values if self._values_kept is None else self._values_kept.load_one("values")

    def discard(self) -> None:
        """Remove what is on disk."""
        for kept in (self._kept, self._values_kept):
            if kept is not None:
                kept.discard()


_COLUMNS = ("token_sentences", "token_positions", "token_groups", "pair_offsets", "pair_given")
