"""What is best in a sentence by several mixtures of metric and model (Chiang, Marton & Resnik 2008, figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dragoman.core.weights import Weights
from dragoman.forest.hope import FEAR, Objective, hope
from dragoman.tuning.problems.hope_fear import HypothesisFinder

#: What the model counts, by the names that pictures have: from nothing to all, and in fear.
OBJECTIVES: Mapping[str, Objective] = {"0": hope(0.0), "0.5": hope(0.5), "1": hope(1.0), "inf": FEAR}


class Oracle(NamedTuple):
    """A translation: its B, the model's score, and its words."""

    gain: float
    score: float
    translation: str


def oracle_lists(
    finder: HypothesisFinder,
    sentence: int,
    weights: Weights,
    count: int = 10,
    objectives: Mapping[str, Objective] = OBJECTIVES,
) -> dict[str, list[Oracle]]:
    """The best of a sentence by each objective, within a pseudo-document of the sentences before it."""
    document = finder.document_before(sentence, weights)
    pool = finder.pool(sentence, weights, document, [*objectives.values()])
    return {
        name: [
            Oracle(float(pool.gains[i]), float(pool.scores[i]), pool.vocab.text(pool.texts[i]))
            for i in pool.highest(objective, count).tolist()
        ]
        for name, objective in objectives.items()
    }
