"""Texts to translate and to score: sentences as a model wants them, with references beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.files import read_lines
from dragoman.core.runtime import Runtime
from dragoman.formats.penn_trees import TreeFile, with_trees
from dragoman.metrics.references import UNHEARD, read_references
from dragoman.text.preparation import TextPreparation


@dataclass(frozen=True, eq=False)
class ReferencedText:
    """Prepared source sentences, and references that run parallel to them, prepared like what the model writes."""

    lines: list[str]
    references: list[Corpus]

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def read(
        cls,
        source: Path,
        references: Sequence[Path],
        text: TextPreparation,
        *,
        trees: TreeFile | None = None,
        runtime: Runtime = UNHEARD,
    ) -> ReferencedText:
        """Read a source text and its references, and trees if these matter; if somebody listens, says what is odd."""
        prepared = text.source(read_lines(source))
        lines: list[str] = list(prepared) if trees is None else [*with_trees(prepared, trees)]
        found = read_references(references, text, runtime=runtime)
        if len(found[0]) != len(lines):
            raise DataError(
                f"has {len(found[0])} lines, but {source} has {len(lines)}", path=references[0], expected="as many"
            )
        return cls(lines, found)
