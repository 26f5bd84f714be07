"""Derivations of phrase-based models as a space for chains.

Arun et al. (2009), *Monte Carlo inference and maximization for phrase-based translation*; Arun's thesis (2011),
chapter 5. The operators, and why the chains have the right distribution, are in `kernels/sampling/phrase/chain.hpp`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.sampling.phrase.lattices import Lattice, segmentation_components
from dragoman.sampling.schedule import checked_seed
from dragoman.sampling.search_forest import log_partitions
from dragoman.sampling.space import Arrays, DerivationSpace, DerivationText, Features
from dragoman.search.limits import SearchLimits
from dragoman.search.phrase.batch import POP_LIMIT, PhraseBatch, PhraseOutcome, check_scores
from dragoman.search.phrase.greedy import gloss, word_gloss
from dragoman.search.phrase.lattice import option_features
from dragoman.search.phrase.translator import PhraseResult, PhraseTranslator

#: Phrases whose features are computed at once: they need some hundred bytes each.
_PHRASES = 1 << 16

#: Lattices for jumps keep this many times the nodes of a search: jumps must reach what is unlikely, too.
_WIDER = 4


@dataclass(frozen=True, eq=False)
class PhraseText(DerivationText):
    """Target words of derivations; a part is a phrase."""

    batch: PhraseBatch
    sentences: NDArray[np.int64]
    derivations: Ragged[np.int32]
    words: Ragged[np.int32]
    parts: Ragged[np.int32]

    @classmethod
    def of(cls, batch: PhraseBatch, sentences: NDArray[np.int64], derivations: Ragged[np.int32]) -> PhraseText:
        """Spell derivations of a batch's `sentences`, given as options in target order."""
        options = batch.options
        placed = derivations.values + np.repeat(options.offsets[sentences], derivations.lengths)
        words = options.words.take(placed)
        offsets = words.offsets[derivations.offsets]
        before = np.repeat(offsets[:-1], derivations.lengths)
        ranges = [options.begin[placed], options.end[placed], words.offsets[:-1] - before, words.offsets[1:] - before]
        parts = Ragged(np.stack(ranges, axis=1).astype(np.int32), derivations.offsets)
        return cls(batch, sentences, derivations, Ragged(words.values, offsets), parts)

    def features(self) -> FeatureRows:
        """Return the features of each derivation, computed for some at a time."""
        derivations = self.derivations
        cuts = np.searchsorted(derivations.offsets, np.arange(_PHRASES, int(derivations.offsets[-1]), _PHRASES))
        bounds = np.unique([0, *cuts.tolist(), len(derivations)])
        parts = [
            option_features(self.batch, derivations.take(np.arange(begin, end)), self.sentences[begin:end])
            for begin, end in itertools.pairwise(bounds.tolist())
        ]
        return FeatureRows.concatenate(parts) if parts else FeatureRows.zeros(0)


@dataclass(frozen=True, eq=False, kw_only=True)
class PhraseSpace(DerivationSpace[PhraseTranslator, PhraseBatch, PhraseOutcome]):
    """Derivations are options in target order, numbered within their sentence.

    Jumps lead into the lattice of a search, if `found` has one; sentences without one have jumps that lead anywhere.
    """

    model_kind = "phrase-based"
    moves = ("merge_split", "reorder", "retranslate", "jump")
    foreign_options = ("subtree", "rule", "glue")
    expected = "options that cover each word, in an order that the reordering limit allows"
    jumps_use_forests = True
    check_batch = staticmethod(check_scores)
    joins_documents = True

    reordering_limit: int

    @classmethod
    def of(cls, translator: PhraseTranslator, lines: Sequence[str]) -> Self:
        """Return the space of some tokenised sentences."""
        return cls(batch=translator.batch(lines), reordering_limit=translator.reordering_limit)

    @classmethod
    def of_result(cls, translator: PhraseTranslator, result: PhraseResult) -> Self:
        """Return the space of a batch after its search."""
        return cls(batch=result.batch, reordering_limit=translator.reordering_limit, found=result.found)

    @property
    def source(self) -> Corpus:
        """The source sentences."""
        return self.batch.options.source

    @property
    def vocab(self) -> Vocab:
        """The vocabulary of translations."""
        return self.batch.options.vocab

    @property
    def kernel_words(self) -> NDArray[np.int32]:
        """The words of all options."""
        return self.batch.options.words.values

    def run_kernel(self, features: Features, starts: kernels.Rows, schedule: kernels.Schedule, threads: int) -> Arrays:
        """Run chains in the kernel."""
        return kernels.gibbs_sample(
            self.batch.arrays,
            None if self.proposal is None else self.proposal.arrays_in_use,
            self._lattices(),
            features,
            starts,
            np.arange(len(self.source) + 1) if self.documents is None else self.documents,
            schedule,
            reordering_limit=self.reordering_limit,
            threads=threads,
        )

    def _lattices(self) -> kernels.Lattices | None:
        if self.found is None or "edge_options" not in self.found.arrays:
            return None
        arrays = self.found.arrays
        return kernels.Lattices(
            options=arrays["edge_options"],
            scores=arrays["edge_scores"],
            **{name: arrays[name] for name in ("node_offsets", "first_edges", "edge_offsets", "tails")},
        )

    def gloss(self, runtime: Runtime) -> Ragged[np.int32]:
        """Return the best option of each word by what options are worth alone, in the order of the source."""
        return word_gloss(self.batch, runtime=runtime)

    def monotone(self, runtime: Runtime) -> Ragged[np.int32]:
        """Return the best monotone derivation of each sentence by what its options are worth alone."""
        return gloss(self.batch, runtime=runtime)

    def random_decoding(self, limits: SearchLimits, seed: int, first_number: int, runtime: Runtime) -> Ragged[np.int32]:
        """Return the decoder's best derivation of each sentence when options have random (normal) scores."""
        sizes = np.diff(self.batch.options.offsets).tolist()
        rngs = [np.random.default_rng([checked_seed(seed), first_number + i]) for i in range(len(sizes))]
        scores = np.concatenate([np.empty(0), *(rng.normal(size=size) for rng, size in zip(rngs, sizes, strict=True))])
        found = self.batch.with_scores(scores).search(limits, self.reordering_limit, runtime=runtime)
        return found.derivations

    def search(self, limits: SearchLimits, *, forests: bool, runtime: Runtime) -> Self:
        """Return the space with what a search finds, which keeps its lattices for jumps if `forests` is set."""
        if forests:
            limits = replace(limits, pop_limit=_WIDER * (limits.pop_limit or POP_LIMIT))
        return replace(self, found=self.batch.search(limits, self.reordering_limit, lattice=forests, runtime=runtime))

    def best_found(self) -> Ragged[np.int32]:
        """Return the best derivation that the search found of each sentence; empty where it found none."""
        assert self.found is not None
        return self.found.derivations

    def spell(self, sentences: NDArray[np.int64], derivations: Ragged[np.int32]) -> PhraseText:
        """Spell derivations, each of its sentence of the batch."""
        return PhraseText.of(self.batch, sentences, derivations)

    def result(self, derivations: Ragged[np.int32], scores: NDArray[np.float64], runtime: Runtime) -> PhraseResult:
        """Return what the search found, with these derivations in place of the best of each sentence."""
        assert self.found is not None
        words = self.spell(np.arange(len(derivations)), derivations).words
        found = replace(self.found, scores=scores, derivations=derivations)
        return PhraseResult(self.batch, found, global_values=self.global_values(words), runtime=runtime)

    def components(self, runtime: Runtime) -> NDArray[np.int64]:
        """Return the number of parts of each sentence's segmentation graph."""
        return segmentation_components(self.batch, runtime=runtime)

    def forest(self, limits: SearchLimits, temperature: float, runtime: Runtime) -> Lattice | None:
        """Return the lattice that a search keeps of a batch of one sentence; None if that is too large."""
        found = self.batch.search(limits, self.reordering_limit, lattice=True, runtime=runtime)
        return Lattice.of(self.batch, found, temperature) if found.outcomes[0] == 0 else None

    def forced_log_sums(self, targets: Ragged[np.int32], temperature: float, runtime: Runtime) -> NDArray[np.float64]:
        """Return ln Σ exp(score / temperature) over all derivations of each sentence that write its target."""
        limits = SearchLimits(algorithm="exhaustive")
        found = self.batch.search(limits, self.reordering_limit, targets=targets, lattice=True, runtime=runtime)
        arrays = found.arrays
        return log_partitions(
            arrays["node_offsets"],
            arrays["edge_offsets"],
            arrays["first_edges"],
            np.stack([arrays["tails"], np.full_like(arrays["tails"], -1)], axis=1),
            arrays["edge_scores"] / temperature,
        )
