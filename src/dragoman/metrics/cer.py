"""CER: character error rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.metrics.error_rate import ErrorRate, ErrorRateScorer
from dragoman.metrics.metric import signature
from dragoman.metrics.references import HypothesisReferenceIds, Preparation, References, change_words
from dragoman.text.words import are_characters, characters_of


@dataclass(frozen=True)
class Cer(ErrorRate):
    """Character error rate: the Levenshtein distance in characters to the closest reference, in percent of its length.

    The characters of text are its code points, with one space between words. The output of a model whose units are
    characters is counted by unit: `▁` is the space, also where it marks a boundary. Text is taken for such units if all
    words of the references are; so both forms give the same number, apart from boundaries.

    Costs the product of the two lengths for each hypothesis and reference.
    """

    name: ClassVar[str] = "cer"

    lowercase: bool = option(False, "ignore case")
    units: Literal["auto", "words", "characters"] = option(
        "auto", "units of the text; auto: characters if all words of the references have one character"
    )

    def scorer(self, references: Sequence[Corpus]) -> ErrorRateScorer:
        """Bind references."""
        units = self.units
        if units == "auto":
            units = "characters" if all(map(_in_characters, references)) else "words"
        prepare = self._folded if units == "characters" else self._characters
        return ErrorRateScorer(self, References(references, self.name, prepare))

    def signature(self) -> str:
        """Return the settings that reproduce the score."""
        case = "lc" if self.lowercase else "mixed"
        return signature(self.name, case=case, units=self.units, refs="fewest-edits", reflen="average")

    def preparation(self) -> Preparation:
        """Write the words of text as characters."""
        return self._characters

    def edits(self, compared: HypothesisReferenceIds, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
        """Count insertions, deletions and substitutions of characters."""
        return kernels.edit_distances(compared.for_kernels(), runtime.threads)

    def _characters(self, corpus: Corpus) -> Corpus:
        return Corpus.from_lines(map(characters_of, self._folded(corpus).lines()))

    def _folded(self, corpus: Corpus) -> Corpus:
        return change_words(corpus, str.lower) if self.lowercase else corpus


def _in_characters(corpus: Corpus) -> bool:
    used = np.unique(corpus.sentences.values)
    return len(used) > 0 and are_characters(corpus.vocab[int(word)] for word in used)
