"""Search results: translations with their derivations, n-best lists and hypergraphs of a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from json import dumps
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from dragoman.core.display import html_table, shorten
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.phrases import REORDERING_SCORES

#: The colours of phrases and rules, one after the other, in pictures and notebooks.
COLOURS = ("#dbe9f1", "#f6e3cf", "#dff0d8", "#eadff0", "#f7f0c8", "#f3d9dc")

Side = Literal["source", "target"]
Links = Sequence[tuple[int, int]]

#: The depth of nested boxes that a notebook shows; browsers stop at some hundred.
_MOST_BOXES = 100


@dataclass(frozen=True)
class Phrase:
    """One step of a derivation: source words `source[0]:source[1]` became target words `target[0]:target[1]`."""

    source: tuple[int, int]
    target: tuple[int, int]
    links: tuple[tuple[int, int], ...]
    unknown: bool


class PhraseList(Sequence[Phrase]):
    """The phrases of a derivation, which are made when somebody looks at them; equal to a tuple of the same phrases."""

    def __init__(self, make: Callable[[], tuple[Phrase, ...]]):
        self._make: Callable[[], tuple[Phrase, ...]] | None = make
        self._made: tuple[Phrase, ...] = ()

    def _all(self) -> tuple[Phrase, ...]:
        if self._make is not None:
            self._made, self._make = self._make(), None
        return self._made

    @overload
    def __getitem__(self, at: int) -> Phrase: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Phrase, ...]: ...
    def __getitem__(self, at: int | slice) -> Phrase | tuple[Phrase, ...]:
        """Return a phrase, or some of them."""
        return self._all()[at]

    def __len__(self) -> int:
        """Return the number of phrases."""
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PhraseList | tuple) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all(),)


@dataclass(frozen=True, eq=False, repr=False)
class Subtree:
    """One rule of a hierarchical derivation: the words that it covers on both sides, and the rules in its holes.

    `children` come in the order of the source. `links` join words of the rule itself, and `features` are its own, if
    they were asked for. The root of a derivation is `glue`: its children are the parts of the sentence, from left to
    right, and it has no words of its own. Trees may be deeper than the call stack: nothing here is recursive.
    """

    source: tuple[int, int]
    target: tuple[int, int]
    children: tuple[Subtree, ...]
    links: tuple[tuple[int, int], ...]
    unknown: bool
    glue: bool = False
    features: Mapping[str, float] = field(default_factory=dict)

    def rules(self) -> Iterator[tuple[int, Subtree]]:
        """Yield all rules with their depth in pre-order; glue is no rule."""
        below = [(0, self)]
        while below:
            depth, tree = below.pop()
            if not tree.glue:
                yield depth, tree
            below += [(depth + (not tree.glue), child) for child in reversed(tree.children)]

    def __repr__(self) -> str:
        rules = sum(1 for _ in self.rules())
        return f"Subtree(source={self.source}, target={self.target}, rules={rules}, glue={self.glue})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Subtree):
            return NotImplemented
        pairs = [(self, other)]
        while pairs:
            ours, theirs = pairs.pop()
            if ours._own != theirs._own:
                return False
            pairs += zip(ours.children, theirs.children, strict=True)
        return True

    __hash__ = None  # type: ignore[assignment]  # features are a dictionary

    @property
    def _own(self) -> tuple[object, ...]:
        """All but the children."""
        return self.source, self.target, len(self.children), self.links, self.unknown, self.glue, self.features

    def heights(self) -> dict[int, int]:
        """Return the height of each rule: the number of rules on its longest path down, by `id(rule)`."""
        found: dict[int, int] = {}
        for _, rule in reversed([*self.rules()]):
            found[id(rule)] = max((1 + found[id(child)] for child in rule.children), default=0)
        return found

    def json(self) -> str:
        """Return the tree as nested JSON, with all its fields."""

        def parts(tree: Subtree) -> list[str | Subtree]:
            places = dumps({"source": tree.source, "target": tree.target})
            others = {"links": tree.links, "unknown": tree.unknown, "glue": tree.glue, "features": tree.features}
            children = [part for child in tree.children for part in (", ", child)][1:]
            return [f'{places[:-1]}, "children": [', *children, f"], {dumps(others, ensure_ascii=False)[1:]}"]

        return self.written(parts)

    def written(self, parts: Callable[[Subtree], Iterable[str | Subtree]]) -> str:
        """Write the tree: `parts` gives the text of a subtree, in which other subtrees are still to be written."""
        pieces: list[str] = []
        waiting: list[str | Subtree] = [self]
        while waiting:
            piece = waiting.pop()
            if isinstance(piece, str):
                pieces.append(piece)
            else:
                waiting += reversed([*parts(piece)])
        return "".join(pieces)

    def covers(self, side: Side) -> bool:
        """Tell whether the subtree has a word on one side."""
        begin, end = getattr(self, side)
        return bool(begin < end)

    def all_links(self) -> tuple[tuple[int, int], ...]:
        """Return the links of all words below, sorted by source position."""
        return tuple(sorted(link for _, rule in self.rules() for link in rule.links))

    def symbols(self, side: Side) -> list[int]:
        """Return one side of the rule: positions of words, and -1 and -2 for holes."""
        symbols, at = [], getattr(self, side)[0]
        for (begin, end), k in sorted((getattr(child, side), k) for k, child in enumerate(self.children)):
            symbols += [*range(at, begin), -1 - k]
            at = end
        return [*symbols, *range(at, getattr(self, side)[1])]

    def spelt(self, side: Side, words: Sequence[str]) -> str:
        """Return one side of the rule as text, given the words of the sentence.

        >>> hole = Subtree((1, 2), (2, 3), (), (), False)
        >>> Subtree((0, 3), (0, 3), (hole,), (), False).spelt("target", ["does", "not", "sleep"])
        'does not [X1]'
        """
        return " ".join(words[symbol] if symbol >= 0 else f"[X{-symbol}]" for symbol in self.symbols(side))


@dataclass(frozen=True, repr=False)
class Translation:
    """The best derivation of a sentence. Prints as its text.

    The phrases of a hierarchical model are the parts that glue joins; `tree` has the rules inside them.
    """

    source: str
    text: str
    score: float
    phrases: Sequence[Phrase]
    features: dict[str, float]
    tree: Subtree | None = None

    def __repr__(self) -> str:
        parts = f"{len(self.phrases)} phrases" if self.tree is None else f"{sum(1 for _ in self.tree.rules())} rules"
        return f"Translation({shorten(self.text)!r}, score {self.score:.4f}, {parts})"

    def __str__(self) -> str:
        return self.text

    def explained(self) -> Explanation:
        """Return the same translation, which prints with its derivation."""
        return Explanation(**vars(self))

    def described(self) -> str:
        """Describe the derivation, in lines: phrases or rules, word links, score and features."""
        source, target = self.source.split(), self.text.split()
        steps: list[tuple[str, str, Links]]
        if self.tree is None:
            steps = [
                (" ".join(source[slice(*p.source)]), " ".join(target[slice(*p.target)]), p.links) for p in self.phrases
            ]
        else:
            rules = self.tree.rules()
            steps = [
                ("  " * depth + r.spelt("source", source), r.spelt("target", target), r.links) for depth, r in rules
            ]
        wide = [max((len(step[side]) for step in steps), default=0) for side in (0, 1)]
        rows = [f"{f.ljust(wide[0])} → {e.ljust(wide[1])}  {_shown(links)}".rstrip() for f, e, links in steps]
        told = ", ".join(f"{name} {value:.4g}" for name, value in self.features.items() if value)
        return "\n".join([self.text, f"score {self.score:.4f}", *rows, *([told] if told else [])])

    def json(self, number: int) -> str:
        """Return all fields as a JSON object, with the number of the sentence first."""
        row = dumps({"id": number, **asdict(replace(self, phrases=tuple(self.phrases), tree=None))}, ensure_ascii=False)
        # The tree is the last of the fields.
        return row if self.tree is None else f"{row.removesuffix('null}')}{self.tree.json()}}}"

    def _repr_html_(self) -> str:
        """Show source and translation phrase by phrase, or rule in rule, with links and features, for notebooks."""
        source, target = self.source.split(), self.text.split()
        if self.tree is not None:
            score = f"<small>score {self.score:.4f}</small>"
            return _boxes(self.tree, source, target) + score + _rules_table(self.tree, source, target)
        cells = [
            (" ".join(source[slice(*phrase.source)]), " ".join(target[slice(*phrase.target)]))
            for phrase in self.phrases
        ]
        rows = ("".join(f"<td>{escape(cell[side])}</td>" for cell in cells) for side in (0, 1))
        links = _shown([link for phrase in self.phrases for link in phrase.links])
        said = f"<small>score {self.score:.4f}{f'; word links {links}' if links else ''}</small>"
        features = [(name, value) for name, value in self.features.items() if value]
        table = html_table(["feature", "value"], features) if features else ""
        return f"<table><tr>{'</tr><tr>'.join(rows)}</tr></table>{said}{table}"


class Explanation(Translation):
    """A translation that prints with its derivation."""

    def __str__(self) -> str:
        return self.described()


def _shown(links: Links) -> str:
    """Write word links as in alignment files."""
    return " ".join(f"{i}-{j}" for i, j in links)


def _boxes(tree: Subtree, source: Sequence[str], target: Sequence[str]) -> str:
    """Draw both sides of a derivation; each rule is a box around its children, in one colour on both sides."""
    rules = [*tree.rules()]
    colours = {id(rule): COLOURS[i % len(COLOURS)] for i, (_, rule) in enumerate(rules)}
    depths = {id(rule): depth for depth, rule in rules}

    def opened(node: Subtree) -> str:
        edge = "#b03030" if node.unknown else "#9aa5b1"
        style = f"background:{colours[id(node)]};border:1px solid {edge};border-radius:4px"
        return f'<span style="{style};padding:1px 3px;margin:1px;display:inline-block;color:#000">'

    def boxes(side: Side, words: Sequence[str]) -> str:
        def parts(node: Subtree) -> list[str | Subtree]:
            begin, end = getattr(node, side)
            if depths.get(id(node), 0) == _MOST_BOXES:
                return [escape(f"… {' '.join(words[begin:end])} …")]  # without the boxes that are in it
            inside: list[str | Subtree] = []
            for symbol in node.symbols(side):
                if symbol >= 0:
                    inside += [escape(words[symbol]), " "]
                elif (child := node.children[-1 - symbol]).covers(side):
                    inside += [child, " "]
            return inside[:-1] if node.glue else [opened(node), *inside[:-1], "</span>"]

        return tree.written(parts)

    return f"<div>{boxes('source', source)}</div><div>{boxes('target', target)}</div>"


def _rules_table(tree: Subtree, source: Sequence[str], target: Sequence[str]) -> str:
    """Tabulate the rules with their features, if known; values of no rule, such as LM scores, belong to glue."""
    names = list(dict.fromkeys(name for node in [tree, *(rule for _, rule in tree.rules())] for name in node.features))
    if not names:
        return ""
    rows = [
        (rule.spelt("source", source), rule.spelt("target", target), *(rule.features.get(name, 0.0) for name in names))
        for _, rule in tree.rules()
    ]
    rows.append(("glue", "", *(tree.features.get(name, 0.0) for name in names)))
    return html_table(["source", "target", *names], rows, most=len(rows))


#: Between the name of a table and the number of a pair in it.
PAIR_MARK = "#"


def pair_feature(table: str, row: int) -> str:
    """Name the feature that counts a pair of a table.

    >>> pair_feature("tm", 12)
    'tm#12'
    """
    return f"{table}{PAIR_MARK}{row}"


def orientation_marks(table: str, reordering: str) -> list[str]:
    """Name the counts of a table's pairs by orientation, in the order of the scores of a reordering model.

    >>> orientation_marks("tm", "lr")[0]
    'tm.lr.bwd.mono'
    """
    return [f"{table}.{reordering}.{score}" for score in REORDERING_SCORES]


class SearchResult(ABC):
    """Search results of a batch of sentences: translations, n-best lists, hypergraphs."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of sentences."""

    @abstractmethod
    def has_derivation(self, i: int) -> bool:
        """Tell whether sentence i has a derivation; only a forced target can have none."""

    def is_too_large(self, i: int) -> bool:
        """Tell whether the search for the forced target of sentence i was given up: it needed too much memory."""
        return False

    @abstractmethod
    def translations(self, *, features: bool = False) -> list[Translation]:
        """Describe the best derivation of each sentence."""

    @abstractmethod
    def nbest(self, k: int, *, distinct: bool = False) -> NBest:
        """Return the k best hypotheses of each sentence, after a search with `forests`."""

    def pair_lists(self, k: int) -> NBest:
        """Return the same as `nbest`, but with the pairs of mixed tables as features in place of their scores.

        Each is named by `pair_feature` and counts its uses in the derivation, so that scores can be computed for other
        interpolation weights. If orientations are mixed, each pair is also counted by its orientations
        (`orientation_marks`), in place of the scores of the reordering model.
        """
        raise UsageError("these results have no lists of pairs of mixed tables")

    @abstractmethod
    def hypergraph(self, i: int, *, features: bool = True) -> Hypergraph:
        """Return the hypergraph of sentence i, after a search with `forests`."""

    @abstractmethod
    def edge_features(self, i: int, edges: NDArray[np.integer]) -> FeatureRows:
        """Return the features of some edges of sentence i's hypergraph; few are wanted where lists are made of it."""

    @abstractmethod
    def derivation(self, i: int, edges: NDArray[np.integer], score: float) -> Translation:
        """Describe a derivation of sentence i's hypergraph, with features, given its edges in pre-order and its score.

        The best under other weights is one, which needs no other search.
        """
