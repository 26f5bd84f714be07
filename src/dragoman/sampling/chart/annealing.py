"""Simulated annealing of hierarchical derivations."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from dragoman.features import GlobalFeature
from dragoman.sampling.chart.chains import refuse_document_features, run_chains
from dragoman.sampling.chart.forest import Spelled, best_derivations
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.schedule import Annealing
from dragoman.search.chart.translator import ChartResult, ChartTranslator
from dragoman.search.translator import BATCH


def annealed(
    translator: ChartTranslator,
    lines: Iterable[str],
    options: Annealing = Annealing(),
    *,
    seed: int = 1,
    first: int = 0,
    documents: Iterable[object] | None = None,
) -> Iterator[ChartResult]:
    """Translate by annealing from what the search finds; see `sampling.annealing`. No feature sees `documents`."""
    number = first
    features = [f for f in translator.model.features_of(GlobalFeature) if translator.weights.get(f.name, 0.0) != 0]
    functions = GlobalFunctions(features, translator.weights) if features else None
    refuse_document_features(functions)
    stream = iter(lines)
    while part := list(itertools.islice(stream, BATCH * translator.runtime.threads)):
        searched = translator.search_batch(part)
        batch, found = searched.batch, searched.found
        visited = run_chains(
            batch,
            options,
            seed=seed,
            samples=0,
            chains=options.chains,
            burn_in=options.temperatures,
            starts=best_derivations(batch, found),
            functions=functions,
            first_number=number,
            runtime=translator.runtime,
        )
        number += len(part)
        chain = visited.best_scores.argmax(axis=1)
        every = np.arange(len(part))
        spelled = Spelled.of(batch, every, visited.best.take(every * options.chains + chain))
        values = None
        if functions is not None:
            values = functions.values(batch.rules.source, every, batch.rules.vocab, spelled.words)
        best = replace(found, scores=visited.best_scores[every, chain], best=spelled.graphs)
        yield ChartResult(batch, best, global_values=values, runtime=translator.runtime)
