"""An English tagger by TextBlob, whose lexicon comes with the package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.training.tag.tagger import Tagger, missing_package


@dataclass(frozen=True)
class TextBlob(Tagger):
    """Brill's tagger as in De Smedt & Daelemans' Pattern: a lexicon, then rules for endings and contexts.

    Penn treebank tags for English. Nothing is downloaded.
    """

    name = "textblob"

    def tags(self, sentences: Iterable[list[str]]) -> Iterator[Sequence[str]]:
        """Tag sentence by sentence."""
        try:
            from textblob.en.taggers import PatternTagger
        except ImportError:
            raise missing_package(self.name, "textblob") from None
        tagger = PatternTagger()
        for words in sentences:
            yield [tag for _, tag in tagger.tag(" ".join(words), tokenize=False)]
