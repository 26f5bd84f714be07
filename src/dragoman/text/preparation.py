"""What a model does with text before it sees it and after: both sides, and references."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.core.runtime import Runtime
from dragoman.text.casing import Casing
from dragoman.text.segment import Segmentation
from dragoman.text.tokenise import Tokeniser, detokenise_lines, tokenise_lines
from dragoman.text.words import Units, characters_of, joined_characters

#: The language whose rules are used where none is named.
DEFAULT_LANGUAGE = "en"


@dataclass(frozen=True)
class TextPreparation:
    """Turns raw text into what a model was trained on, and translations into what a person would write.

    With `nfc`, text is brought into Unicode's composed normal form first, so that é is one letter however it was typed;
    with `normalise_punctuation`, quotation marks, dashes and spaces are made uniform next. With `protect`, URLs,
    numbers and the like are single tokens, and target text has marks where it is joined unusually (see
    `detokenise.py`). Text without spaces between words goes through a segmenter. Where the `units` are characters,
    these come last, and are joined again first; see `units.py`.

    >>> casing = Casing.learn(["He met Ann ."])
    >>> text = TextPreparation("en", "en", tokenise=True, lowercase=True, casing=casing)
    >>> list(text.source(["A dog's bone."]))
    ["a dog 's bone ."]
    >>> text.restore(["it is ann 's bone ."])
    ["It is Ann's bone."]
    """

    source_language: str | None = None
    target_language: str | None = None
    tokenise: bool = False
    lowercase: bool = False
    nfc: bool = False
    casing: Casing | None = None
    units: Units = "words"
    boundaries: bool = False
    normalise_punctuation: bool = False
    protect: bool = False
    source_segmenter: Segmentation = "none"
    target_segmenter: Segmentation = "none"

    def source(self, lines: Iterable[str], *, runtime: Runtime = Runtime()) -> Iterator[str]:
        """Prepare source text, a line at a time; at the end, says if letters had to be composed."""
        return self._prepared(lines, self.source_language, self.source_tokeniser(), runtime)

    def target(self, lines: Iterable[str], *, runtime: Runtime = Runtime()) -> Iterator[str]:
        """Prepare target text, such as references, a line at a time."""
        return self._prepared(lines, self.target_language, self.target_tokeniser(), runtime)

    def source_tokeniser(self) -> Tokeniser:
        """How source text becomes tokens."""
        return self._tokeniser(self.source_segmenter)

    def target_tokeniser(self) -> Tokeniser:
        """How target text becomes tokens."""
        return self._tokeniser(self.target_segmenter, marks=self.protect)

    def restore(self, lines: Sequence[str], sources: Sequence[str] | None = None) -> list[str]:
        """Write translations as a person would, as far as the preparation can be undone.

        `sources` are the raw sentences, from which words that passed through untranslated have their case.
        """
        if self.units == "characters":
            lines = [joined_characters(line, boundaries=self.boundaries) for line in lines]
        if self.casing is not None:
            raw = [""] * len(lines) if sources is None else self._cased(sources)
            lines = [self.casing.restore(line, source) for line, source in zip(lines, raw, strict=True)]
        if not self.tokenise:
            return list(lines)
        language = self.target_language or DEFAULT_LANGUAGE
        return detokenise_lines(lines, language, marks=self.protect, unspaced=self.target_segmenter != "none")

    def _cased(self, sources: Sequence[str]) -> list[str]:
        if not self.tokenise:
            return list(sources)
        options = replace(self.source_tokeniser(), lowercase=False)
        return tokenise_lines(sources, self.source_language or DEFAULT_LANGUAGE, options)

    def _tokeniser(self, segmenter: Segmentation, *, marks: bool = False) -> Tokeniser:
        return Tokeniser(
            lowercase=self.lowercase,
            normalise_punctuation=self.normalise_punctuation,
            protect=self.protect,
            marks=marks and segmenter == "none",
            segmenter=segmenter,
        )

    def _prepared(
        self, lines: Iterable[str], language: str | None, options: Tokeniser, runtime: Runtime
    ) -> Iterator[str]:
        changed = 0
        for line in lines:
            if self.nfc and not unicodedata.is_normalized("NFC", line):
                line = unicodedata.normalize("NFC", line)
                changed += 1
            if self.tokenise:
                (line,) = tokenise_lines([line], language or DEFAULT_LANGUAGE, options)
            yield characters_of(line, boundaries=self.boundaries) if self.units == "characters" else line
        if changed:
            runtime.note(f"in {changed:,} lines letters were composed (Unicode's NFC), as in the model's training")
