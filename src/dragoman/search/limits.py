"""Options of a search: how hard it tries, which derivations there are, and greedy hill-climbing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dragoman.core.options import Options, option


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
