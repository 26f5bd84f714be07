"""A translation: the best derivation of a sentence, as people look at it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Phrase:
    """One step of a derivation: source words `source[0]:source[1]` became target words `target[0]:target[1]`."""

    source: tuple[int, int]
    target: tuple[int, int]
    links: tuple[tuple[int, int], ...]
    unknown: bool


@dataclass(frozen=True)
class Translation:
    """The best derivation of a sentence. Shows as its text."""

    source: str
    text: str
    score: float
    phrases: tuple[Phrase, ...]
    features: dict[str, float]

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """Show source and translation phrase by phrase, for notebooks."""
        source, target = self.source.split(), self.text.split()
        cells = [
            (" ".join(source[slice(*phrase.source)]), " ".join(target[slice(*phrase.target)]))
            for phrase in self.phrases
        ]
        rows = ("".join(f"<td>{escape(cell[side])}</td>" for cell in cells) for side in (0, 1))
        return f"<table><tr>{'</tr><tr>'.join(rows)}</tr></table><small>score {self.score:.4f}</small>"
