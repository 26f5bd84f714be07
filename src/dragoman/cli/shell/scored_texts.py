"""Texts to score, as the command line gives them: references, source, and the translations of systems."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import read_lines
from dragoman.core.runtime import Runtime
from dragoman.metrics.references import read_references
from dragoman.metrics.tokeniser_choice import mismatch
from dragoman.model.bundle import Model
from dragoman.text.preparation import TextPreparation

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class ScoredFiles:
    """Files to score. Texts are `like_sacrebleu` if the references are arguments, or a test set of sacreBLEU."""

    references: Sequence[Path]
    systems: Sequence[str]
    like_sacrebleu: bool
    source: Path | None = None
    #: References per line, separated by tabs.
    columns: int = 1

    @classmethod
    def of(
        cls,
        arguments: Sequence[str] | None,
        reference: Sequence[Path] | None,
        systems: Sequence[str] | None,
        *,
        source: Path | None = None,
        columns: int = 1,
        test_set: Sequence[Path] = (),
    ) -> ScoredFiles:
        """Sort arguments: they are translations after --reference, and references before --input or without either."""
        rest = [*(arguments or [])]
        if reference is not None and systems is not None and rest:
            raise UsageError(f"found '{rest[0]}' beside --reference and --input; expected no other files")
        if test_set and (reference is not None or (systems is not None and rest)):
            raise UsageError("found a test set and references; expected one of them")
        own = reference is not None
        known = [*(reference or []), *test_set]
        if not known and not (own or test_set):
            known, rest = [Path(name) for name in rest], []
        found = systems if systems is not None else rest
        if not known and (source is None or not found):
            raise UsageError("there are no references; expected --reference FILE, or references as arguments")
        return cls(known, found or [STANDARD_INPUT], not own, source, columns)

    def read(self, model: Path | None = None, *, with_runs: bool = False, runtime: Runtime) -> ScoredTexts:
        """Read all texts, prepared as a model does if there is one; `with_runs` reads NAME=FILE,FILE."""
        text = TextPreparation() if model is None else Model.load(model).preparation()
        references = self._references(text, runtime)
        sources = None if self.source is None else [*read_lines(self.source)]
        first, lines = (
            (f"reference {self.references[0]}", len(references[0]))
            if references
            else (f"source {self.source}", len(sources or ()))
        )
        if sources is not None and len(sources) != lines:
            found = f"has {len(sources)} lines, but the {first} has {lines}"
            raise DataError(found, path=self.source, expected="as many")
        if self.like_sacrebleu and [*self.systems] == [STANDARD_INPUT]:
            systems = _tab_separated()
        else:
            names, files = _parse_systems(self.systems) if with_runs else self._files()
            systems = [
                ScoredSystem(name, [(str(file), _read(file, text)) for file in runs])
                for name, runs in zip(names, files, strict=True)
            ]
        for file, translations in (run for system in systems for run in system.runs):
            if len(translations) != lines:
                found = f"has {len(translations)} lines, but the {first} has {lines}"
                raise DataError(found, path=file, expected="as many")
            odd = mismatch(translations, references[0]) if references else None
            if odd is not None:
                runtime.warn(
                    f"{file}: {odd}; the score is not meaningful (--model prepares both texts as a model does)"
                )
        return ScoredTexts(references, sources, systems)

    def _references(self, text: TextPreparation, runtime: Runtime) -> list[Corpus]:
        if self.columns == 1:
            return read_references(self.references, text, runtime=runtime) if self.references else []
        if len(self.references) != 1:
            raise UsageError(f"found {len(self.references)} files of references; expected one with tabs in its lines")
        rows = [line.split("\t", self.columns - 1) for line in read_lines(self.references[0])]
        for line, row in enumerate(rows, start=1):
            if len(row) != self.columns:
                found = f"found {len(row)} references"
                raise DataError(found, path=self.references[0], line=line, expected=f"{self.columns}, and tabs between")
        return [Corpus.from_lines(text.target(list(column))) for column in zip(*rows, strict=True)]

    def _files(self) -> tuple[list[str], list[list[Path]]]:
        """Return each file as a system; as in sacreBLEU, only the first may come again, and is then left out."""
        names = [*self.systems]
        if self.like_sacrebleu:
            names = [names[0], *(name for name in names[1:] if name != names[0])]
            if len(set(names)) < len(names):
                raise UsageError("two systems have the same name; expected different ones")
        return names, [[Path(name)] for name in names]


class ScoredSystem(NamedTuple):
    """A system by name, with its runs: translations with the name of their file."""

    name: str
    runs: list[tuple[str, Corpus]]


@dataclass(frozen=True, eq=False)
class ScoredTexts:
    """References, source lines, and systems."""

    references: list[Corpus]
    sources: list[str] | None
    systems: list[ScoredSystem]

    @property
    def translations(self) -> list[Corpus]:
        """The translations of all runs."""
        return [text for system in self.systems for _, text in system.runs]


def downloaded_test_set(names: str, pair: str | None) -> list[Path]:
    """Return the references of a test set that sacreBLEU has downloaded; nothing is downloaded here."""
    if pair is None:
        raise UsageError(f"the test set {names} needs a language pair; expected one like -l en-de")
    if "," in names:
        raise UsageError(f"found '{names}'; expected one test set")
    folder = Path(os.environ.get("SACREBLEU", Path.home() / ".sacrebleu"))
    flat = names.replace("/", "_")
    found = sorted((folder / flat).glob(f"{flat}.{pair}.ref*"))
    if not found:
        wanted = f"sacreBLEU to download it first: sacrebleu -t {names} -l {pair} --echo ref"
        raise UsageError(f"{folder} has no test set {names} for {pair}; expected {wanted}")
    return found


def _read(path: Path, text: TextPreparation) -> Corpus:
    return Corpus.read(path) if text == TextPreparation() else Corpus.from_lines(text.target(read_lines(path)))


def _tab_separated() -> list[ScoredSystem]:
    """Read the systems in the columns of standard input, as sacreBLEU does."""
    rows = [line.split("\t") for line in read_lines(STANDARD_INPUT)]
    wrong = next((i for i, row in enumerate(rows) if len(row) != len(rows[0])), None)
    if wrong is not None:
        found = f"found {len(rows[wrong])} columns"
        raise DataError(found, path=STANDARD_INPUT, line=wrong + 1, expected=f"{len(rows[0])}, as in line 1")
    columns = [[*column] for column in zip(*rows, strict=True)] or [[]]
    names = [f"System {i + 1}" for i in range(len(columns))]
    return [
        ScoredSystem(name, [(name, Corpus.from_lines(column))]) for name, column in zip(names, columns, strict=True)
    ]


def _parse_systems(texts: Sequence[str]) -> tuple[list[str], list[list[Path]]]:
    names, files = map(list, zip(*(_parse_system(text) for text in texts), strict=True))
    short = [Path(name).name for name in names]
    if len(set(short)) == len(short):
        return short, files
    if len(set(names)) < len(names):
        raise UsageError("two systems have the same name; expected different ones, as in NAME=FILE")
    return names, files


def _parse_system(text: str) -> tuple[str, list[Path]]:
    name, equals, files = text.partition("=")
    if not equals or Path(text).exists():
        return text, [Path(text)]
    runs = [Path(file) for file in files.split(",") if file]
    if not name or not runs:
        raise UsageError(f"found '{text}'; expected FILE, NAME=FILE or NAME=FILE,FILE,...")
    return name, runs
