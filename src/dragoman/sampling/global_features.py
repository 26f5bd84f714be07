"""Global features in a sampler: functions that kernels can call, and the documents that they see."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.files import PathLike, read_lines
from dragoman.core.ragged import Ragged
from dragoman.features import DocumentFeature, GlobalFeature, SentenceFeature

_Words = ctypes.POINTER(ctypes.c_int32)
_Offsets = ctypes.POINTER(ctypes.c_int64)
_Signature = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, _Words, _Offsets, _Words, _Offsets, ctypes.c_int64)


class GlobalFunctions:
    """Global features as functions that kernels can call, with their weights; keep it as long as a kernel runs."""

    def __init__(self, features: Sequence[GlobalFeature], weights: Weights):
        self.features = list(features)
        self.weights = [self._weight(feature, weights) for feature in features]
        self._failure: Exception | None = None
        self._callbacks = [self._callback(feature) if _compiled(feature) is None else None for feature in features]
        self._addresses = [
            _compiled(feature) if callback is None else ctypes.cast(callback, ctypes.c_void_p).value
            for feature, callback in zip(features, self._callbacks, strict=True)
        ]

    @property
    def see_documents(self) -> bool:
        """True if some feature sees documents."""
        return bool(self.of_documents)

    @property
    def of_documents(self) -> tuple[str, ...]:
        """The names of the features of documents."""
        return tuple(feature.name for feature in self.features if isinstance(feature, DocumentFeature))

    def for_kernels(self, source: Corpus, vocab: Vocab, words: NDArray[np.int32]) -> list[kernels.GlobalFeature]:
        """Prepare sentences for the kernel: `words` of `vocab` are all that their translations are made of."""
        return [
            kernels.GlobalFeature(
                address=address or 0,
                incremental=isinstance(feature, DocumentFeature) and feature.incremental is not None,
                weight=weight,
                document=isinstance(feature, DocumentFeature),
                source=feature.symbols(source.vocab)[source.sentences.values],
                words=feature.symbols(vocab)[words],
            )
            for feature, weight, address in zip(self.features, self.weights, self._addresses, strict=True)
        ]

    def values(
        self, source: Corpus, sentences: NDArray[np.int64], vocab: Vocab, hypotheses: Ragged[np.int32]
    ) -> FeatureRows:
        """Return the values of the sentence features for translations; no single sentence has values of documents."""
        chosen = [i for i, feature in enumerate(self.features) if isinstance(feature, SentenceFeature)]
        columns = [
            kernels.global_values(
                self._addresses[i] or 0,
                Ragged(
                    self.features[i].symbols(source.vocab)[source.sentences.values], source.sentences.offsets
                ).for_kernels(),
                sentences,
                Ragged(self.features[i].symbols(vocab)[hypotheses.values], hypotheses.offsets).for_kernels(),
            )
            for i in chosen
        ]
        matrix = np.stack(columns, axis=1) if columns else np.empty((len(sentences), 0))
        return FeatureRows.from_dense([self.features[i].name for i in chosen], matrix)

    def failure(self, error: kernels.FunctionError) -> Exception:
        """Return why a kernel refused a value: the error that the feature raised, or that the value is not finite."""
        names = ", ".join(feature.name for feature in self.features)
        return self._failure or DataError(f"{error} (of {names})", expected="a finite value")

    def _weight(self, feature: GlobalFeature, weights: Weights) -> float:
        if feature.name not in weights:
            raise UsageError(f"the global feature {feature.name} has no weight")
        return weights[feature.name]

    def _callback(self, feature: GlobalFeature) -> ctypes._CFunctionType:
        """Make a C function of a Python one; ctypes takes the interpreter's lock for each call."""

        def call(
            sentences: int,
            source: ctypes._Pointer[ctypes.c_int32],
            source_offsets: ctypes._Pointer[ctypes.c_int64],
            target: ctypes._Pointer[ctypes.c_int32],
            target_offsets: ctypes._Pointer[ctypes.c_int64],
            changed: int,
        ) -> float:
            try:
                value = feature.value(
                    _rows(source, source_offsets, sentences), _rows(target, target_offsets, sentences), changed
                )
                return float(value)
            except Exception as error:  # a C function cannot raise
                self._failure = error
                return math.nan

        return _Signature(call)


def _compiled(feature: GlobalFeature) -> int | None:
    """Return the address of a feature's compiled function, if it has one."""
    incremental = feature.incremental if isinstance(feature, DocumentFeature) else None
    return feature.address if incremental is None else incremental


def _rows(
    words: ctypes._Pointer[ctypes.c_int32], offsets: ctypes._Pointer[ctypes.c_int64], count: int
) -> list[NDArray[np.int32]]:
    bounds = offsets[: count + 1]
    if not bounds[-1]:
        return [np.empty(0, np.int32)] * count
    values = np.array(np.ctypeslib.as_array(words, (bounds[-1],)))
    return np.split(values, bounds[1:-1])


def document_parts(
    lines: Iterable[str], labels: Iterable[object] | None, size: int, *, together: bool
) -> Iterator[tuple[list[str], NDArray[np.int64]]]:
    """Cut lines into batches of about `size` sentences, each with the bounds of its documents.

    Without features that see documents (`together`), each sentence is a document, and lines are streamed.
    """
    if not together:
        stream = iter(lines)
        while part := list(itertools.islice(stream, size)):
            yield part, np.arange(len(part) + 1)
        return
    everything = list(lines)
    named = [0] * len(everything) if labels is None else list(labels)
    if len(named) != len(everything):
        raise DataError(f"there are {len(named)} labels of documents for {len(everything)} lines")
    bounds = document_bounds(named)
    first = 0
    while first < len(bounds) - 1:
        last = max(first + 1, int(np.searchsorted(bounds, bounds[first] + size, side="right")) - 1)
        yield everything[bounds[first] : bounds[last]], bounds[first : last + 1] - bounds[first]
        first = last


def document_bounds(labels: Sequence[object]) -> NDArray[np.int64]:
    """Return where documents begin in lines with these labels, and where the last one ends.

    >>> document_bounds(["a", "a", "b", "a"]).tolist()
    [0, 2, 3, 4]
    """
    changes = [i for i in range(1, len(labels)) if labels[i] != labels[i - 1]]
    return np.array([0, *changes, len(labels)] if len(labels) else [0], np.int64)


def read_documents(path: PathLike, lines: int) -> list[str]:
    """Read the label of each of a text's `lines`; consecutive lines with the same label form one document."""
    labels = list(read_lines(path))
    if len(labels) != lines:
        raise DataError(f"has {len(labels)} labels of documents", path=path, expected=f"{lines}, one for each sentence")
    return labels
