"""The settings of a model: how text is prepared for it, and the limits of its space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dragoman.core.options import Options, option
from dragoman.text.casing import Casing
from dragoman.text.preparation import TextPreparation
from dragoman.text.segment import Segmentation
from dragoman.text.units import Units


@dataclass(frozen=True)
class Settings(Options):
    """How text is prepared for the model, and the limits of its space; kept with it so that all tools agree."""

    source_language: str | None = option(None, "language of the source text, for tokenising")
    target_language: str | None = option(None, "language of the target text, for tokenising")
    tokenise: bool = option(False, "whether text must be tokenised before the model sees it")
    lowercase: bool = option(False, "whether text must be lower-cased before the model sees it")
    unicode: Literal["NFC", "as-is"] = option("as-is", "whether letters must be composed before the model sees text")
    normalise_punctuation: bool = option(False, "whether quotation marks, dashes and spaces must be made uniform first")
    protect: bool = option(False, "whether URLs, numbers and the like are single tokens, and unusual joins marked")
    source_segmenter: Segmentation = option("none", "what cuts source text without spaces into words")
    target_segmenter: Segmentation = option("none", "what cuts target text without spaces into words")
    units: Units = option("words", "what the model's words are: words of the text, or its characters")
    boundaries: bool = option(False, "whether lines of characters have marks of their beginning and end")
    reordering_limit: int = option(6, "longest jump between phrases; -1 is no limit", minimum=-1, maximum=2**31 - 1)
    span_limit: int = option(
        10, "longest span of a rule of a hierarchical model; glue joins longer ones", minimum=1, maximum=2**31 - 1
    )
    glue: bool = option(True, "whether a hierarchical model may join parts from left to right")
    table_limit: int = option(
        20, "options per source phrase, best p(e|f) first; 0 is no limit", minimum=0, maximum=2**31 - 1
    )

    def preparation(self, casing: Casing | None = None) -> TextPreparation:
        """What text goes through on its way to a model with these settings and back."""
        return TextPreparation(
            source_language=self.source_language,
            target_language=self.target_language,
            tokenise=self.tokenise,
            lowercase=self.lowercase,
            nfc=self.unicode == "NFC",
            casing=casing,
            units=self.units,
            boundaries=self.boundaries,
            normalise_punctuation=self.normalise_punctuation,
            protect=self.protect,
            source_segmenter=self.source_segmenter,
            target_segmenter=self.target_segmenter,
        )
