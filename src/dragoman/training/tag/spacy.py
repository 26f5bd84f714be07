"""Taggers of many languages by spaCy's pipelines, which have to be installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.core.errors import UsageError
from dragoman.core.options import option
from dragoman.training.tag.tagger import Tagger, missing_package


@dataclass(frozen=True)
class Spacy(Tagger):
    """A pipeline of spaCy on the given tokens, with either its own tags or the universal ones."""

    name = "spacy"

    model: str = option("en_core_web_sm", "name or folder of an installed pipeline")
    tagset: Literal["own", "universal"] = option("own", "the treebank's tags, or the universal parts of speech")

    def tags(self, sentences: Iterable[list[str]]) -> Iterator[Sequence[str]]:
        """Tag in batches."""
        try:
            import spacy
            from spacy.tokens import Doc
        except ImportError:
            raise missing_package(self.name, "spacy") from None
        try:
            pipeline = spacy.load(self.model, exclude=["parser", "ner", "lemmatizer"])
        except OSError:
            raise UsageError(f"spaCy has no pipeline '{self.model}'; expected one that is installed") from None
        documents = (Doc(pipeline.vocab, words=words) for words in sentences)
        for document in pipeline.pipe(documents):
            yield [token.tag_ if self.tagset == "own" else token.pos_ for token in document]
