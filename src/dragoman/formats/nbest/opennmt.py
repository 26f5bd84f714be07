"""Output of OpenNMT-py's translate with `-n_best N -with_score`: `the house<TAB>-0.5`, N lines per sentence.

For output without scores use the format flat with the option `size=N`.
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
from dragoman.core.options import option
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import quote
from dragoman.formats.nbest.chunks import chunks_by_size
from dragoman.formats.nbest.format import NBestFormat, continued_ids, suggest_format
from dragoman.formats.nbest.lines import EmptyHypotheses, warn_of_empty_hypotheses
from dragoman.formats.nbest.numbers import parse_number

# Python prints scores with a point or an exponent; a number without either is rather a text.
_LINE = re.compile(r"[^\t]*\t-?(?:[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|inf|nan)\s*")


@dataclass(frozen=True)
class OpenNmtNBest(NBestFormat):
    """One hypothesis per line, with its score, and the same number of lines for every sentence."""

    name = "opennmt"
    places = frozenset({"scores"})

    size: int | None = option(None, "number of hypotheses per sentence, OpenNMT's -n_best", minimum=1)

    def read(
        self, path: PathLike, *, sentences: int | None = None, vocab: Vocab | None = None, runtime: Runtime = Runtime()
    ) -> NBest:
        """Read one hypothesis per line."""
        with runtime.stage(f"reading {path}"):
            nbest = self._lists(read_lines(path), 1, path, vocab or Vocab.of())
            if sentences is not None and len(nbest) != sentences:
                raise DataError(f"has {len(nbest)} sentences", path=path, expected=f"{sentences}")
        if not len(nbest):
            runtime.warn(f"{path}: the n-best list is empty")
        warn_of_empty_hypotheses(nbest.hypotheses, path, runtime=runtime)
        return nbest

    def read_blocks(
        self, path: PathLike, *, progress_callback: ProgressCallback | None = None, runtime: Runtime = Runtime()
    ) -> Iterator[NBest]:
        """Read the sentences as they come."""
        wordless = EmptyHypotheses(path)
        for chunk in chunks_by_size(path, self.size or 1, progress_callback):
            nbest = self._lists(chunk.lines(), chunk.first_line, path, Vocab.of())
            wordless.count(nbest.hypotheses)
            yield nbest
        wordless.warn(runtime=runtime)

    def _lists(self, lines: Iterable[str], first_line: int, path: PathLike, vocab: Vocab) -> NBest:
        texts: list[str] = []
        scores: list[float] = []
        for line, row in enumerate(lines, first_line):
            text, tab, score = row.rpartition("\t")
            if not tab or "\t" in text or not score.strip():
                error = DataError(f"found {quote(row)}", path=path, line=line, expected="'text<TAB>score'")
                raise suggest_format(error, path, self.name)
            texts.append(text)
            scores.append(parse_number(score, path, line))
        bounds = self._bounds(first_line - 1, len(texts), path)
        ids = continued_ids((first_line - 1) // (self.size or 1), len(bounds) - 1)
        nbest = NBest.of_texts(texts, scores, bounds, vocab)
        return replace(nbest, ids=ids, extras=Extras(self.name, {}))

    def format_blocks(
        self, nbest: NBest, path: PathLike, progress_callback: ProgressCallback | None = None, *, runtime: Runtime
    ) -> Iterator[bytes]:
        """Yield one line for each hypothesis."""
        nbest = self.drop_unsupported(nbest, path, runtime=runtime)
        sizes = np.diff(nbest.sentences)
        size = self.size or int(sizes.max(initial=1))
        if (sizes != size).any():
            odd = int(np.flatnonzero(sizes != size)[0])
            raise DataError(
                f"list {odd + 1} to write has {sizes[odd]} hypotheses", path=path, expected=f"{size}, as others"
            )
        if not np.isfinite(nbest.scores).all():
            raise DataError("a hypothesis to write has no score, or one that is not finite", path=path)
        for text, score in zip(nbest.texts(), nbest.scores.tolist(), strict=True):
            yield f"{text}\t{score!r}\n".encode()

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if all lines have a text and a score."""
        return all(_LINE.fullmatch(line) for line in lines)

    def _bounds(self, before: int, lines: int, path: PathLike) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        if self.size is None and lines:
            raise DataError(
                "the lines do not say which hypotheses belong together",
                path=path,
                expected="the option size, which is OpenNMT's -n_best",
            )
        size = self.size or 1
        if lines % size:
            raise DataError(f"has {before + lines} lines", path=path, expected=f"{size} for each sentence")
        return np.arange(0, lines + 1, size, dtype=np.int64)
