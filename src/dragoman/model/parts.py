"""The parts that a model is made of: what each is called on disk, and what kind of search they are for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from dragoman.core.errors import DataError
from dragoman.core.store import Arrays, load_arrays
from dragoman.model.language_model import LanguageModel
from dragoman.model.phrase_table import PhraseTable

#: Which search a model is for: the name of its rooms below `search` and `sampling`.
Kind = Literal["phrase"]

#: What each kind is called in `model.toml`.
KINDS: dict[str, Kind] = {"phrase-based": "phrase"}


class Part(Protocol):
    """A table, grammar or language model: arrays that are memory-mapped, and a few words about them."""

    def arrays(self) -> Arrays:
        """Return the arrays that make it up, by name."""

    def about(self) -> dict[str, Any]:
        """Return what `model.toml` says of it."""

    @classmethod
    def restored(cls, about: Mapping[str, Any], arrays: Arrays) -> Self:
        """Build it from what the other two gave; arrays that do not fit together are refused."""


#: The parts that there can be any number of: their heading in `model.toml` and their folder, which is also the name of
#: the model's attribute with all of them by name.
PARTS: dict[str, tuple[str, type[Part]]] = {
    "table": ("tables", PhraseTable),
    "language_model": ("language_models", LanguageModel),
}


def load_parts(folder: Path, rows: list[dict[str, Any]], part: type[Part]) -> dict[str, Any]:
    """Open all parts of one sort, given what `model.toml` says of them."""
    found = {}
    for row in rows:
        place = folder / row["name"]
        try:
            found[row["name"]] = part.restored(row, load_arrays(place))
        except DataError as error:
            if error.path is not None:
                raise
            raise DataError(str(error), path=place) from None
    return found
