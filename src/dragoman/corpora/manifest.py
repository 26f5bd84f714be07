"""What a corpus was made of: the file `manifest.toml` beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from dragoman.core.toml import format_toml


@dataclass(frozen=True)
class Package:
    """A package of a registry that text was taken from."""

    name: str
    version: str
    licence: str


@dataclass(frozen=True)
class Manifest:
    """Where a corpus comes from and how many pairs each step left."""

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
