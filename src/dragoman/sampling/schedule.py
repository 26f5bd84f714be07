"""Schedules of chains, and the columns that chains of every kind of model return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.options import Options, option
from dragoman.core.ragged import Ragged


@dataclass(frozen=True)
class Schedule(Options):
    """What a chain does, and when."""

    scan: Literal["systematic", "random"] = option(
        "systematic", "visit all points in turn, or as many points drawn at random"
    )
    merge_split: float = option(
        1.0, "merge and split phrases; 0 is never, other numbers matter to random scans", minimum=0
    )
    reorder: float = option(1.0, "exchange two phrases; likewise", minimum=0)
    retranslate: float = option(1.0, "translate a phrase anew; likewise", minimum=0)
    subtree: float = option(1.0, "hierarchical models: draw what is below a rule anew; likewise", minimum=0)
    rule: float = option(1.0, "hierarchical models: draw another rule with the same source side; likewise", minimum=0)
    glue: float = option(1.0, "hierarchical models: cut a stretch into other parts; likewise", minimum=0)
    jump_every: int = option(
        10,
        "after so many scans propose a derivation from the decoder's lattice, or from the forest without language "
        "models; 0 is never",
        minimum=0,
    )
    forward_share: float = option(
        0.1, "share of the jumps that may lead anywhere, not just into the lattice", minimum=0, maximum=1
    )
    max_seconds: float | None = option(None, "stop a chain after so many seconds, with what it has", minimum=0)

    @property
    def rates(self) -> tuple[float, float, float]:
        """How often each operator on phrases is used, in the kernel's order."""
        return self.merge_split, self.reorder, self.retranslate

    @property
    def chart_rates(self) -> tuple[float, float, float]:
        """How often each move in a chart is used, in the kernel's order."""
        return self.subtree, self.rule, self.glue

    def refuse(self, names: Sequence[str], model: str) -> None:
        """Refuse other values than the default of options that have no meaning for a model."""
        defaults = {field.name: field.default for field in fields(self)}
        for name in names:
            value = getattr(self, name, defaults.get(name))
            if value != defaults.get(name):
                raise UsageError(f"{name.replace('_', '-')} is {value}, which chains of a {model} model do not know")


@dataclass(frozen=True)
class Sampling(Schedule):
    """How many samples there are and how chains come to them."""

    samples: int = option(1000, "samples a chain", minimum=1)
    chains: int = option(2, "independent chains a sentence", minimum=1)
    burn_in: int = option(100, "scans before the first sample", minimum=0)
    start_temperature: float = option(
        3.0, "temperature of the first scan; it falls to the last during burn-in", minimum=1e-6
    )
    temperature: float = option(1.0, "the score of a derivation is divided by this", minimum=1e-6)
    thin: int = option(1, "keep every so-manieth sample", minimum=1)
    collect: Literal["scan", "pass"] = option("scan", "a sample for each scan, or for each operator's pass in it")
    initial: Literal["gloss", "random", "beam"] = option(
        "beam", "begin with the best monotone gloss, a random derivation, or what the decoder finds"
    )


@dataclass(frozen=True)
class Annealing(Schedule):
    """How chains cool down."""

    scans: int = option(200, "scans a chain", minimum=1)
    start_temperature: float = option(3.0, "temperature of the first scan", minimum=1e-6)
    end_temperature: float = option(
        0.01, "temperature of the last scan; it falls by the same factor each time", minimum=1e-6
    )
    chains: int = option(1, "chains a sentence, of which the best counts", minimum=1)

    @property
    def temperatures(self) -> NDArray[np.float64]:
        """The temperature of each scan."""
        return np.geomspace(self.start_temperature, self.end_temperature, self.scans)


def checked_seed(seed: int) -> int:
    """Return the seed if the kernels can take it."""
    if not 0 <= seed < 2**64:
        raise UsageError(f"the seed is {seed}; expected a number from 0 to 2^64 - 1")
    return seed


def cooling(start: float, end: float, scans: int) -> NDArray[np.float64]:
    """Temperatures that fall linearly from `start` towards `end`, which comes next.

    >>> cooling(3.0, 1.0, 4).tolist()
    [3.0, 2.5, 2.0, 1.5]
    """
    return start + (end - start) * np.arange(scans) / max(scans, 1)


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
