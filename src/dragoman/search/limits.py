"""Options of a search: how hard it tries, which derivations there are, and greedy hill-climbing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dragoman.core.options import Options, option


@dataclass(frozen=True)
class SearchLimits(Options):
    """Search effort. These limits change which derivation is found, never the score of a derivation."""

    algorithm: Literal["cube", "stack", "exhaustive", "incremental"] = option(
        "cube", "cube pruning; stack decoding (phrases); incremental (charts); exhaustive (short sentences only)"
    )
    pop_limit: int | None = option(
        None,
        "nodes kept per stack (default: 400), or candidates per chart span (default: 200)",
        minimum=1,
    )
    stack_size: int = option(200, "stack decoding: hypotheses per stack; 0 is no limit", minimum=0)
    beam_threshold: float | None = option(
        None, "drop hypotheses that score lower than the best of their stack by more than this", minimum=0
    )
    max_size: int = option(
        20_000_000,
        "maximum number of hypotheses and arcs of a sentence (about 40 bytes each)",
        minimum=1,
        maximum=2**31 - 1,
    )
    max_words: int = option(
        4000,
        "split longer sentences after punctuation; not possible with n-best lists or hypergraphs",
        minimum=1,
    )


@dataclass(frozen=True)
class SpaceLimits(Options):
    """Limits of the search space. They replace those of the model."""

    reordering_limit: int | None = option(
        None, "longest jump between phrases; -1 is no limit", minimum=-1, maximum=2**31 - 1
    )
    table_limit: int | None = option(
        None, "translation options per source phrase; 0 is no limit", minimum=0, maximum=2**31 - 1
    )
    table_limit_by: Literal["probability", "score"] = option(
        "probability", "keep the best options by p(e|f), or by weighted score with an LM estimate, as Moses does"
    )
    unknown_words: Literal["copy", "drop"] = option("copy", "treatment of source words without a translation")

    @property
    def depends_on_weights(self) -> bool:
        """True if the search space depends on the weights."""
        return self.table_limit_by == "score"


@dataclass(frozen=True)
class HillClimbing(Options):
    """Greedy hill-climbing instead of a beam search, or after it: its start and the changes that it tries."""

    start: Literal["gloss", "beam"] = option(
        "gloss", "start from the best monotone translation regardless of context, or from the result of the beam search"
    )
    retranslate: bool = option(True, "try other translations of a phrase")
    merge_split: bool = option(True, "try one phrase for two neighbours, two for one, and other translations of both")
    reorder: bool = option(True, "try to exchange two phrases")
    move: bool = option(True, "try to move a phrase")
    max_steps: int | None = option(None, "maximum number of changes; by default stop only when none helps", minimum=0)
