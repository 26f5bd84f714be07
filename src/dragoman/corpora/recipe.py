"""Corpus recipes: from raw aligned segments to the files of a corpus, held-out sets and manifest."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, version
from dragoman.core.files import PathLike, open_output, output_folder
from dragoman.core.options import format_toml, option
from dragoman.core.runtime import Runtime
from dragoman.corpora.builder import BuildableCorpus
from dragoman.corpora.text import fold, normalise
from dragoman.text.tokenise import Tokeniser, tokenise_lines


@dataclass(frozen=True)
class Package:
    """A package of a registry that text was taken from."""

    name: str
    version: str
    licence: str


@dataclass(frozen=True)
class Manifest:
    """Origin of a corpus, and the number of pairs that each step left."""

    corpus: str
    summary: str
    source: str
    target: str
    references: tuple[str, ...]
    seed: int
    dragoman: str
    options: Mapping[str, bool | int | float | str]
    counts: Mapping[str, int]
    packages: tuple[Package, ...]

    def to_toml(self) -> str:
        """Return the manifest as TOML, the same text for the same manifest."""
        values = asdict(self)
        return format_toml({**values, "packages": list(values["packages"])})


# Added to both lengths in characters, because the ratio of short sentences says little.
_RATIO_SLACK = 15

TRAIN, DEV, TEST = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Selection:
    """Rows to keep, in order, and the number of rows dropped for each reason."""

    rows: NDArray[np.intp]
    dropped: dict[str, int]


def select_pairs(
    source: Sequence[str],
    target: Sequence[str],
    *,
    max_characters: int,
    max_ratio: float,
    keep_identical: bool,
) -> Selection:
    """Drop pairs that are empty, too long, out of proportion, untranslated or repeated.

    The proportion is the ratio of lengths in characters, relative to the whole corpus, so that languages written with
    few characters are treated like all others.
    """
    folded = _ids([""] + [fold(text) for side in (source, target) for text in side])[1:].reshape(2, -1)
    lengths = np.array([[len(text) for text in side] for side in (source, target)], np.float64)
    totals = lengths.sum(axis=1)
    scaled = lengths * (totals.sum() / 2 / np.maximum(totals, 1))[:, None] + _RATIO_SLACK
    tests = {
        "empty": (folded == 0).any(axis=0),
        "too_long": (lengths > max_characters).any(axis=0),
        "out_of_proportion": scaled.max(axis=0) > max_ratio * scaled.min(axis=0),
        "untranslated": (folded[0] == folded[1]) & (not keep_identical),
    }
    kept = np.ones(len(source), bool)
    dropped = {}
    for reason, fails in tests.items():
        dropped[reason] = int((kept & fails).sum())
        kept &= ~fails
    rows = np.flatnonzero(kept)
    first = np.unique(folded[:, rows], axis=1, return_index=True)[1]
    dropped["repeated"] = len(rows) - len(first)
    return Selection(rows[np.sort(first)], dropped)


def hold_out(
    source: Sequence[str],
    target: Sequence[str],
    documents: Sequence[str],
    *,
    allowed: NDArray[np.bool_],
    dev: int,
    test: int,
    seed: int,
) -> NDArray[np.uint8]:
    """Return the part that each pair belongs to: TRAIN, DEV or TEST.

    Documents are held out in random order until both parts are full. A pair is held out only if its source and target
    (letters and digits, case ignored) occur in no other pair, so that no held-out sentence is trained on; the other
    pairs stay in the training part. A document that is too large for the space left is skipped, so the sizes are exact
    as long as there are short documents.
    """
    eligible = allowed.copy()
    for side in (source, target):
        ids = _ids([fold(text) for text in side])
        eligible &= np.bincount(ids)[ids] == 1
    if dev + test >= len(source) or dev + test > eligible.sum():
        raise DataError(
            f"{dev + test:,} pairs are to be held out, but of {len(source):,} pairs only {eligible.sum():,} can be",
            expected="smaller sizes for dev and test",
        )
    document_of = _ids(documents)
    sizes = np.bincount(document_of, eligible).astype(np.intp)
    part_of_document = np.zeros(len(sizes), np.uint8)
    left = {TEST: test, DEV: dev}
    for document in np.random.default_rng(seed).permutation(len(sizes)):
        for part, room in left.items():
            if 0 < sizes[document] <= room:
                part_of_document[document] = part
                left[part] -= sizes[document]
                break
        if not any(left.values()):
            break
    return np.where(eligible, part_of_document[document_of], TRAIN).astype(np.uint8)


def _ids(texts: Sequence[str]) -> NDArray[np.intp]:
    """Number the distinct texts in order of first occurrence."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.intp)


@dataclass(frozen=True)
class Segment:
    """One aligned piece of text, raw. Segments of one `document` are held out together."""

    document: str
    source: str
    target: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Material:
    """Segments that a recipe has gathered, and the names of their sides, which become file suffixes.

    The names are those of languages, unless all sides are versions in one `language`.
    """

    source: str
    target: str
    segments: Sequence[Segment]
    packages: tuple[Package, ...]
    references: tuple[str, ...] = ()
    language: str | None = None

    def tokenise(self, lines: Sequence[str], side: str) -> list[str]:
        """Tokenise and lower-case lines of a side by Moses' rules for its language, with uniform punctuation."""
        language = self.language or re.split("[-_]", side)[0]
        return tokenise_lines(lines, language, Tokeniser(lowercase=True, normalise_punctuation=True))


@dataclass(frozen=True)
class Recipe(BuildableCorpus):
    """A parallel corpus made from packages; a new recipe is one file with a subclass that has a name and gathers."""

    #: True if equal sides may be a translation, as between two stages of a language; else they count as untranslated.
    keep_identical: ClassVar[bool] = False

    dev: int = option(1000, "pairs held out for tuning", minimum=0)
    test: int = option(1000, "pairs held out for testing", minimum=0)
    max_characters: int = option(600, "maximum length of a side, in characters", minimum=1)
    max_ratio: float = option(3.0, "maximum ratio of the sides' lengths, relative to the whole corpus", minimum=1)
    compress: bool = option(False, "write .gz files")
    tokenised: bool = option(False, "tokenise and lower-case the text by Moses' rules, as the benchmarks need it")
    labels: bool = option(False, "write the name of each line's document to train.documents and so on")

    @abstractmethod
    def gather(self, *, runtime: Runtime = Runtime()) -> Material:
        """Find the packages and read their aligned segments, in an order that never changes."""

    def build(self, out: PathLike, *, seed: int = 1, runtime: Runtime = Runtime()) -> Manifest:
        """Write `train`, `dev` and `test` files, raw by default, and `manifest.toml` into a folder.

        The file `dev.en` is the English side of the dev part; further references are called after their versions.
        """
        material = self.gather(runtime=runtime)
        if not material.segments:
            raise DataError(f"the packages of corpus '{self.name}' hold no pairs {material.source}-{material.target}")
        with runtime.stage("selecting pairs"):
            names = (material.source, material.target, *material.references)
            columns = zip(*((s.source, s.target, *s.references) for s in material.segments), strict=True)
            sides = {name: [normalise(text) for text in texts] for name, texts in zip(names, columns, strict=True)}
            source, target = sides[material.source], sides[material.target]
            selection = select_pairs(
                source,
                target,
                max_characters=self.max_characters,
                max_ratio=self.max_ratio,
                keep_identical=self.keep_identical,
            )
            rows = selection.rows
            part = hold_out(
                [source[row] for row in rows],
                [target[row] for row in rows],
                [material.segments[row].document for row in rows],
                allowed=np.array([all(sides[name][row] for name in material.references) for row in rows], bool),
                dev=self.dev,
                test=self.test,
                seed=seed,
            )
        parts = {name: rows[part == number] for name, number in (("train", TRAIN), ("dev", DEV), ("test", TEST))}
        manifest = Manifest(
            corpus=self.name,
            summary=self.summary,
            source=material.source,
            target=material.target,
            references=material.references,
            seed=seed,
            dragoman=version(),
            # The place of packages on this machine is no property of the corpus.
            options={name: value for name, value in self.to_dict().items() if not isinstance(value, Path)},
            counts={
                "gathered": len(source),
                **selection.dropped,
                "kept": len(rows),
                **{name: len(chosen) for name, chosen in parts.items()},
            },
            packages=material.packages,
        )
        with output_folder(out) as folder:
            for name, chosen in parts.items():
                for side in names[:2] if name == "train" else names:
                    lines = [sides[side][row] for row in chosen]
                    if self.tokenised:
                        lines = material.tokenise(lines, side)
                    self._write(folder / f"{name}.{side}", lines)
                if self.labels:
                    self._write(folder / f"{name}.documents", [material.segments[row].document for row in chosen])
            with open_output(folder / "manifest.toml") as stream:
                stream.write(manifest.to_toml().encode())
        return manifest

    def _write(self, path: Path, lines: Sequence[str]) -> None:
        """Write a file of the corpus, compressed if that was asked for."""
        with open_output(path.with_name(f"{path.name}.gz") if self.compress else path) as stream:
            stream.writelines(f"{line}\n".encode() for line in lines)
