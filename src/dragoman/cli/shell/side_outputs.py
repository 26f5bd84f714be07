"""What `dragoman translate` writes beside translations, each into a file of its own."""

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
from dragoman.formats.hypergraph_jsonl import format_hypergraph
from dragoman.formats.nbest.format import NBEST_FORMATS, NBestFormat
from dragoman.translation.outputs import Outputs, SentenceResult

#: Lists that are written together: one at a time takes longer.
_LISTS_TOGETHER = 32


class SideOutput(Protocol):
    """One of the outputs."""

    def add(self, result: SentenceResult) -> None:
        """Write what is known of a sentence."""


@dataclass(frozen=True)
class Wanted:
    """Which outputs are wanted."""

    details: Path | None = None
    links: Path | None = None
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
    def anything(self) -> bool:
        """Whether there is any."""
        return any((self.details, self.links, self.nbest_out, self.hypergraphs, self.picture))

    @property
    def forests(self) -> bool:
        """Whether more than the best derivation has to be kept."""
        return self.nbest_out is not None or self.hypergraphs is not None

    @property
    def outputs(self) -> Outputs:
        """What is wanted of each sentence."""
        return Outputs(self.details is not None, self.nbest, self.distinct, self.hypergraphs is not None)

    def opened(self, stack: contextlib.ExitStack, *, runtime: Runtime = Runtime()) -> list[SideOutput]:
        """Open all that is wanted, until the stack is left."""
        outputs: list[SideOutput] = []
        if self.details is not None:
            outputs.append(Details(stack.enter_context(open_output(self.details))))
        if self.links is not None:
            outputs.append(WordLinks(stack.enter_context(open_output(self.links))))
        if self.hypergraphs is not None:
            outputs.append(Hypergraphs(stack.enter_context(open_output(self.hypergraphs))))
        if self.nbest is not None and self.nbest_out is not None:
            stream = stack.enter_context(open_output(self.nbest_out))
            written = NBEST_FORMATS.get(self.nbest_format)()
            lists = NBestLists(stream, self.nbest_out, written, runtime)
            outputs.append(stack.enter_context(lists.until_the_end()))
        if self.picture is not None:
            outputs.append(Picture(self.picture))
        return outputs


@dataclass(frozen=True)
class Details:
    """Scores, features, phrases and links as JSONL."""

    stream: IO[bytes]

    def add(self, result: SentenceResult) -> None:
        """Write a line, with little in it where the search found nothing."""
        assert result.translation is not None
        row = result.translation.json(result.number)
        if not result.has_derivation:
            row = json.dumps({"id": result.number, "source": result.translation.source}, ensure_ascii=False)
        self.stream.write(f"{row}\n".encode())


@dataclass(frozen=True)
class WordLinks:
    """Word links like `0-0 1-2`."""

    stream: IO[bytes]

    def add(self, result: SentenceResult) -> None:
        """Write a line."""
        assert result.translation is not None
        links = sorted(link for phrase in result.translation.phrases for link in phrase.links)
        self.stream.write((" ".join(f"{s}-{t}" for s, t in links) + "\n").encode())


@dataclass(frozen=True)
class Hypergraphs:
    """All that the search kept, as JSONL."""

    stream: IO[bytes]

    def add(self, result: SentenceResult) -> None:
        """Write a line if the sentence has a derivation."""
        if result.hypergraph is not None:
            self.stream.write(format_hypergraph(result.hypergraph, result.number).encode() + b"\n")


@dataclass(frozen=True)
class NBestLists:
    """N-best lists in one of the formats: some at a time, or together where a file has one head for all."""

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
        """Write what is left when all have come."""
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
