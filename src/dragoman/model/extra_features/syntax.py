"""Soft syntactic constraints: does a span agree with the source sentence's tree?"""

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
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.model.extra_features.feature import ExtraFeature, ModelParts, SpanFeature, SpansInUse
from dragoman.text.parsed import SourceTree

#: The labels of Chiang, Marton & Resnik, section 3.
COARSE = ("NP", "PP", "S", "VP", "SBAR", "ADJP", "ADVP", "QP")
FINE = ("NP", "PP", "S", "VP", "SBAR", "ADJP", "WHNP", "PRT", "ADVP", "PRN", "QP")

#: What a span can do to a constituent: be the same words, or share some and have others beside.
_KINDS = ("equal", "cross")


@dataclass(frozen=True)
class Syntax(ExtraFeature):
    """`syntax.NP.equal`, `syntax.NP.cross`: phrases or rules whose span is a noun phrase, and such as cross one.

    The soft syntactic constraints of Chiang, Marton & Resnik (2008), section 3, X= and X+ there, after Marton & Resnik
    (2008). With `grain=coarse` all labels share two features, `syntax.equal` and `syntax.cross`. A feature counts a
    span once, however many constituents it crosses. Sentences need trees.
    """

    name = "syntax"
    prefix = "syntax"
    of_trees = True

    grain: Literal["coarse", "fine"] = option("fine", "two features for each label, or two for all of them")
    labels: str | None = option(None, "labels that count, like NP+VP+PP; by default those of the paper: 8 or 11")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.chosen:
            raise UsageError("labels is empty; expected some labels of constituents, like NP+VP")

    @property
    def chosen(self) -> tuple[str, ...]:
        """The labels that count."""
        if self.labels is None:
            return COARSE if self.grain == "coarse" else FINE
        return tuple(dict.fromkeys(self.labels.replace("+", " ").split()))

    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Nothing is learnt."""
        return {}

    def ready(self, parts: ModelParts, learnt: Arrays) -> SpanFeature:
        """Return the feature."""
        return Constituents(self.prefix, self.grain, self.chosen)


@dataclass(frozen=True)
class Constituents(SpanFeature):
    """Compares spans with the constituents of some labels."""

    prefix: str
    grain: Literal["coarse", "fine"]
    labels: tuple[str, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All features: of each group of labels, whether a span is one of them, and whether it crosses one."""
        groups = [""] if self.grain == "coarse" else [f"{label}." for label in self.labels]
        return tuple(f"{self.prefix}.{group}{kind}" for group in groups for kind in _KINDS)

    @cached_property
    def _groups(self) -> Mapping[str, int]:
        """The group of each label: all are one, or each is by itself."""
        return {label: i * (self.grain == "fine") for i, label in enumerate(self.labels)}

    def __call__(self, spans: SpansInUse, /) -> FeatureRows:
        """Return a row for each span; what is computed is computed once for each that occurs."""
        first = np.concatenate([[0], np.cumsum([tree.words for tree in spans.trees], dtype=np.int64)])
        begin = first[spans.sentence] + spans.begin
        length = (spans.end - spans.begin).astype(np.int64)
        longest = int(length.max(initial=1))
        # Running numbers of begin and length; a text has not many words times the longest phrase or rule.
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
        """Group, begin and end of the constituents that count, their words numbered through all sentences."""
        found = [self._groups.get(label, -1) for tree in trees for label in tree.labels]
        group = np.array(found, np.int64)
        counts = [len(tree.labels) for tree in trees]
        spans = np.concatenate([np.empty((0, 2), np.int32), *(tree.spans for tree in trees)])
        spans = spans + np.repeat(first[:-1], counts)[:, None]
        kept = group >= 0
        return group[kept], spans[kept, 0], spans[kept, 1]

    def has(self, rest: str) -> bool:
        """Whether `rest` is a kind of agreement, of one of the labels if these are told apart."""
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
    """Whether each span crosses a constituent of each group: one begins inside and ends behind it, or the reverse."""
    furthest = np.zeros((words + 1, groups), np.int64)  # end of the constituents that begin before a word
    np.maximum.at(furthest, (starts, group), ends)
    earliest = np.full((words + 1, groups), words, np.int64)  # begin of those that end there
    np.minimum.at(earliest, (ends, group), starts)
    crosses = np.zeros((len(begin), groups), bool)
    # The same of the boundaries inside the spans that begin at each word, for longer and longer ones.
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
