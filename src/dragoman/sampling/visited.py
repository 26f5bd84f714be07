"""What chains of every kind of model tell of where they have been, and what they ask for before they begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.ragged import Ragged


@dataclass(frozen=True, eq=False, kw_only=True)
class VisitedColumns:
    """Distinct derivations of each sentence, with counts, and the best that each chain saw.

    The derivations of sentence `s` are rows `sentences[s]` to `sentences[s + 1]`. `trace` has the row of each sample.
    Arrays by sentence and chain have these as their first axes.
    """

    sentences: NDArray[np.int64]
    derivations: Ragged[np.int32]
    scores: NDArray[np.float64]
    counts: NDArray[np.int64]
    trace: NDArray[np.int32] | None
    best: Ragged[np.int32]
    best_scores: NDArray[np.float64]
    collected: NDArray[np.int64]
    seconds: NDArray[np.float64]


def columns_of(out: Mapping[str, Any], count: int, chains: int, traced: int | None) -> dict[str, Any]:
    """The columns that a kernel gave, of so many sentences and chains; `traced` is how many samples a trace has.

    `collected` is the ninth column of its statistics.
    """
    return {
        "sentences": out["rows"],
        "derivations": Ragged(out["derivations"], out["offsets"]),
        "scores": out["scores"],
        "counts": out["counts"].reshape(-1, chains),
        "trace": None if traced is None else out["trace"].reshape(count, chains, traced),
        "best": Ragged(out["best"], out["best_offsets"]),
        "best_scores": out["best_scores"].reshape(count, chains),
        "collected": out["statistics"].reshape(count, chains, -1)[:, :, 8],
        "seconds": out["seconds"].reshape(count, chains),
    }


def starts_or_none(starts: Ragged[np.int32] | None, count: int) -> Ragged[np.int32]:
    """A derivation to start from for each of so many sentences; those that are empty are drawn."""
    if starts is None:
        return Ragged(np.empty(0, np.int32), np.zeros(count + 1, np.int64))
    if len(starts) != count:
        raise ValueError(f"{len(starts)} derivations to start from for {count} sentences")
    return starts


def check_temperatures(temperature: float, burn_in: NDArray[np.float64]) -> None:
    """Refuse temperatures that no distribution has."""
    for value in (temperature, *burn_in.tolist()):
        if not (np.isfinite(value) and value > 0):
            raise UsageError(f"the temperature is {value}; expected a finite number above 0")
