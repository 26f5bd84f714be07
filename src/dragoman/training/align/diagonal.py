"""The aligner that favours the diagonal: Model 2 with one parameter (Dyer, Chahuneau & Smith 2013, "fast_align")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.options import option
from dragoman.core.progress import Progress
from dragoman.training.align.base import DirectionalAligner, Passes
from dragoman.training.align.cooccurrence import Cooccurrence

_MIN_TENSION, _MAX_TENSION = 0.1, 14.0
_TENSION_STEPS = 8
_TENSION_RATE = 20.0


@dataclass(frozen=True)
class Diagonal(DirectionalAligner):
    """Model 2 with p(i | j, m, n) ∝ exp(-tension |i/n - j/m|), with the options and the arithmetic of fast_align.

    O(words²) for each sentence pair and iteration.
    """

    name: ClassVar[str] = "diagonal"

    iterations: int = option(5, "passes through the corpus, of which the last makes the links", minimum=1)
    null_probability: float = option(0.08, "prior of a word having no link", minimum=0, maximum=0.99)
    favour_diagonal: bool = option(True, "prefer links near the diagonal (otherwise this is Model 1)")
    tension: float = option(4.0, "how strongly, at first", minimum=_MIN_TENSION, maximum=_MAX_TENSION)
    optimise_tension: bool = option(True, "learn the tension")
    variational_bayes: bool = option(True, "put a Dirichlet prior on the translation probabilities")
    alpha: float = option(0.01, "the Dirichlet prior's parameter", minimum=0.001)

    @property
    def corpus_passes(self) -> int:
        """How often one direction walks through the corpus."""
        return self.iterations

    def align_direction(
        self, cooccurrence: Cooccurrence, *, threads: int, progress: Progress, passes: Passes
    ) -> NDArray[np.int32]:
        """Train one direction; return the given position of each generated token, or -1 where it has none."""
        tension = self.tension if self.favour_diagonal else None
        alpha = self.alpha if self.variational_bayes else None
        sizes = _sizes(cooccurrence)
        probabilities = cooccurrence.uniform()
        for iteration in range(self.iterations - 1):
            counts, _, feature = kernels.expected_counts(
                cooccurrence, probabilities, self.null_probability, tension, threads, passes.next()
            )
            # The first pass has only seen the prior, which has nothing to teach about the tension.
            if tension is not None and self.optimise_tension and iteration > 0:
                tension = _optimise_tension(tension, feature, sizes, cooccurrence.tokens, threads=threads)
            probabilities = cooccurrence.translation_probabilities(counts, alpha, threads=threads)
        if tension is not None:
            progress.note(f"diagonal tension {tension:.4f}")
        return kernels.likeliest_given(
            cooccurrence, probabilities, self.null_probability, tension, threads, passes.next()
        )


_Sizes = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def _sizes(cooccurrence: Cooccurrence) -> _Sizes:
    """The distinct pairs of (generated length, given length) and how often each occurs."""
    generated, given = np.diff(cooccurrence.generated_offsets), np.diff(cooccurrence.given_offsets)
    keys, frequencies = np.unique(((generated << 32) | given)[(generated > 0) & (given > 0)], return_counts=True)
    return keys >> 32, keys & 0xFFFFFFFF, frequencies.astype(np.int64)


def _optimise_tension(tension: float, feature: float, sizes: _Sizes, tokens: int, *, threads: int) -> float:
    """Take fixed steps along the gradient: the feature's mean under the posterior minus that under the prior."""
    for _ in range(_TENSION_STEPS):
        expected = kernels.diagonal_expectation(*sizes, tension, threads)
        gradient = (feature - expected) / max(tokens, 1)
        tension = min(max(tension + _TENSION_RATE * gradient, _MIN_TENSION), _MAX_TENSION)
    return tension
