"""Markov chains over the derivations of a batch of sentences, in the kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.schedule import (
    Schedule,
    VisitedColumns,
    check_temperatures,
    checked_seed,
    columns_of,
    starts_or_none,
)
from dragoman.search.chart.batch import ChartBatch, check_scores

#: What chains do, in the kernel's order; a jump draws a whole derivation.
MOVES = ("subtree", "rule", "glue", "jump")

#: Options of chains over phrases, which have no meaning here.
_OF_PHRASES = ("merge_split", "reorder", "retranslate", "forward_share", "collect")


@dataclass(frozen=True, eq=False, kw_only=True)
class Visited(VisitedColumns):
    """Where chains have been: distinct derivations of each sentence, with counts, and the best that each chain saw.

    Derivations are edges in pre-order, see `edges.py`; their `scores` are without global features, the `best_scores`
    with them. Columns of `tried` and `changed` are `MOVES`.
    """

    tried: NDArray[np.int64]
    changed: NDArray[np.int64]


def run_chains(
    batch: ChartBatch,
    schedule: Schedule,
    *,
    seed: int,
    samples: int,
    chains: int = 1,
    burn_in: NDArray[np.float64],
    temperature: float = 1.0,
    thin: int = 1,
    trace: bool = False,
    starts: Ragged[np.int32] | None = None,
    proposal: ChartBatch | None = None,
    functions: GlobalFunctions | None = None,
    first_number: int = 0,
    runtime: Runtime = Runtime(),
) -> Visited:
    """Run chains from one derivation of each sentence, or from random ones where `starts` has none.

    A scan has as many moves of each kind as the sentence has words: a derivation has at most so many rules, each with a
    word of its own. A systematic scan makes them kind by kind, a random one in any order, by their rates; the rule or
    part that a move changes is always drawn. `burn_in` are the temperatures of the scans before the first sample. Draws
    come from the forest without language models of the `proposal`, the same rules under other weights, by default from
    that of `batch`. Sentence `s` has random numbers of its own that depend on the seed, on `first_number + s` and on
    the chain only.
    """
    source, count = batch.rules.source, len(batch.rules.match_offsets) - 1
    _check_schedule(schedule, temperature, burn_in)
    check_scores(batch, first_number)
    starts = starts_or_none(starts, count)
    if proposal is not None:
        check_scores(proposal, first_number)
    try:
        out = kernels.chart_sample(
            batch.arrays,
            None if proposal is None else proposal.arrays,
            [] if functions is None else _features(batch, functions),
            starts.for_kernels(),
            kernels.Schedule(
                chains=chains,
                seed=checked_seed(seed),
                first_number=first_number,
                rates=schedule.chart_rates,
                random=schedule.scan == "random",
                per_pass=False,
                samples=samples,
                thin=thin,
                burn_in=burn_in,
                temperature=temperature,
                jump_every=schedule.jump_every,
                forward_share=0.0,
                max_seconds=np.inf if schedule.max_seconds is None else schedule.max_seconds,
                trace=trace,
            ),
            threads=runtime.threads,
        )
    except kernels.FunctionError as error:
        if functions is None:
            raise
        raise functions.failure(error) from None
    for sentence in np.flatnonzero(out["found"] == 0).tolist():
        raise DataError(
            f"sentence {first_number + sentence + 1} ('{source.line(sentence)}') has no derivation",
            expected="rules that cover it, or glue = true in the model's settings",
        )
    statistics = out["statistics"].reshape(count, chains, -1)
    return Visited(
        **columns_of(out, count, chains, samples if trace else None),
        tried=statistics[:, :, [0, 1, 2, 6]],
        changed=statistics[:, :, [3, 4, 5, 7]],
    )


def gloss(batch: ChartBatch, *, runtime: Runtime = Runtime()) -> Ragged[np.int32]:
    """The derivation of each sentence that is best without a look at context; an empty row where there is none."""
    return Ragged(*kernels.chart_glosses(batch.arrays, runtime.threads))


def refuse_document_features(functions: GlobalFunctions | None) -> None:
    """Refuse features that see several sentences: chains in charts are one sentence each."""
    for name in () if functions is None else functions.of_documents:
        raise UsageError(
            f"the global feature {name} sees documents, and chains of a hierarchical model see one sentence at a time: "
            "give it no weight, or use a phrase-based model"
        )


def _features(batch: ChartBatch, functions: GlobalFunctions) -> list[kernels.GlobalFeature]:
    refuse_document_features(functions)
    words = np.maximum(batch.rules.words.values, 0)  # what stands for a hole is not looked at
    return functions.for_kernels(batch.rules.source, batch.rules.vocab, words)


def _check_schedule(schedule: Schedule, temperature: float, burn_in: NDArray[np.float64]) -> None:
    schedule.refuse(_OF_PHRASES, "hierarchical")
    if not any(schedule.chart_rates) and not schedule.jump_every:
        raise UsageError("the chain has no moves and no jumps; expected subtree, rule, glue or jumps")
    check_temperatures(temperature, burn_in)
