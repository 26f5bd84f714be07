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
class Subtree:
    """One rule of a hierarchical derivation: the words that it covers on both sides, and what fills its holes.

    `children` come in the order of the source. `links` join words of the rule itself. `glue` is what joins the parts of
    a sentence, from left to right: all of them are its children, and it has no words of its own.
    """

    source: tuple[int, int]
    target: tuple[int, int]
    children: tuple[Subtree, ...]
    links: tuple[tuple[int, int], ...]
    unknown: bool
    glue: bool = False

    def parts(self) -> tuple[Subtree, ...]:
        """What glue joined, from left to right; a tree without glue is one part."""
        return self.children if self.glue else (self,)

    def all_links(self) -> tuple[tuple[int, int], ...]:
        """The links of all words below, by source."""
        found: list[tuple[int, int]] = []
        below = [self]  # no recursion: a tree may be as deep as its sentence is long
        while below:
            tree = below.pop()
            found += tree.links
            below += tree.children
        return tuple(sorted(found))


@dataclass(frozen=True)
class Translation:
    """The best derivation of a sentence. Shows as its text.

    The phrases of a hierarchical model are what glue joined; `tree` has what is inside them.
    """

    source: str
    text: str
    score: float
    phrases: tuple[Phrase, ...]
    features: dict[str, float]
    tree: Subtree | None = None

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
