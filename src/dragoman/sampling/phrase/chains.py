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
from dragoman.search.phrase.batch import PhraseBatch, PhraseOutcome, check_scores


@dataclass(frozen=True, eq=False, kw_only=True)
class Visited(VisitedColumns):
    """Where chains have been: distinct derivations of each sentence, with counts, and the best that each chain saw.

    Derivations are options in target order, numbered within their sentence. Columns of `steps` and `changes` are
    merging and splitting, reordering, retranslating; those of `jumps` are how many were tried and how many accepted.

    `best_scores` are those of the sentences; features of documents have no part in them. `document_scores`, by document
    and chain, have all features: where some see documents, the `best` derivations of a document are those that were
    best together. Then, with a trace, `document_values` are their values by document, chain, sample and feature: at
    sample i, when all sentences of the document are in the derivations that their traces have at i.
    """

    document_scores: NDArray[np.float64]
    document_values: NDArray[np.float64] | None
    steps: NDArray[np.int64]
    changes: NDArray[np.int64]
    jumps: NDArray[np.int64]


def run_chains(
    batch: PhraseBatch,
    schedule: Schedule,
    *,
    reordering_limit: int,
    seed: int,
    samples: int,
    chains: int = 1,
    burn_in: NDArray[np.float64],
    temperature: float = 1.0,
    thin: int = 1,
    per_pass: bool = False,
    trace: bool = False,
    starts: Ragged[np.int32] | None = None,
    lattices: PhraseOutcome | None = None,
    proposal: PhraseBatch | None = None,
    functions: GlobalFunctions | None = None,
    documents: NDArray[np.int64] | None = None,
    first_number: int = 0,
    runtime: Runtime = Runtime(),
) -> Visited:
    """Run chains from one derivation of each sentence, or from random ones where `starts` has none.

    `burn_in` are the temperatures of the scans before the first sample. Jumps use the `lattices` of a search with
    `lattice`; sentences without one (and all, if None) have jumps that may lead anywhere. Draws come from the
    `proposal`, the same options under other weights, and are accepted so that the result follows `batch`. `documents`
    are the bounds of groups of sentences that global features see together. Sentence `s` has random numbers of its own
    that depend on the seed, on `first_number + s` and on the chain only.
    """
    options, count = batch.options, len(batch.options.offsets) - 1
    _check_schedule(schedule, per_pass, temperature, burn_in)
    check_scores(batch, first_number)
    starts = starts_or_none(starts, count)
    if proposal is not None:
        check_scores(proposal, first_number)
    try:
        out = kernels.gibbs_sample(
            batch.arrays,
            None if proposal is None else proposal.arrays_in_use,
            None if lattices is None else _lattices(lattices),
            [] if functions is None else functions.for_kernels(options.source, options.vocab, options.words.values),
            starts.for_kernels(),
            np.arange(count + 1) if documents is None else documents,
            kernels.Schedule(
                chains=chains,
                seed=checked_seed(seed),
                first_number=first_number,
                rates=schedule.rates,
                random=schedule.scan == "random",
                per_pass=per_pass,
                samples=samples,
                thin=thin,
                burn_in=burn_in,
                temperature=temperature,
                jump_every=schedule.jump_every,
                forward_share=schedule.forward_share,
                max_seconds=np.inf if schedule.max_seconds is None else schedule.max_seconds,
                trace=trace,
            ),
            reordering_limit=reordering_limit,
            threads=runtime.threads,
        )
    except kernels.FunctionError as error:
        if functions is None:
            raise
        raise functions.failure(error) from None
    for sentence in np.flatnonzero(out["found"] == 0).tolist():
        raise DataError(
            f"sentence {first_number + sentence + 1} ('{options.source.line(sentence)}') has no derivation",
            expected="options that cover each word, in an order that the reordering limit allows",
        )
    statistics = out["statistics"].reshape(count, chains, -1)
    seen = 0 if functions is None else len(functions.of_documents)
    values = out["document_values"].reshape(-1, chains, samples, seen) if trace and seen else None
    return Visited(
        **columns_of(out, count, chains, samples if trace else None),
        document_scores=out["document_scores"].reshape(-1, chains),
        document_values=values,
        steps=statistics[:, :, :3],
        changes=statistics[:, :, 3:6],
        jumps=statistics[:, :, 6:8],
    )


def _check_schedule(schedule: Schedule, per_pass: bool, temperature: float, burn_in: NDArray[np.float64]) -> None:
    schedule.refuse(("subtree", "rule", "glue"), "phrase-based")
    if not any(schedule.rates) and not schedule.jump_every:
        raise UsageError("the chain has no operator and no jumps; expected merge-split, reorder, retranslate or jumps")
    if not any(schedule.rates) and per_pass:
        raise UsageError("a sample for each operator's pass was asked for, and no operator")
    check_temperatures(temperature, burn_in)


def _lattices(found: PhraseOutcome) -> kernels.Lattices:
    return kernels.Lattices(
        options=found.arrays["edge_options"],
        scores=found.arrays["edge_scores"],
        **{name: found.arrays[name] for name in ("node_offsets", "first_edges", "edge_offsets", "tails")},
    )
