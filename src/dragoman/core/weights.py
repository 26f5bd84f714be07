"""Weights of a log-linear model, the only part that a tuner changes."""

from __future__ import annotations

import math
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike, open_output, read_lines


class Weights(Mapping[str, float]):
    """Log-linear weights by name, immutable; a missing feature has the weight 0.

    >>> weights = Weights({"lm": 0.5, "word_penalty": -1})
    >>> weights["lm"], weights.get("tm.fwd", 0.0), weights.vector(["tm.fwd", "lm"]).tolist()
    (0.5, 0.0, [0.0, 0.5])
    """

    def __init__(self, values: Mapping[str, float] | Iterable[tuple[str, float]] = ()):
        self._values = {name: float(value) for name, value in dict(values).items()}

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    # The methods of `Mapping` look up each name, which is slow for many names.
    def values(self) -> ValuesView[float]:
        """Return all weights, in order."""
        return self._values.values()

    def items(self) -> ItemsView[str, float]:
        """Return all names and weights, in order."""
        return self._values.items()

    def __repr__(self) -> str:
        return f"Weights({self._values!r})"

    def vector(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the weights of the given features, in that order."""
        return np.array([self._values.get(name, 0.0) for name in names])

    def updated(self, values: Mapping[str, float]) -> Weights:
        """Return these weights with some changed or added."""
        new = Weights(values)
        new._values = {**self._values, **new._values}
        return new

    @cached_property
    def finite(self) -> bool:
        """True if all weights are finite numbers."""
        return all(map(math.isfinite, self._values.values()))

    def check_finite(self) -> None:
        """Refuse weights that are not finite numbers."""
        if not self.finite:
            name, value = next((name, value) for name, value in self.items() if not math.isfinite(value))
            raise UsageError(f"the weight of {name} is {value}; expected a finite number")

    @classmethod
    def read(cls, path: PathLike) -> Weights:
        """Read a weights file with a name and a number per line; lines that begin with `#` are comments."""
        return cls.parse([*read_lines(path)], path)

    @classmethod
    def parse(cls, lines: Iterable[str], path: PathLike) -> Weights:
        """Read the lines of a weights file."""
        values: dict[str, float] = {}
        for number, line in enumerate(lines, 1):
            # As bytes, because names may contain words, and only ASCII white space separates words.
            fields = line.encode().split()
            if not fields or fields[0].startswith(b"#"):
                continue
            if len(fields) != 2:
                raise DataError(f"found '{line}'", path=path, line=number, expected="a feature name and a number")
            name, text = fields[0].decode(), fields[1].decode()
            try:
                value = float(text)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise DataError(f"the weight of {name} is '{text}'", path=path, line=number, expected="a number")
            if name in values:
                raise DataError(f"the weight of {name} is given twice", path=path, line=number)
            values[name] = value
        return cls(values)

    def format(self) -> str:
        """Format as the text of a weights file, one `name value` per line."""
        return "".join(f"{name} {value!r}\n" for name, value in self._values.items())

    def write(self, path: PathLike) -> None:
        """Write to a file."""
        with open_output(path) as stream:
            stream.write(self.format().encode())
