"""The aligner that favours the diagonal: Model 2 with one parameter (Dyer, Chahuneau & Smith 2013, "fast_align")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.training.align.base import DirectionalAligner, Passes
from dragoman.training.align.passes import Cooccurrence
from dragoman.training.align.translation_table import TranslationTable

_MIN_TENSION, _MAX_TENSION = 0.1, 14.0
#: The most likely tension may be beyond fast_align's limit: texts in nearly the same order have 14 and more.
_STEEPEST = 60.0
#: Least number of words for a warning about a tension at its lower limit: with fewer, a few sentences decide.
_ENOUGH = 10_000
_TENSION_STEPS = 8
_TENSION_RATE = 20.0


@dataclass(frozen=True)
class Diagonal(DirectionalAligner):
    """Model 2 with p(i | j, m, n) ∝ exp(-tension |i/n - j/m|), with the options of fast_align.

    The tension is trained as in fast_align, by steps along a gradient with three slips, so that the links are the same:
    positions of generated words are one too low in one place, the two lengths are exchanged in another, and words
    without a link count as if they had one. With `gradient = exact`, each pass sets the tension that maximises the
    likelihood of its expected links; translations do not improve. O(words²) per sentence pair and iteration.
    """

    name: ClassVar[str] = "diagonal"

    iterations: int = option(5, "passes through the corpus; the last one makes the word alignment", minimum=1)
    null_probability: float = option(0.08, "prior probability of an unaligned word", minimum=0, maximum=0.99)
    favour_diagonal: bool = option(True, "prefer links near the diagonal (otherwise this is Model 1)")
    tension: float = option(4.0, "initial strength of this preference", minimum=_MIN_TENSION, maximum=_MAX_TENSION)
    optimise_tension: bool = option(True, "learn the tension")
    gradient: Literal["fast-align", "exact"] = option(
        "fast-align", "how to train the tension: like fast_align, slips included, or exactly"
    )
    variational_bayes: bool = option(True, "put a Dirichlet prior on the translation probabilities")
    alpha: float = option(0.01, "the Dirichlet prior's parameter", minimum=0.001)

    @property
    def corpus_passes(self) -> int:
        """Number of passes of one direction through the corpus."""
        return self.iterations

    def align_direction(
        self, table: TranslationTable, *, passes: Passes, runtime: Runtime = Runtime()
    ) -> NDArray[np.int32]:
        """Train one direction; return the given position of each generated token, or -1 if it has none."""
        tension = self.tension if self.favour_diagonal else None
        alpha = self.alpha if self.variational_bayes else None
        as_fast_align = self.gradient == "fast-align"
        sizes = Sizes.of(table, places=not as_fast_align)
        for iteration in range(self.iterations - 1):
            feature, linked = table.improve(
                self.null_probability,
                tension,
                alpha,
                passes.next(),
                as_fast_align=as_fast_align,
                wants_linked=not as_fast_align,
            )
            # The first pass has seen the prior only, which says nothing about the tension.
            if tension is not None and self.optimise_tension and iteration > 0:
                if linked is None:
                    tension = _stepped(tension, feature, sizes, table.tokens, runtime)
                else:
                    tension = _likeliest(tension, feature, sizes, sizes.masses(linked), runtime)
        if tension is not None:
            runtime.note(f"diagonal tension {tension:.4f}")
            # At the upper limit, texts are nearly in the same order, which suits the model.
            if self.optimise_tension and tension == _MIN_TENSION and table.tokens >= _ENOUGH:
                runtime.warn(
                    f"the diagonal aligner's tension fell to its limit of {tension:g}: it does not suit the word order"
                    " of these texts, and --aligner hmm may do better"
                )
        return table.likeliest(self.null_probability, tension, passes.next())


@dataclass(frozen=True, eq=False)
class Sizes:
    """The distinct pairs of (generated length, given length), their frequencies, and the place of each token.

    Places are numbered size by size, one for each generated position.
    """

    generated: NDArray[np.int64]
    given: NDArray[np.int64]
    frequencies: NDArray[np.int64]
    #: Place of each generated token, or -1 if the given sentence is empty; empty unless asked for.
    places: NDArray[np.int64]

    @classmethod
    def of(cls, table: TranslationTable | Cooccurrence, *, places: bool = True) -> Sizes:
        """Collect the lengths of a bitext."""
        offsets = table.generated.offsets
        generated, given = np.diff(offsets), table.given.lengths
        used = (generated > 0) & (given > 0)
        keys, number, counts = np.unique((generated << 32 | given)[used], return_inverse=True, return_counts=True)
        lengths = keys >> 32
        frequencies = counts.astype(np.int64)
        if not places:
            return cls(lengths, keys & 0xFFFFFFFF, frequencies, np.empty(0, np.int64))
        first = np.full(len(generated), -1, np.int64)
        first[used] = (np.cumsum(lengths) - lengths)[number]
        position = np.arange(int(offsets[-1]), dtype=np.int64) - np.repeat(offsets[:-1], generated)
        start = np.repeat(first, generated)
        return cls(lengths, keys & 0xFFFFFFFF, frequencies, np.where(start < 0, -1, start + position))

    def masses(self, linked: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected number of links at each place, from each token's posterior of having one."""
        used = self.places >= 0
        return np.bincount(self.places[used], linked[used], int(self.generated.sum())).astype(np.float64)


def _likeliest(tension: float, feature: float, sizes: Sizes, masses: NDArray[np.float64], runtime: Runtime) -> float:
    """Return the tension that gives the feature the same mean under prior and posterior: the likelihood is concave."""

    def gradient(at: float) -> float:
        return feature - kernels.linked_expectation(sizes.generated, sizes.given, masses, at, runtime.threads)

    at_least, at_most = gradient(_MIN_TENSION), gradient(_STEEPEST)
    if at_least == at_most:  # no sentence has two words to choose between
        return tension
    if at_least <= 0 or at_most >= 0:
        return _MIN_TENSION if at_least <= 0 else _STEEPEST
    from scipy.optimize import brentq  # takes long to load, and few need it

    return float(brentq(gradient, _MIN_TENSION, _STEEPEST, xtol=1e-6))


def _stepped(tension: float, feature: float, sizes: Sizes, tokens: int, runtime: Runtime) -> float:
    """Take fixed steps along the gradient as fast_align has it."""
    for _ in range(_TENSION_STEPS):
        lengths = sizes.generated, sizes.given, sizes.frequencies
        expected = kernels.diagonal_expectation(*lengths, tension, runtime.threads)
        gradient = (feature - expected) / max(tokens, 1)
        tension = min(max(tension + _TENSION_RATE * gradient, _MIN_TENSION), _MAX_TENSION)
    return tension
