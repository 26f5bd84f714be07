"""The types of features, by their locality, and the registries of features that can be chosen by name.

A sparse feature looks at all the pairs, spans or rules of a batch at once, before a search. Its values are named as
they occur, `prefix.something`, and weighted by name, so that there may be any number of them; a name without a weight
weighs 0. A global feature is one number of a whole sentence or document, which only a sampler can take into account.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import BOS, EOS, SPECIAL, Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import Options, Registry, parse_options
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.formats.tagged_text import TaggedText
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.grammar import Grammar
from dragoman.model.phrase_table import PhraseTable
from dragoman.model.rule_scores import AlignedText
from dragoman.text.source_trees import SourceTree

T = TypeVar("T", bound=np.integer)
Chosen = TypeVar("Chosen", bound="Feature")


@dataclass(frozen=True, eq=False)
class ModelParts:
    """The parts of a model that a feature can learn from: words, tables and grammars, and perhaps a tagged target text,
    or a parallel text with links.
    """

    source_vocab: Vocab
    target_vocab: Vocab
    tables: Mapping[str, PhraseTable]
    tagged: TaggedText | None = None
    grammars: Mapping[str, Grammar | CorpusGrammar] = field(default_factory=dict)
    aligned: AlignedText | None = None


@dataclass(frozen=True)
class Feature(Options, ABC):
    """Base of all features; its fields are its options. Derive from one of the types below, which say what it sees."""

    name: ClassVar[str]
    #: True if it looks at trees of source sentences, which must then be given.
    needs_trees: ClassVar[bool] = False


@dataclass(frozen=True)
class SparseFeature(Feature):
    """A feature that searches score: a function of phrase pairs or rules, with values under any number of names."""

    #: The prefix of the names of its values, before a dot.
    prefix: ClassVar[str]

    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Return the arrays to store with a model; by default none."""
        return {}

    def attached(self, parts: ModelParts, learnt: Arrays) -> Self:
        """Return the feature as part of a model: `parts` and `learnt` are there for its other methods."""
        feature = replace(self)
        vars(feature).update(_parts=parts, _learnt=learnt)
        feature.check()
        return feature

    def check(self) -> None:
        """Refuse arrays that `learn` cannot have returned."""
        return

    @property
    def parts(self) -> ModelParts:
        """The parts of the model that the feature belongs to."""
        return cast(ModelParts, self._given("_parts"))

    @property
    def learnt(self) -> Arrays:
        """The arrays that `learn` returned."""
        return cast(Arrays, self._given("_learnt"))

    def _given(self, name: str) -> object:
        if name not in vars(self):
            raise UsageError(f"the feature {self.name} belongs to no model; expected `Model.with_features`")
        return vars(self)[name]

    def has(self, rest: str) -> bool:
        """Tell whether a value can have the name `rest` after the prefix and the dot; by default any can."""
        return True

    @property
    def start_weights(self) -> Mapping[str, float]:
        """Weights of some values before they are tuned; all others begin with 0."""
        return {}

    def is_log_probability(self, rest: str) -> bool:
        """Tell whether the value of this name is the logarithm of a probability; by default all values are counts."""
        return False


class PairsInUse(Protocol):
    """Phrase pairs on spans of sentences, one row each. The options of a search are such, and the words that rules have
    themselves.

    Target words that the model does not know have ids beyond its vocabulary, such source words are UNK.
    """

    @property
    def source_words(self) -> Ragged[np.int32]:
        """The source side, in ids of the model."""

    @property
    def words(self) -> Ragged[np.int32]:
        """The target side."""

    @property
    def vocab(self) -> Vocab:
        """The words that ids of the target side stand for."""

    @property
    def links(self) -> Ragged[np.uint16]:
        """The word links, as `256 * source position + target position`."""

    @property
    def linked(self) -> NDArray[np.bool_]:
        """True where the word links of a pair are known; unknown words and translations given by markup have none."""

    @property
    def copied(self) -> NDArray[np.int8]:
        """The class of each pair that a `CopyFeature` generated; -1 for all other pairs."""


@dataclass(frozen=True)
class PairFeature(SparseFeature):
    """A feature of single phrase pairs or rules; of rules it sees the words that they have themselves."""

    @abstractmethod
    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return a row for each pair."""


@dataclass(frozen=True)
class CopyFeature(PairFeature):
    """A feature of pairs that can generate some: single words that are copied, each of a class.

    Such pairs have no scores, and count neither as unknown words nor as phrases or rules; this feature counts them.
    """

    @property
    @abstractmethod
    def generates(self) -> bool:
        """True if it generates pairs."""

    @abstractmethod
    def copy_classes(self, words: Vocab, *, translated: bool) -> NDArray[np.int8]:
        """Return the class under which each word is copied, or -1; of words that the model translates, or does not."""


@dataclass(frozen=True, eq=False)
class SpansInUse:
    """Spans of source sentences on which phrases or rules are used, one row each, and the trees of the sentences."""

    sentence: NDArray[np.int64]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    trees: Sequence[SourceTree]


@dataclass(frozen=True)
class SpanFeature(SparseFeature):
    """A feature of the span that a phrase or rule covers, by the tree of its sentence."""

    needs_trees: ClassVar[bool] = True

    @property
    def on_glue(self) -> bool:
        """True if it looks at the spans of glue as well, from the first word of a sentence on; by default not."""
        return False

    @abstractmethod
    def __call__(self, spans: SpansInUse, /) -> FeatureRows:
        """Return a row for each span."""


@dataclass(frozen=True)
class BoundaryFeature(SparseFeature):
    """A feature of two pairs that are neighbours in the target: of the first's right and the second's left symbol.

    Its values are called `prefix.right:left`. Symbol 0 is the sentence's start (as a right symbol) and its end (as a
    left symbol), and called `<s>` and `</s>`.
    """

    @property
    @abstractmethod
    def symbols(self) -> tuple[str, ...]:
        """The symbols that an end of a pair can have."""

    @abstractmethod
    def __call__(self, pairs: PairsInUse, /) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the left and the right symbol of each pair, as positions in `symbols`."""

    def has(self, rest: str) -> bool:
        """Tell whether `rest` joins two symbols."""
        inner = set(self.symbols[1:])
        rights, lefts = inner | {SPECIAL[BOS]}, inner | {SPECIAL[EOS]}
        return any(right in rights and left in lefts for right, left in splits(rest, ":"))


class RulesInUse(Protocol):
    """Rules with holes, and the places in sentences where they fit (matches)."""

    @property
    def reordered(self) -> NDArray[np.bool_]:
        """True where a rule reorders its first and its second hole: it crosses a link or the other hole."""

    @property
    def hole_sizes(self) -> NDArray[np.int32]:
        """The number of words that the first and the second hole of each match cover, 0 for no hole."""


@dataclass(frozen=True, eq=False)
class HoleRows:
    """A rule of class c on a match of kind k has row `k * classes + c` of `rows`.

    A part of n words that glue joins has row `part_rows[n - 1]`, or the last of these if there are fewer; None: no row.
    """

    class_of_rule: NDArray[np.integer]
    classes: int
    kind_of_match: NDArray[np.integer]
    rows: FeatureRows
    part_rows: NDArray[np.int64] | None = None

    def numbers(self, rules: NDArray[np.integer], matches: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the rows of rules on matches, -1 where there is no rule."""
        used = (rules >= 0) & (matches >= 0)
        numbers = np.full(len(rules), -1, np.int64)
        numbers[used] = self.kind_of_match[matches[used]] * np.int64(self.classes) + self.class_of_rule[rules[used]]
        return numbers


@dataclass(frozen=True)
class HoleFeature(SparseFeature):
    """A feature of the holes of rules and of the spans that they cover."""

    @abstractmethod
    def __call__(self, rules: RulesInUse, /) -> HoleRows:
        """Return the classes of rules, the kinds of matches, and a row for each of both together."""


@dataclass(frozen=True)
class GlobalFeature(Feature):
    """A feature of a whole sentence or document and its translation.

    A feature sees words as symbols, numbers that `symbols` gives them. It is either a Python function, `value`, or a
    compiled one, for which `address` is overridden: a C function of

        double f(int64_t sentences, const int32_t *source_words, const int64_t *source_offsets,
                 const int32_t *target_words, const int64_t *target_offsets, int64_t changed)

    where the words of sentence i are `words[offsets[i]]` to `words[offsets[i + 1]]`. Numba's `cfunc` makes such
    functions from Python. A `SentenceFeature` is called with one sentence at a time, a `DocumentFeature` with the
    present translations of all its sentences; only sentence `changed` differs from the translations that the function
    was called with for the derivation that the chain is in. Threads may call it at the same time.
    """

    def symbols(self, vocab: Vocab) -> NDArray[np.int32]:
        """Return the symbol that the feature sees for each source or target word; by default the word's id."""
        return np.arange(len(vocab), dtype=np.int32)

    def value(self, source: Sequence[NDArray[np.int32]], target: Sequence[NDArray[np.int32]], changed: int) -> float:
        """Return the value for sentences and their translations, a row of symbols each."""
        raise NotImplementedError(f"the global feature {type(self).__name__} has neither a value nor an address")

    @property
    def address(self) -> int | None:
        """The address of the compiled function; None: `value` is the function."""
        return None


@dataclass(frozen=True)
class SentenceFeature(GlobalFeature):
    """A feature of a sentence and its translation."""


@dataclass(frozen=True)
class DocumentFeature(GlobalFeature):
    """A feature of a document and its translation.

    A function of a document takes time for all of it at each step. A feature that can do with less overrides
    `incremental`: the address of four C functions, one after the other, with memory for each document and chain,

        void *begin(int64_t sentences, const int32_t *source_words, const int64_t *source_offsets,
                    const int32_t *target_words, const int64_t *target_offsets)
        double propose(void *memory, int64_t sentence, const int32_t *words, int64_t count)
        void accept(void *memory)
        void end(void *memory)

    where `propose` returns the value if one sentence had another translation, and `accept` makes that of the last call
    the present one; without it, the call is to have had no effect. One memory is used by one thread at a time.
    """

    @property
    def incremental(self) -> int | None:
        """The address of the four functions, which are then used in place of any other."""
        return None


#: All features that can be chosen by name. They are looked for when one is: a model imports no feature.
FEATURES: Registry[Feature] = Registry("feature", "dragoman.features", Feature)

#: Those of them that searches score, and those that only samplers do; commands tell them apart.
SPARSE_FEATURES = FEATURES.part("feature", SparseFeature)
GLOBAL_FEATURES = FEATURES.part("global_feature", GlobalFeature)


def parse_feature(features: Registry[Chosen], text: str) -> Chosen:
    """Return the feature that a text like `NAME` or `NAME:OPTION=VALUE,...` names.

    >>> parse_feature(SPARSE_FEATURES, "rule-class:classes=number").classes
    'number'
    """
    name, colon, options = text.partition(":")
    return parse_options(features.get(name), options.split(",") if colon else [])


def splits(text: str, mark: str) -> Iterator[tuple[str, str]]:
    """Yield all ways to cut a text in two at a mark, which the parts may hold as well.

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
    """Return a learnt array, if it has the right type and values from 0 to `below`."""
    array = learnt.get(name)
    if array is None or array.dtype != dtype or array.ndim != 1:
        raise DataError(f"the array '{name}' is missing or of the wrong type", expected="what the feature had learnt")
    values = cast(NDArray[T], array)
    if below is not None and len(values) and not 0 <= int(values.min()) <= int(values.max()) < below:
        raise DataError(f"the array '{name}' has a value outside 0 to {below - 1}")
    return values
