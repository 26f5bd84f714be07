"""Where everything is: papers, their plans and results, and the folder in which steps work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from string import Formatter
from typing import Any

from dragoman.core.errors import DataError
from dragoman.core.options import read_toml

HERE = Path(__file__).resolve().parent

#: The papers in the order in which pages show them.
PAPERS = ("samplerank", "promix", "gibbs", "hiero-mira", "tuning")

_NO_PLANS = {"claims", "paper"}


@dataclass(frozen=True)
class Paper:
    """The folder of a paper."""

    name: str
    folder: Path
    #: The folder of results and pages, if these are not in the paper's.
    out: Path | None = None

    @classmethod
    def all(cls, root: Path = HERE) -> list[Paper]:
        """Return all papers below a folder."""
        return [cls(name, root / name) for name in PAPERS if (root / name).is_dir()]

    @property
    def about(self) -> dict[str, Any]:
        """Title, reference and what differs here, from `paper.toml`."""
        return read_toml(self.folder / "paper.toml")

    def plans(self) -> dict[str, dict[str, Any]]:
        """Return the plans of tables and figures, by name."""
        files = (path for path in self.folder.glob("*.toml") if path.stem not in _NO_PLANS)
        return {path.stem: read_toml(path) for path in sorted(files, key=_in_order)}

    def elsewhere(self, out: Path) -> Paper:
        """Return the same paper with results and pages in a folder below another one."""
        return Paper(self.name, self.folder, out / self.name)

    @property
    def made(self) -> Path:
        """The folder of the page and its pictures."""
        return self.out or self.folder

    def results(self, name: str) -> Path:
        """Return the folder of the raw results of an experiment or a measure."""
        return self.made / "results" / name

    def recipes(self, kind: str) -> Iterator[dict[str, Any]]:
        """Yield the experiments or measures of the paper, one for each combination of what they say `each` of."""
        for path in sorted((self.folder / kind).glob("*.toml")):
            yield from expanded(read_toml(path), path)


def _in_order(path: Path) -> tuple[str, list[tuple[int, str]]]:
    """Sort names by their numbers: figure-7.2 before figure-7.10."""
    kind, _, number = path.stem.partition("-")
    parts = number.replace("-", ".").split(".")
    return kind, [(int(part), "") if part.isdecimal() else (0, part) for part in parts]


def expanded(recipe: Mapping[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """Yield a recipe for each combination of the values in its table `each`, with these put in for {NAME}.

    `{pair}` also gives `{source}` and `{target}`, its languages, and `{english}`, the pair with English last.
    """
    each = recipe.get("each", {})
    rest = {key: value for key, value in recipe.items() if key != "each"}
    if "name" not in rest:
        raise DataError("has no name", path=path)
    for values in product(*each.values()):
        names = dict(zip(each, map(str, values), strict=True))
        if "pair" in names:
            source, target = names["pair"].split("-")
            pair = names["pair"] if target == "en" else f"{target}-{source}"
            names |= {"source": source, "target": target, "english": pair}
        yield filled(rest, names)


def filled(value: Any, names: Mapping[str, str]) -> Any:
    """Put values in for {NAME} in all texts, and leave names that are not known.

    >>> filled(["{pair}: {other}", 3], {"pair": "fr-en"})
    ['fr-en: {other}', 3]
    """
    if isinstance(value, str):
        known = {name for _, name, _, _ in Formatter().parse(value) if name and name in names}
        for name in sorted(known):
            value = value.replace(f"{{{name}}}", names[name])
        return value
    if isinstance(value, Mapping):
        return {filled(key, names): filled(inner, names) for key, inner in value.items()}
    return [filled(inner, names) for inner in value] if isinstance(value, list) else value


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with changes, in tables within tables too.

    >>> merged({"runs": 5, "loop": {"iterations": 15, "patience": 3}}, {"runs": 1, "loop": {"iterations": 2}})
    {'runs': 1, 'loop': {'iterations': 2, 'patience': 3}}
    """
    found = dict(values)
    for key, value in changes.items():
        before = found.get(key)
        found[key] = merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return found
