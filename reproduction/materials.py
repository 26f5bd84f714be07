"""Texts and models that experiments name: `data:FILE`, `text:NAME.SIDE` and `model:NAME`, made where they are missing.

[[text]]                                    # in data.toml
name = "val.{pair}"
each = { pair = ["fr-en", "de-en"] }
files = ["data:multi30k/val.{source}.gz", "data:multi30k/val.{target}.gz"]
lines = [1, 500]                            # by default all
max_words = 20                              # of the first file
quick = 100                                 # the first lines of these, for the quick reproduction

[[model]]
name = "phrases.{pair}"
each = { pair = ["fr-en", "de-en"] }
commands = [["train", "--source", "data:…", "--target", "data:…", "--out", "{out}"]]

A text or model has a folder named by a digest of all that it depends on, so that it is made once for all plans.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError
from dragoman.core.files import open_output, output_folder, read_lines
from dragoman.core.options import read_toml
from dragoman.core.store import digest
from reproduction.layout import expanded

_KINDS = ("data", "text", "model")


def key_of(*values: object) -> str:
    """Return a digest of values that JSON can write."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Materials:
    """Texts and models of a data folder, made in the working folder when they are first asked for."""

    recipes: Path
    data: Path
    work: Path
    quick: bool = False

    @cached_property
    def _texts(self) -> dict[str, dict[str, Any]]:
        return {text["name"]: text for text in self._expanded("text")}

    @cached_property
    def _models(self) -> dict[str, dict[str, Any]]:
        return {model["name"]: model for model in self._expanded("model")}

    def _expanded(self, kind: str) -> Iterator[dict[str, Any]]:
        for recipe in read_toml(self.recipes).get(kind, []):
            yield from expanded(recipe, self.recipes)

    def names(self, value: Any) -> list[str]:
        """Return all texts and models that are named somewhere in a value, in order, those they depend on first."""
        found: dict[str, None] = {}
        for name in _named(value):
            kind, _, rest = name.partition(":")
            if kind == "model":
                found |= dict.fromkeys(self.names(self._recipe(self._models, name)["commands"]))
            elif kind == "text":
                name = f"text:{rest.rpartition('.')[0]}"
                found |= dict.fromkeys(self.names(self._recipe(self._texts, name)["files"]))
            if kind != "data":
                found[name] = None
        return list(found)

    def is_there(self, name: str) -> bool:
        """Return whether a text or model has been made."""
        return self._folder(name).exists()

    def make(self, name: str) -> float:
        """Make a text or model, unless it is there, and return the seconds that it took."""
        folder, begun = self._folder(name), time.monotonic()
        if not folder.exists():  # commands lock what they write, and so does output_folder
            (self._make_text if name.startswith("text:") else self._make_model)(name, folder)
        return time.monotonic() - begun

    def resolved(self, value: Any) -> Any:
        """Return a value with whole paths in place of names."""
        if isinstance(value, str) and value.partition(":")[0] in _KINDS and ":" in value:
            return str(self._path(value))
        if isinstance(value, Mapping):
            return {key: self.resolved(inner) for key, inner in value.items()}
        return [self.resolved(inner) for inner in value] if isinstance(value, list) else value

    def content(self, value: Any) -> str:
        """Return a digest of all files that are named in a value, by their content."""
        found = {}
        for name in _named(value):
            kind, _, rest = name.partition(":")
            found[name] = digest([self._data(rest)]) if kind == "data" else self._key(name)
        return key_of(found)

    def lines(self, name: str) -> int:
        """Return the number of lines of a text."""
        return sum(1 for _ in read_lines(self._path(name)))

    def _path(self, name: str) -> Path:
        kind, _, rest = name.partition(":")
        if kind == "data":
            return self._data(rest)
        if kind == "model":
            return self._folder(name)
        text, _, side = rest.rpartition(".")
        return self._folder(f"text:{text}") / side

    def _data(self, name: str) -> Path:
        path = (self.data / name).resolve()
        if not path.exists():
            raise DataError("does not exist", path=path, expected="a folder of corpora; see reproduction/README.md")
        return path

    def _folder(self, name: str) -> Path:
        kind, _, rest = name.partition(":")
        return self.work / f"{kind}s" / f"{rest}-{self._key(name)}"

    def _key(self, name: str) -> str:
        kind, _, rest = name.partition(":")
        if kind == "text":
            sides = name if rest in self._texts else f"text:{rest.rpartition('.')[0]}"
            recipe = self._recipe(self._texts, sides)
            return key_of(recipe, self.content(recipe["files"]), self.quick and "quick" in recipe)
        recipe = self._recipe(self._models, name)
        return key_of(recipe["commands"], self.content(recipe["commands"]))

    def _recipe(self, recipes: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
        kind, _, rest = name.partition(":")
        if rest not in recipes:
            raise DataError(f"has no {kind} called '{rest}'", path=self.recipes, expected=", ".join(recipes))
        return recipes[rest]

    def _make_text(self, name: str, out: Path) -> None:
        recipe = self._recipe(self._texts, name)
        files = [file if isinstance(file, list) else [file] for file in recipe["files"]]
        sides = [[*chain.from_iterable(read_lines(self._path(part)) for part in side)] for side in files]
        first, last = recipe.get("lines", (1, None))
        rows = [*zip(*sides, strict=True)][first - 1 : last]
        if "max_words" in recipe:
            rows = [row for row in rows if len(row[0].split()) <= recipe["max_words"]]
        if self.quick:
            rows = rows[: recipe.get("quick", len(rows))]
        with output_folder(out) as folder:
            for side, lines in enumerate(zip(*rows, strict=True)):
                with open_output(folder / str(side)) as stream:
                    stream.writelines(f"{line}\n".encode() for line in lines)

    def _make_model(self, name: str, out: Path) -> None:
        recipe = self._recipe(self._models, name)
        out.parent.mkdir(parents=True, exist_ok=True)
        for command in recipe["commands"]:
            run_dragoman(self.resolved(command), {"out": str(out), "aside": f"{out}-aside"})


def _named(value: Any) -> Iterator[str]:
    """Yield all names of files, texts and models in a value."""
    if isinstance(value, str):
        if value.partition(":")[0] in _KINDS and ":" in value:
            yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _named(inner)


def run_dragoman(command: list[str], names: Mapping[str, str]) -> None:
    """Run a command of Dragoman, or one that begins with `python`; `{NAME}` stands for the values of `names`."""
    arguments = [argument.format(**names) for argument in command]
    start = [sys.executable] if arguments[0] == "python" else [sys.executable, "-m", "dragoman.cli.main", arguments[0]]
    if arguments[0] == "train":  # models of papers have no word classes, and do not split compounds
        arguments += ["--preset", "moses", "--compounds", "whole"]
    done = subprocess.run([*start, *arguments[1:]], capture_output=True, text=True)
    if done.returncode:
        raise DataError(f"`{' '.join(arguments)}` failed: {done.stderr.strip().rpartition(chr(10))[2]}")
