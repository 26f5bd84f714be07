"""Scores or statistics that another program computed, in a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import read_lines
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import MeanScorer, Metric, signature


@dataclass(frozen=True)
class Precomputed(Metric):
    """Numbers from a file, one line for each hypothesis: for instance a neural metric's scores, averaged.

    The score is the sum of one column, divided by the number of hypotheses or by the sum of another column (an error
    rate, say, from edits and lengths). Where several systems are scored, `{}` in the path is the name of the file that
    holds the hypotheses.
    """

    name: ClassVar[str] = "precomputed"

    path: Path | None = option(None, "the file: numbers separated by white space; {} is the file with the hypotheses")
    column: int = option(1, "the column of the scores, from 1", minimum=1)
    divisor: int | None = option(None, "the column to divide by; by default the number of hypotheses", minimum=1)
    scale: float = option(1.0, "a factor for the score, such as 100")
    higher_is_better: bool = option(True, "a higher score is better")

    @property
    def digits(self) -> int:
        """Scores may have any scale."""
        return 4

    def scorer(self, references: Sequence[Corpus]) -> PrecomputedScorer:
        """Read the file; references are not needed."""
        return PrecomputedScorer(self)

    def signature(self) -> str:
        """Return the settings that reproduce the score."""
        name = None if self.path is None else Path(self.path).name
        return signature(self.name, file=name, column=self.column, divisor=self.divisor, scale=self.scale)

    def for_system(self, system: str) -> Self:
        """Put the system's name into the path."""
        if self.path is None:
            return self
        return replace(self, path=Path(str(self.path).replace("{}", system)))


class PrecomputedScorer(MeanScorer):
    """Precomputed numbers of all hypotheses."""

    def __init__(self, metric: Precomputed):
        if metric.path is None:
            raise UsageError("precomputed needs the path of a file: precomputed:path=FILE")
        self.metric, self.scale = metric, metric.scale
        columns = [metric.column] + ([metric.divisor] if metric.divisor else [])
        self.values = _read_columns(metric.path, columns)

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Keep the numbers of some hypotheses, given by their positions in the file."""
        if len(rows) and int(rows.max()) >= len(self.values):
            raise DataError(
                f"has {len(self.values)} lines, but there is a hypothesis {int(rows.max()) + 1}",
                path=self.metric.path,
                expected="one line for each hypothesis",
            )
        self.values = self.values[rows]

    def statistics(
        self, hypotheses: Corpus, sentences: NDArray[np.int64] | None = None, *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return two numbers for each hypothesis: the summand, and the divisor."""
        if len(hypotheses) != len(self.values):
            raise DataError(
                f"has {len(self.values)} lines, but there are {len(hypotheses)} hypotheses",
                path=self.metric.path,
                expected="one line for each hypothesis",
            )
        return self.values.copy()


def _read_columns(path: Path, columns: list[int]) -> NDArray[np.float64]:
    rows: list[list[float]] = []
    for line, text in enumerate(read_lines(path), start=1):
        cells = text.split()
        if len(cells) < max(columns):
            raise DataError(f"found {len(cells)} numbers", path=path, line=line, expected=f"at least {max(columns)}")
        chosen = [cells[column - 1] for column in columns]
        try:
            rows.append([float(cell) for cell in chosen])
        except ValueError:
            raise DataError(f"found '{' '.join(chosen)}'", path=path, line=line, expected="numbers") from None
        if not all(map(math.isfinite, rows[-1])):
            raise DataError(f"found '{' '.join(chosen)}'", path=path, line=line, expected="finite numbers")
    values = np.array(rows, np.float64).reshape(len(rows), len(columns))
    return np.ascontiguousarray(np.column_stack([values, np.ones(len(rows))])[:, :2])
