"""Simulated annealing: chains that start from a search's result and cool down, for every kind of model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.features import GlobalFeature
from dragoman.sampling.chains import ChainSettings, refuse_document_features, run_chains
from dragoman.sampling.global_features import GlobalFunctions, document_parts
from dragoman.sampling.schedule import Annealing
from dragoman.sampling.space import AnySpace, space_for
from dragoman.search.translation import SearchResult
from dragoman.search.translator import BATCH, Translator


def anneal(
    translator: Translator,
    lines: Iterable[str],
    options: Annealing = Annealing(),
    *,
    seed: int = 1,
    first: int = 0,
    documents: Iterable[object] | None = None,
) -> Iterator[SearchResult]:
    """Translate tokenised sentences by annealing from what the search finds, in order, a batch at a time.

    The best derivation of a sentence is never worse than the search's. Sentence i of the lines has random numbers of
    its own, independent of batches; `first` is added to i if the lines are part of a text. The model's global
    features take part, which the search cannot score. Those of documents see consecutive lines with the same label in
    `documents`, by default all lines, and the best is the best of a document as a whole.
    """
    runtime, space_type = translator.runtime, space_for(translator.model.kind)
    features = [f for f in translator.model.features_of(GlobalFeature) if translator.weights.get(f.name, 0.0) != 0]
    functions = GlobalFunctions(features, translator.weights) if features else None
    refuse_document_features(space_type, functions)
    together = functions is not None and functions.see_documents
    forests = bool(options.jump_every) and space_type.jumps_use_forests
    for part, bounds in document_parts(lines, documents, BATCH * runtime.threads, together=together):
        found = space_type.of_result(translator, translator.search_batch(part, forests=forests))
        space = replace(found, functions=functions, documents=bounds)
        settings = ChainSettings.annealing(options, seed=seed, first_number=first)
        yield space.result(*best_of_chains(space, settings, starts=space.best_found(), runtime=runtime), runtime)
        first += len(part)


def best_of_chains(
    space: AnySpace, settings: ChainSettings, *, starts: Ragged[np.int32] | None = None, runtime: Runtime = Runtime()
) -> tuple[Ragged[np.int32], NDArray[np.float64]]:
    """Return the best derivation of each sentence that any chain was in, and its score.

    Chains begin with `starts`, by default with the best monotone derivation. Where global features see documents, the
    best is the best of the whole document, and the scores of its sentences are without these features, which no
    sentence has alone.
    """
    visited = run_chains(space, settings, starts=space.monotone(runtime) if starts is None else starts, runtime=runtime)
    best = visited.document_scores.argmax(axis=1)
    if space.documents is not None:
        best = np.repeat(best, np.diff(space.documents))
    sentences = np.arange(len(best))
    return visited.best.take(sentences * settings.chains + best), visited.best_scores[sentences, best]
