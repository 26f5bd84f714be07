"""Soft syntactic constraints: agreement of spans with the parse tree of the source sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.model.feature_types import SpanFeature, SpansInUse
from dragoman.text.source_trees import SourceTree

#: The labels of Chiang, Marton & Resnik, section 3.
COARSE = ("NP", "PP", "S", "VP", "SBAR", "ADJP", "ADVP", "QP")
FINE = ("NP", "PP", "S", "VP", "SBAR", "ADJP", "WHNP", "PRT", "ADVP", "PRN", "QP")

#: Relations of a span to a constituent: the same words, or some of its words and others.
_KINDS = ("equal", "cross")


@dataclass(frozen=True)
class Syntax(SpanFeature):
    """`syntax.NP.equal`, `syntax.NP.cross`: phrases or rules whose span equals, or crosses, a noun phrase.

    The soft syntactic constraints of Chiang, Marton & Resnik (2008), section 3, X= and X+ there, after Marton & Resnik
    (2008). With `grain=coarse` all labels share two features, `syntax.equal` and `syntax.cross`. A feature counts a
    span once, however many constituents it crosses. Sentences need trees. With `glue`, the rules that join parts count
    as well, each with its span from the first word of the sentence on; the paper does not say whether they do.
    """

    name = "syntax"
    prefix = "syntax"

    grain: Literal["coarse", "fine"] = option("fine", "fine: two features per label; coarse: two for all labels")
    labels: str | None = option(None, "labels to use, like NP+VP+PP (default: those of the paper, 8 or 11)")

    glue: bool = option(False, "count the spans of glue, from the first word of a sentence on")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.chosen:
            raise UsageError("labels is empty; expected some labels of constituents, like NP+VP")

    @property
    def on_glue(self) -> bool:
        """True if spans of glue count."""
        return self.glue

    @property
    def chosen(self) -> tuple[str, ...]:
        """Labels that are used."""
        if self.labels is None:
            return COARSE if self.grain == "coarse" else FINE
        return tuple(dict.fromkeys(self.labels.replace("+", " ").split()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all features: `equal` and `cross` of each group of labels."""
        groups = [""] if self.grain == "coarse" else [f"{label}." for label in self.chosen]
        return tuple(f"{self.prefix}.{group}{kind}" for group in groups for kind in _KINDS)

    @cached_property
    def _groups(self) -> Mapping[str, int]:
        """Group of each label: one group for all, or one for each."""
        return {label: i * (self.grain == "fine") for i, label in enumerate(self.chosen)}

    def __call__(self, spans: SpansInUse, /) -> FeatureRows:
        """Return a row for each span; equal spans are computed once."""
        first = np.concatenate([[0], np.cumsum([tree.words for tree in spans.trees], dtype=np.int64)])
        begin = first[spans.sentence] + spans.begin
        length = (spans.end - spans.begin).astype(np.int64)
        longest = int(length.max(initial=1))
        # Running numbers of begin and length: at most the number of words times the longest phrase or rule.
        key = begin * longest + length - 1
        occurs = np.zeros(int(first[-1]) * longest, bool)
        occurs[key] = True
        distinct = np.flatnonzero(occurs)
        group, starts, ends = self._constituents(spans.trees, first)
        fired = np.zeros((len(distinct), len(self.names)), bool)
        place = np.cumsum(occurs) - 1
        short = np.flatnonzero(ends - starts <= longest)
        wanted = starts[short] * longest + ends[short] - starts[short] - 1
        there = occurs[wanted]
        fired[place[wanted[there]], 2 * group[short[there]]] = True
        fired[:, 1::2] = _crossings(
            distinct // longest, distinct % longest + 1, group, starts, ends, int(first[-1]), len(self.names) // 2
        )
        row, ids = np.nonzero(fired)
        offsets = np.searchsorted(row, np.arange(len(distinct) + 1)).astype(np.int64)
        rows = FeatureRows(self.names, offsets, ids.astype(np.int32), np.ones(len(ids)))
        return rows.take(place[key])

    def _constituents(
        self, trees: Sequence[SourceTree], first: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return group, begin and end of the constituents that count, with words numbered over all sentences."""
        found = [self._groups.get(label, -1) for tree in trees for label in tree.labels]
        group = np.array(found, np.int64)
        counts = [len(tree.labels) for tree in trees]
        spans = np.concatenate([np.empty((0, 2), np.int32), *(tree.spans for tree in trees)])
        spans = spans + np.repeat(first[:-1], counts)[:, None]
        kept = group >= 0
        return group[kept], spans[kept, 0], spans[kept, 1]

    def has(self, rest: str) -> bool:
        """Return True if `rest` names a relation, of one of the labels if these are distinguished."""
        return f"{self.prefix}.{rest}" in self.names


def _crossings(
    begin: NDArray[np.int64],
    length: NDArray[np.int64],
    group: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    words: int,
    groups: int,
) -> NDArray[np.bool_]:
    """Return whether each span crosses a constituent of each group, which begins or ends (not both) inside it."""
    furthest = np.zeros((words + 1, groups), np.int64)  # end of the constituents that begin before a word
    np.maximum.at(furthest, (starts, group), ends)
    earliest = np.full((words + 1, groups), words, np.int64)  # begin of those that end there
    np.minimum.at(earliest, (ends, group), starts)
    crosses = np.zeros((len(begin), groups), bool)
    # The same for the boundaries inside the spans that begin at each word, for increasing lengths.
    behind, before = np.zeros((words, groups), np.int64), np.full((words, groups), words, np.int64)
    order = np.argsort(length, kind="stable")
    bounds = np.searchsorted(length[order], np.arange(1, int(length.max(initial=0)) + 2))
    for size in range(2, len(bounds)):
        inner = size - 1
        here = slice(0, words - inner)
        np.maximum(behind[here], furthest[inner:words], out=behind[here])
        np.minimum(before[here], earliest[inner:words], out=before[here])
        rows = order[bounds[size - 1] : bounds[size]]
        at = begin[rows]
        crosses[rows] = (behind[at] > (at + size)[:, None]) | (before[at] < at[:, None])
    return crosses
