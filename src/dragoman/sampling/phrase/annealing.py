"""Simulated annealing: the best derivation by chains that cool down until they hardly move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.core.progress import ShareDone
from dragoman.core.ragged import Ragged
from dragoman.sampling.global_features import GlobalFunctions, features_of
from dragoman.sampling.phrase.chains import Schedule, document_parts, run_chains
from dragoman.search.phrase.batch import Batch, Found
from dragoman.search.phrase.greedy import gloss
from dragoman.search.phrase.translator import BATCH, Searched, Translator


@dataclass(frozen=True)
class Annealing(Schedule):
    """How chains cool down."""

    scans: int = option(200, "scans a chain", minimum=1)
    start_temperature: float = option(3.0, "temperature of the first scan", minimum=1e-6)
    end_temperature: float = option(
        0.01, "temperature of the last scan; it falls by the same factor each time", minimum=1e-6
    )
    chains: int = option(1, "chains a sentence, of which the best counts", minimum=1)

    @property
    def temperatures(self) -> NDArray[np.float64]:
        """The temperature of each scan."""
        return np.geomspace(self.start_temperature, self.end_temperature, self.scans)


def anneal(
    batch: Batch,
    options: Annealing = Annealing(),
    *,
    reordering_limit: int,
    seed: int = 1,
    starts: Ragged[np.int32] | None = None,
    lattices: Found | None = None,
    functions: GlobalFunctions | None = None,
    documents: NDArray[np.int64] | None = None,
    first_number: int = 0,
    threads: int = 1,
    progress: ShareDone | None = None,
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
        starts=gloss(batch, threads=threads) if starts is None else starts,
        lattices=lattices,
        functions=functions,
        documents=documents,
        first_number=first_number,
        threads=threads,
        progress=progress,
    )
    best = visited.document_scores.argmax(axis=1)
    if documents is not None:
        best = np.repeat(best, np.diff(documents))
    rows = np.arange(len(best)) * options.chains + best
    return visited.best.take(rows), np.take_along_axis(visited.best_scores, best[:, None], axis=1)[:, 0]


def annealed(
    translator: Translator,
    lines: Iterable[str],
    options: Annealing = Annealing(),
    *,
    seed: int = 1,
    documents: Iterable[object] | None = None,
) -> Iterator[Searched]:
    """Translate tokenised sentences by annealing from what the beam finds, in order, a batch at a time.

    The best derivation of a sentence is never worse than the beam's. Sentence i of the lines has random numbers of its
    own, whatever the batches. The model's global features take part, of which the beam knows nothing. Those of
    documents see lines in a row with the same label in `documents`, by default all, and the best is that of a document
    as a whole.
    """
    number = 0
    features = [f for f in features_of(translator.model.global_features) if translator.weights.get(f.name, 0.0) != 0]
    functions = GlobalFunctions(features, translator.weights) if features else None
    together = functions is not None and functions.see_documents
    for part, bounds in document_parts(lines, documents, BATCH * translator.threads, together=together):
        searched = translator.search_together(part, lattice=bool(options.jump_every))
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
            threads=translator.threads,
        )
        number += len(part)
        values = (
            None if functions is None else functions.values(batch, np.arange(len(part)), _words(batch, derivations))
        )
        yield Searched(batch, replace(found, scores=scores, derivations=derivations), values)


def _words(batch: Batch, derivations: Ragged[np.int32]) -> Ragged[np.int32]:
    """The target words of a derivation of each sentence."""
    placed = derivations.values + np.repeat(batch.options.offsets[:-1], derivations.lengths)
    words = batch.options.words.take(placed)
    return Ragged(words.values, words.offsets[derivations.offsets])
