"""Word classes by the exchange algorithm (Martin, Liermann & Ney 1998), with the bigram criterion of mkcls.

The classes maximise the likelihood of a text under p(w | v) = p(c(w) | c(v)) p(w | c(w)). The algorithm moves each
word, frequent words first, to the class that is best for it, until no word moves. That is a local maximum; a better one
is looked for by dissolving some classes and moving words again (iterated local search), and from several starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.checkpoint import stage_key
from dragoman.core.corpus import BOS, EOS, UNK, Corpus, Vocab
from dragoman.core.errors import DataError
from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays, save_arrays
from dragoman.formats.tagged_text import TaggedText
from dragoman.model.language_model import LanguageModel
from dragoman.model.word_classes import MOST_CLASSES, WordClasses
from dragoman.training.lm.kneser_ney import KneserNey, estimate_model

Classes = NDArray[np.int32]

#: The share of classes that a round dissolves.
_DISSOLVED = 0.1

#: The standard deviation of what is added to the logarithm of a word's frequency in all starts but the first.
_JITTER = 1.0


@dataclass(frozen=True)
class Clustering(Options):
    """Options of word classes."""

    classes: int = option(50, "number of word classes", minimum=1, maximum=MOST_CLASSES)
    starts: int = option(2, "number of starts, of which the best is kept; the first begins by frequency", minimum=1)
    rounds: int = option(
        3, "how often each start dissolves a tenth of its classes and goes on if that was better", minimum=0
    )
    passes: int = option(50, "most passes over all words in a round", minimum=1)
    min_count: int = option(1, "words with a lower count move together, as one word", minimum=1)
    seed: int = option(1, "seed of the starts and rounds", minimum=0)


def estimate_classes(
    corpus: Corpus, options: Clustering = Clustering(), *, name: str = "classes", runtime: Runtime = Runtime()
) -> WordClasses:
    """Estimate the classes of the words of a text.

    Classes are numbered by the frequency of their words. The same text, options and seed give the same classes. A pass
    takes time in proportion to the distinct bigrams of the text, times the classes. With a checkpoint, where the stage
    is called `name`, an estimation that was killed continues after its last complete pass. `<unk>`, `<s>` and `</s>`
    as words have no class.
    """
    words = _Words.of(corpus, options.min_count)
    key = "" if runtime.checkpoint is None else stage_key(corpus, options.to_dict())
    number = min(options.classes, words.items - 1)
    best: _State | None = None
    with runtime.stage("estimating word classes") as progress_callback:
        search = _Search(words.neighbours(), words.frequencies, options, number, name, key)
        for start, found in enumerate(runtime.here().map(search, range(options.starts))):
            progress_callback((start + 1) / options.starts)
            if best is None or found.best_criterion > best.best_criterion:
                best = found
    assert best is not None
    classes = words.by_frequency(best.best, number)
    return WordClasses(words.vocab, classes, number, best.best_criterion + words.constant)


def class_language_model(
    corpus: Corpus, classes: WordClasses, options: KneserNey, *, runtime: Runtime = Runtime()
) -> LanguageModel:
    """Estimate a language model over the classes of a text's words."""
    with runtime.stage("estimating the language model over classes"):
        # Classes are few and all frequent: that the discounts of unigrams cannot be estimated is no news.
        estimated = estimate_model(classes.text(corpus), options, runtime=runtime.quiet(warns=False))
    return replace(estimated, classes=classes)


def class_tagged(corpus: Corpus, classes: WordClasses) -> TaggedText:
    """Return a text whose words are tagged with the names of their classes."""
    return TaggedText(corpus, classes.text(corpus))


@dataclass(frozen=True, eq=False)
class _Words:
    """The words of a text as items: item 0 is the edge of a sentence, then come words by their frequency."""

    vocab: Vocab
    item_of_word: NDArray[np.int32]  # 0 for words without a class
    text: NDArray[np.int32]
    frequencies: NDArray[np.int64]
    constant: float  # the part of the log-likelihood that does not depend on classes

    @classmethod
    def of(cls, corpus: Corpus, min_count: int) -> _Words:
        counts = np.bincount(corpus.sentences.values, minlength=len(corpus.vocab))
        counts[[UNK, BOS, EOS]] = 0
        used = np.flatnonzero(counts)
        if not len(used):
            raise DataError("the text has no words", expected="text to estimate word classes from")
        order = used[np.lexsort((used, -counts[used]))]
        vocab, _, _ = Vocab.of().extend(corpus.vocab.decode(order.astype(np.int32), np.array([0, len(order)])))
        often = counts[order] >= min_count
        item = np.where(often, np.arange(1, len(order) + 1), np.count_nonzero(often) + 1)
        item_of_id = np.zeros(len(corpus.vocab), np.int32)
        item_of_id[order] = item
        filled = corpus.sentences.lengths > 0
        ends = corpus.sentences.offsets[1:][filled]
        text = np.concatenate([[0], np.insert(item_of_id[corpus.sentences.values], ends, 0)]).astype(np.int32)
        frequencies = np.bincount(text)
        frequencies[0] -= 1  # the edge before the first sentence is the one after the last
        own = np.append(np.zeros(len(vocab) - len(order), np.int64), item)
        every = counts[order].astype(np.float64)
        return cls(
            vocab, own.astype(np.int32), text, frequencies, float(_n_log_n(np.append(every, frequencies[0])).sum())
        )

    @property
    def items(self) -> int:
        return len(self.frequencies)

    def neighbours(self) -> kernels.Neighbours:
        after, before = (kernels.count_neighbours(self.text, self.items, side) for side in (True, False))
        columns: dict[str, Any] = dict(zip(("after_offsets", "after", "after_counts"), after, strict=True))
        columns |= zip(("before_offsets", "before", "before_counts"), before, strict=True)
        return kernels.Neighbours(**columns)

    def by_frequency(self, classes: Classes, number: int) -> Classes:
        """Return the class of each word; classes are numbered anew, the most frequent first."""
        frequency = np.bincount(classes, self.frequencies, number + 1)[1:]
        numbers = np.zeros(number + 1, np.int32)
        numbers[np.lexsort((np.arange(number), -frequency)) + 1] = np.arange(1, number + 1)
        return np.where(self.item_of_word > 0, numbers[classes[self.item_of_word]], 0).astype(np.int32)


@dataclass(frozen=True, eq=False)
class _State:
    """The state of a start after a pass: the classes now, the best ones of all rounds, and what is done."""

    classes: Classes
    best: Classes
    best_criterion: float = -np.inf
    round: int = 0
    passes: int = 0

    def arrays(self) -> Arrays:
        return {
            "classes": self.classes,
            "best": self.best,
            "criterion": np.array([self.best_criterion]),
            "done": np.array([self.round, self.passes]),
        }

    @classmethod
    def of(cls, arrays: Arrays) -> _State:
        made: dict[str, Any] = dict(arrays)
        return cls(made["classes"], made["best"], float(made["criterion"][0]), *made["done"].tolist())


@dataclass(frozen=True, eq=False)
class _Search:
    """The search from one start: rounds of passes."""

    neighbours: kernels.Neighbours
    frequencies: NDArray[np.int64]
    options: Clustering
    number: int
    name: str
    key: str

    def __call__(self, start: int, runtime: Runtime) -> _State:
        stage = f"{self.name}-{start}"
        made = None if runtime.checkpoint is None else runtime.checkpoint.load(stage, self.key, runtime.progress)
        state = self._first(start) if made is None else _State.of(made)
        while state.round <= self.options.rounds:
            state = self._after_pass(state, start)
            if runtime.checkpoint is not None:
                runtime.checkpoint.save(stage, self.key, _writer(state.arrays()))
        return state

    def _first(self, start: int) -> _State:
        """Return the start: the most frequent words have classes of their own, all others share one."""
        ranked = np.log(np.maximum(self.frequencies[1:], 1))
        if start > 0:
            ranked = ranked + _JITTER * self._random(start, 0).standard_normal(len(ranked))
        classes = np.zeros(len(self.frequencies), np.int32)
        classes[np.lexsort((np.arange(len(ranked)), -ranked)) + 1] = np.minimum(np.arange(1, len(classes)), self.number)
        return _State(classes, classes)

    def _after_pass(self, state: _State, start: int) -> _State:
        classes, moved, criterion = kernels.exchange_pass(self.neighbours, state.classes, self.number)
        passes = state.passes + 1
        if moved and passes < self.options.passes:
            return _State(classes, state.best, state.best_criterion, state.round, passes)
        best, best_criterion = state.best, state.best_criterion
        if criterion > best_criterion:
            best, best_criterion = classes, criterion
        return _State(self._dissolved(best, start, state.round + 1), best, best_criterion, state.round + 1)

    def _dissolved(self, classes: Classes, start: int, number: int) -> Classes:
        """Return the classes with the words of some of them spread over all."""
        random = self._random(start, number)
        some = random.choice(np.arange(1, self.number + 1), max(round(_DISSOLVED * self.number), 1), replace=False)
        moving = np.flatnonzero(np.isin(classes, some))
        spread = classes.copy()
        spread[moving] = random.integers(1, self.number + 1, len(moving))
        return spread

    def _random(self, start: int, number: int) -> np.random.Generator:
        return np.random.default_rng([self.options.seed, start, number])


def _writer(arrays: Arrays) -> Callable[..., None]:
    return lambda folder: save_arrays(folder, arrays)


def _n_log_n(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return counts * np.log(np.maximum(counts, 1))
