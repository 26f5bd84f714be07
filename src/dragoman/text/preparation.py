"""What a model does with text before it sees it and after: both sides, and references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.text.tokenise import Tokeniser, detokenise_lines, tokenise_lines

#: The language whose rules are used where none is named.
DEFAULT_LANGUAGE = "en"


@dataclass(frozen=True)
class TextPreparation:
    """Turns raw text into what a model was trained on, and back into what a person would write.

    >>> text = TextPreparation("en", "en", tokenise=True, lowercase=True)
    >>> list(text.source(["A dog's bone."])), text.restore(["a dog 's bone ."])
    (["a dog 's bone ."], ["a dog's bone."])
    """

    source_language: str | None = None
    target_language: str | None = None
    tokenise: bool = False
    lowercase: bool = False

    def source(self, lines: Iterable[str]) -> Iterator[str]:
        """Prepare source text, a line at a time."""
        return self._prepared(lines, self.source_language)

    def target(self, lines: Iterable[str]) -> Iterator[str]:
        """Prepare target text, such as references, a line at a time."""
        return self._prepared(lines, self.target_language)

    def restore(self, lines: Sequence[str]) -> list[str]:
        """Write translations as a person would, as far as the preparation can be undone."""
        return detokenise_lines(lines, self.target_language or DEFAULT_LANGUAGE) if self.tokenise else list(lines)

    def _prepared(self, lines: Iterable[str], language: str | None) -> Iterator[str]:
        if not self.tokenise:
            return iter(lines)
        options = Tokeniser(lowercase=self.lowercase)
        return (tokenise_lines([line], language or DEFAULT_LANGUAGE, options)[0] for line in lines)
