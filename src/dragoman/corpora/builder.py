"""Base class of the corpora that can be built by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from dragoman.core.files import PathLike
from dragoman.core.options import Options
from dragoman.core.runtime import Runtime


class AnyManifest(Protocol):
    """Origin and sizes of a corpus, written beside its files as `manifest.toml`."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Sizes by name."""

    def to_toml(self) -> str:
        """Return the manifest as TOML, the same text for the same manifest."""


@dataclass(frozen=True)
class BuildableCorpus(Options, ABC):
    """A corpus that can be built: a `Recipe` makes it from packages, an `Archive` has its published files."""

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def build(self, out: PathLike, *, seed: int = 1, runtime: Runtime = Runtime()) -> AnyManifest:
        """Write the files of the corpus and `manifest.toml` into a folder, whole or not at all."""
