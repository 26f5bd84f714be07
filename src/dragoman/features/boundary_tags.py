"""Pairs of part-of-speech tags across phrase boundaries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import BOS, EOS, SPECIAL, UNK
from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.formats.tagged_text import TaggedText
from dragoman.model.feature_types import BoundaryFeature, ModelParts, PairsInUse, classes_at_end, learnt_array

# Symbol 0 is the edge of a sentence and symbol 1 unknown words; then the tags follow, in alphabetical order.
_UNKNOWN = 1

#: Smallest fraction of target phrases that must occur in the tagged text; below it, a warning is shown.
_FEW_PHRASES = 0.5

#: Largest number of tags: a score is stored for every pair of them.
MOST_TAGS = 1000


@dataclass(frozen=True)
class BoundaryTags(BoundaryFeature):
    """`pb.NN:VB`: a phrase that ends in an NN stands before one that begins with a VB (Haddow et al. 2011).

    The edges of a sentence are `<s>` and `</s>`. A target phrase has the tag sequence that it most often has in a
    tagged text. A phrase that does not occur there has the most frequent tag of each word, and a word that does not
    occur there the tag `<unk>`.
    """

    name = "boundary-tags"
    prefix = "pb"

    tags_of: Literal["phrases", "words"] = option(
        "phrases", "source of the tags: the phrase as a whole, or its first and last word in isolation"
    )

    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Find the tags of all words, and of the phrases that are tagged differently from their words."""
        if parts.tagged is None:
            raise UsageError(f"{self.name} needs a tagged text of the target language")
        symbols, tags = _symbols(parts.tagged)
        words = parts.tagged.words.vocab.map_to(parts.target_vocab)[parts.tagged.words.sentences.values]
        of_word = _tags_of_words(words, tags, len(parts.target_vocab))
        phrases, left, right = _no_phrases()
        if self.tags_of == "phrases":
            phrases, left, right = _tags_of_phrases(parts, words, tags, of_word, runtime)
        blob = "".join(f"{symbol}\n" for symbol in symbols).encode()
        return {
            "symbols": np.frombuffer(blob, np.uint8),
            "of_word": of_word,
            "phrases": phrases.values,
            "phrase_offsets": phrases.offsets,
            "index": kernels.sequence_index(phrases.values, phrases.offsets),
            "left": left,
            "right": right,
        }

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Names of the tags; the first is the edge of a sentence."""
        text = learnt_array(self.learnt, "symbols", np.uint8).tobytes().decode(errors="replace")
        symbols = tuple(text.split("\n")[:-1])
        _check_number(len(symbols))
        return symbols

    @cached_property
    def tags(self) -> PhraseTags:
        """Tags at both ends of words and phrases."""
        learnt, symbols = self.learnt, self.symbols
        of_word, left, right = (
            learnt_array(learnt, name, np.int32, below=len(symbols)) for name in ("of_word", "left", "right")
        )
        values = learnt_array(learnt, "phrases", np.int32)
        offsets = learnt_array(learnt, "phrase_offsets", np.int64, below=len(values) + 1)
        index = learnt_array(learnt, "index", np.int32)
        fits = (
            len(symbols) > _UNKNOWN
            and len(of_word) == len(self.parts.target_vocab)
            and len(offsets) == len(left) + 1 == len(right) + 1
            and offsets[0] == 0
            and offsets[-1] == len(values)
            and bool(np.all(offsets[1:] >= offsets[:-1]))
            and len(index).bit_count() == 1
            and len(index) > len(left)
            and -1 == index.min() <= index.max() < len(left)
        )
        if not fits:
            raise DataError("the arrays of the tags do not fit together", expected="what the feature had learnt")
        return PhraseTags(of_word, Ragged(values, offsets), index, left, right)

    def check(self) -> None:
        """Refuse inconsistent arrays."""
        _ = self.tags

    def __call__(self, pairs: PairsInUse, /) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the tags of the first and of the last target word of each pair."""
        return self.tags.at_ends(pairs.words)


@dataclass(frozen=True, eq=False)
class PhraseTags:
    """Tags at both ends of target phrases: those of their words, except for the phrases listed here."""

    of_word: NDArray[np.int32]
    phrases: Ragged[np.int32]
    index: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]

    def at_ends(self, words: Ragged[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the tags of the first and of the last word of each phrase."""
        first, last = classes_at_end(words, self.of_word, 0), classes_at_end(words, self.of_word, 1)
        listed = kernels.find_sequences(
            words.values, words.offsets, self.phrases.values, self.phrases.offsets, self.index
        )
        here = listed >= 0
        first[here], last[here] = self.left[listed[here]], self.right[listed[here]]
        return first, last


def _symbols(tagged: TaggedText) -> tuple[list[str], NDArray[np.int32]]:
    """Return the names of all symbols, and the symbol of each running word."""
    tags = tagged.tags.sentences.values
    if not len(tags):
        raise DataError("the tagged text is empty", expected="words with tags")
    names = list(tagged.tags.vocab)
    if ((tags == BOS) | (tags == EOS)).any():
        raise DataError(f"the tagged text has a tag {SPECIAL[BOS]} or {SPECIAL[EOS]}", expected="other names")
    there = sorted({names[i] for i in np.unique(tags).tolist()} - {SPECIAL[UNK]})
    symbols = [SPECIAL[BOS], SPECIAL[UNK], *there]
    _check_number(len(symbols))
    number = {name: i for i, name in enumerate(symbols)}
    of_tag = np.array([number.get(name, _UNKNOWN) for name in names], np.int32)
    return symbols, of_tag[tags]


def _check_number(symbols: int) -> None:
    if symbols > MOST_TAGS:
        raise DataError(f"there are {symbols:,} tags", expected=f"at most {MOST_TAGS:,}")


def _tags_of_words(words: NDArray[np.int32], tags: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    """Return the most frequent tag of each word of a vocabulary; of equally frequent ones the first in the text."""
    of_word = np.full(size, _UNKNOWN, np.int32)
    word, sequences = _most_frequent(words, tags[:, None])
    of_word[word] = sequences[:, 0]
    of_word[UNK] = _UNKNOWN
    return of_word


def _tags_of_phrases(
    parts: ModelParts, words: NDArray[np.int32], tags: NDArray[np.int32], of_word: NDArray[np.int32], runtime: Runtime
) -> tuple[Ragged[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the target phrases whose ends are tagged differently from their words, and these tags."""
    assert parts.tagged is not None
    every = Ragged.concatenate([table.targets for table in parts.tables.values()])
    _, values, offsets = kernels.intern_sequences(every.values, every.offsets)
    phrases = Ragged(values, offsets)
    longest = int(phrases.lengths.max(initial=1))
    index = kernels.sequence_index(values, offsets)
    with runtime.stage("finding tags of phrases") as progress_callback:
        found = kernels.match_spans(
            words, parts.tagged.words.sentences.offsets, longest, values, offsets, index, 1, progress_callback
        )
    first, last = classes_at_end(phrases, of_word, 0), classes_at_end(phrases, of_word, 1)
    left, right, seen = first.copy(), last.copy(), np.zeros(len(phrases), bool)
    for length in range(1, longest + 1):
        position = np.flatnonzero(found[:, length - 1] >= 0)
        around = tags[position[:, None] + np.arange(length)]
        phrase, sequences = _most_frequent(found[position, length - 1], around)
        left[phrase], right[phrase], seen[phrase] = sequences[:, 0], sequences[:, -1], True
    if seen.mean() < _FEW_PHRASES:
        runtime.warn(
            f"only {seen.sum():,} of the model's {len(seen):,} target phrases occur in the tagged text:"
            " is it prepared as the training text was?"
        )
    other = np.flatnonzero((left != first) | (right != last))
    return phrases.take(other), left[other], right[other]


def _most_frequent(
    keys: NDArray[np.int32], sequences: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the most frequent sequence (row) of each key that occurs; of equally frequent ones the first."""
    rows = np.concatenate([keys[:, None], sequences], axis=1)
    width = rows.shape[1]
    bounds = np.arange(len(rows) + 1, dtype=np.int64) * width
    ids, values, _ = kernels.intern_sequences(np.ascontiguousarray(rows).reshape(-1), bounds)
    kinds = values.reshape(-1, width)
    counts = np.bincount(ids, minlength=len(kinds))
    order = np.lexsort((np.arange(len(kinds)), -counts, kinds[:, 0]))
    _, best = np.unique(kinds[order, 0], return_index=True)
    chosen = kinds[order[best]]
    return chosen[:, 0], chosen[:, 1:]


def _no_phrases() -> tuple[Ragged[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    nothing = np.empty(0, np.int32)
    return Ragged(nothing, np.zeros(1, np.int64)), nothing, nothing
