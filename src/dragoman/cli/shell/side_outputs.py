"""What `dragoman translate` writes beside translations, each into a file of its own."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Protocol

from dragoman.core.errors import UsageError
from dragoman.core.files import open_output
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.formats.hypergraph_jsonl import format_hypergraph
from dragoman.formats.nbest.format import NBEST_FORMATS, NBestFormat
from dragoman.search.kept import Keep
from dragoman.search.searched import Searched
from dragoman.search.translation import Translation


class SideOutput(Protocol):
    """One of the outputs."""

    def add(self, part: Searched, translations: Sequence[Translation], first: int) -> None:
        """Write what is known of a batch, whose first sentence has the number `first`."""


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
    def keep(self) -> Keep:
        """What has to be kept of the search."""
        return Keep(self.details is not None, self.nbest, self.distinct, self.hypergraphs is not None)

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
            lists = NBestLists(stream, self.nbest_out, written, self.nbest, self.distinct, runtime)
            outputs.append(stack.enter_context(lists.until_the_end()))
        if self.picture is not None:
            outputs.append(Picture(self.picture))
        return outputs


@dataclass(frozen=True)
class Details:
    """Scores, features, phrases and links as JSONL."""

    stream: IO[bytes]

    def add(self, part: Searched, translations: Sequence[Translation], first: int) -> None:
        """Write a line for each sentence, with little in it where the search found nothing."""
        for i, translation in enumerate(translations):
            nothing = {"id": first + i, "source": translation.source}
            row = translation.json(first + i) if part.reached(i) else json.dumps(nothing, ensure_ascii=False)
            self.stream.write(f"{row}\n".encode())


@dataclass(frozen=True)
class WordLinks:
    """Word links like `0-0 1-2`."""

    stream: IO[bytes]

    def add(self, part: Searched, translations: Sequence[Translation], first: int) -> None:
        """Write a line for each sentence."""
        for translation in translations:
            links = sorted(link for phrase in translation.phrases for link in phrase.links)
            self.stream.write((" ".join(f"{s}-{t}" for s, t in links) + "\n").encode())


@dataclass(frozen=True)
class Hypergraphs:
    """All that the search kept, as JSONL."""

    stream: IO[bytes]

    def add(self, part: Searched, translations: Sequence[Translation], first: int) -> None:
        """Write a line for each sentence that has a derivation."""
        for i in range(len(part)):
            if part.reached(i):
                self.stream.write(format_hypergraph(part.hypergraph(i), first + i).encode() + b"\n")


@dataclass(frozen=True)
class NBestLists:
    """N-best lists in one of the formats: batch by batch, or together where a file has one head for all."""

    stream: IO[bytes]
    path: Path
    format: NBestFormat
    size: int
    distinct: bool
    runtime: Runtime = Runtime()
    waiting: list[NBest] = field(default_factory=list)

    def add(self, part: Searched, translations: Sequence[Translation], first: int) -> None:
        """Write the lists of the batch, with numbers that go on from batch to batch, or keep them."""
        lists = replace(part.nbest(self.size, distinct=self.distinct), ids=tuple(range(first, first + len(part))))
        if self.format.piecewise:
            self._write(lists)
        else:
            self.waiting.append(lists)

    @contextlib.contextmanager
    def until_the_end(self) -> Iterator[NBestLists]:
        """Write what was kept when all batches have come."""
        yield self
        if self.waiting:
            self._write(NBest.concatenate(self.waiting))

    def _write(self, lists: NBest) -> None:
        for block in self.format.blocks(lists, self.path, runtime=self.runtime):
            self.stream.write(block)


@dataclass(frozen=True)
class Picture:
    """The first sentence's derivation as SVG."""

    path: Path

    def add(self, part: Searched, translations: Sequence[Translation], first: int) -> None:
        """Draw the very first sentence."""
        if first == 0:
            from dragoman.evaluation.figures.derivation_plot import draw_translation
            from dragoman.evaluation.figures.svg import write_svg

            write_svg(self.path, draw_translation(translations[0]))
