"""Chains over tiny spaces of either kind of model, in the kernel, and their p-values against enumeration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import Weights
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.sampling.chains import ChainResult, ChainSettings, run_chains
from dragoman.sampling.schedule import Schedule
from dragoman.sampling.space import AnySpace, space_for
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator
from oracles.sampler import p_value, probabilities

#: Prunes nearly everything, so that most derivations are outside.
NARROW = SearchLimits(pop_limit=1)
NO_BURN_IN = np.empty(0)

#: A derivation as chains have it.
Row = tuple[int, ...]


class EnumeratedCase(Protocol):
    """A tiny model, a sentence, and the scores of all its derivations."""

    translator: Any
    sentence: str

    @property
    def scores(self) -> dict[Row, float]: ...


def chain_space(
    translator: Translator,
    lines: Sequence[str],
    *,
    jumps: bool = False,
    proposal: Weights | None = None,
    proposal_order: int | None = None,
    **parts: Any,
) -> AnySpace:
    """The space of some sentences, with the lattices of a narrow search if there are jumps into them."""
    space = replace(space_for(translator.model.kind).of(translator, lines), **parts)
    if jumps and space.jumps_use_forests:
        space = space.search(NARROW, forests=True, runtime=Runtime())
    drawn_from = None if proposal is None else space.batch.reweighted(proposal)
    if proposal_order is not None:
        drawn_from = (drawn_from or space.batch).of_lower_order(proposal_order)
    return replace(space, proposal=drawn_from)


def run(
    space: AnySpace,
    schedule: Schedule,
    *,
    starts: Ragged[np.int32] | None = None,
    runtime: Runtime = Runtime(),
    **settings: Any,
) -> ChainResult:
    """Run chains; by default one of 1000 samples without burn-in."""
    given: dict[str, Any] = {"seed": 1, "samples": 1000, "burn_in": NO_BURN_IN} | settings
    return run_chains(space, ChainSettings(schedule=schedule, **given), starts=starts, runtime=runtime)


def run_case(case: EnumeratedCase, schedule: Schedule, **settings: Any) -> ChainResult:
    """Run chains for the sentence of a case."""
    return run(chain_space(case.translator, [case.sentence], jumps=bool(schedule.jump_every)), schedule, **settings)


def other_weights(case: EnumeratedCase, rng: np.random.Generator) -> Weights:
    """Weights near those of the case, with a language model less."""
    weights = {name: value + float(rng.normal(0, 0.2)) for name, value in case.translator.weights.items()}
    return Weights({**weights, "lm": 0.0})


def counts_of(visited: ChainResult, rows: list[Row]) -> NDArray[np.float64]:
    """How often each row was visited, by all sentences and chains together."""
    number = {row: i for i, row in enumerate(rows)}
    counts = np.zeros(len(rows))
    for derivation, count in zip(visited.derivations, visited.counts.sum(axis=1).tolist(), strict=True):
        counts[number[tuple(derivation.tolist())]] += count
    return counts


def ends_of_scans(
    case: EnumeratedCase,
    schedule: Schedule,
    starts: list[Row],
    temperature: float,
    *,
    seed: int,
    thin: int = 1,
    settings: Mapping[str, Any] | None = None,
    **parts: Any,
) -> NDArray[np.float64]:
    """Run a chain from each start; how many end in each derivation. `parts` are those of the space."""
    space = chain_space(case.translator, [case.sentence] * len(starts), jumps=bool(schedule.jump_every), **parts)
    visited = run(
        space,
        schedule,
        seed=seed,
        samples=1,
        thin=thin,
        temperature=temperature,
        starts=Ragged.of(starts, np.int32),
        **(settings or {}),
    )
    return counts_of(visited, list(case.scores))


def stationary_p_value(
    case: EnumeratedCase,
    schedule: Schedule,
    temperature: float,
    copies: int,
    seed: int,
    *,
    values: dict[Row, float] | None = None,
    drawn_at: float | None = None,
    **parts: Any,
) -> float | None:
    """Whether chains that begin with exact draws of π still have π after three scans: independent, whatever mixes.

    `values` are added to the scores; `drawn_at` is the temperature of the chains, if it is not that of π.
    """
    rng = np.random.default_rng(seed)
    rows = list(case.scores)
    scores = np.array([case.scores[row] + (values[row] if values else 0.0) for row in rows])
    expected = probabilities(scores, temperature)
    starts = [rows[i] for i in rng.choice(len(rows), copies, p=expected)]
    counts = ends_of_scans(case, schedule, starts, drawn_at or temperature, seed=seed, thin=3, **parts)
    return p_value(counts, expected * copies)
