"""What a corpus was made of: the file `manifest.toml` beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


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
        lines = [
            f"{field.name} = {_value(getattr(self, field.name))}"
            for field in fields(self)
            if field.name not in ("options", "counts", "packages")
        ]
        for name, table in (("options", self.options), ("counts", self.counts)):
            lines += ["", f"[{name}]", *(f"{key} = {_value(value)}" for key, value in table.items())]
        for package in self.packages:
            lines += ["", "[[packages]]", *(f"{f.name} = {_value(getattr(package, f.name))}" for f in fields(package))]
        return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    # JSON's strings, numbers and booleans are also TOML's, except that TOML forbids a bare delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
