"""Searches that are spread over workers: portions of a text go out, and what was made of them comes back, in order."""

from __future__ import annotations

import io
import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dragoman.core.errors import DataError
from dragoman.core.progress import SILENT, Progress, Remembered
from dragoman.core.vocab import Vocab
from dragoman.core.weights import Weights
from dragoman.core.work.sent import place_of
from dragoman.core.work.workers import ThreadWorkers, Workers
from dragoman.model.bundle import Model, model_digest
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.pieces import batches
from dragoman.search.translator import BATCH, WORDS, Translator

Made = TypeVar("Made")


@dataclass(frozen=True)
class Portion:
    """Some tokenised sentences, the first of which is number `first` of the text.

    `targets` are the only translations that are allowed, and `documents` labels of the sentences, if there are any.
    """

    first: int
    lines: Sequence[str]
    targets: Sequence[str] | None = None
    documents: Sequence[object] | None = None


#: What is made of a portion: a function of a module, or an object of a class of one.
Work = Callable[[Translator, Portion, Progress], Made]


@dataclass(frozen=True, eq=False)
class Spread:
    """A translator, and who does what it does: this process, or workers that load the same model from its folder.

    What comes back is the same whoever it was.
    """

    translator: Translator
    workers: Workers = ThreadWorkers()
    folder: Path | None = None
    progress: Progress = SILENT

    def portions(self, lines: Iterable[str], targets: Iterable[str] | None = None) -> Iterator[Portion]:
        """Cut a text into portions: large enough to be worth sending, small enough to stream."""
        if isinstance(lines, str) or isinstance(targets, str):
            raise TypeError("expected an iterable of lines, found one string")
        several = 1 if self.workers.remote else self.translator.threads
        first, forced = 0, None if targets is None else iter(targets)
        longest = self.translator.limits.max_words
        for part in batches(lines, sentences=BATCH * several, words=WORDS * several, longest=longest):
            wanted = None if forced is None else list(itertools.islice(forced, len(part)))
            if wanted is not None and len(wanted) != len(part):
                raise DataError("there are fewer targets than source sentences", expected="one for each")
            yield Portion(first, part, wanted)
            first += len(part)

    def map(self, work: Work[Made], portions: Iterable[Portion], *, window: int | None = None) -> Iterator[Made]:
        """Yield what is made of each portion, in order, as it becomes known."""
        if not self.workers.remote:
            yield from (work(self.translator, portion, self.progress) for portion in portions)
            return
        assert self.folder is not None
        vocab = self.translator.model.target_vocab
        for packed in self.workers.map(_Task(Recipe.of(self.translator, self.folder), work), portions, window=window):
            made, told = _Unpickler(packed, vocab).load()
            told.tell(self.progress)
            yield made


@dataclass(frozen=True)
class Recipe:
    """All that it takes to make a translator where the model is on disk."""

    model: Path
    digest: str
    weights: Weights
    limits: SearchLimits
    space: SpaceLimits
    climbing: HillClimbing | None
    markup: bool

    @classmethod
    def of(cls, translator: Translator, folder: Path) -> Recipe:
        """How to make a translator again, given the folder of its model."""
        of = translator
        digest = model_digest(folder)
        return cls(folder.absolute(), digest, of.weights, of.limits, of.space, of.climbing, of.markup)

    def translator(self) -> Translator:
        """Make it, with one thread; what does not depend on weights is made once a process."""
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


@dataclass(frozen=True)
class _Task:
    """What a worker does with a portion."""

    recipe: Recipe
    work: Work[Any]

    def __call__(self, portion: Portion) -> bytes:
        translator, told = self.recipe.translator(), Remembered()
        made = self.work(translator, portion, told)
        stream = io.BytesIO()
        _Pickler(stream, translator.model.target_vocab).dump((made, told))
        return stream.getvalue()


class _Pickler(pickle.Pickler):
    """Leaves out the words of the model, which both sides have: of a batch's vocabulary only what is new is sent."""

    def __init__(self, stream: io.BytesIO, vocab: Vocab):
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self._vocab = vocab

    def persistent_id(self, value: Any) -> bytes | None:
        """The words that a vocabulary has beyond the model's, or None for whatever is no such vocabulary."""
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
        """The model's vocabulary with some more words; the same object for the same words."""
        if words not in self._known:
            self._known[words] = self._vocab.extend(words)[0]
        return self._known[words]
