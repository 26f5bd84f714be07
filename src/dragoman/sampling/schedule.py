"""Schedules of chains, for samples and for annealing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.options import Options, option


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
