"""Schedules of chains, for samples and for annealing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.options import Options, option


@dataclass(frozen=True)
class Schedule(Options):
    """Moves of a chain, and their order."""

    scan: Literal["systematic", "random"] = option(
        "systematic", "visit all points in turn, or the same number of points drawn at random"
    )
    merge_split: float = option(
        1.0, "rate of merging and splitting phrases; 0: never; other values matter to random scans", minimum=0
    )
    reorder: float = option(1.0, "rate of swapping two phrases; likewise", minimum=0)
    retranslate: float = option(1.0, "rate of retranslating a phrase; likewise", minimum=0)
    subtree: float = option(
        1.0, "hierarchical models: rate of resampling the subtree below a rule; likewise", minimum=0
    )
    rule: float = option(
        1.0, "hierarchical models: rate of drawing another rule with the same source side; likewise", minimum=0
    )
    glue: float = option(1.0, "hierarchical models: rate of cutting a stretch into other parts; likewise", minimum=0)
    jump_every: int = option(
        10,
        "after every n-th scan, propose a derivation from the decoder's lattice, or from the forest without language "
        "models; 0: never",
        minimum=0,
    )
    forward_share: float = option(
        0.1, "proportion of jumps that may lead anywhere, not just into the lattice", minimum=0, maximum=1
    )
    max_seconds: float | None = option(None, "stop a chain after this many seconds and keep its samples", minimum=0)

    def refuse(self, names: Sequence[str], model: str) -> None:
        """Refuse non-default values of options that have no meaning for a kind of model."""
        defaults = {field.name: field.default for field in fields(self)}
        for name in names:
            value = getattr(self, name, defaults.get(name))
            if value != defaults.get(name):
                raise UsageError(f"{name.replace('_', '-')} is {value}, which chains of a {model} model do not know")


@dataclass(frozen=True)
class Sampling(Schedule):
    """Length, temperature and start of chains that draw samples."""

    samples: int = option(1000, "samples per chain", minimum=1)
    chains: int = option(2, "independent chains per sentence", minimum=1)
    burn_in: int = option(100, "scans before the first sample", minimum=0)
    start_temperature: float | None = option(
        None,
        "temperature of the first scan; it falls to `temperature` during burn-in; default: three times `temperature`",
        minimum=1e-6,
    )
    temperature: float = option(1.0, "scores of derivations are divided by this", minimum=1e-6)
    thin: int = option(1, "keep every n-th sample", minimum=1)
    adaptive_jumps: bool = option(
        True,
        "phrase-based models: where most jumps into the lattice are accepted in trial scans, burn in without heating, "
        "and jump after each scan; only if the start temperature is the default",
    )
    positions: Literal["uniform", "changes"] = option(
        "uniform",
        "phrase-based models, random scans: draw positions uniformly, or after burn-in half of them by how often they "
        "changed in it",
    )
    proposal_order: int | None = option(
        None,
        "phrase-based models: propose steps with the language models cut to this order, with a Metropolis-Hastings "
        "correction",
        minimum=1,
    )
    accept: Literal["step", "scan"] = option(
        "step",
        "phrase-based models: of proposals with other models or weights, accept or reject each step, or whole scans",
    )
    collect: Literal["scan", "pass"] = option(
        "scan", "take a sample after each scan, or after each operator's pass within it"
    )
    initial: Literal["gloss", "monotone", "random", "random-decoding", "beam"] = option(
        "beam",
        "start from the best option of each word, the best monotone phrases (of rules, both are the best derivation"
        " without context), a derivation drawn at random, the decoder's best under random scores (phrase-based models),"
        " or the decoder's best",
    )

    @property
    def burn_in_temperatures(self) -> NDArray[np.float64]:
        """The temperature of each scan of the burn-in.

        By default it falls from 3 to 1 in units of the final temperature: the thesis (5.5) heats scores that are
        already scaled.
        """
        start = 3.0 * self.temperature if self.start_temperature is None else self.start_temperature
        return cooling(start, self.temperature, self.burn_in)

    def at_scale(self, scale: float) -> Self:
        """Return the same chains at a scale of the scores: the inverse of a temperature, beside the one given."""
        return replace(self, temperature=self.temperature / scale)


@dataclass(frozen=True)
class Annealing(Schedule):
    """Cooling of chains that search for the best derivation."""

    scans: int = option(200, "scans per chain", minimum=1)
    start_temperature: float = option(3.0, "temperature of the first scan", minimum=1e-6)
    end_temperature: float = option(0.01, "temperature of the last scan; it falls by a constant factor", minimum=1e-6)
    chains: int = option(1, "chains per sentence; the best result counts", minimum=1)

    @property
    def temperatures(self) -> NDArray[np.float64]:
        """The temperature of each scan."""
        return np.geomspace(self.start_temperature, self.end_temperature, self.scans)


def checked_seed(seed: int) -> int:
    """Return the seed, after checking that the kernels can take it."""
    if not 0 <= seed < 2**64:
        raise UsageError(f"the seed is {seed}; expected a number from 0 to 2^64 - 1")
    return seed


def cooling(start: float, end: float, scans: int) -> NDArray[np.float64]:
    """Return temperatures that fall linearly from `start` towards `end`, which would come next.

    >>> cooling(3.0, 1.0, 4).tolist()
    [3.0, 2.5, 2.0, 1.5]
    """
    return start + (end - start) * np.arange(scans) / max(scans, 1)
