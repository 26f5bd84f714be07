"""N-best lists as plain text: one hypothesis per line, grouped by sentence, with scores in a file beside it.

Lines are grouped by one of: a fixed number of hypotheses per sentence; a file with the number of hypotheses of each
sentence; a file with the sentence number of each hypothesis; or, by default, empty lines that end the list of a
sentence (the last one is optional).

The file of scores has a line for each hypothesis: a number, or several separated by tabs, with their names on the
first line. The column `score` is the score, `logprob` the log-probability, the others are features.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import PathLike, open_output, read_chunks
from dragoman.core.nbest import Extras, NBest
from dragoman.core.options import option
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import check_fault
from dragoman.formats.nbest.chunks import chunks_by_size
from dragoman.formats.nbest.format import NBEST_FORMATS, NBestFormat, continued_ids, sniff
from dragoman.formats.nbest.lines import EmptyHypotheses, group_by_number, warn_of_empty_hypotheses

# In step with NBestFault in kernels/text/nbest_read.cpp, for tables of numbers.
_FAULTS = {
    6: ("found {}", "a number in each column, separated by tabs"),
    7: ("found {}", "a finite number"),
    8: ("found {}", "as many columns as on the first line, separated by tabs"),
}


@dataclass(frozen=True)
class FlatNBest(NBestFormat):
    """Plain text, one hypothesis per line."""

    name = "flat"

    size: int | None = option(None, "number of hypotheses per sentence", minimum=1)
    counts: Path | None = option(None, "file with the number of hypotheses of each sentence, one per line")
    ids: Path | None = option(None, "file with the sentence number of each hypothesis, one per line")
    scores: Path | None = option(None, "file with the score of each hypothesis, or with columns under a line of names")

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("size", "counts", "ids") if getattr(self, name) is not None]
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} both say which hypotheses belong together; give one of them")

    def read(
        self, path: PathLike, *, sentences: int | None = None, vocab: Vocab | None = None, runtime: Runtime = Runtime()
    ) -> NBest:
        """Read one hypothesis per line."""
        self._refuse_other_formats(path)
        with runtime.stage(f"reading {path}"):
            text = Corpus.read(path, vocab)
            lines, style = text.sentences, {}
            numbers: list[int] | None = None
            if self.ids is not None:
                of_lines = _integers(self.ids, len(lines), path)
                bounds, numbers = group_by_number(of_lines, self.ids, sentences, runtime=runtime)
            elif self.size is not None or self.counts is not None:
                bounds = self._bounds(path, len(lines))
            else:
                lines, bounds, ended = _split_at_empty_lines(lines)
                style = {"ended": ended}
                if len(bounds) == 2 and bounds[1] > 1:
                    runtime.warn(f"{path}: there is no empty line, so all {bounds[1]} lines belong to one sentence")
            if sentences is not None and len(bounds) - 1 != sentences:
                raise DataError(
                    f"has the hypotheses of {len(bounds) - 1} sentences", path=path, expected=f"{sentences}"
                )
            warn_of_empty_hypotheses(lines, path, runtime=runtime)
            scores, logprobs, features = _read_scores(self.scores, len(lines), path)
            ids = None if numbers is None or numbers == [*range(len(numbers))] else tuple(numbers)
            extras = Extras(self.name, style)
            return NBest(text.vocab, bounds, lines, scores, features, logprobs=logprobs, ids=ids, extras=extras)

    def read_blocks(
        self, path: PathLike, *, progress_callback: ProgressCallback | None = None, runtime: Runtime = Runtime()
    ) -> Iterator[NBest]:
        """Read the sentences as they come if `size` is given, otherwise all at once.

        Other files (`counts`, `ids`, `scores`) must have matching lengths, and an empty line may be a hypothesis or the
        end of a list.
        """
        if self.size is None or self.scores is not None:
            yield self.read(path, runtime=runtime)
            return
        self._refuse_other_formats(path)
        wordless, count = EmptyHypotheses(path), 0
        for chunk in chunks_by_size(path, self.size, progress_callback):
            vocab, words, offsets = Vocab.of().extend(chunk.data)
            lines = Ragged(words, offsets)
            wordless.count(lines)
            bounds = self._bounds(path, len(lines), chunk.first_line - 1)
            scores, logprobs, features = _read_scores(None, len(lines), path)
            ids, extras = continued_ids(count, len(bounds) - 1), Extras(self.name, {})
            yield NBest(vocab, bounds, lines, scores, features, logprobs=logprobs, ids=ids, extras=extras)
            count += len(bounds) - 1
        wordless.warn(runtime=runtime)

    def write(self, path: PathLike, nbest: NBest, *, runtime: Runtime = Runtime()) -> None:
        """Write one hypothesis per line, and the files that the options name."""
        super().write(path, nbest, runtime=runtime)
        sizes = np.diff(nbest.sentences)
        if self.counts is not None:
            _write_integers(self.counts, sizes)
        if self.ids is not None:
            _write_integers(self.ids, np.repeat(_sentence_numbers(nbest, path), sizes))
        if self.scores is not None:
            _write_scores(self.scores, nbest)

    def format_blocks(
        self, nbest: NBest, path: PathLike, progress_callback: ProgressCallback | None = None, *, runtime: Runtime
    ) -> Iterator[bytes]:
        """Yield one hypothesis per line."""
        sizes = np.diff(nbest.sentences)
        lines, bounds = nbest.hypotheses, nbest.hypotheses.offsets
        if self.size is not None and (sizes != self.size).any():
            odd = int(np.flatnonzero(sizes != self.size)[0])
            raise DataError(f"list {odd + 1} to write has {sizes[odd]} hypotheses", path=path, expected=f"{self.size}")
        if self.size is None and self.counts is None and self.ids is None:
            if (lines.lengths == 0).any():
                raise DataError(
                    "a hypothesis to write has no words, which would end its list",
                    path=path,
                    expected="another way to say which hypotheses belong together",
                )
            ended = len(sizes) > 0 and (sizes[-1] == 0 or self._was_ended(nbest))
            ends = nbest.sentences[1:] if ended else nbest.sentences[1:-1]
            bounds = np.insert(bounds, ends, bounds[ends])
        text = nbest.vocab.decode(lines.values, bounds)
        # If the first word is a byte-order mark: reading removes the first of two.
        yield codecs.BOM_UTF8 + text if text.startswith(codecs.BOM_UTF8) else text

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True for plain text: no bars, tabs or opening brackets, and not like any other format."""
        if any("|||" in line or "\t" in line for line in lines) or re.match(r'\s*(?:\{\s*"|\[\s*[\[{"])', lines[0]):
            return False
        others = (NBEST_FORMATS.get(name) for name in NBEST_FORMATS.names() if name != cls.name)
        return not any(other.looks_like(lines) for other in others)

    def _refuse_other_formats(self, path: PathLike) -> None:
        try:
            guess = self.name if fspath(path) == "-" else sniff(path).name
        except DataError:
            return
        if guess != self.name:
            raise DataError(f"the file looks like {guess}, not {self.name}", path=path, line=1)

    def _bounds(self, path: PathLike, lines: int, before: int = 0) -> NDArray[np.int64]:
        if self.size is not None:
            if lines % self.size:
                raise DataError(f"has {before + lines} lines", path=path, expected=f"{self.size} for each sentence")
            return np.arange(0, lines + 1, self.size, dtype=np.int64)
        assert self.counts is not None
        counts = _integers(self.counts)
        if (total := int(np.sum(counts))) != lines:
            raise DataError(f"has {lines} lines", path=path, expected=f"{total}, the sum of what {self.counts} says")
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def _was_ended(self, nbest: NBest) -> bool:
        extras = nbest.extras
        return extras is not None and extras.format == self.name and bool(extras.style.get("ended", False))


def _split_at_empty_lines(lines: Ragged[np.int32]) -> tuple[Ragged[np.int32], NDArray[np.int64], int]:
    """Return the lines with words, the bounds of the lists, and whether an empty line also ends the last list."""
    empty = lines.lengths == 0
    kept = np.flatnonzero(~empty)
    ends = np.searchsorted(kept, np.flatnonzero(empty))
    ended = len(empty) > 0 and bool(empty[-1])
    if len(empty) and not ended:
        ends = np.append(ends, len(kept))
    return lines.take(kept), np.concatenate([[0], ends]).astype(np.int64), int(ended)


def _read_columns(path: PathLike) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names on the first line (none if it has numbers), and the numbers below."""
    names: list[str] | None = None
    columns, parts = 1, []
    for chunk in read_chunks(path):
        data, first_line = chunk.data, chunk.first_line
        if names is None:
            first = data[: data.index(b"\n")].decode()
            fields = [field.strip() for field in first.split("\t")]
            names = [] if len(fields) == 1 and _is_number(fields[0]) else fields
            columns = max(len(names), 1)
            if names:
                data, first_line = data[data.index(b"\n") + 1 :], 2
                _check_names(names, path)
        numbers, fault = kernels.parse_number_columns(np.frombuffer(data, np.uint8), columns)
        check_fault(fault, data, _FAULTS, path, first_line)
        parts.append(numbers)
    return names or [], np.concatenate([np.empty((0, columns)), *parts])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_names(names: Sequence[str], path: PathLike) -> None:
    if all(_is_number(name) for name in names):
        raise DataError(f"found {len(names)} numbers", path=path, line=1, expected="a line of names above the columns")
    if not all(names) or len(set(names)) < len(names):
        raise DataError(
            "found a name that is empty or there twice", path=path, line=1, expected="a name for each column"
        )


def _integers(path: PathLike, lines: int | None = None, beside: PathLike = "") -> NDArray[np.int64]:
    """Read one non-negative integer per line."""
    names, numbers = _read_columns(path)
    if names:
        raise DataError(f"found '{names[0]}'", path=path, line=1, expected="a number")
    odd = np.flatnonzero((numbers[:, 0] % 1 != 0) | (numbers[:, 0] < 0) | (numbers[:, 0] >= 2**53))
    if len(odd):
        found = f"found {numbers[odd[0], 0]:g}"
        raise DataError(found, path=path, line=int(odd[0]) + 1, expected="an integer that is not negative")
    if lines is not None and len(numbers) != lines:
        raise DataError(f"has {len(numbers)} lines, but {beside} has {lines}", path=path, expected="as many")
    return numbers[:, 0].astype(np.int64)


def _read_scores(
    path: PathLike | None, hypotheses: int, beside: PathLike
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, FeatureRows]:
    """Read scores, log-probabilities and features."""
    if path is None:
        return np.full(hypotheses, np.nan), None, FeatureRows.zeros(hypotheses)
    names, numbers = _read_columns(path)
    if len(numbers) != hypotheses:
        found = f"has the scores of {len(numbers)} hypotheses, but {beside} has {hypotheses} hypotheses"
        raise DataError(found, path=path, expected="as many")
    columns = dict(zip(names or ["score"], np.ascontiguousarray(numbers.T), strict=True))
    scores, logprobs = columns.pop("score", np.full(hypotheses, np.nan)), columns.pop("logprob", None)
    return scores, logprobs, FeatureRows.of_columns(columns, hypotheses)


def _write_scores(path: PathLike, nbest: NBest) -> None:
    named = {"score": nbest.scores, "logprob": nbest.logprobs}
    columns = {name: column for name, column in named.items() if column is not None and not np.isnan(column).all()}
    names = [*columns, *nbest.features.names]
    if len(set(names)) < len(names) or any(not name or set(name) & set("\t\n\r") for name in names):
        raise DataError("a feature to write has a name that a column cannot have", path=path)
    table = np.column_stack([*columns.values(), nbest.features.dense()])
    if not np.isfinite(table).all():
        raise DataError("a hypothesis to write has no score, or one that is not finite", path=path)
    if not names:
        raise DataError("the hypotheses to write have neither scores nor features", path=path)
    with open_output(path) as stream:
        if names != ["score"]:
            stream.write(("\t".join(names) + "\n").encode())
        stream.write(kernels.format_number_columns(np.ascontiguousarray(table)).tobytes())


def _write_integers(path: PathLike, numbers: NDArray[np.int64]) -> None:
    with open_output(path) as stream:
        stream.write("".join(f"{number}\n" for number in numbers.tolist()).encode())


def _sentence_numbers(nbest: NBest, path: PathLike) -> NDArray[np.int64]:
    if not all(isinstance(name, int) for name in nbest.sentence_ids):
        raise DataError("the sentences to write have names", path=path, expected="numbers, or counts instead of ids")
    return np.array(nbest.sentence_ids, np.int64)
