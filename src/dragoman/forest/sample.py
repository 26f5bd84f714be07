"""Exact draws of derivations."""

from __future__ import annotations

import numpy as np

from dragoman import kernels
from dragoman.core.errors import UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.arrays import no_derivation, structure
from dragoman.forest.inside_outside import log_partition


def sample(
    graph: Hypergraph,
    n: int,
    rng: np.random.Generator | int,
    *,
    runtime: Runtime = Runtime(),
) -> Ragged[np.int32]:
    """Draw n independent derivations of the root, each with probability exp(score) / Z.

    From the root down, an edge is drawn for each node in proportion to its inside score. Draw i has a stream of random
    numbers (SplitMix64) of its own, begun from the seed and i: the first draws are the same for any larger n, and for
    any number of threads. `rng` is the seed, or a generator from which one is taken.
    """
    if n < 0:
        raise UsageError(f"{n} samples were asked for; expected 0 or more")
    seed = int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else rng
    if not 0 <= seed < 2**64:
        raise UsageError(f"the seed is {seed}; expected a number from 0 to 2^64 - 1")
    if not np.isfinite(log_partition(graph)):
        raise no_derivation()
    with runtime.stage("samples") as share:
        edges, offsets = kernels.forest_sample(
            structure(graph), root=graph.root, draws=n, seed=seed, threads=runtime.threads, progress=share
        )
    return Ragged(edges, offsets)
