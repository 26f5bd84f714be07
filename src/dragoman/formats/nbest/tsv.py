"""Hypotheses with sentence numbers, separated by tabs: `0<TAB>the house`, `0<TAB>the house<TAB>-0.5`.

Scripts for Hugging Face's and other libraries write such lists: without a header, with sentences numbered from 0, and
an optional third column of scores. Tables with a header have the format csv.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_lines
from dragoman.core.nbest import Extras, NBest
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import quote
from dragoman.formats.nbest.chunks import chunks_by_number
from dragoman.formats.nbest.format import NBestFormat, suggest_format
from dragoman.formats.nbest.lines import NUMBER, EmptyHypotheses, Numbering, sentence_numbers, warn_of_empty_hypotheses
from dragoman.formats.nbest.numbers import parse_number

_LINE = re.compile(rf"\s*[0-9]+\s*\t[^\t]*(?:\t\s*(?:{NUMBER})?\s*)?")


@dataclass(frozen=True)
class TsvNBest(NBestFormat):
    """One hypothesis per line: the sentence number, the text, and an optional score."""

    name = "tsv"
    places = frozenset({"scores", "ids"})

    def read(
        self, path: PathLike, *, sentences: int | None = None, vocab: Vocab | None = None, runtime: Runtime = Runtime()
    ) -> NBest:
        """Read one hypothesis per line."""
        numbering = Numbering(path, sentences)
        with runtime.stage(f"reading {path}"):
            nbest = self._lists(read_lines(path), 1, path, numbering, vocab or Vocab.of())
            numbering.finish(runtime=runtime)
        warn_of_empty_hypotheses(nbest.hypotheses, path, runtime=runtime)
        return nbest

    def read_blocks(
        self, path: PathLike, *, progress_callback: ProgressCallback | None = None, runtime: Runtime = Runtime()
    ) -> Iterator[NBest]:
        """Read the sentences as they come; one is complete when a line of the next has come."""
        numbering, wordless = Numbering(path), EmptyHypotheses(path)
        for chunk in chunks_by_number(path, b"\t", progress_callback):
            nbest = self._lists(chunk.lines(), chunk.first_line, path, numbering, Vocab.of())
            wordless.count(nbest.hypotheses)
            yield nbest
        numbering.finish(runtime=runtime)
        wordless.warn(runtime=runtime)

    def _lists(
        self, lines: Iterable[str], first_line: int, path: PathLike, numbering: Numbering, vocab: Vocab
    ) -> NBest:
        ids: list[int] = []
        texts: list[str] = []
        scores: list[float] = []
        for line, text in enumerate(lines, first_line):
            fields = text.split("\t")
            number = fields[0].strip()
            # More digits do not fit a 64-bit integer.
            if not (len(fields) in (2, 3) and number.isascii() and number.isdigit() and len(number) < 19):
                found = f"found {quote(text)}"
                error = DataError(found, path=path, line=line, expected="'id<TAB>text' or 'id<TAB>text<TAB>score'")
                raise suggest_format(error, path, self.name)
            ids.append(int(number))
            texts.append(fields[1])
            scores.append(parse_number(fields[2] if len(fields) == 3 else "", path, line))
        bounds, numbers = numbering.group(np.array(ids, np.int64), first_line)
        named = None if numbers == [*range(len(numbers))] else tuple(numbers)
        nbest = NBest.of_texts(texts, scores, bounds, vocab)
        return replace(nbest, ids=named, extras=Extras(self.name, {}))

    def format_blocks(
        self, nbest: NBest, path: PathLike, progress_callback: ProgressCallback | None = None, *, runtime: Runtime
    ) -> Iterator[bytes]:
        """Yield one line for each hypothesis."""
        nbest = self.drop_unsupported(nbest, path, runtime=runtime)
        if np.isinf(nbest.scores).any():
            raise DataError("a score to write is not finite", path=path, expected="finite numbers")
        ids = np.repeat(sentence_numbers(nbest, path, runtime=runtime), np.diff(nbest.sentences)).tolist()
        scored = not np.isnan(nbest.scores).all()
        for number, text, score in zip(ids, nbest.texts(), nbest.scores.tolist(), strict=True):
            tail = "" if not scored else "\t" if np.isnan(score) else f"\t{score!r}"
            yield f"{number}\t{text}{tail}\n".encode()

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if all lines begin with a number and have two or three columns."""
        return all(_LINE.fullmatch(line) for line in lines)
