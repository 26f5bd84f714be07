"""Side outputs of `dragoman translate`, each in its own file."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Protocol

from dragoman.core.errors import UsageError
from dragoman.core.files import open_output
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.evaluation.figures.svg import require_matplotlib
from dragoman.formats.hypergraph_jsonl import format_hypergraph
from dragoman.formats.nbest.format import NBEST_FORMATS, NBestFormat
from dragoman.translation.stream import Outputs, SentenceResult

#: Number of n-best lists that are written at once, which is faster than one at a time.
_LISTS_TOGETHER = 32


class SideOutput(Protocol):
    """A side output."""

    def add(self, result: SentenceResult) -> None:
        """Write the result of a sentence."""


@dataclass(frozen=True)
class SideOutputs:
    """Side outputs that the user asks for."""

    details: Path | None = None
    alignment: Path | None = None
    nbest: int | None = None
    nbest_out: Path | None = None
    nbest_format: str = "moses"
    distinct: bool = True
    hypergraphs: Path | None = None
    picture: Path | None = None

    def __post_init__(self) -> None:
        if (self.nbest is None) != (self.nbest_out is None):
            raise UsageError("--nbest and --nbest-out go together")

    @property
    def any(self) -> bool:
        """True if there is a side output."""
        return any((self.details, self.alignment, self.nbest_out, self.hypergraphs, self.picture))

    @property
    def forests(self) -> bool:
        """True if the search must keep more than the best derivation."""
        return self.nbest_out is not None or self.hypergraphs is not None

    @property
    def outputs(self) -> Outputs:
        """The results that the stream must have for each sentence."""
        return Outputs(self.details is not None, self.nbest, self.distinct, self.hypergraphs is not None)

    def open(self, stack: contextlib.ExitStack, *, runtime: Runtime = Runtime()) -> list[SideOutput]:
        """Open all side outputs; the stack closes them."""
        outputs: list[SideOutput] = []
        if self.details is not None:
            outputs.append(Details(stack.enter_context(open_output(self.details))))
        if self.alignment is not None:
            outputs.append(WordAlignment(stack.enter_context(open_output(self.alignment))))
        if self.hypergraphs is not None:
            outputs.append(Hypergraphs(stack.enter_context(open_output(self.hypergraphs))))
        if self.nbest is not None and self.nbest_out is not None:
            stream = stack.enter_context(open_output(self.nbest_out))
            written = NBEST_FORMATS.get(self.nbest_format)()
            lists = NBestLists(stream, self.nbest_out, written, runtime)
            outputs.append(stack.enter_context(lists.until_the_end()))
        if self.picture is not None:
            require_matplotlib()
            outputs.append(Picture(self.picture))
        return outputs


@dataclass(frozen=True)
class Details:
    """Scores, features, phrases and word alignment as JSONL."""

    stream: IO[bytes]

    def add(self, result: SentenceResult) -> None:
        """Write a line; only the source if there is no derivation."""
        assert result.translation is not None
        row = result.translation.json(result.number)
        if not result.has_derivation:
            row = json.dumps({"id": result.number, "source": result.translation.source}, ensure_ascii=False)
        self.stream.write(f"{row}\n".encode())


@dataclass(frozen=True)
class WordAlignment:
    """Word alignment like `0-0 1-2`."""

    stream: IO[bytes]

    def add(self, result: SentenceResult) -> None:
        """Write a line."""
        assert result.translation is not None
        links = sorted(link for phrase in result.translation.phrases for link in phrase.links)
        self.stream.write((" ".join(f"{s}-{t}" for s, t in links) + "\n").encode())


@dataclass(frozen=True)
class Hypergraphs:
    """Search hypergraphs as JSONL."""

    stream: IO[bytes]

    def add(self, result: SentenceResult) -> None:
        """Write a line if the sentence has a derivation."""
        if result.hypergraph is not None:
            self.stream.write(format_hypergraph(result.hypergraph, result.number).encode() + b"\n")


@dataclass(frozen=True)
class NBestLists:
    """N-best lists in one of the formats: some at a time, or all together if the file has one header for all."""

    stream: IO[bytes]
    path: Path
    format: NBestFormat
    runtime: Runtime = Runtime()
    waiting: dict[int, NBest] = field(default_factory=dict)

    def add(self, result: SentenceResult) -> None:
        """Keep the list until there are enough to be written together."""
        assert result.nbest is not None
        self.waiting[result.number] = result.nbest
        if self.format.piecewise and len(self.waiting) == _LISTS_TOGETHER:
            self._write()

    @contextlib.contextmanager
    def until_the_end(self) -> Iterator[NBestLists]:
        """Write the remaining lists at the end."""
        yield self
        if self.waiting:
            self._write()

    def _write(self) -> None:
        lists = replace(NBest.concatenate([*self.waiting.values()]), ids=tuple(self.waiting))
        self.waiting.clear()
        for block in self.format.format_blocks(lists, self.path, runtime=self.runtime):
            self.stream.write(block)


@dataclass(frozen=True)
class Picture:
    """The first sentence's derivation as SVG."""

    path: Path

    def add(self, result: SentenceResult) -> None:
        """Draw the very first sentence."""
        if result.number == 0 and result.translation is not None:
            from dragoman.evaluation.figures.derivations import draw_translation
            from dragoman.evaluation.figures.svg import write_svg

            write_svg(self.path, draw_translation(result.translation))
