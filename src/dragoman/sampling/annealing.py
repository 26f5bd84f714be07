"""Simulated annealing: the best derivation by chains that cool down until they hardly move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.core.progress import ShareDone
from dragoman.core.ragged import Ragged
from dragoman.sampling.chains import Schedule, run_chains
from dragoman.search.batch import Batch, Found
from dragoman.search.greedy import gloss
from dragoman.search.translator import Searched, Translator


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
    first_number: int = 0,
    threads: int = 1,
    progress: ShareDone | None = None,
) -> tuple[Ragged[np.int32], NDArray[np.float64]]:
    """Return the best derivation of each sentence that any chain was in (options in target order), and its score.

    Chains begin with `starts`, by default with the gloss. Jumps go into `lattices`, or anywhere if there are none.
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
        first_number=first_number,
        threads=threads,
        progress=progress,
    )
    best = visited.best_scores.argmax(axis=1)
    rows = np.arange(len(best)) * options.chains + best
    return visited.best.take(rows), np.take_along_axis(visited.best_scores, best[:, None], axis=1)[:, 0]


def annealed(
    translator: Translator, lines: Iterable[str], options: Annealing = Annealing(), *, seed: int = 1
) -> Iterator[Searched]:
    """Translate tokenised sentences by annealing from what the beam finds, in order, a batch at a time.

    The best derivation of a sentence is never worse than the beam's. Sentence i of the lines has random numbers of its
    own, whatever the batches.
    """
    number = 0
    for part in translator.searched(lines, lattice=bool(options.jump_every)):
        found = part.found
        derivations, scores = anneal(
            part.batch,
            options,
            reordering_limit=translator.reordering_limit,
            seed=seed,
            starts=found.derivations,
            lattices=found if options.jump_every else None,
            first_number=number,
            threads=translator.threads,
        )
        number += len(part)
        yield Searched(part.batch, replace(found, scores=scores, derivations=derivations))
