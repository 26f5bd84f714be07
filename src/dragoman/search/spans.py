"""Features that look at the trees of source sentences, as a search uses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.shown import shortened
from dragoman.model.bundle import Model
from dragoman.model.extra_features.feature import SpanFeature, SpansInUse
from dragoman.model.source_trees import no_trees
from dragoman.text.parsed import ParsedLine, SourceTree


class _Batch(Protocol):
    """What a search knows of some sentences: its options, or its rules."""

    @property
    def source(self) -> Corpus:
        """The sentences."""


Known = TypeVar("Known", bound=_Batch)

#: Sentence, begin and end, one row each.
Spans = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]


def features_of_spans(
    model: Model, lines: Sequence[str], spans: Callable[[Known], Spans]
) -> tuple[Callable[[Known], FeatureRows], ...]:
    """The model's features of spans as functions of what a search knows of some lines, which must have trees then.

    `spans` says of this which spans it is about.
    """
    if not model.span_features:
        return ()
    trees = []
    for line in lines:
        if not isinstance(line, ParsedLine):
            raise no_trees(model)
        trees.append(line.tree)
    return tuple(partial(_rows, feature, trees, spans) for feature in model.span_features)


def _rows(
    feature: SpanFeature, trees: Sequence[SourceTree], spans: Callable[[Known], Spans], known: Known
) -> FeatureRows:
    for i, (tree, words) in enumerate(zip(trees, known.source.sentences.lengths.tolist(), strict=True)):
        if tree.words != words:
            found = f"the tree of '{shortened(known.source.line(i))}' is over {tree.words} words"
            raise DataError(found, expected=f"{words}, as the sentence has")
    return feature(SpansInUse(*spans(known), trees))
