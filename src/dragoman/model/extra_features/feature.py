"""What an extra feature is: options, what it learnt when added to a model, and a function of phrase pairs or spans.

A feature looks at all the pairs or spans of a batch at once. Its values are named as they occur, `prefix.something`,
and weighted by name, so that there may be any number of them; a name without a weight weighs 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import Options
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.core.vocab import BOS, EOS, SPECIAL, Vocab
from dragoman.formats.tagged_text import TaggedText
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.grammar import Grammar
from dragoman.model.phrase_table import PhraseTable
from dragoman.model.rule_instances import AlignedText
from dragoman.text.parsed import SourceTree

T = TypeVar("T", bound=np.integer)


class PairsInUse(Protocol):
    """Phrase pairs on spans of sentences, one row each: what a feature may look at. The options of a search are such,
    and the words that rules have themselves.

    Target words that the model does not know have ids beyond its vocabulary, such source words are UNK.
    """

    @property
    def source_words(self) -> Ragged[np.int32]:
        """The source side, in ids of the model."""

    @property
    def words(self) -> Ragged[np.int32]:
        """The target side."""

    @property
    def links(self) -> Ragged[np.uint16]:
        """The word links, as `256 * source position + target position`."""

    @property
    def linked(self) -> NDArray[np.bool_]:
        """Whether the links of a pair are known: not those of unknown words and of translations given by markup."""


class PairFeature(ABC):
    """A feature of single phrase pairs, ready for use."""

    @abstractmethod
    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return a row for each pair."""

    @abstractmethod
    def has(self, rest: str) -> bool:
        """Whether there can be a value whose name is `rest` after the prefix and the dot."""


@dataclass(frozen=True, eq=False)
class SpansInUse:
    """Spans of source sentences on which phrases or rules are used, one row each, and the trees of the sentences."""

    sentence: NDArray[np.int64]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    trees: Sequence[SourceTree]


class SpanFeature(ABC):
    """A feature of the span that a phrase or rule covers, by the tree of its sentence, ready for use."""

    @abstractmethod
    def __call__(self, spans: SpansInUse, /) -> FeatureRows:
        """Return a row for each span."""

    @abstractmethod
    def has(self, rest: str) -> bool:
        """Whether there can be a value whose name is `rest` after the prefix and the dot."""


class NeighbourFeature(ABC):
    """A feature of two pairs that are neighbours in the target, ready for use; symbol 0 is the sentence's edge."""

    name: str
    symbols: tuple[str, ...]

    @abstractmethod
    def __call__(self, pairs: PairsInUse, /) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the left and the right symbol of each pair."""

    def has(self, rest: str) -> bool:
        """Whether there can be a value whose name is `rest` after the prefix and the dot."""
        inner = set(self.symbols[1:])
        rights, lefts = inner | {SPECIAL[BOS]}, inner | {SPECIAL[EOS]}
        return any(right in rights and left in lefts for right, left in splits(rest, ":"))


class RulesInUse(Protocol):
    """Rules with holes, and the places in sentences where they fit (matches): what a feature of holes may look at."""

    @property
    def reordered(self) -> NDArray[np.bool_]:
        """For each rule whether it reorders its first and its second hole: those that cross a link or each other."""

    @property
    def hole_sizes(self) -> NDArray[np.int32]:
        """For each match how many words are below its first and its second hole, 0 for one that is not there."""


@dataclass(frozen=True, eq=False)
class HoleRows:
    """A rule of class c on a match of kind k has row `k * classes + c` of `rows`."""

    class_of_rule: NDArray[np.integer]
    classes: int
    kind_of_match: NDArray[np.integer]
    rows: FeatureRows

    def numbers(self, rules: NDArray[np.integer], matches: NDArray[np.integer]) -> NDArray[np.int64]:
        """The rows of rules on matches, -1 where there is no rule."""
        used = (rules >= 0) & (matches >= 0)
        numbers = np.full(len(rules), -1, np.int64)
        numbers[used] = self.kind_of_match[matches[used]] * np.int64(self.classes) + self.class_of_rule[rules[used]]
        return numbers


class HoleFeature(ABC):
    """A feature of what rules do with their holes and of what is below these, ready for use."""

    @abstractmethod
    def __call__(self, rules: RulesInUse, /) -> HoleRows:
        """Return the classes of rules, the kinds of matches, and a row for each of both together."""

    @abstractmethod
    def has(self, rest: str) -> bool:
        """Whether there can be a value whose name is `rest` after the prefix and the dot."""


@dataclass(frozen=True, eq=False)
class ModelParts:
    """What a feature can learn from: words, tables and grammars of its model, and perhaps a tagged target text, or a
    parallel text with links.
    """

    source_vocab: Vocab
    target_vocab: Vocab
    tables: Mapping[str, PhraseTable]
    tagged: TaggedText | None = None
    grammars: Mapping[str, Grammar | CorpusGrammar] = field(default_factory=dict)
    aligned: AlignedText | None = None


@dataclass(frozen=True)
class ExtraFeature(Options, ABC):
    """Base of all extra features; a subclass with a `name` in this folder can be chosen by that name."""

    name: ClassVar[str]
    #: What the names of its values begin with, before a dot.
    prefix: ClassVar[str]
    #: Whether it looks at two neighbours; a chart has no such thing.
    of_neighbours: ClassVar[bool] = False
    #: Whether it is of spans and looks at the trees of source sentences, which must then be given.
    of_trees: ClassVar[bool] = False
    #: Whether it looks at holes; phrases have none.
    of_holes: ClassVar[bool] = False

    @abstractmethod
    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Find out what is to be kept with the model."""

    @abstractmethod
    def ready(self, parts: ModelParts, learnt: Arrays) -> PairFeature | SpanFeature | NeighbourFeature | HoleFeature:
        """Return the feature itself, after a check that `learnt` can be what `learn` gave."""


def splits(text: str, mark: str) -> Iterator[tuple[str, str]]:
    """All ways to cut a text in two at a mark, which the parts may hold as well.

    >>> list(splits(":::", ":"))
    [('', '::'), (':', ':'), ('::', '')]
    """
    return ((text[:i], text[i + 1 :]) for i, character in enumerate(text) if character == mark)


def named_rows(pairs: int, row: NDArray[np.integer], ids: NDArray[np.int32], names: Sequence[str]) -> FeatureRows:
    """Count features: one with number `ids[i]` occurs in row `row[i]`, which are ascending."""
    offsets = np.zeros(pairs + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=pairs), out=offsets[1:])
    return FeatureRows(tuple(names), offsets, ids, np.ones(len(ids)))


def need_links(feature: str, parts: ModelParts) -> None:
    """Refuse tables and grammars without word links."""
    tables = [("phrase table", name, table.alignments) for name, table in parts.tables.items()]
    tables += [
        ("grammar", name, rules.alignments) for name, rules in parts.grammars.items() if isinstance(rules, Grammar)
    ]
    for kind, name, links in tables:
        if links is None:
            raise UsageError(f"{feature} needs word links, which the {kind} '{name}' has not")


def learnt_array(learnt: Arrays, name: str, dtype: type[T], *, below: int | None = None) -> NDArray[T]:
    """Return an array if it can be what was learnt: of the type, and with values from 0 to `below`."""
    array = learnt.get(name)
    if array is None or array.dtype != dtype or array.ndim != 1:
        raise DataError(f"the array '{name}' is missing or of the wrong type", expected="what the feature had learnt")
    values = cast(NDArray[T], array)
    if below is not None and len(values) and not 0 <= int(values.min()) <= int(values.max()) < below:
        raise DataError(f"the array '{name}' has a value outside 0 to {below - 1}")
    return values
