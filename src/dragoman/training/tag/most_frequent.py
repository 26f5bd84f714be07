"""A tagger for any language with some tagged text: each word gets its most frequent tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import option
from dragoman.formats.tagged_text import TaggedText, read_factored
from dragoman.training.tag.tagger import Tagger


@dataclass(frozen=True)
class MostFrequent(Tagger):
    """The tag that a word has most often in a tagged text; new words get the most frequent tag of words seen once.

    Ties go to the first tag in the alphabet.
    """

    name = "most-frequent"

    model: Path | None = option(None, "a tagged text to learn from, house|NN")

    def tags(self, sentences: Iterable[list[str]]) -> Iterator[Sequence[str]]:
        """Look up each word."""
        if self.model is None:
            raise UsageError("the tagger most-frequent needs a tagged text to learn from; expected its option model")
        text = read_factored(self.model)
        if not text.words.words:
            raise DataError("has no words", path=self.model, expected="a tagged text")
        known, rare = _lexicon(text)
        for words in sentences:
            yield [known.get(word, rare) for word in words]


def _lexicon(text: TaggedText) -> tuple[dict[str, str], str]:
    """Return the tag of each word, and the tag of unknown words."""
    names = list(text.tags.vocab)
    pairs = np.stack([text.words.sentences.values, text.tags.sentences.values])
    kinds, counts = np.unique(pairs, axis=1, return_counts=True)
    words, tags = list(text.words.vocab), [names[i] for i in kinds[1].tolist()]
    ranked = sorted(zip(kinds[0].tolist(), (-counts).tolist(), tags, strict=True), reverse=True)
    lexicon = {words[word]: tag for word, _, tag in ranked}
    totals = np.bincount(pairs[0])
    once = [tag for word, tag in zip(kinds[0].tolist(), tags, strict=True) if totals[word] == 1]
    commonest = Counter(once or list(lexicon.values()))
    return lexicon, min(commonest, key=lambda tag: (-commonest[tag], tag))
