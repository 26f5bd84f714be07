"""A translation: the best derivation of a sentence, as people look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from dragoman.core.shown import html_table

#: The colours of phrases and rules, one after the other, in pictures and notebooks.
COLOURS = ("#dbe9f1", "#f6e3cf", "#dff0d8", "#eadff0", "#f7f0c8", "#f3d9dc")

Side = Literal["source", "target"]


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

    `children` come in the order of the source. `links` join words of the rule itself, and `features` are its own, if
    they were asked for. The root of a derivation is `glue`: its children are the parts of the sentence, from left to
    right, and it has no words of its own.
    """

    source: tuple[int, int]
    target: tuple[int, int]
    children: tuple[Subtree, ...]
    links: tuple[tuple[int, int], ...]
    unknown: bool
    glue: bool = False
    features: Mapping[str, float] = field(default_factory=dict)

    def rules(self) -> Iterator[tuple[int, Subtree]]:
        """Yield all rules with their depth, each before what fills its holes; glue is none."""
        below = [(0, self)]
        while below:
            depth, tree = below.pop()
            if not tree.glue:
                yield depth, tree
            below += [(depth + (not tree.glue), child) for child in reversed(tree.children)]

    def all_links(self) -> tuple[tuple[int, int], ...]:
        """The links of all words below, by source."""
        return tuple(sorted(link for _, rule in self.rules() for link in rule.links))

    def symbols(self, side: Side) -> list[int]:
        """One side of the rule: positions of words, and -1 and -2 for holes."""
        symbols, at = [], getattr(self, side)[0]
        for (begin, end), k in sorted((getattr(child, side), k) for k, child in enumerate(self.children)):
            symbols += [*range(at, begin), -1 - k]
            at = end
        return [*symbols, *range(at, getattr(self, side)[1])]

    def spelt(self, side: Side, words: Sequence[str]) -> str:
        """One side of the rule as text, given the words of the sentence.

        >>> hole = Subtree((1, 2), (2, 3), (), (), False)
        >>> Subtree((0, 3), (0, 3), (hole,), (), False).spelt("target", ["does", "not", "sleep"])
        'does not [X1]'
        """
        return " ".join(words[symbol] if symbol >= 0 else f"[X{-symbol}]" for symbol in self.symbols(side))


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
        """Show source and translation phrase by phrase, or rule in rule, for notebooks."""
        source, target = self.source.split(), self.text.split()
        score = f"<small>score {self.score:.4f}</small>"
        if self.tree is not None:
            return _boxes(self.tree, source, target) + score + _rules_table(self.tree, source, target)
        cells = [
            (" ".join(source[slice(*phrase.source)]), " ".join(target[slice(*phrase.target)]))
            for phrase in self.phrases
        ]
        rows = ("".join(f"<td>{escape(cell[side])}</td>" for cell in cells) for side in (0, 1))
        return f"<table><tr>{'</tr><tr>'.join(rows)}</tr></table>{score}"


def _boxes(tree: Subtree, source: Sequence[str], target: Sequence[str]) -> str:
    """Both sides of a derivation, each rule a box around what fills its holes, in one colour on both sides."""
    colours = {id(rule): COLOURS[i % len(COLOURS)] for i, (_, rule) in enumerate(tree.rules())}

    def box(node: Subtree, side: Side, words: Sequence[str]) -> str:
        parts = (
            escape(words[symbol]) if symbol >= 0 else box(node.children[-1 - symbol], side, words)
            for symbol in node.symbols(side)
        )
        inside = " ".join(part for part in parts if part)
        if node.glue or not inside:
            return inside
        edge = "#b03030" if node.unknown else "#9aa5b1"
        style = f"background:{colours[id(node)]};border:1px solid {edge};border-radius:4px"
        return f'<span style="{style};padding:1px 3px;margin:1px;display:inline-block;color:#000">{inside}</span>'

    return f"<div>{box(tree, 'source', source)}</div><div>{box(tree, 'target', target)}</div>"


def _rules_table(tree: Subtree, source: Sequence[str], target: Sequence[str]) -> str:
    """The rules with their features, if they are known; what has no rule, the language model's share too, is glue's."""
    names = list(dict.fromkeys(name for node in [tree, *(rule for _, rule in tree.rules())] for name in node.features))
    if not names:
        return ""
    rows = [
        (rule.spelt("source", source), rule.spelt("target", target), *(rule.features.get(name, 0.0) for name in names))
        for _, rule in tree.rules()
    ]
    rows.append(("glue", "", *(tree.features.get(name, 0.0) for name in names)))
    return html_table(["source", "target", *names], rows, most=len(rows))
