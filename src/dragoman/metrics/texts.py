"""Texts to translate and to score: sentences as a model wants them, with references beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.files import read_lines
from dragoman.core.progress import Progress
from dragoman.formats.penn_trees import TreeFile, with_trees
from dragoman.metrics.references import read_references
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
        progress: Progress | None = None,
        *,
        trees: TreeFile | None = None,
    ) -> ReferencedText:
        """Read a source text and its references, and trees if these matter; if somebody listens, says what is odd."""
        prepared = text.source(read_lines(source))
        lines: list[str] = list(prepared) if trees is None else [*with_trees(prepared, trees)]
        found = read_references(references, progress, text)
        if len(found[0]) != len(lines):
            raise DataError(
                f"has {len(found[0])} lines, but {source} has {len(lines)}", path=references[0], expected="as many"
            )
        return cls(lines, found)


#: Texts with fewer words say too little about how they were prepared.
_ENOUGH_WORDS = 30


@dataclass(frozen=True)
class _Looks:
    """What a text looks like; None where it says too little."""

    tokenised: bool | None
    lowercased: bool | None

    @classmethod
    def of(cls, corpus: Corpus) -> _Looks:
        text = corpus.text().decode()
        words = text.split()
        apart = sum(word in _MARKS for word in words)
        attached = sum(len(word) > 1 and word[-1] in _MARKS and word[-2].isalpha() for word in words)
        enough = len(words) >= _ENOUGH_WORDS
        tokenised = apart > attached if enough and apart + attached >= len(words) / _ENOUGH_WORDS else None
        cased = any(character.isupper() for character in text)
        letters = any(character.islower() for character in text)
        return cls(tokenised, not cased if enough and letters else None)


_MARKS = frozenset(".,!?;:")


def mismatch(translations: Corpus, references: Corpus) -> str | None:
    """Say if two texts that are to be compared look as if they had been prepared differently; None if not.

    >>> raw = Corpus.from_lines(["The cat, the dog, and a bird sat on the mat." for _ in range(9)])
    >>> words = Corpus.from_lines(["the cat , the dog , and a bird sat on the mat ." for _ in range(9)])
    >>> mismatch(words, raw)
    'the translations look tokenised and lower-cased, the references do not'
    >>> mismatch(words, words) is None
    True
    """
    ours, theirs = _Looks.of(translations), _Looks.of(references)
    found: dict[str, list[str]] = {"translations": [], "references": []}
    for one, other, what in (
        (ours.tokenised, theirs.tokenised, "tokenised"),
        (ours.lowercased, theirs.lowercased, "lower-cased"),
    ):
        if one is not None and other is not None and one != other:
            found["translations" if one else "references"].append(what)
    others = {"translations": "references", "references": "translations"}
    said = [f"the {side} look {' and '.join(what)}, the {others[side]} do not" for side, what in found.items() if what]
    return "; ".join(said) or None
