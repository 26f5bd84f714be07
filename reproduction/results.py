"""Raw results as numbers: cells of tables and points of pictures are selected by the values of columns."""

from __future__ import annotations

import csv
import hashlib
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

from reproduction.layout import Paper

Row = Mapping[str, str]

#: Keys of a cell that do not select rows.
_OWN = frozenset({"label", "from", "file", "column", "show", "decimals", "base", "factor"})

MISSING = "\u2013"


@dataclass(frozen=True)
class Results:
    """The raw results of a paper, read once."""

    paper: Paper
    _tables: dict[tuple[str, str], list[Row]] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Return whether there are results of an experiment or measure."""
        return (self.paper.results(name) / "origin.toml").exists()

    def origin(self, name: str) -> dict[str, Any]:
        """Return date, version and machine."""
        return tomllib.loads((self.paper.results(name) / "origin.toml").read_text(encoding="utf-8"))

    def digest(self, names: Iterable[str]) -> str:
        """Return a digest of all numbers of some results; empty if there are none."""
        found = hashlib.sha256()
        files = [path for name in sorted(set(names)) for path in sorted(self.paper.results(name).glob("*.csv"))]
        for path in files:
            found.update(f"{path.parent.name}/{path.name}\n".encode() + path.read_bytes())
        return found.hexdigest()[:8] if files else ""

    def rows(self, name: str, file: str) -> list[Row]:
        """Return the rows of a file; none if it is not there."""
        if (name, file) not in self._tables:
            path, found = self.paper.results(name) / f"{file}.csv", list[Row]()
            if path.exists():
                with path.open(encoding="utf-8", newline="") as stream:
                    found = list(csv.DictReader(stream))
            self._tables[name, file] = found
        return self._tables[name, file]

    def select(self, cell: Mapping[str, Any]) -> list[Row]:
        """Return the rows whose columns have a cell's values; a list of values means any of them."""
        wanted = {key: _texts(value) for key, value in cell.items() if key not in _OWN}
        rows = self.rows(cell["from"], cell.get("file", "runs"))
        return [row for row in rows if all(row.get(key, "") in values for key, values in wanted.items())]

    def numbers(self, cell: Mapping[str, Any]) -> list[float]:
        """Return the numbers of a cell, one for each run."""
        column, factor = cell.get("column", "score"), float(cell.get("factor", 1))
        return [factor * float(row[column]) for row in self.select(cell) if row.get(column)]

    def show(self, cell: Mapping[str, Any]) -> str:
        """Return a cell as text: a mean with its deviation, or what `show` says."""
        if "text" in cell:
            return str(cell["text"])
        show, decimals = cell.get("show", "mean (sd)"), int(cell.get("decimals", 2))
        if show == "text":
            return ", ".join(dict.fromkeys(row[cell["column"]] for row in self.select(cell))) or MISSING
        values = self.numbers(cell)
        if not values:
            return MISSING
        if show == "change":
            base = self.numbers({**cell, **cell["base"]})
            return f"{fmean(values) - fmean(base):+.{decimals}f}" if base else MISSING
        return formatted(values, show, decimals)


def standard_error(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the standard error of the difference between two means over runs.

    >>> round(standard_error([1.0, 2.0, 3.0], [2.0, 2.0, 5.0]), 3)
    1.155
    """
    return math.sqrt(sum(stdev(values) ** 2 / len(values) for values in (first, second) if len(values) > 1))


def sign_flip(differences: Sequence[float]) -> float:
    """Return the p-value of paired differences: the share of all changes of their signs with as large a mean.

    >>> sign_flip([1.0, 2.0, 1.5, 0.5]), sign_flip([1.0, -1.0])
    (0.125, 1.0)
    """
    observed = abs(sum(differences)) - 1e-12
    sums = [0.0]
    for difference in differences:
        sums = [total + sign * difference for total in sums for sign in (-1, 1)]
    return sum(abs(total) >= observed for total in sums) / len(sums)


def formatted(values: Sequence[float], show: str, decimals: int) -> str:
    """Return numbers as a cell shows them.

    >>> formatted([1.0, 2.0, 3.0], "mean (sd)", 2), formatted([1.5], "mean (sd)", 1), formatted([1, 2], "max", 0)
    ('2.00 (1.00)', '1.5', '2')
    """
    if show == "mean (sd)" and len(values) > 1:
        return f"{fmean(values):.{decimals}f} ({stdev(values):.{decimals}f})"
    if show == "sd":
        return f"{stdev(values):.{decimals}f}" if len(values) > 1 else MISSING
    reduced = {"min": min(values), "max": max(values), "sum": sum(values), "count": len(values)}
    number = reduced.get(show, fmean(values))
    return f"{number:.{decimals}f}"


def _texts(value: Any) -> set[str]:
    return {str(inner) for inner in value} if isinstance(value, list) else {str(value)}
