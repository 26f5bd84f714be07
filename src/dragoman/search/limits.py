"""Limits of search and of the model space, and weights that are finite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.options import Options, option
from dragoman.core.weights import Weights

#: The numbers by which kernels know the algorithms.
ALGORITHMS = {"stack": 0, "cube": 1, "exhaustive": 2, "incremental": 3}


@dataclass(frozen=True)
class SearchLimits(Options):
    """How hard a search tries. These change what is found, never what a derivation scores."""

    algorithm: Literal["cube", "stack", "exhaustive", "incremental"] = option(
        "cube", "cube pruning; stack decoding (phrases); incremental search (charts); everything (short sentences only)"
    )
    pop_limit: int | None = option(
        None,
        "candidates of a stack (by default 400) or of a chart's span (200); those that recombine count less",
        minimum=1,
    )
    stack_size: int = option(200, "stack decoding: hypotheses a stack; 0 is no limit", minimum=0)
    beam_threshold: float | None = option(
        None, "drop hypotheses that score so much less than the best of their stack", minimum=0
    )
    max_size: int = option(
        20_000_000,
        "give up on a sentence beyond so many hypotheses and arcs (about 40 bytes each)",
        minimum=1,
        maximum=2**31 - 1,
    )
    max_words: int = option(
        4000, "cut longer sentences into pieces, after punctuation; refused for n-best lists and the like", minimum=1
    )

    def for_kernels(self, pop_limit: int, *, forced: bool, keep_all: bool) -> kernels.SearchLimits:
        """Return the limits as kernels take them; `pop_limit` is used if there is none, all is looked at if forced."""
        return kernels.SearchLimits(
            algorithm=ALGORITHMS["exhaustive" if forced else self.algorithm],
            stack_size=self.stack_size,
            threshold=np.inf if self.beam_threshold is None else self.beam_threshold,
            pop_limit=self.pop_limit or pop_limit,
            max_size=self.max_size,
            keep_all=keep_all,
        )


@dataclass(frozen=True)
class SpaceLimits(Options):
    """Which derivations there are. A model brings its own limits; these replace them."""

    reordering_limit: int | None = option(
        None, "longest jump between phrases; -1 is no limit", minimum=-1, maximum=2**31 - 1
    )
    table_limit: int | None = option(None, "options a source phrase; 0 is no limit", minimum=0, maximum=2**31 - 1)
    table_limit_by: Literal["probability", "score"] = option(
        "probability", "keep the options best by p(e|f), or by weighted score with LM estimate as Moses does"
    )
    unknown_words: Literal["copy", "drop"] = option("copy", "what becomes of source words without a translation")

    @property
    def depends_on_weights(self) -> bool:
        """Whether other weights may mean other derivations."""
        return self.table_limit_by == "score"


@dataclass(frozen=True)
class HillClimbing(Options):
    """Greedy search in place of a beam, or after it: where a climb starts and which changes it tries."""

    start: Literal["gloss", "beam"] = option(
        "gloss", "start from the best monotone translation without a look at context, or from what the beam found"
    )
    retranslate: bool = option(True, "try other translations of a phrase")
    merge_split: bool = option(True, "try one phrase for two neighbours, two for one, and other translations of both")
    reorder: bool = option(True, "try to exchange two phrases")
    move: bool = option(True, "try to move a phrase")
    max_steps: int | None = option(None, "stop after so many changes; by default only when none helps", minimum=0)


#: Scores beyond this are overflowing, or were infinite to begin with.
LARGEST_SCORE = 1e100

_EXPECTED = "features and weights whose sum is finite"


def check_weights(weights: Weights, names: Iterable[str]) -> None:
    """Refuse weights that are no numbers, and too large ones of features that are scored between steps, not in them."""
    weights.check_finite()
    for name in names:
        weight = weights.get(name, 0.0)
        if not abs(weight) < LARGEST_SCORE:
            raise DataError(f"{name} has the weight {weight:g}", expected=_EXPECTED)


def score_error(what: str, features: Mapping[str, float], weights: Weights) -> DataError:
    """What to say of a thing with these features, by that which contributes most."""
    products = [(name, value, weights.get(name, 0.0)) for name, value in features.items()]
    with np.errstate(over="ignore", invalid="ignore"):
        name, value, weight = max(products, key=lambda found: _size(found[1] * found[2]))
        score = sum(value * weight for _, value, weight in products)
    return DataError(f"{what} scores {score:g}: {name} is {value:g} and weighs {weight:g}", expected=_EXPECTED)


def _size(score: float) -> float:
    return np.inf if np.isnan(score) else abs(score)
