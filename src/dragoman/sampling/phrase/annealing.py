"""Simulated annealing of phrase-based derivations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.features import GlobalFeature
from dragoman.sampling.global_features import GlobalFunctions, document_parts
from dragoman.sampling.phrase.chains import run_chains
from dragoman.sampling.schedule import Annealing
from dragoman.search.phrase.batch import PhraseBatch, PhraseOutcome
from dragoman.search.phrase.greedy import gloss
from dragoman.search.phrase.translator import PhraseResult, PhraseTranslator
from dragoman.search.translator import BATCH


def anneal(
    batch: PhraseBatch,
    options: Annealing = Annealing(),
    *,
    reordering_limit: int,
    seed: int = 1,
    starts: Ragged[np.int32] | None = None,
    lattices: PhraseOutcome | None = None,
    functions: GlobalFunctions | None = None,
    documents: NDArray[np.int64] | None = None,
    first_number: int = 0,
    runtime: Runtime = Runtime(),
) -> tuple[Ragged[np.int32], NDArray[np.float64]]:
    """Return the best derivation of each sentence that any chain was in (options in target order), and its score.

    Chains begin with `starts`, by default with the gloss. Jumps go into `lattices`, or anywhere if there are none.
    Global features (`functions`) take part; where some see `documents` (their bounds), the best is that of the whole
    document, and the scores of its sentences are without these features, which no sentence has alone.
    `first_number` is the place of the first sentence among all, on which random numbers depend.
    """
    visited = run_chains(
        batch,
        options,
        reordering_limit=reordering_limit,
        seed=seed,
        samples=0,
        chains=options.chains,
        burn_in=options.temperatures,
        temperature=1.0,
        starts=gloss(batch, runtime=runtime) if starts is None else starts,
        lattices=lattices,
        functions=functions,
        documents=documents,
        first_number=first_number,
        runtime=runtime,
    )
    best = visited.document_scores.argmax(axis=1)
    if documents is not None:
        best = np.repeat(best, np.diff(documents))
    rows = np.arange(len(best)) * options.chains + best
    return visited.best.take(rows), np.take_along_axis(visited.best_scores, best[:, None], axis=1)[:, 0]


def annealed(
    translator: PhraseTranslator,
    lines: Iterable[str],
    options: Annealing = Annealing(),
    *,
    seed: int = 1,
    first: int = 0,
    documents: Iterable[object] | None = None,
) -> Iterator[PhraseResult]:
    """Translate by annealing from what the beam finds; see `sampling.annealing`."""
    number = first
    features = [f for f in translator.model.features_of(GlobalFeature) if translator.weights.get(f.name, 0.0) != 0]
    functions = GlobalFunctions(features, translator.weights) if features else None
    together = functions is not None and functions.see_documents
    for part, bounds in document_parts(lines, documents, BATCH * translator.runtime.threads, together=together):
        searched = translator.search_batch(part, forests=bool(options.jump_every))
        batch, found = searched.batch, searched.found
        derivations, scores = anneal(
            batch,
            options,
            reordering_limit=translator.reordering_limit,
            seed=seed,
            starts=found.derivations,
            lattices=found if options.jump_every else None,
            functions=functions,
            documents=bounds,
            first_number=number,
            runtime=translator.runtime,
        )
        number += len(part)
        values = (
            None
            if functions is None
            else functions.values(
                batch.options.source, np.arange(len(part)), batch.options.vocab, _words(batch, derivations)
            )
        )
        yield PhraseResult(
            batch,
            replace(found, scores=scores, derivations=derivations),
            global_values=values,
            runtime=translator.runtime,
        )


def _words(batch: PhraseBatch, derivations: Ragged[np.int32]) -> Ragged[np.int32]:
    """The target words of a derivation of each sentence."""
    placed = derivations.values + np.repeat(batch.options.offsets[:-1], derivations.lengths)
    words = batch.options.words.take(placed)
    return Ragged(words.values, words.offsets[derivations.offsets])
