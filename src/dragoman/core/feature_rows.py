"""Weights of a log-linear model by name, and feature vectors of many things as sparse rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike, open_output, read_lines
from dragoman.core.ragged import Ragged
from dragoman.core.store import check_numbers, check_offsets, check_range, typed_array


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


#: With more names than this, only those that occur get a column.
_MANY = 200


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Row `i` has value `values[j]` for feature `names[ids[j]]`, for j from `offsets[i]` to `offsets[i + 1]`.

    A feature that is missing from a row is 0 there; the values of a repeated feature are summed.

    >>> rows = FeatureRows.from_dense(["lm", "tm.fwd"], np.array([[-2.5, 0.0], [-1.0, -3.0]]))
    >>> rows.dot(Weights({"lm": 2.0, "tm.fwd": 1.0})).tolist(), rows.row(0)
    ([-5.0, -5.0], {'lm': -2.5})
    """

    names: tuple[str, ...]
    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float64]

    @classmethod
    def from_dense(cls, names: Sequence[str], matrix: NDArray[np.floating]) -> FeatureRows:
        """Build from a matrix with a column for each name; zeros are left out."""
        rows, columns = np.nonzero(matrix)
        offsets = np.zeros(len(matrix) + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=len(matrix)), out=offsets[1:])
        return cls(tuple(names), offsets, columns.astype(np.int32), matrix[rows, columns].astype(np.float64))

    @classmethod
    def of_columns(cls, columns: Mapping[str, NDArray[np.float64]], rows: int) -> FeatureRows:
        """Build from a column for each name; zeros are stored too."""
        width = len(columns)
        values = np.stack([*columns.values()], axis=1).reshape(-1) if columns else np.empty(0)
        return cls(tuple(columns), np.arange(rows + 1) * width, np.tile(np.arange(width, dtype=np.int32), rows), values)

    @classmethod
    def zeros(cls, rows: int) -> FeatureRows:
        """Build rows without features."""
        return cls((), np.zeros(rows + 1, np.int64), np.empty(0, np.int32), np.empty(0))

    @classmethod
    def concatenate(cls, parts: Sequence[FeatureRows]) -> FeatureRows:
        """Concatenate rows; the names are those of all parts, in order of first occurrence."""
        # Parts often share their names, and these may be many.
        distinct = {id(part.names): part.names for part in parts}
        numbers = {name: i for i, name in enumerate(dict.fromkeys(itertools.chain.from_iterable(distinct.values())))}
        columns = {key: np.array([numbers[name] for name in names], np.int32) for key, names in distinct.items()}
        ids = [columns[id(part.names)][part.ids] for part in parts]
        lengths = [np.diff(part.offsets) for part in parts]
        return cls(
            tuple(numbers),
            np.concatenate([[0], np.cumsum(np.concatenate([[], *lengths]))]).astype(np.int64),
            np.concatenate([np.empty(0, np.int32), *ids]),
            np.concatenate([np.empty(0), *(part.values for part in parts)]),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, i: int) -> dict[str, float]:
        """Return one row as a mapping, in the order of `names`."""
        part = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        totals: dict[int, float] = {}
        for feature, value in zip(self.ids[part].tolist(), self.values[part].tolist(), strict=True):
            totals[feature] = totals.get(feature, 0.0) + value
        return {self.names[feature]: totals[feature] for feature in sorted(totals)}

    def dot(self, weights: Weights) -> NDArray[np.float64]:
        """Return the weighted sum of each row."""
        return self._row_sums(self.values * weights.vector(self.names)[self.ids])

    def dense(self) -> NDArray[np.float64]:
        """Return the rows as a matrix with one column for each name."""
        matrix = np.zeros((len(self), len(self.names)))
        np.add.at(matrix, (np.repeat(np.arange(len(self)), np.diff(self.offsets)), self.ids), self.values)
        return matrix

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return a column for each name, for data frames; if there are very many names, only for those that occur."""
        used = self if len(self.names) <= _MANY else self.used()
        return dict(zip(used.names, used.dense().T, strict=True))

    def take(self, rows: NDArray[np.integer]) -> FeatureRows:
        """Return the given rows, in that order."""
        picked = Ragged(np.arange(len(self.ids)), self.offsets).take(rows)
        return FeatureRows(self.names, picked.offsets, self.ids[picked.values], self.values[picked.values])

    def part(self, at: slice) -> FeatureRows:
        """Return a range of rows; their values are not copied."""
        offsets = self.offsets[at.start : at.stop + 1]
        values = slice(int(offsets[0]), int(offsets[-1]))
        return FeatureRows(self.names, offsets - offsets[0], self.ids[values], self.values[values])

    def restricted(self, names: Sequence[str]) -> FeatureRows:
        """Return the same rows with only the given features, in that order.

        >>> FeatureRows.from_dense(["lm", "tm"], np.array([[1.0, 2.0]])).restricted(["tm", "new"]).dense().tolist()
        [[2.0, 0.0]]
        """
        place = {name: i for i, name in enumerate(names)}
        column = np.array([place.get(name, -1) for name in self.names], np.int32)
        ids = column[self.ids] if len(column) else self.ids
        kept = ids >= 0
        counts = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        return FeatureRows(tuple(names), counts[self.offsets], ids[kept], self.values[kept])

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the rows as arrays to save, without the names."""
        return {"feature_offsets": self.offsets, "feature_ids": self.ids, "feature_values": self.values}

    @classmethod
    def from_arrays(cls, names: Sequence[str], arrays: Mapping[str, NDArray[np.generic]], rows: int) -> FeatureRows:
        """Build from the result of `arrays` for that many rows; refuse arrays that a kernel cannot handle."""
        part = "rows of features"
        offsets = typed_array(arrays, "feature_offsets", np.int64, (rows + 1,), part)
        ids = typed_array(arrays, "feature_ids", np.int32, (None,), part)
        values = typed_array(arrays, "feature_values", np.float64, (len(ids),), part)
        check_offsets("feature_offsets", offsets, len(ids))
        check_range("feature_ids", ids, 0, len(names))
        check_numbers("feature_values", values)
        return cls(tuple(names), offsets, ids, values)

    def for_kernels(self) -> kernels.FeatureRows:
        """Return the rows in the form that kernels take."""
        return kernels.FeatureRows(offsets=self.offsets, ids=self.ids, values=self.values)

    def sum_over(self, groups: Ragged[np.int32]) -> FeatureRows:
        """Return the sum of each group of rows, with each feature once, in the order of names."""
        rows = groups.values
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < len(self):
            raise IndexError(f"a row outside 0 to {len(self) - 1}")
        offsets, ids, values = kernels.sum_feature_rows(groups.for_kernels(), self.for_kernels(), len(self.names))
        return FeatureRows(self.names, offsets, ids, values)

    def merged(self) -> FeatureRows:
        """Return the same rows with each feature at most once, in the order of names."""
        return self.sum_over(Ragged(np.arange(len(self), dtype=np.int32), np.arange(len(self) + 1, dtype=np.int64)))

    def summed(self) -> FeatureRows:
        """Return the same rows with each feature at most once, in the order of names, and without zeros."""
        rows = self.merged()
        kept = rows.values != 0
        counts = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        return FeatureRows(self.names, counts[rows.offsets], rows.ids[kept], rows.values[kept])

    def used(self) -> FeatureRows:
        """Return the same rows with only the names that occur."""
        occurs = np.zeros(len(self.names), bool)
        occurs[self.ids] = True
        if occurs.all():
            return self
        names = tuple(self.names[i] for i in np.flatnonzero(occurs).tolist())
        return FeatureRows(names, self.offsets, (np.cumsum(occurs, dtype=np.int32) - 1)[self.ids], self.values)

    @classmethod
    def join(cls, parts: Sequence[FeatureRows]) -> FeatureRows:
        """Join features of the same rows that have different names."""
        if len(parts) == 1:
            return parts[0]
        shifts = np.cumsum([0, *(len(part.names) for part in parts)])
        rows = np.concatenate([np.repeat(np.arange(len(part)), np.diff(part.offsets)) for part in parts])
        order = np.argsort(rows, kind="stable")
        ids = np.concatenate([part.ids + np.int32(shift) for part, shift in zip(parts, shifts[:-1], strict=True)])
        return cls(
            tuple(name for part in parts for name in part.names),
            np.sum([part.offsets for part in parts], axis=0),
            ids[order],
            np.concatenate([part.values for part in parts])[order],
        )

    def _row_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return np.bincount(rows, values, minlength=len(self)).astype(np.float64)
