"""From raw parallel text to words or characters: reading, tokenising, lower-casing, learning how words are written."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike, read_lines
from dragoman.core.options import Options, option
from dragoman.core.progress import SILENT, Progress
from dragoman.model.settings import Settings
from dragoman.text.casing import Casing
from dragoman.text.preparation import DEFAULT_LANGUAGE
from dragoman.text.tokenise import tokenise_lines
from dragoman.text.units import Units


@dataclass(frozen=True)
class Preparation(Options):
    """From raw text to words."""

    tokenised: bool = option(False, "the text is tokenised already: take its words as they are")
    lowercase: bool = option(True, "lower-case the text (tokenised text is left as it is)")
    recase: bool = option(True, "learn how words are written, so that translations of a lower-cased model can be")
    unicode: Literal["NFC", "as-is"] = option("NFC", "compose letters with their accents, or leave text as it is")
    units: Units = option(
        "words", "what the model's words are: words, or the characters of the text as it is (▁ stands for a space)"
    )
    boundaries: bool = option(False, "of text in characters, mark the beginning and the end of each line too")
    source_language: str | None = option(None, "language code of the source, for the tokeniser; by default the ending")
    target_language: str | None = option(None, "language code of the target, for the tokeniser; by default the ending")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.boundaries and self.units != "characters":
            raise UsageError("boundaries are marked in text in characters only; expected units of characters too")


class Prepared(NamedTuple):
    """A parallel text in words, and what a translator must do to its input and output."""

    bitext: Bitext
    settings: Settings
    casing: Casing | None = None


def prepare(
    source: PathLike,
    target: PathLike,
    options: Preparation,
    *,
    first: int | None = None,
    threads: int = 1,
    progress: Progress = SILENT,
) -> Prepared:
    """Read, tokenise and lower-case a parallel text, and learn how its target words are written.

    Of raw text, only so many of the `first` lines are taken.
    """
    if options.units == "characters":
        settings = Settings(unicode=options.unicode, units="characters", boundaries=options.boundaries)
        return Prepared(_in_characters(source, target, settings, first, progress), settings)
    if options.tokenised:
        with progress.stage("reading"):
            bitext = Bitext.read(source, target)
        if options.unicode == "NFC":
            bitext = Bitext(_composed(bitext.source, source, progress), _composed(bitext.target, target, progress))
        return Prepared(bitext, Settings(unicode=options.unicode))
    sides, languages, casing = [], [], None
    for path, language in ((source, options.source_language), (target, options.target_language)):
        languages.append(language or _language_of(path, progress))
        with progress.stage(f"reading {path}"):
            lines = list(itertools.islice(read_lines(path), first))
            if options.unicode == "NFC":
                lines = _composed_lines(lines, path, progress)
        lines = tokenise_lines(lines, languages[-1], threads=threads, progress=progress)
        with progress.stage(f"numbering the words of {languages[-1]}") as done:
            if options.lowercase:
                if options.recase and path is target:
                    casing = Casing.learn(lines)
                    done(0.8)
                lines = [line.lower() for line in lines]
            sides.append(Corpus.from_lines(lines))
    _check_lengths(sides, source, target)
    settings = Settings(
        source_language=languages[0],
        target_language=languages[1],
        tokenise=True,
        lowercase=options.lowercase,
        unicode=options.unicode,
    )
    return Prepared(Bitext(*sides), settings, casing)


def _in_characters(
    source: PathLike, target: PathLike, settings: Settings, first: int | None, progress: Progress
) -> Bitext:
    """Both sides of a text in characters, neither tokenised nor lower-cased: case and spelling are to be learnt."""
    text = settings.preparation()
    sides = []
    for path, prepared in ((source, text.source), (target, text.target)):
        with progress.stage(f"reading {path}"):
            sides.append(Corpus.from_lines(prepared(itertools.islice(read_lines(path), first), progress)))
    _check_lengths(sides, source, target)
    return Bitext(*sides)


def _check_lengths(sides: Sequence[Corpus], source: PathLike, target: PathLike) -> None:
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            f"has {len(sides[1])} lines, but {source} has {len(sides[0])}",
            path=target,
            expected="as many as the source",
        )


def _composed_lines(lines: list[str], path: PathLike, progress: Progress) -> list[str]:
    """Bring lines into Unicode's composed normal form, and say if that was needed."""
    odd = [i for i, line in enumerate(lines) if not unicodedata.is_normalized("NFC", line)]
    for i in odd:
        lines[i] = unicodedata.normalize("NFC", lines[i])
    if odd:
        progress.note(f"{path}: letters of {len(odd):,} lines were composed (Unicode's NFC)")
    return lines


def _composed(corpus: Corpus, path: PathLike, progress: Progress) -> Corpus:
    """The same for a text in words; only a vocabulary with other forms costs more than a look at it."""
    vocab = corpus.vocab
    words = vocab.decode(np.arange(len(vocab), dtype=np.int32), np.arange(len(vocab) + 1)).decode()
    if unicodedata.is_normalized("NFC", words):
        return corpus
    return Corpus.from_lines(_composed_lines(corpus.lines(), path, progress))


def _language_of(path: PathLike, progress: Progress) -> str:
    endings = [ending.lstrip(".") for ending in Path(path).suffixes if ending not in (".gz", ".bz2", ".xz", ".zst")]
    if endings and len(endings[-1]) == 2 and endings[-1].isalpha():
        return endings[-1]
    progress.warn(
        f"{path}: the name does not end in a language code such as .fr, so the text is tokenised as English; the"
        " options source-language and target-language say otherwise"
    )
    return DEFAULT_LANGUAGE
