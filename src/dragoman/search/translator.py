"""Translators: lines in, translations, n-best lists or hypergraphs out, for every kind of model."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.display import shorten
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime, place_of
from dragoman.features import Feature, GlobalFeature
from dragoman.model.bundle import Model, model_digest
from dragoman.search.batch import trees_of
from dragoman.search.fixed_translations import FixedTranslation, parse_markup
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.pieces import join_pieces, pieces_of
from dragoman.search.translation import SearchResult, Translation
from dragoman.text.source_trees import SourceTree
from dragoman.text.words import words_of

#: Sentences per batch and thread of slow work, such as sampling: enough to keep threads busy, few enough to stream.
BATCH = 16

#: The same for searches, where what is done once a batch would take time.
SEARCH_BATCH = 64

#: Words per batch and thread, after which it takes no more sentences: their options have to fit into memory.
WORDS = 1024

#: The translator of each kind of model.
_SEARCHES = {
    "phrase": "dragoman.search.phrase.translator:PhraseTranslator",
    "chart": "dragoman.search.chart.translator:ChartTranslator",
}


@dataclass(frozen=True)
class Shard:
    """A batch of a text: tokenised sentences, beginning with sentence number `first` of the text.

    `targets` are the only translations that are allowed, and `documents` labels of the sentences, if there are any.
    """

    first: int
    lines: Sequence[str]
    targets: Sequence[str] | None = None
    documents: Sequence[object] | None = None

    def is_too_long(self, longest: int) -> bool:
        """Tell whether this is a single sentence that is too long to be searched at once."""
        return len(self.lines) == 1 and len(words_of(self.lines[0])) > longest


def cut_shards(
    lines: Iterable[str],
    targets: Iterable[str] | None = None,
    *,
    first: int = 0,
    threads: int = 1,
    sentences: int = BATCH,
    longest: int = SearchLimits().max_words,
) -> Iterator[Shard]:
    """Cut a text, whose first sentence has the number `first`, into batches for threads, of `sentences` for each.

    A line of more than `longest` words is a batch by itself.

    >>> [shard.lines for shard in cut_shards(["a b", "c", "d e f g", "h"], longest=3)]
    [['a b', 'c'], ['d e f g'], ['h']]
    """
    if isinstance(lines, str) or isinstance(targets, str):
        raise TypeError("expected an iterable of lines, found one string")
    forced = None if targets is None else iter(targets)
    for part in batches(lines, sentences=sentences * threads, words=WORDS * threads, longest=longest):
        wanted = None if forced is None else list(itertools.islice(forced, len(part)))
        if wanted is not None and len(wanted) != len(part):
            raise DataError("there are fewer targets than source sentences", expected="one for each")
        yield Shard(first, part, wanted)
        first += len(part)


def batches(lines: Iterable[str], *, sentences: int, words: int, longest: int) -> Iterator[list[str]]:
    """Group lines: a group ends after `sentences` lines, or once it has `words` words.

    A line of more than `longest` words is a group by itself.

    >>> list(batches(["a b", "c", "d e f g", "h", "i", "j"], sentences=2, words=100, longest=3))
    [['a b', 'c'], ['d e f g'], ['h', 'i'], ['j']]
    """
    group: list[str] = []
    size = 0
    for line in lines:
        length = len(line.encode(errors="surrogatepass").split())  # as bytes: only ASCII white space separates words
        if length > longest and group:
            yield group
            group, size = [], 0
        group.append(line)
        size += length
        if length > longest or len(group) == sentences or size >= words:
            yield group
            group, size = [], 0
    if group:
        yield group


class Translator(ABC):
    """Translates tokenised sentences with a model, under some weights.

    `limits` set the search effort, `space` the search space, and `runtime` the threads; results do not depend on their
    number.
    """

    def __init__(
        self,
        model: Model,
        weights: Weights | None = None,
        *,
        limits: SearchLimits = SearchLimits(),
        space: SpaceLimits = SpaceLimits(),
        climbing: HillClimbing | None = None,
        markup: bool = False,
        features: Sequence[Feature] = (),
        runtime: Runtime = Runtime(),
    ):
        for feature in features:
            if isinstance(feature, GlobalFeature):
                raise UsageError(
                    f"{feature.name} is a global feature, which no search by dynamic programming can score; "
                    "give it to a Sampler"
                )
        self.weights = model.weights if weights is None else weights
        self.model = (model.with_features(features, runtime=runtime) if features else model).remixed(self.weights)
        self.limits = limits
        self.space = space
        self.markup = markup
        self.runtime = runtime
        self.climbing = climbing
        self.model.check_parts()
        self._table_limit = model.settings.table_limit if space.table_limit is None else space.table_limit
        self._by_score = space.table_limit_by == "score"
        self._prepare()
        self._lm_ids = self._ids_of_words()

    def _ids_of_words(self) -> list[NDArray[np.int32]]:
        """Return the ids of the model's target words in each language model."""
        return [lm.ids_of(self.model.target_vocab) for lm in self.model.language_models.values()]

    def _read(self, lines: Sequence[str]) -> tuple[Corpus, list[list[FixedTranslation]], list[SourceTree]]:
        """Return sentences without markup, the translations that it fixes, and trees, if a feature needs them."""
        trees = trees_of(self.model, lines)
        if not self.markup:
            return Corpus.from_lines(lines), [], trees
        parsed = [parse_markup(line) for line in lines]
        return Corpus.from_lines([words for words, _ in parsed]), [fixed for _, fixed in parsed], trees

    @abstractmethod
    def _prepare(self) -> None:
        """Refuse settings that the model's kind does not have, and prepare to collect options or rules."""

    @classmethod
    def of(
        cls,
        model: Model,
        weights: Weights | None = None,
        *,
        limits: SearchLimits = SearchLimits(),
        space: SpaceLimits = SpaceLimits(),
        climbing: HillClimbing | None = None,
        markup: bool = False,
        features: Sequence[Feature] = (),
        runtime: Runtime = Runtime(),
    ) -> Translator:
        """Return the translator for a model's kind.

        `weights` replace the model's. `climbing` is greedy search instead of the beam search, or after it. With
        `markup`, sentences may fix translations (`fixed_translations.py`). `features` are added to the model's.
        """
        search: type[Translator] = resolve_name(_SEARCHES[model.kind])
        return search(
            model,
            weights,
            limits=limits,
            space=space,
            climbing=climbing,
            markup=markup,
            features=features,
            runtime=runtime,
        )

    def reweighted(self, weights: Weights, *, runtime: Runtime | None = None) -> Self:
        """Return the same translator with other weights; everything that does not depend on them is shared."""
        other = copy.copy(self)
        other.weights = weights
        other.runtime = runtime or self.runtime
        other.model = self.model.remixed(weights)
        if other.model is not self.model:
            other._lm_ids = other._ids_of_words()
        return other

    @abstractmethod
    def search_batch(
        self, part: Sequence[str], *, forests: bool = False, targets: Sequence[str] | None = None
    ) -> SearchResult:
        """Search a batch of tokenised sentences, with dense and sparse features; global features are ignored.

        With `forests`, the result has n-best lists and hypergraphs. `targets` are the only translations that are
        allowed; the search then finds all their derivations.
        """

    def search_shard(self, shard: Shard, *, forests: bool = False) -> SearchResult:
        """Search the sentences of a shard together; see `search_batch`. One that is too long is refused."""
        if shard.is_too_long(self.limits.max_words):
            raise self._too_long(shard.lines[0])
        return self.search_batch(shard.lines, forests=forests, targets=shard.targets)

    def translate_shard(self, shard: Shard, *, features: bool = False) -> list[Translation]:
        """Describe the best derivation of each sentence of a shard; one that is too long is translated in pieces."""
        if self.markup or not shard.is_too_long(self.limits.max_words):
            return self.search_shard(shard).translations(features=features)
        pieces, together = pieces_of(shard.lines[0], self.limits.max_words), self.runtime.threads
        # Each result is dropped before the next search: memory does not grow with the sentence.
        parts = [
            part
            for first in range(0, len(pieces), together)
            for part in self.search_batch(pieces[first : first + together]).translations(features=features)
        ]
        return [join_pieces(parts)]

    def search_batches(
        self, lines: Iterable[str], *, forests: bool = False, targets: Iterable[str] | None = None
    ) -> Iterator[SearchResult]:
        """Search tokenised sentences, in order, a batch at a time; see `search_batch`."""
        self.refuse_global_features()
        for shard in self._shards(lines, targets):
            yield self.search_shard(shard, forests=forests)

    def _shards(self, lines: Iterable[str], targets: Iterable[str] | None = None) -> Iterator[Shard]:
        threads, longest = self.runtime.threads, self.limits.max_words
        return cut_shards(lines, targets, threads=threads, sentences=SEARCH_BATCH, longest=longest)

    def _too_long(self, line: str) -> DataError:
        longest = self.limits.max_words
        return DataError(
            f"'{shorten(line)}' has {len(words_of(line)):,} words, and what is longer than {longest:,} is "
            "translated in pieces, without n-best lists, hypergraphs, forced translations or markup",
            expected="a shorter sentence or a larger max-words",
        )

    def refuse_global_features(self) -> None:
        """Refuse a weight other than 0 for a global feature: no dynamic program can score it."""
        for name in self.model.global_features:
            if self.weights.get(name, 0.0) != 0:
                raise UsageError(
                    f"the global feature {name} has the weight {self.weights[name]:g}, and only sampling can score it: "
                    'translate by annealing, or by `decision="mbr"` with `evidence="samples"`, or set the weight to 0'
                )

    def translate(self, lines: Iterable[str], *, features: bool = False) -> Iterator[Translation]:
        """Translate tokenised sentences, in order; an empty line gives an empty translation."""
        self.refuse_global_features()
        for shard in self._shards(lines):
            yield from self.translate_shard(shard, features=features)

    def nbest(self, lines: Iterable[str], k: int, *, distinct: bool = False) -> Iterator[NBest]:
        """Yield the k best hypotheses of tokenised sentences, with features and segmentations, a batch at a time."""
        for part in self.search_batches(lines, forests=True):
            yield part.nbest(k, distinct=distinct)

    def search(self, line: str, *, features: bool = True) -> Hypergraph:
        """Search one tokenised sentence and return its hypergraph."""
        (part,) = self.search_batches([line], forests=True)
        return part.hypergraph(0, features=features)

    def force(self, line: str, target: str) -> Hypergraph | None:
        """Return all derivations of one translation of a sentence, or None if the model cannot reach it."""
        (part,) = self.search_batches([line], forests=True, targets=[target])
        return part.hypergraph(0) if part.has_derivation(0) else None


Made = TypeVar("Made")
MadeOf = TypeVar("MadeOf", covariant=True)


class Work(Protocol[MadeOf]):
    """Work on a shard: a function of a module, or an object whose class is of one, because workers get it pickled."""

    def __call__(self, translator: Translator, shard: Shard, /, *, runtime: Runtime) -> MadeOf:
        """Return the result of a shard; the translator has the same runtime."""


@dataclass(frozen=True, eq=False)
class ShardedTranslator:
    """A translator on this process, or on workers that load the same model from its folder.

    Results do not depend on which.
    """

    translator: Translator
    folder: Path | None = None
    runtime: Runtime = field(default=Runtime(), kw_only=True)

    def shards(
        self,
        lines: Iterable[str],
        targets: Iterable[str] | None = None,
        *,
        first: int = 0,
        sentences: int = BATCH,
    ) -> Iterator[Shard]:
        """Cut a text into shards: large enough to be worth sending, small enough to stream."""
        threads, longest = self.runtime.threads_per_part, self.translator.limits.max_words
        return cut_shards(lines, targets, first=first, threads=threads, sentences=sentences, longest=longest)

    def map(self, work: Work[Made], shards: Iterable[Shard], *, window: int | None = None) -> Iterator[Made]:
        """Yield the result of each shard, in order, as it becomes ready; here with all threads.

        At most `window` shards are sent and not yet done; by default enough to keep the workers busy.
        """
        search = _Search(self.translator, self.folder, work)
        return self._unpack(self.runtime.map_parts(search, shards, window=window or sys.maxsize))

    def map_alone(self, work: Work[Made], shards: Iterable[Shard]) -> Iterator[Made]:
        """Yield the result of each shard, computed with one thread: for work that is mostly done outside kernels."""
        return self._unpack(self.runtime.map(_Search(self.translator, self.folder, work), shards))

    def _unpack(self, every: Iterator[Callable[[Vocab], Made]]) -> Iterator[Made]:
        return (made(self.translator.model.target_vocab) for made in every)


@dataclass(frozen=True)
class TranslatorSpec:
    """Everything needed to make a translator on a machine that has the model on disk."""

    model: Path
    digest: str
    weights: Weights
    limits: SearchLimits
    space: SpaceLimits
    climbing: HillClimbing | None
    markup: bool

    @classmethod
    def of(cls, translator: Translator, folder: Path) -> TranslatorSpec:
        """Return the recipe of a translator whose model is in a folder."""
        of = translator
        digest = model_digest(folder)
        return cls(folder.absolute(), digest, of.weights, of.limits, of.space, of.climbing, of.markup)

    def translator(self) -> Translator:
        """Make the translator, with one thread; everything that does not depend on weights is made once per process."""
        made = _made(self.model, self.digest, self.limits, self.space, self.climbing, self.markup)
        return made.reweighted(self.weights)


@lru_cache(maxsize=4)
def _made(
    folder: Path,
    digest: str,
    limits: SearchLimits,
    space: SpaceLimits,
    climbing: HillClimbing | None,
    markup: bool,
) -> Translator:
    model = Model.load(place_of(folder, digest))
    return Translator.of(model, limits=limits, space=space, climbing=climbing, markup=markup)


@dataclass(frozen=True, eq=False)
class _Search(Generic[Made]):
    """Work with a translator, which is made anew from the folder of its model wherever this is sent."""

    translator: Translator
    folder: Path | None
    work: Work[Made]

    def __call__(self, shard: Shard, runtime: Runtime) -> Callable[[Vocab], Made]:
        translator = self.translator.reweighted(self.translator.weights, runtime=runtime)
        return _Result(self.work(translator, shard, runtime=runtime), translator.model.target_vocab)

    def __reduce__(self) -> tuple[Any, ...]:
        assert self.folder is not None
        return _search_again, (TranslatorSpec.of(self.translator, self.folder), self.work)


def _search_again(recipe: TranslatorSpec, work: Work[Made]) -> _Search[Made]:
    return _Search(recipe.translator(), recipe.model, work)


@dataclass(frozen=True, eq=False)
class _Result(Generic[Made]):
    """The result of a shard; it is sent without the model's vocabulary, and called with it on arrival."""

    made: Made
    vocab: Vocab

    def __call__(self, vocab: Vocab) -> Made:
        return self.made

    def __reduce__(self) -> tuple[Any, ...]:
        stream = io.BytesIO()
        _Pickler(stream, self.vocab).dump(self.made)
        return partial, (_unpickled, stream.getvalue())


def _unpickled(packed: bytes, vocab: Vocab) -> Any:
    return _Unpickler(packed, vocab).load()


class _Pickler(pickle.Pickler):
    """Leaves out the model's vocabulary, which both sides have: only new words of a batch are sent."""

    def __init__(self, stream: io.BytesIO, vocab: Vocab):
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self._vocab = vocab

    def persistent_id(self, value: Any) -> bytes | None:
        """Return the words of a vocabulary beyond the model's, or None for any other value."""
        known = self._vocab
        if not isinstance(value, Vocab) or len(value) < len(known):
            return None
        if not np.array_equal(value.offsets[: len(known) + 1], known.offsets):
            return None
        if not np.array_equal(value.blob[: len(known.blob)], known.blob):
            return None
        new = np.arange(len(known), len(value), dtype=np.int32)
        return value.decode(new, np.array([0, len(new)]))


class _Unpickler(pickle.Unpickler):
    def __init__(self, packed: bytes, vocab: Vocab):
        super().__init__(io.BytesIO(packed))
        self._vocab = vocab
        self._known = {b"\n": vocab}

    def persistent_load(self, words: bytes) -> Vocab:
        """Return the model's vocabulary with more words; the same object for the same words."""
        if words not in self._known:
            self._known[words] = self._vocab.extend(words)[0]
        return self._known[words]
