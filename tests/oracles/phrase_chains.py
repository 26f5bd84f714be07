"""Chains over the tiny spaces of `oracles.phrase_case`, in the kernel, and their p-values against enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.core.ragged import Ragged
from dragoman.core.weights import Weights
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.phrase.chains import Visited, run_chains
from dragoman.sampling.schedule import Schedule
from dragoman.search.limits import SearchLimits
from oracles.phrase_case import Case
from oracles.sampler import p_value, probabilities

#: Prunes nearly everything, so that most derivations are outside.
NARROW = SearchLimits(pop_limit=1)
NO_BURN_IN = np.empty(0)


def random_schedule(rng: np.random.Generator) -> Schedule:
    """Any subset of the operators, any scan, with jumps or without."""
    rates = [float(rng.uniform(0.5, 2)) if rng.random() < 0.7 else 0.0 for _ in range(3)]
    return Schedule(
        scan="random" if rng.random() < 0.5 else "systematic",
        merge_split=rates[0],
        reorder=rates[1],
        retranslate=rates[2],
        jump_every=int(rng.integers(1, 3)) if not any(rates) or rng.random() < 0.5 else 0,
        forward_share=float(rng.choice([0.0, 0.2, 1.0])),
    )


def other_weights(case: Case, rng: np.random.Generator) -> Weights:
    """Weights near those of the case, with a language model less."""
    weights = {name: value + float(rng.normal(0, 0.2)) for name, value in case.translator.weights.items()}
    return Weights({**weights, "lm": 0.0})


def stationary_p_value(
    case: Case,
    schedule: Schedule,
    temperature: float,
    copies: int,
    seed: int,
    *,
    drawn_at: float | None = None,
    proposal: Weights | None = None,
    functions: GlobalFunctions | None = None,
    values: dict[tuple[int, ...], float] | None = None,
) -> float | None:
    """Whether chains that begin with exact draws of π still have π after three scans: independent, whatever mixes.

    `drawn_at` is the temperature of the chains, if it is not that of π; `values` are added to the scores.
    """
    rng = np.random.default_rng(seed)
    rows = list(case.scores)
    scores = np.array([case.scores[row] + (values[row] if values else 0.0) for row in rows])
    expected = probabilities(scores, temperature)
    starts = Ragged.of([rows[i] for i in rng.choice(len(rows), copies, p=expected)], np.int32)
    batch = case.translator.batch([case.sentence] * copies)
    visited = run_chains(
        batch,
        schedule,
        reordering_limit=case.limit,
        seed=seed,
        samples=1,
        thin=3,
        burn_in=NO_BURN_IN,
        temperature=temperature if drawn_at is None else drawn_at,
        starts=starts,
        lattices=batch.search(NARROW, case.limit, lattice=True) if schedule.jump_every else None,
        proposal=None if proposal is None else batch.reweighted(proposal),
        functions=functions,
    )
    return p_value(counts_of(visited, rows), expected * copies)


def counts_of(visited: Visited, rows: list[tuple[int, ...]]) -> np.ndarray:
    """How often each row was visited, by all sentences and chains together."""
    number = {row: i for i, row in enumerate(rows)}
    counts = np.zeros(len(rows))
    for derivation, count in zip(visited.derivations, visited.counts.sum(axis=1).tolist(), strict=True):
        counts[number[tuple(derivation.tolist())]] += count
    return counts


def run(case: Case, schedule: Schedule, **settings: Any) -> Visited:
    """Run chains for one sentence."""
    given: dict[str, Any] = {"seed": 1, "samples": 1000, "burn_in": NO_BURN_IN, "reordering_limit": case.limit}
    if schedule.jump_every:
        given["lattices"] = case.batch.search(NARROW, case.limit, lattice=True)
    return run_chains(case.batch, schedule, **(given | settings))
