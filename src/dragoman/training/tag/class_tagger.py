"""A tagger for any language without a tagged text: the tag of a word is its class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.corpus import SPECIAL, UNK
from dragoman.core.errors import UsageError
from dragoman.core.options import option
from dragoman.model.word_classes import WordClasses
from dragoman.training.tag.tagger import Tagger


@dataclass(frozen=True)
class ClassTagger(Tagger):
    """The number of a word's class, from a file of `dragoman classes estimate` or mkcls; new words are `<unk>`."""

    name = "classes"

    model: Path | None = option(None, "a file of word classes")

    def tags(self, sentences: Iterable[list[str]]) -> Iterator[Sequence[str]]:
        """Look up each word."""
        if self.model is None:
            raise UsageError("the tagger classes needs a file of word classes; expected its option model")
        classes = WordClasses.read(self.model)
        known = {word: str(its) for word, its in zip(classes.vocab, classes.classes.tolist(), strict=True) if its}
        for words in sentences:
            yield [known.get(word, SPECIAL[UNK]) for word in words]
