"""A synchronous grammar at run time: a trie of source sides that a chart walks, targets and log scores as arrays.

Rules rewrite one nonterminal, X. As columns they are `PhrasePairs` whose sides hold nonterminals beside words: -1 is
the first from the left on the source side, -2 the second; a target side has those of its source side, each once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.phrases import Components, PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays, check_numbers, check_offsets, check_range, ragged_array, typed_array
from dragoman.model.phrase_table import check_components, log_scores, names_in, probabilities, probability_names
from dragoman.model.rule_scores import HOLE_SIZES

#: The symbol of a nonterminal in the trie, which of them it is does not matter there.
NONTERMINAL = -1

#: What leads to the root of the trie.
ROOT = -2

#: How many nonterminals a rule can have.
MOST_NONTERMINALS = 2

#: The symbols of a side: word links count them in a byte.
LONGEST_SIDE = 255

_PART = "a grammar"

#: How many sentences are looked at together: places where rules fit take a lot of room.
_SENTENCES = 256


@dataclass(frozen=True, eq=False)
class Grammar:
    """Rules grouped by source side, which are paths through a trie.

    Node 0 is the trie's root; the children of node `n` are nodes `first_child[n]` to `first_child[n + 1]`, by rising
    `symbols`: what leads to a node, a word of the source or `NONTERMINAL`. The rules whose source side ends at node `n`
    are `first_rule[n]` to `first_rule[n + 1]`, sorted by p(e|f), best first, so that a limit is a prefix. Scores are
    natural logarithms. `hole_counts` are how often nonterminals were found not reordered and reordered in the text that
    the rules are from, by the number of their words (see `hole_counts` of `rule_instances`). With `components` the
    grammar is a mixture that weights decide upon, see `mixture.py`; `log_scores` and the order of rules are those of
    the mixture that it was made as.
    """

    score_names: tuple[str, ...]
    first_child: NDArray[np.int64]
    symbols: NDArray[np.int32]
    first_rule: NDArray[np.int64]
    targets: Ragged[np.int32]
    log_scores: NDArray[np.float32]
    alignments: Ragged[np.uint16] | None
    counts: NDArray[np.float32] | None
    hole_counts: NDArray[np.float64] | None = None
    components: Components | None = None

    @classmethod
    def from_pairs(cls, pairs: PhrasePairs, hole_counts: NDArray[np.float64] | None = None) -> Grammar:
        """Index rules given as columns."""
        _refuse_sides(pairs)
        first_child, symbols, end = _trie(pairs.sources)
        node = end[pairs.source_ids]
        columns: tuple[NDArray[Any], ...] = (node,)
        if "fwd" in pairs.score_names:
            columns = (-pairs.scores[:, pairs.score_names.index("fwd")], node)
        rows = np.lexsort(columns)
        pairs = pairs.take(rows)
        first_rule = np.zeros(len(symbols) + 1, np.int64)
        np.cumsum(np.bincount(node, minlength=len(symbols)), out=first_rule[1:])
        return cls(
            score_names=pairs.score_names,
            first_child=first_child,
            symbols=symbols,
            first_rule=first_rule,
            targets=pairs.targets.take(pairs.target_ids),
            log_scores=log_scores(pairs.scores),
            alignments=pairs.alignments,
            counts=pairs.counts,
            hole_counts=hole_counts,
            components=pairs.components,
        )

    def to_pairs(self, source_vocab: Vocab, target_vocab: Vocab) -> PhrasePairs:
        """Return the rules as columns, with probabilities, for writing or changing."""
        used = np.flatnonzero(np.diff(self.first_rule))
        return PhrasePairs(
            source_vocab=source_vocab,
            target_vocab=target_vocab,
            sources=self.sides(used),
            targets=self.targets,
            source_ids=np.repeat(np.arange(len(used), dtype=np.int32), np.diff(self.first_rule)[used]),
            target_ids=np.arange(len(self), dtype=np.int32),
            scores=probabilities(self.log_scores),
            score_names=self.score_names,
            alignments=self.alignments,
            counts=self.counts,
            components=self.components,
        )

    def take(self, rules: NDArray[np.integer], source_vocab: Vocab, target_vocab: Vocab) -> Grammar:
        """Return a grammar of some of the rules."""
        return Grammar.from_pairs(self.to_pairs(source_vocab, target_vocab).take(rules), self.hole_counts)

    def __len__(self) -> int:
        return len(self.targets)

    @cached_property
    def probability_names(self) -> tuple[str, ...]:
        """The names of the scores that are probabilities; others are counts."""
        return probability_names(self.score_names, self.log_scores)

    @property
    def summary(self) -> str:
        """A short description for people."""
        return f"{len(self):,} rules"

    def for_sentences(
        self, sentences: Ragged[np.int32], *, span_limit: int | None = None, runtime: Runtime = Runtime()
    ) -> Grammar:
        """Return a grammar with all rules that some sentences can use: this one."""
        return self

    def whole(self, *, runtime: Runtime = Runtime()) -> Grammar:
        """Return the grammar with all rules: this one."""
        return self

    @property
    def trie(self) -> kernels.Trie:
        """The source sides as kernels take them."""
        return kernels.Trie(first_child=self.first_child, symbols=self.symbols, first_rule=self.first_rule)

    @property
    def levels(self) -> list[slice]:
        """The nodes of each depth, the root first."""
        bounds = [0, 1]
        while bounds[-1] > bounds[-2]:
            bounds.append(int(self.first_child[bounds[-1]]))
        return [slice(*ends) for ends in pairwise(bounds[:-1])]

    @cached_property
    def parents(self) -> NDArray[np.int64]:
        """The parent of each node; the root's is itself."""
        parents: NDArray[np.int64] = np.repeat(np.arange(len(self.symbols)), np.diff(self.first_child))
        return np.concatenate([[0], parents])

    @cached_property
    def arities(self) -> NDArray[np.int8]:
        """The number of nonterminals on the path to each node."""
        arities: NDArray[np.int8] = (self.symbols == NONTERMINAL).astype(np.int8)
        for level in self.levels:
            arities[level] += arities[self.parents[level]] * (np.arange(level.start, level.stop) > 0)
        return arities

    def sides(self, nodes: NDArray[np.integer]) -> Ragged[np.int32]:
        """Spell the source sides that end at some nodes."""
        depth = np.zeros(len(self.symbols), np.int64)
        for number, level in enumerate(self.levels):
            depth[level] = number
        offsets = np.concatenate([[0], np.cumsum(depth[nodes])])
        values = np.empty(offsets[-1], np.int32)
        at, position = np.asarray(nodes), offsets[1:].copy()
        rows = np.flatnonzero(depth[at])
        while len(rows):
            here = at[rows]
            position[rows] -= 1
            nonterminal = self.symbols[here] == NONTERMINAL
            values[position[rows]] = np.where(nonterminal, -self.arities[here].astype(np.int32), self.symbols[here])
            at = at.copy()
            at[rows] = self.parents[here]
            rows = rows[at[rows] > 0]
        return Ragged(values, offsets)

    def lookup(self, side: Sequence[int]) -> range:
        """Return the rules with this source side, words as ids and any negative number for a nonterminal."""
        node = 0
        for symbol in side:
            first, last = int(self.first_child[node]), int(self.first_child[node + 1])
            node = first + int(np.searchsorted(self.symbols[first:last], max(symbol, NONTERMINAL)))
            if node == last or self.symbols[node] != max(symbol, NONTERMINAL):
                return range(0)
        return range(int(self.first_rule[node]), int(self.first_rule[node + 1]))

    def arrays(self) -> Arrays:
        """Return its arrays by name, for storing."""
        arrays: Arrays = {
            "first_child": self.first_child,
            "symbols": self.symbols,
            "first_rule": self.first_rule,
            "targets": self.targets.values,
            "target_offsets": self.targets.offsets,
            "log_scores": self.log_scores,
        }
        if self.alignments is not None:
            arrays |= {"alignments": self.alignments.values, "alignment_offsets": self.alignments.offsets}
        if self.hole_counts is not None:
            arrays["hole_counts"] = self.hole_counts
        if self.components is not None:
            arrays["components"] = self.components.probabilities
        return arrays if self.counts is None else {**arrays, "counts": self.counts}

    def about(self) -> dict[str, Any]:
        """Return its description in `model.toml`."""
        about = {"scores": list(self.score_names), "rules": len(self)}
        return about if self.components is None else about | {"components": list(self.components.names)}

    @classmethod
    def rebuild(cls, about: Mapping[str, Any], arrays: Arrays) -> Grammar:
        """Rebuild a grammar from its description and arrays, refusing arrays that do not fit together."""
        names, parts = names_in(about, "scores"), names_in(about, "components") if "components" in about else ()
        targets = ragged_array(arrays, "targets", "target_offsets", np.int32, _PART)
        symbols = typed_array(arrays, "symbols", np.int32, (None,), _PART)
        alignments = None
        if "alignments" in arrays or "alignment_offsets" in arrays:
            alignments = ragged_array(arrays, "alignments", "alignment_offsets", np.uint16, _PART)
        if alignments is not None and len(alignments) != len(targets):
            raise DataError("the array 'alignment_offsets' does not fit the others", expected=_PART)
        return cls(
            score_names=names,
            first_child=typed_array(arrays, "first_child", np.int64, (len(symbols) + 1,), _PART),
            symbols=symbols,
            first_rule=typed_array(arrays, "first_rule", np.int64, (len(symbols) + 1,), _PART),
            targets=targets,
            log_scores=typed_array(arrays, "log_scores", np.float32, (len(targets), len(names)), _PART),
            alignments=alignments,
            counts=typed_array(arrays, "counts", np.float32, (len(targets), 3), _PART) if "counts" in arrays else None,
            hole_counts=typed_array(arrays, "hole_counts", np.float64, (2, HOLE_SIZES), _PART)
            if "hole_counts" in arrays
            else None,
            components=Components(
                parts, typed_array(arrays, "components", np.float32, (len(targets), len(parts), len(names)), _PART)
            )
            if parts
            else None,
        )

    def check(self, source_vocab: Vocab, target_vocab: Vocab) -> None:
        """Refuse arrays in which a chart could leave them or never end: they are read once from end to end."""
        self._check_trie(len(source_vocab))
        check_offsets("first_rule", self.first_rule, len(self))
        used = np.diff(self.first_rule) > 0
        # Below the root, a nonterminal has the least symbol.
        if used[0] or (len(self.symbols) > 1 and self.symbols[1] == NONTERMINAL and used[1]):
            raise DataError("the array 'first_rule' has rules without a word", expected="words in every source side")
        check_offsets("target_offsets", self.targets.offsets, len(self.targets.values), longest=LONGEST_SIDE)
        check_range("targets", self.targets.values, -MOST_NONTERMINALS, len(target_vocab))
        arity = np.repeat(self.arities, np.diff(self.first_rule))
        for k in range(MOST_NONTERMINALS):
            occur = np.concatenate([[0], np.cumsum(self.targets.values == NONTERMINAL - k)])
            if np.any(np.diff(occur[self.targets.offsets]) != (arity > k)):
                raise DataError(
                    "the array 'targets' has other nonterminals than its source side", expected="the same ones"
                )
        check_numbers("log_scores", self.log_scores)
        check_components(self.components)
        if self.alignments is not None:
            self._check_links(self.alignments)
        if self.hole_counts is not None:
            check_numbers("hole_counts", self.hole_counts)
            if self.hole_counts.min() < 0:
                raise DataError("the array 'hole_counts' holds a number below 0", expected="counts")

    def _check_trie(self, words: int) -> None:
        nodes = np.arange(len(self.symbols))
        if not len(nodes) or self.symbols[0] != ROOT or self.first_child[0] != 1:
            raise DataError("the array 'symbols' has no root", expected=_PART)
        check_offsets("first_child", self.first_child - 1, len(nodes) - 1)
        check_range("symbols", self.symbols[1:], NONTERMINAL, words)
        if np.any(self.first_child[:-1] <= nodes):
            raise DataError("the array 'first_child' has nodes before their parents", expected="a trie")
        same = self.parents[1:-1] == self.parents[2:]
        if np.any(same & (self.symbols[1:-1] >= self.symbols[2:])):
            raise DataError("the array 'symbols' does not rise", expected="the children of a node in order")
        if len(self.levels) > LONGEST_SIDE + 1:
            raise DataError("the array 'first_child' is too deep", expected=f"at most {LONGEST_SIDE} symbols")
        if self.arities.max(initial=0) > MOST_NONTERMINALS:
            raise DataError("the array 'symbols' has too many nonterminals", expected=f"at most {MOST_NONTERMINALS}")

    def _check_links(self, links: Ragged[np.uint16]) -> None:
        check_offsets("alignment_offsets", links.offsets, len(links.values))
        depth = np.zeros(len(self.symbols), np.int64)
        for number, level in enumerate(self.levels):
            depth[level] = number
        rule = np.repeat(np.arange(len(self)), links.lengths)
        sources = np.repeat(depth, np.diff(self.first_rule))
        outside = (links.values >> 8 >= sources[rule]) | (links.values & 255 >= self.targets.lengths[rule])
        if np.any(outside):
            raise DataError("the array 'alignments' links words that do not exist", expected=_PART)


def rules_for(
    grammars: Sequence[Grammar], corpus: Corpus, span_limit: int, *, runtime: Runtime = Runtime()
) -> list[NDArray[np.int64]]:
    """Select the rules of each grammar that match a span of a text, if rules of all grammars fill their holes."""
    used = [np.zeros(len(grammar.symbols), bool) for grammar in grammars]
    tries = [grammar.trie for grammar in grammars]
    lines = corpus.sentences.offsets
    if not grammars:
        return []
    with runtime.stage("finding rules in the text") as progress_callback:
        for first in range(0, len(lines) - 1, _SENTENCES):
            some = corpus.sentences.part(slice(first, min(first + _SENTENCES, len(lines) - 1)))
            found, _ = kernels.chart_matches(
                tries,
                some.for_kernels(),
                np.zeros(len(some.values), np.uint8),
                np.empty((0, 3), np.int32),
                span_limit,
                runtime.threads,
            )
            for i, nodes in enumerate(used):
                nodes[found[found[:, 0] == i, 1]] = True
            progress_callback((first + len(some)) / (len(lines) - 1))
    return [np.flatnonzero(np.repeat(nodes, np.diff(g.first_rule))) for nodes, g in zip(used, grammars, strict=True)]


def _refuse_sides(pairs: PhrasePairs) -> None:
    """Refuse rules that no chart can use; readers of files refuse them with their line."""
    count = []
    for name, sides in (("source", pairs.sources), ("target", pairs.targets)):
        if sides.lengths.max(initial=0) > LONGEST_SIDE:
            raise UsageError(f"a rule has a {name} side of {sides.lengths.max()} symbols; expected {LONGEST_SIDE}")
        count.append(np.stack([_occurrences(sides, NONTERMINAL - k) for k in range(MOST_NONTERMINALS)], axis=1))
        if sides.values.min(initial=0) < -MOST_NONTERMINALS or count[-1].max(initial=0) > 1:
            raise UsageError(f"a rule has other nonterminals on its {name} side; expected -1 and -2, each at most once")
    holes = pairs.sources.values < 0
    so_far = np.concatenate([[0], np.cumsum(holes)])
    rank = so_far[1:] - np.repeat(so_far[pairs.sources.offsets[:-1]], pairs.sources.lengths)
    if np.any(holes & (pairs.sources.values != -rank)):
        raise UsageError("a rule has other nonterminals on its source side; expected -1 before -2")
    if np.any(count[0][pairs.source_ids] != count[1][pairs.target_ids]):
        raise UsageError("a rule has other nonterminals on its two sides; expected the same")
    words = pairs.sources.lengths - count[0].sum(axis=1)
    if np.any((words + (count[0].sum(axis=1) == MOST_NONTERMINALS) == 0)[pairs.source_ids]):
        raise UsageError("a rule has no word on its source side, so that it could be used without end")


def _occurrences(sides: Ragged[np.int32], symbol: int) -> NDArray[np.int64]:
    """Count a symbol in each side; takes little memory, because most symbols are words."""
    places = np.flatnonzero(sides.values == symbol)
    return np.bincount(np.searchsorted(sides.offsets, places, side="right") - 1, minlength=len(sides))


def _trie(sides: Ragged[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Build a trie: the first child of each node, the symbol that leads to it, and the node where each side ends."""
    at = np.zeros(len(sides), np.int64)
    lengths = sides.lengths
    symbols, children = [np.array([ROOT], np.int32)], []
    first, total = 0, 1
    for depth in range(int(lengths.max(initial=0)) + 1):
        rows = np.flatnonzero(lengths > depth)
        symbol = np.maximum(sides.values[sides.offsets[rows] + depth], NONTERMINAL).astype(np.int64)
        found, number = np.unique((at[rows] << 32) + symbol + 1, return_inverse=True)
        at[rows] = total + number
        children.append(np.bincount((found >> 32) - first, minlength=total - first))
        symbols.append(((found & 0xFFFFFFFF) - 1).astype(np.int32))
        first, total = total, total + len(found)
    first_child = np.concatenate([[1], 1 + np.cumsum(np.concatenate(children))])
    return first_child.astype(np.int64), np.concatenate(symbols), at
