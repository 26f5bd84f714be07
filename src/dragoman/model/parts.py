"""Parts of a model (tables, grammars, language models, reordering) and its settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

from dragoman.core.errors import DataError
from dragoman.core.options import Options, option
from dragoman.core.store import Arrays, load_arrays
from dragoman.core.vocab import Vocab
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.phrase_table import PhraseTable
from dragoman.text.preparation import Casing, TextPreparation
from dragoman.text.segment import Segmentation
from dragoman.text.words import Units

#: Which search a model is for: the name of its rooms below `search` and `sampling`.
Kind = Literal["phrase", "chart"]

#: What each kind is called in `model.toml`.
KINDS: dict[str, Kind] = {"phrase-based": "phrase", "hierarchical": "chart"}


# Names become folders: none may lead elsewhere.
_NAME = re.compile(r"(?!\.\.?$)[^/\\\x00-\x1f]+")
_LONGEST_NAME = 255

Done = TypeVar("Done")


class Part(Protocol):
    """A table, grammar or language model: arrays that are memory-mapped, and a few words about them."""

    def arrays(self) -> Arrays:
        """Return the arrays that make it up, by name."""

    def about(self) -> dict[str, Any]:
        """Return what `model.toml` says of it."""

    @classmethod
    def restored(cls, about: Mapping[str, Any], arrays: Arrays) -> Self:
        """Build it from what the other two gave; arrays that do not fit together are refused."""

    def check(self, source_vocab: Vocab, target_vocab: Vocab) -> None:
        """Read it all, and refuse what no kernel may see in a model with these words."""


class Sort(NamedTuple):
    """Parts of one sort: their folder, the model's attribute that has them by name, and what they are."""

    folder: str
    attribute: str
    part: type[Part]

    def among(self, model: object) -> dict[str, Any]:
        """Those of a model."""
        return {name: part for name, part in getattr(model, self.attribute).items() if isinstance(part, self.part)}


#: The parts that there can be any number of, by their heading in `model.toml`.
PARTS: dict[str, Sort] = {
    "table": Sort("tables", "tables", PhraseTable),
    "grammar": Sort("grammars", "grammars", Grammar),
    "corpus": Sort("corpora", "grammars", CorpusGrammar),
    "language_model": Sort("language_models", "language_models", LanguageModel),
}


#: The parts that have been read from end to end, and for how many words on either side.
_SOUND: WeakKeyDictionary[Part, tuple[int, int]] = WeakKeyDictionary()


def remember_sound(part: Part, source_vocab: Vocab, target_vocab: Vocab) -> None:
    """Note that a part need not be read again: it has been checked, now or before it was loaded."""
    _SOUND[part] = (len(source_vocab), len(target_vocab))


def check_once(name: str, part: Part, source_vocab: Vocab, target_vocab: Vocab) -> None:
    """Refuse a part that no kernel may see; it is read from end to end if it has not been before."""
    if _SOUND.get(part) != (len(source_vocab), len(target_vocab)):
        try:
            type(part).restored(part.about(), part.arrays()).check(source_vocab, target_vocab)
        except DataError as error:
            raise DataError(f"the model's {name}: {error}") from None
        remember_sound(part, source_vocab, target_vocab)


def load_parts(folder: Path, rows: list[dict[str, Any]], part: type[Part]) -> dict[str, Any]:
    """Open all parts of one sort, given what `model.toml` says of them."""
    return {
        row["name"]: in_folder(folder / row["name"], part.restored, row, load_arrays(folder / row["name"]))
        for row in rows
    }


def in_folder(folder: Path, work: Callable[..., Done], *arguments: Any) -> Done:
    """Do something with the arrays of a folder, which is named if they are not what they should be."""
    try:
        return work(*arguments)
    except DataError as error:
        if error.path is not None:
            raise
        raise DataError(str(error), path=folder) from None


def part_rows(about: Mapping[str, Any], heading: str, file: Path, *, options: bool = False) -> list[dict[str, Any]]:
    """Return what `model.toml` says of all parts of one sort, after a check that each name can be one of a folder."""
    rows = about.get(heading, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"has no tables under {heading}", path=file, expected=f"[[{heading}]]")
    for row in rows:
        name = row["name"]
        if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name.encode()) > _LONGEST_NAME:
            raise DataError(f"has a {heading} of the name {name!r}", path=file, expected="a name without a path")
        if options and not isinstance(row.setdefault("options", {}), dict):
            raise DataError(f"has no table as the options of {name}", path=file, expected="options")
    names = [row["name"] for row in rows]
    if len(set(names)) < len(names):
        raise DataError(f"has two of one name under {heading}", path=file, expected="names that differ")
    return rows


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
