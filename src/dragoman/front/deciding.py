"""What decision rules make of a search, as `System.translate` asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dragoman.decision.settings import Decision
from dragoman.decision.spread import Decide, decided
from dragoman.sampling.schedule import Sampling
from dragoman.sampling.spread import Draw
from dragoman.search.spread import Spread


def decided_lines(spread: Spread, chosen: Decision, words: Iterable[str], samples: int, seed: int) -> list[str]:
    """Translate prepared lines by a rule; of samples, so many a chain."""
    draw = None
    if chosen.evidence == "samples":
        draw = Draw(replace(chosen.sampling or Sampling(), samples=samples), seed, features=False)
    return [line for lines in decided(spread, Decide(chosen, draw), words) for line in lines]


def decision_of(decision: str | Decision, evidence: str | None, options: Mapping[str, Any]) -> Decision:
    """Return a rule, by its name or file, with options and evidence."""
    if isinstance(decision, Decision):
        return decision
    return Decision.of(decision, [f"{name}={value}" for name, value in options.items()], evidence)  # type: ignore[arg-type]
