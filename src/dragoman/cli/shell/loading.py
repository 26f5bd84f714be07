"""What commands that translate begin with: a translator for the model, the text that it is to see, a sampler."""

from __future__ import annotations

import stat
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from dragoman.core.errors import DataError
from dragoman.core.files import read_blocks, read_chunks
from dragoman.core.options import options_from
from dragoman.core.progress import SILENT
from dragoman.core.runtime import Runtime
from dragoman.decision.evidence import Draw
from dragoman.formats.documents import read_documents
from dragoman.formats.penn_trees import TreeFile
from dragoman.model.bundle import Model
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.markup import parse_markup, prepare_markup, without_markup
from dragoman.search.translator import Translator
from dragoman.text.preparation import TextPreparation

#: Bytes of a text that is not read twice.
_LONG_TO_COUNT = 1 << 28


def load_translator(
    model: Path,
    weights: Path | None,
    limits: SearchLimits,
    space: SpaceLimits,
    *,
    climb: Literal["gloss", "beam"] | None = None,
    markup: bool = False,
    runtime: Runtime = Runtime(),
) -> Translator:
    """Load a model and make a translator of it; `weights` are a file or a run, in place of the model's."""
    loaded = Model.load(model)
    return Translator.of(
        loaded,
        None if weights is None else loaded.read_weights(weights, runtime=runtime),
        limits=limits,
        space=space,
        climbing=None if climb is None else HillClimbing(start=climb),
        markup=markup,
        runtime=runtime.quiet(),
    )


@dataclass(frozen=True)
class SourceText:
    """Prepared lines, and the label of each if documents matter.

    `blocks` are the same lines in the groups in which they come, so that nobody waits for others'; read one of the two.
    """

    blocks: Iterable[Iterable[str]]
    documents: list[str] | None = None
    #: The raw lines that have been read and not asked for yet.
    waiting: deque[str] = field(default_factory=deque)

    @classmethod
    def read(
        cls,
        path: Path,
        documents: Path | None,
        preparation: TextPreparation,
        *,
        markup: bool = False,
        trees: TreeFile | None = None,
        runtime: Runtime = Runtime(),
    ) -> SourceText:
        """Read a text as it comes, and trees in step; all of it at once only where labels have to be as many."""
        waiting: deque[str] = deque()
        blocks: Iterable[Sequence[str]] = read_blocks(path)
        labels = None
        if documents is not None:
            lines = [line for block in blocks for line in block]
            blocks, labels = [lines], read_documents(documents, len(lines))
        prepared: Iterable[Iterator[str]] = (
            _prepared_markup(block, preparation, waiting)
            if markup
            else preparation.source(_recorded(block, waiting), runtime=runtime)
            for block in blocks
        )
        return cls(prepared if trees is None else _with_trees(prepared, trees, markup), labels, waiting)

    @property
    def lines(self) -> Iterator[str]:
        """All lines."""
        return (line for block in self.blocks for line in block)

    def raw(self, count: int) -> list[str]:
        """The next so many lines as they were before they were prepared, in order."""
        return [self.waiting.popleft() for _ in range(count)]


def _recorded(lines: Iterable[str], waiting: deque[str]) -> Iterator[str]:
    for line in lines:
        waiting.append(line)
        yield line


def _prepared_markup(lines: Iterable[str], preparation: TextPreparation, waiting: deque[str]) -> Iterator[str]:
    for line in lines:
        waiting.append(without_markup(line, preparation))
        yield prepare_markup(line, preparation)


def _with_trees(blocks: Iterable[Iterable[str]], trees: TreeFile, markup: bool) -> Iterator[Iterator[str]]:
    for block in blocks:
        yield (trees.attached(line, parse_markup(line)[0] if markup else None) for line in block)
    trees.finish()


def beside_output(*, runtime: Runtime) -> Runtime:
    """The same runtime for what prints as it goes: it says nothing where a bar would be drawn between its lines."""
    return replace(runtime, progress=SILENT) if sys.stdout.isatty() and sys.stderr.isatty() else runtime


def lines_in(path: Path) -> int | None:
    """How many lines a text has, if it can be read twice and that does not take long."""
    try:
        if str(path) == "-":  # a redirected file can be opened once more, where the system lets us
            path = Path(f"/proc/self/fd/{sys.stdin.fileno()}")
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LONG_TO_COUNT:
            return None
        return sum(chunk.data.count(b"\n") for chunk in read_chunks(path))
    except (OSError, ValueError, DataError):  # whoever reads it will say what is wrong
        return None


def sample_drawer(
    translator: Translator, options: Sequence[str] | None, seed: int, *, runtime: Runtime = Runtime()
) -> Draw:
    """What draws samples as evidence for a decision rule."""
    chains = Sampler.of(translator, options_from(Sampling, options or []))
    return partial(chains.sample, seed=seed, features=False, runtime=runtime)
