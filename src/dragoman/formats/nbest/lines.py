"""The base of formats with one hypothesis per line and `|||` between columns."""

from __future__ import annotations

import itertools
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Vocab, texts_of
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import Chunk, PathLike, read_chunks
from dragoman.core.nbest import Extras, NBest
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import Faults, check_fault, quote
from dragoman.formats.nbest.bars import escape_bars, unescape_bars
from dragoman.formats.nbest.chunks import chunks_by_number
from dragoman.formats.nbest.format import NBestFormat, suggest_format

_ROWS_A_BLOCK = 1 << 15
#: Anything meant as a number, to distinguish formats; whether it is finite is checked when it is read.
NUMBER = r"-?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[nN]a[nN]|[iI]nf)"


@dataclass(frozen=True)
class BarSeparatedNBest(NBestFormat):
    """Columns id, words, features and score; further columns are kept and written back unchanged.

    A hypothesis without a score has an empty column there.
    """

    #: Example of a line, for messages.
    example: ClassVar[str]
    #: True if features are `name= v v …` (otherwise `name=v`); true if the score comes before them.
    grouped: ClassVar[bool] = False
    score_first: ClassVar[bool] = False
    #: True if words are followed by two spaces, unless the file that was read had it otherwise.
    padded: ClassVar[bool] = False

    def read(
        self, path: PathLike, *, sentences: int | None = None, vocab: Vocab | None = None, runtime: Runtime = Runtime()
    ) -> NBest:
        """Read one hypothesis per line."""
        lines = _Lines(self, path, vocab or Vocab.of(), sentences)
        with runtime.stage(f"reading {path}"):
            for chunk in read_chunks(path):
                lines.add(chunk)
            nbest = lines.take_lists()
            lines.finish(runtime=runtime)
        return nbest

    def read_blocks(
        self, path: PathLike, *, progress_callback: ProgressCallback | None = None, runtime: Runtime = Runtime()
    ) -> Iterator[NBest]:
        """Read the sentences as they come; one is complete when a line of the next has come."""
        lines = _Lines(self, path, Vocab.of())
        for chunk in chunks_by_number(path, b"|||", progress_callback):
            lines.add(chunk)
            yield lines.take_lists()
        lines.finish(runtime=runtime)

    def format_blocks(
        self, nbest: NBest, path: PathLike, progress_callback: ProgressCallback | None = None, *, runtime: Runtime
    ) -> Iterator[bytes]:
        """Yield one line for each hypothesis."""
        extras = nbest.extras if nbest.extras and nbest.extras.format == self.name else Extras(self.name, {})
        style, rest = extras.style, extras.hypotheses
        phrases = nbest.segmentations if self._with_segmentation(style) else None
        features = self._features_to_write(nbest.features)
        labels = _labels(features.names, self.grouped, path)
        vocab, words = escape_bars(nbest.vocab, nbest.hypotheses, bare=bool(style.get("bars", False)))
        if not np.isfinite(features.values).all() or np.isinf(nbest.scores).any():
            raise DataError("a feature or score to write is not finite", path=path, expected="finite numbers")
        ids = np.repeat(sentence_numbers(nbest, path, runtime=runtime), np.diff(nbest.sentences))
        scores = _scores(nbest, path, runtime)
        columns = kernels.NBestColumns(
            ids=ids,
            words=words.for_kernels(),
            vocab=vocab.for_kernels(),
            features=features.for_kernels(),
            scores=scores,
            phrases=None if phrases is None else phrases.for_kernels(),
            rest=None if rest is None else kernels.Texts(values=rest.values, offsets=rest.offsets),
        )
        look = kernels.NBestStyle(
            grouped=self.grouped,
            score_first=self.score_first,
            tight=bool(style.get("tight", False)),
            padded=bool(style.get("padded", self.padded)),
            colon=bool(style.get("colon", False)),
            decimals=style.get("decimals", -1),
        )
        for start in range(0, len(ids), _ROWS_A_BLOCK):
            end = min(start + _ROWS_A_BLOCK, len(ids))
            block = kernels.format_nbest(start, end, columns, labels, look)
            yield block.tobytes()
            if progress_callback is not None:
                progress_callback(end / len(ids))

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if all lines have at least four columns that fit this format."""
        rows = [[field.strip() for field in line.split("|||")] for line in lines]
        return all(len(row) >= 4 and row[0].isdigit() and cls._fits(*row[2:4]) for row in rows)

    @classmethod
    @abstractmethod
    def _fits(cls, third: str, fourth: str) -> bool:
        """Return True if the third and fourth column may be in this format."""

    def _with_segmentation(self, style: Mapping[str, int]) -> bool:
        return False

    def _features_to_write(self, features: FeatureRows) -> FeatureRows:
        return features

    @classmethod
    def faults(cls) -> Faults:
        """Return the faults of a line, in step with NBestFault in kernels/text/nbest_read.cpp."""
        pair = "'name= value …'" if cls.grouped else "'name=value'"
        return {
            1: ("the line is empty", cls.example),
            2: ("found {}, which has fewer than four columns", cls.example),
            3: ("found {} as the sentence's number", "a number from 0"),
            4: ("found {} among the features, where a name belongs", pair),
            5: ("the feature {} has no value", pair),
            6: ("found {} among the features", "a number"),
            7: ("found {} among the numbers", "a finite number"),
            8: ("the feature {} has another number of values than before", "the same number in all hypotheses"),
            9: ("the feature {} occurs twice in one hypothesis", "each feature once"),
            10: ("found {} as the score", "one number"),
            11: ("the last words of {} have no segmentation mark", "a mark such as |0-1| after each phrase, or none"),
            12: ("the segmentation mark {} ends before it begins", "the first and the last source word, from 0"),
        }


class _Lines:
    """Lines that have been read and not taken yet."""

    def __init__(self, form: BarSeparatedNBest, path: PathLike, vocab: Vocab, sentences: int | None = None):
        self._form, self._path = form, path
        self._labels = Ragged(np.empty(0, np.uint8), np.zeros(1, np.int64))
        self._counts = np.empty(0, np.int32)
        self._numbering = Numbering(path, sentences)
        self._wordless = EmptyHypotheses(path)
        self._begin(vocab, 1)

    def _begin(self, vocab: Vocab, first_line: int) -> None:
        self._vocab, self._first_line = vocab, first_line
        self._ids = [np.empty(0, np.int64)]
        self._hypotheses = [Ragged(np.empty(0, np.int32), np.zeros(1, np.int64))]
        self._phrases = [Ragged(np.empty(0, np.int32), np.zeros(1, np.int64))]
        self._rest = [Ragged(np.empty(0, np.uint8), np.zeros(1, np.int64))]
        self._features = [Ragged(np.empty(0, np.int32), np.zeros(1, np.int64))]
        self._values, self._scores = [np.empty(0)], [np.empty(0)]
        self._styles: list[tuple[int, int, int, int, int]] = []

    def add(self, chunk: Chunk) -> None:
        """Read some more lines."""
        ids, words, features, scores, phrases, rest, vocab, labels, self._counts, style, fault = kernels.parse_nbest(
            np.frombuffer(chunk.data, np.uint8),
            self._vocab.for_kernels(),
            kernels.Texts(values=self._labels.values, offsets=self._labels.offsets),
            self._counts,
            self._form.grouped,
            self._form.score_first,
        )
        try:
            check_fault(fault, chunk.data, self._form.faults(), self._path, chunk.first_line)
        except DataError as error:
            raise suggest_format(error, self._path, self._form.name) from None
        self._vocab = Vocab(*vocab)
        self._labels = Ragged(*labels[:2])
        self._ids.append(ids)
        self._hypotheses.append(Ragged(*words))
        self._features.append(Ragged(features[1], features[0]))
        self._values.append(features[2])
        self._scores.append(scores)
        self._phrases.append(Ragged(*phrases))
        self._rest.append(Ragged(*rest))
        self._styles.append(style)

    def take_lists(self) -> NBest:
        """Return the lists of all (complete) sentences since the last call; the next block has its own vocabulary."""
        bounds, numbers = self._numbering.group(np.concatenate(self._ids), self._first_line)
        vocab, hypotheses, bars = unescape_bars(self._vocab, Ragged.concatenate(self._hypotheses))
        self._wordless.count(hypotheses)
        phrases, rest = Ragged.concatenate(self._phrases), Ragged.concatenate(self._rest)
        features = Ragged.concatenate(self._features)
        style = self._style()
        if len(phrases.values):
            style["segmentation"] = 1
        if bars:
            style["bars"] = 1
        nbest = NBest(
            vocab=vocab,
            sentences=bounds,
            hypotheses=hypotheses,
            scores=np.concatenate(self._scores),
            features=FeatureRows(self._names(), features.offsets, features.values, np.concatenate(self._values)),
            segmentations=phrases if len(phrases.values) else None,
            ids=None if numbers == [*range(len(numbers))] else tuple(numbers),
            extras=Extras(self._form.name, style, rest if len(rest.values) else None),
        )
        self._begin(Vocab.of(), self._first_line + len(hypotheses))
        return nbest

    def finish(self, *, runtime: Runtime = Runtime()) -> None:
        """Check and warn about the file as a whole."""
        self._numbering.finish(runtime=runtime)
        self._wordless.warn(runtime=runtime)

    def _names(self) -> tuple[str, ...]:
        blob, bounds = self._labels.values.tobytes(), self._labels.offsets.tolist()
        names: list[str] = []
        for i, count in enumerate(self._counts.tolist()):
            label = blob[bounds[i] : bounds[i + 1]].decode()
            names += [label] if count == 1 else [f"{label}.{k}" for k in range(count)]
        if len(set(names)) < len(names):
            twice = next(name for name, times in Counter(names).items() if times > 1)
            raise DataError(
                f"'{twice}' is a feature, and also a value of the feature '{twice.rpartition('.')[0]}'",
                path=self._path,
            )
        return tuple(names)

    def _style(self) -> dict[str, int]:
        """Return the style of all lines; the first line that shows it decides."""
        style: dict[str, int] = {}
        decided = [next((value for value in values if value >= 0), 0) for values in zip(*self._styles, strict=True)]
        if decided:
            style = dict(zip(("tight", "padded", "colon"), decided[2:], strict=True))
            fewest, most = min(part[0] for part in self._styles), max(part[1] for part in self._styles)
            if fewest == most >= 0:
                style["decimals"] = fewest
        return style


class Numbering:
    """Sentence numbers of lines: equal numbers must be adjacent, and numbers must increase."""

    def __init__(self, path: PathLike, sentences: int | None = None):
        self._path, self._sentences = path, sentences
        self._seen = [np.empty(0, np.int64)]
        self._last = 0

    def group(self, ids: NDArray[np.int64], first_line: int = 1) -> tuple[NDArray[np.int64], list[int]]:
        """Return the bounds and numbers of the sentences of some lines, the first of which is `first_line`."""
        starts = np.flatnonzero(np.append(True, np.diff(ids) != 0))[: len(ids)]
        numbers = ids[starts]
        before = np.append(self._last, numbers)
        back = np.flatnonzero(np.diff(before) < 0)
        if len(back):
            number = numbers[back[0]]
            again = any(number in part for part in (*self._seen, numbers[: back[0]]))
            raise DataError(
                f"the id {number} comes {'again ' if again else ''}after the id {before[back[0]]}",
                path=self._path,
                line=int(starts[back[0]]) + first_line,
                expected="all hypotheses of a sentence together, and increasing numbers",
            )
        if self._sentences is not None and len(numbers) and numbers[-1] >= self._sentences:
            late = np.searchsorted(numbers, self._sentences)
            raise DataError(
                f"found the id {numbers[late]}",
                path=self._path,
                line=int(starts[late]) + first_line,
                expected=f"{self._sentences} sentences, with ids from 0",
            )
        self._seen.append(numbers)
        self._last = int(before[-1])
        return np.append(starts, len(ids)).astype(np.int64), numbers.tolist()

    def finish(self, *, runtime: Runtime = Runtime()) -> None:
        """Refuse missing sentences if their number is known, otherwise warn about them."""
        numbers, sentences = np.concatenate(self._seen), self._sentences
        counted = np.arange(len(numbers)) if sentences is None else np.arange(sentences)
        if sentences is not None and len(numbers) < sentences:
            missing = int(np.setdiff1d(counted, numbers, assume_unique=True)[0])
            without = f"{sentences - len(numbers)} of {sentences} sentences have no hypotheses"
            raise DataError(
                f"{without}, the first of them has the id {missing}",
                path=self._path,
                expected="hypotheses for every sentence",
            )
        if sentences is None and not len(numbers):
            runtime.warn(f"{self._path}: the n-best list is empty")
        elif sentences is None and numbers[-1] >= len(numbers):
            missing = int(np.flatnonzero(numbers != counted)[0])
            gap = int(numbers[-1]) + 1 - len(numbers)
            runtime.warn(f"{self._path}: {gap} sentences have no hypotheses, the first of them has the id {missing}")


def group_by_number(
    ids: NDArray[np.int64], path: PathLike, sentences: int | None, *, runtime: Runtime = Runtime()
) -> tuple[NDArray[np.int64], list[int]]:
    """Return the bounds and numbers of all sentences of a file; see `Numbering`."""
    numbering = Numbering(path, sentences)
    found = numbering.group(ids)
    numbering.finish(runtime=runtime)
    return found


class EmptyHypotheses:
    """Counter of hypotheses without words."""

    def __init__(self, path: PathLike):
        self._path, self._empty, self._all = path, 0, 0

    def count(self, hypotheses: Ragged[np.int32]) -> None:
        """Add some hypotheses."""
        self._empty += int(np.sum(hypotheses.lengths == 0))
        self._all += len(hypotheses)

    def warn(self, *, runtime: Runtime = Runtime()) -> None:
        """Warn about them, if there are any."""
        if self._empty:
            runtime.warn(f"{self._path}: {self._empty} of {self._all} hypotheses have no words")


def warn_of_empty_hypotheses(hypotheses: Ragged[np.int32], path: PathLike, *, runtime: Runtime = Runtime()) -> None:
    """Warn about the hypotheses of a file without words, if there are any."""
    wordless = EmptyHypotheses(path)
    wordless.count(hypotheses)
    wordless.warn(runtime=runtime)


def _labels(names: Sequence[str], grouped: bool, path: PathLike) -> kernels.NBestLabels:
    """Return labels for features: the label of each feature, the first feature and the text of each label."""
    for name in names:
        if not name or re.search(r"[ \t\n\v\f\r]|\|\|\|", name):
            raise DataError(
                f"a feature to write is called {quote(name)}", path=path, expected="a name without spaces or |||"
            )
    labels: list[bytes] = []
    first: list[int] = []
    of_features = np.empty(len(names), np.int32)
    i = 0
    while i < len(names):
        size = _group_size(names, i) if grouped else 1
        of_features[i : i + size] = len(labels)
        labels.append((names[i].removesuffix(".0") if size > 1 else names[i]).encode())
        first.append(i)
        i += size
    return kernels.NBestLabels(of_features=of_features, first=np.array(first, np.int32), texts=texts_of(labels))


def _group_size(names: Sequence[str], start: int) -> int:
    """Return the number of names from `start` on that are values of one label: name.0, name.1, …; otherwise 1."""
    label = names[start].removesuffix(".0")
    if label == names[start] or not label:
        return 1
    size = 1
    while start + size < len(names) and names[start + size] == f"{label}.{size}":
        size += 1
    return size


def sentence_numbers(nbest: NBest, path: PathLike, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
    """Return the number of each sentence; numbers from 0 if some have names."""
    if empty := int(np.sum(np.diff(nbest.sentences) == 0)):
        runtime.warn(f"{path}: {empty} sentences have no hypotheses, and will be missing")
    ids = [name for name in nbest.sentence_ids if isinstance(name, int) and 0 <= name < 1 << 63]
    if len(ids) == len(nbest) and all(a < b for a, b in itertools.pairwise(ids)):
        return np.array(ids, np.int64)
    runtime.warn(f"{path}: the sentence ids are not increasing numbers; sentences are numbered from 0 instead")
    return np.arange(len(nbest), dtype=np.int64)


def _scores(nbest: NBest, path: PathLike, runtime: Runtime) -> NDArray[np.float64]:
    """Return the scores; a missing score is the log-probability."""
    scores = np.ascontiguousarray(nbest.scores)
    if nbest.logprobs is not None:
        scores = np.where(np.isnan(scores), nbest.logprobs, scores)
    if missing := int(np.sum(np.isnan(scores))):
        runtime.warn(f"{path}: {missing} of {len(scores)} hypotheses have no score; the column is left empty")
    return scores
