"""What every recipe shares: from raw aligned segments to the files of a corpus."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output, output_folder
from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.core.version import version
from dragoman.corpora.manifest import Manifest, Package
from dragoman.corpora.select import DEV, TEST, TRAIN, hold_out, select_pairs
from dragoman.corpora.text import normalise


@dataclass(frozen=True)
class Segment:
    """One aligned piece of text, raw. Segments of one `document` are held out together."""

    document: str
    source: str
    target: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Material:
    """What a recipe gathers: segments, and names of their sides, which become the endings of the files."""

    source: str
    target: str
    segments: Sequence[Segment]
    packages: tuple[Package, ...]
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe(Options, ABC):
    """How to make one parallel corpus; a new recipe is one file with a subclass that has a name and gathers."""

    name: ClassVar[str]
    summary: ClassVar[str]
    #: Whether a pair with two equal sides is a translation (as between two stages of a language) or was left undone.
    keep_identical: ClassVar[bool] = False

    dev: int = option(1000, "pairs held out for tuning", minimum=0)
    test: int = option(1000, "pairs held out for testing", minimum=0)
    max_characters: int = option(600, "longest side of a pair that is kept", minimum=1)
    max_ratio: float = option(3.0, "most that the sides' lengths may be out of proportion", minimum=1)
    compress: bool = option(False, "write .gz files")

    @abstractmethod
    def gather(self, *, runtime: Runtime = Runtime()) -> Material:
        """Find the packages and read their aligned segments, in an order that never changes."""

    def build(self, out: PathLike, *, seed: int = 1, runtime: Runtime = Runtime()) -> Manifest:
        """Write `train`, `dev` and `test` files, not tokenised, and `manifest.toml` into a folder.

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
            # Where packages lie on this machine says nothing about the corpus.
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
                    with open_output(folder / f"{name}.{side}{'.gz' if self.compress else ''}") as stream:
                        stream.writelines(f"{sides[side][row]}\n".encode() for row in chosen)
            with open_output(folder / "manifest.toml") as stream:
                stream.write(manifest.to_toml().encode())
        return manifest
