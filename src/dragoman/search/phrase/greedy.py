"""Greedy search: change the derivation a little, whichever way raises its score most, until no small change does.

Germann et al. (2001), *Fast decoding and optimal decoding for machine translation*, did this for word-based models;
Langlais, Patry & Gotti (2007), *A greedy decoder for phrase-based statistical machine translation*, for phrases. The
climb starts from a gloss or from what a beam found; it can only improve on it. It looks at derivations as a whole, so
that it mends what a beam could not foresee, and its time hardly depends on the reordering limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.search.limits import HillClimbing, SearchLimits
from dragoman.search.phrase.batch import PhraseBatch, PhraseOutcome

#: The numbers by which the kernel knows the operators.
OPERATORS = {"retranslate": 1, "merge_split": 2, "reorder": 4, "move": 8}


@dataclass(frozen=True, eq=False)
class HillClimbingOutcome(PhraseOutcome):
    """Results of hill-climbing, with the score of each start and the number of changes; `expansions` are neighbours."""

    start_scores: NDArray[np.float64]
    steps: NDArray[np.int64]


def greedy_search(
    batch: PhraseBatch,
    options: HillClimbing,
    limits: SearchLimits,
    *,
    reordering_limit: int,
    runtime: Runtime = Runtime(),
) -> HillClimbingOutcome:
    """Climb from the start that `climbing` names; `limits` are those of the beam search.

    A sentence that is too large for the beam starts from its gloss.
    """
    starts = None
    if options.start == "beam":
        starts = batch.search(limits, reordering_limit, runtime=runtime).derivations
    return hill_climb(batch, starts, options, reordering_limit=reordering_limit, runtime=runtime)


def hill_climb(
    batch: PhraseBatch,
    starts: Ragged[np.int32] | None,
    options: HillClimbing,
    *,
    reordering_limit: int,
    runtime: Runtime = Runtime(),
) -> HillClimbingOutcome:
    """Climb from one derivation of each sentence (options in target order), or from the gloss where that is empty.

    Each step goes to the best of all neighbours: about `20 n` of them for retranslating and `800 n` for merging and
    splitting a sentence of n words with 20 options a span, and at most `1.5 n**2` for reordering and moving. No step
    lowers the score. Outcome 1 means that a sentence has no gloss.
    """
    if starts is None:
        starts = Ragged(np.empty(0, np.int32), np.zeros(len(batch.options.offsets), np.int64))
    if len(starts) != len(batch.options.offsets) - 1:
        raise ValueError(f"{len(starts)} derivations to start from for {len(batch.options.offsets) - 1} sentences")
    outcomes, scores, start_scores, steps, looked_at, derivations, offsets = kernels.climb_derivations(
        batch.arrays,
        starts.for_kernels(),
        _operators(options),
        np.iinfo(np.int64).max if options.max_steps is None else options.max_steps,
        reordering_limit,
        runtime.threads,
    )
    return HillClimbingOutcome(outcomes, scores, looked_at, Ragged(derivations, offsets), {}, start_scores, steps)


def gloss(batch: PhraseBatch, *, runtime: Runtime = Runtime()) -> Ragged[np.int32]:
    """Return the best monotone derivation of each sentence by the scores of single options: the start of a climb."""
    return hill_climb(batch, None, HillClimbing(max_steps=0), reordering_limit=0, runtime=runtime).derivations


def word_gloss(batch: PhraseBatch, *, runtime: Runtime = Runtime()) -> Ragged[np.int32]:
    """Return the best option of each word, by the scores of single options, in the order of the source.

    The glosses of Haddow, Arun & Koehn (2011, section 2.2.2). A sentence with a word that only longer phrases cover, or
    that markup covers together with others, has its best monotone derivation (`gloss`).
    """
    return Ragged(*kernels.word_glosses(batch.arrays, runtime.threads))


def neighbours(
    batch: PhraseBatch, sentence: int, derivation: NDArray[np.int32], options: HillClimbing, *, reordering_limit: int
) -> tuple[Ragged[np.int32], NDArray[np.float64]]:
    """Return all derivations one step away, with their gains in score; some may occur twice."""
    found, offsets, differences = kernels.derivation_neighbours(
        batch.arrays, sentence, derivation, _operators(options), reordering_limit
    )
    return Ragged(found, offsets), differences


def _operators(options: HillClimbing) -> int:
    """Return the operators to use, as the kernel numbers them."""
    return sum(number for name, number in OPERATORS.items() if getattr(options, name))
