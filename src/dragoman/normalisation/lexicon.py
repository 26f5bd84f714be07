"""Words of today's language: which there are, which are put together of others, and which are near."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dragoman.core.files import PathLike, open_output, read_lines
from dragoman.normalisation.examples import Spelling, has_letters
from dragoman.normalisation.nearby import Nearby

#: The shortest part of a compound.
_SHORTEST_PART = 3


@dataclass(frozen=True, eq=False)
class Lexicon:
    """A list of modern words.

    >>> words = Lexicon.of(["hand", "schuh", "hund"])
    >>> "hund" in words, words.is_compound("handschuh")
    (True, True)
    """

    words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, words: Iterable[str]) -> Lexicon:
        """Make a list of words as they are."""
        return cls(frozenset(words))

    @classmethod
    def read(cls, paths: Sequence[PathLike], spelling: Spelling = Spelling()) -> Lexicon:
        """Read lists, a word a line; what has no letters, or is too long, is left out."""
        words = {spelling.form(line) for path in paths for line in read_lines(path)}
        return cls(frozenset(word for word in words if len(word) <= spelling.max_length and has_letters(word)))

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def nearby(self) -> Nearby:
        """What finds words near to others."""
        return Nearby(sorted(self.words))

    def is_compound(self, word: str) -> bool:
        """Whether two words of the list make up another."""
        cuts = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
        return any(word[:cut] in self.words and word[cut:] in self.words for cut in cuts)

    def save(self, path: Path) -> None:
        """Write a word a line."""
        with open_output(path) as stream:
            stream.write("".join(f"{word}\n" for word in sorted(self.words)).encode())

    @classmethod
    def load(cls, path: Path) -> Lexicon:
        """Read what `save` wrote."""
        return cls(frozenset(read_lines(path)))
