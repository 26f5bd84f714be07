"""Work on the shards of a text, by threads or by workers that load the same model; results are in order."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from dragoman.core.runtime import Runtime
from dragoman.core.vocab import Vocab
from dragoman.core.weights import Weights
from dragoman.core.work.workers import place_of
from dragoman.model.bundle import Model, model_digest
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.translator import Shard, Translator, cut_shards

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

    def shards(self, lines: Iterable[str], targets: Iterable[str] | None = None, *, first: int = 0) -> Iterator[Shard]:
        """Cut a text into shards: large enough to be worth sending, small enough to stream."""
        threads, longest = self.runtime.threads_per_part, self.translator.limits.max_words
        return cut_shards(lines, targets, first=first, threads=threads, longest=longest)

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
