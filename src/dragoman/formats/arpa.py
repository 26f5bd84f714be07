r"""ARPA files: back-off language models as text, with counts in a header and a section for each order.

Between ``\data\`` and ``\end\`` are the sections ``\1-grams:``, ``\2-grams:``, …. A line holds a log probability to
base 10, the words and, if the n-gram is a context of longer ones, a back-off weight.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import UNK, Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import Chunk, PathLike, open_output, read_chunks
from dragoman.core.phrases import NGrams, NGramTable
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import check_fault, quote

_ROWS_A_BLOCK = 1 << 16
_COUNT = re.compile(rb"ngram\s+(\d{1,9})\s*=\s*(\d{1,18})")
_SECTION = re.compile(rb"\\(\d{1,9})-grams:")

# In step with ArpaFault in kernels/text/arpa.cpp.
_FAULTS = {
    1: ("found {}", "a log probability, as many words as the section's order, and perhaps a back-off weight"),
    2: ("found {}", "a number"),
    3: ("found the log probability {}", "a number that is not positive"),
    4: ("found the back-off weight {}", "a finite number"),
    5: ("the unigram {} is there a second time", "each once"),
    6: ("the word {} is not among the unigrams", "every word as a unigram"),
}


def read_arpa(path: PathLike, *, vocab: Vocab | None = None, runtime: Runtime = Runtime()) -> NGrams:
    """Read an ARPA file, compressed or not; words are added to `vocab` (a new one by default) in file order."""
    reader = _Reader(path, vocab or Vocab.of())
    with runtime.stage(f"reading {path}"):
        for chunk in read_chunks(path):
            for part in _parts(chunk):
                reader.take(part)
        ngrams = reader.finish()
    if not reader.listed[UNK]:
        runtime.warn(f"{path}: there is no <unk> among the unigrams, so the model gives unknown words no probability")
    return ngrams


def _parts(chunk: Chunk) -> Iterator[Chunk]:
    """Cut a chunk into marker lines (which alone start with a backslash) and the runs of lines between them."""
    start, line = 0, chunk.first_line
    while start < len(chunk.data):
        if chunk.data.startswith(b"\\", start):
            end = chunk.data.index(b"\n", start) + 1
        else:
            marker = chunk.data.find(b"\n\\", start)
            end = len(chunk.data) if marker < 0 else marker + 1
        part = chunk.data[start:end]
        yield Chunk(part, line)
        line += part.count(b"\n")
        start = end


class _Reader:
    """State of the reader: `section` is None before the header, 0 in it, then the order, and -1 after the end."""

    def __init__(self, path: PathLike, vocab: Vocab):
        self.path = path
        self.vocab = vocab
        self.listed = np.zeros(len(vocab), np.uint8)
        self.section: int | None = None
        self.counts: list[int] = []
        self.tables: list[NGramTable] = []
        self.rows: list[tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]] = []

    def take(self, part: Chunk) -> None:
        if part.data.startswith(b"\\"):
            self._marker(part.data.rstrip(), part.first_line)
        elif self.section is None or self.section < 0:
            self._nothing(part)
        elif self.section == 0:
            self._header(part)
        elif self.section == 1:
            lines, words, self.listed = kernels.parse_unigrams(
                np.frombuffer(part.data, np.uint8), self.vocab.for_kernels(), self.listed
            )
            self._add(lines, part)
            self.vocab = Vocab(*words)
        else:
            lines = kernels.parse_ngrams(
                np.frombuffer(part.data, np.uint8),
                self.section,
                self.vocab.for_kernels(),
                self.vocab.index,
                self.listed,
            )
            self._add(lines, part)

    def _error(self, found: str, line: int, expected: str) -> DataError:
        return DataError(found, path=self.path, line=line, expected=expected)

    def _nothing(self, part: Chunk) -> None:
        for number, line in enumerate(part.data.split(b"\n"), part.first_line):
            if line.strip():
                expected = "\\data\\" if self.section is None else "nothing more after \\end\\"
                raise self._error(f"found {quote(line)}", number, expected)

    def _header(self, part: Chunk) -> None:
        for number, line in enumerate(part.data.split(b"\n"), part.first_line):
            if not line.strip():
                continue
            match = _COUNT.fullmatch(line.strip())
            if not match or int(match[1]) != len(self.counts) + 1:
                raise self._error(f"found {quote(line)}", number, f"ngram {len(self.counts) + 1}=COUNT")
            self.counts.append(int(match[2]))

    def _marker(self, marker: bytes, line: int) -> None:
        if self.section is None:
            if marker != b"\\data\\":
                raise self._error(f"found {quote(marker)}", line, "\\data\\")
            self.section = 0
            return
        if self.section < 0:
            raise self._error(f"found {quote(marker)}", line, "nothing more after \\end\\")
        if self.section == 0 and not self.counts:
            raise self._error(f"found {quote(marker)}", line, "ngram 1=COUNT")
        self._end_section(line)
        last = self.section == len(self.counts)
        match = _SECTION.fullmatch(marker)
        if last and marker == b"\\end\\":
            self.section = -1
        elif not last and match and int(match[1]) == self.section + 1:
            self.section += 1
        else:
            raise self._error(f"found {quote(marker)}", line, "\\end\\" if last else f"\\{self.section + 1}-grams:")

    def _add(
        self,
        lines: tuple[
            NDArray[np.int32], NDArray[np.float32], NDArray[np.float32], NDArray[np.int64], tuple[int, int, int, int]
        ],
        part: Chunk,
    ) -> None:
        words, logprobs, backoffs, numbers, fault = lines
        check_fault(fault, part.data, _FAULTS, self.path, part.first_line)
        self.rows.append((words, logprobs, backoffs, numbers + part.first_line))

    def _end_section(self, line: int) -> None:
        order = self.section
        if not order:
            return
        words = np.concatenate([np.empty((0, order), np.int32), *(rows[0] for rows in self.rows)])
        logprobs = np.concatenate([np.empty(0, np.float32), *(rows[1] for rows in self.rows)])
        backoffs = np.concatenate([np.empty(0, np.float32), *(rows[2] for rows in self.rows)])
        numbers = np.concatenate([np.empty(0, np.int64), *(rows[3] for rows in self.rows)])
        self.rows = []
        if len(words) != self.counts[order - 1]:
            raise self._error(f"found {len(words)} {order}-grams up to here", line, f"{self.counts[order - 1]}")
        ids, _, _ = kernels.intern_sequences(words.reshape(-1), np.arange(len(words) + 1, dtype=np.int64) * order)
        # Ids increase in order of first occurrence: the first that does not is a repetition.
        repeated = np.flatnonzero(ids != np.arange(len(ids)))
        if len(repeated):
            row = int(repeated[0])
            text = self.vocab.text(words[row])
            raise self._error(f"the {order}-gram {quote(text)} is there a second time", int(numbers[row]), "each once")
        if order == len(self.counts):
            backoffs = np.zeros(len(words), np.float32)
        self.tables.append(NGramTable(words, logprobs, backoffs))

    def finish(self) -> NGrams:
        if self.section != -1:
            missing = "\\data\\" if self.section is None else "\\end\\"
            raise DataError(f"the file ends without {missing}", path=self.path, expected="a whole ARPA file")
        return NGrams(self.vocab, tuple(self.tables))


def write_arpa(path: PathLike, ngrams: NGrams, *, runtime: Runtime = Runtime()) -> None:
    """Write an ARPA file, compressed by the ending of its name; reading it gives exactly the same numbers."""
    with runtime.stage(f"writing {path}"), open_output(path) as stream:
        counts = "".join(f"ngram {order}={len(table)}\n" for order, table in enumerate(ngrams.orders, 1))
        stream.write(f"\\data\\\n{counts}".encode())
        for order, table in enumerate(ngrams.orders, 1):
            stream.write(f"\n\\{order}-grams:\n".encode())
            for start in range(0, len(table), _ROWS_A_BLOCK):
                rows = slice(start, start + _ROWS_A_BLOCK)
                block = kernels.format_ngrams(
                    table.words[rows],
                    table.logprobs[rows],
                    table.backoffs[rows],
                    order < ngrams.order,
                    ngrams.vocab.for_kernels(),
                )
                stream.write(block.tobytes())
        stream.write(b"\n\\end\\\n")
