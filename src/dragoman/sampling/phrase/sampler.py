"""Sampling: lines in, samples of their derivations out.

Arun et al. (2009), *Monte Carlo inference and maximization for phrase-based translation*; Arun's thesis (2011),
chapter 5. The operators, and why the chains have the right distribution, are in `kernels/gibbs_chain.hpp`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.core.progress import SILENT, Progress
from dragoman.core.ragged import Ragged
from dragoman.core.samples import DocumentTrace, Samples
from dragoman.core.weights import Weights
from dragoman.sampling.global_features import GlobalFunctions, features_of
from dragoman.sampling.phrase.chains import Schedule, Visited, check_weights, cooling, document_parts, run_chains
from dragoman.sampling.phrase.reachability import segmentation_components
from dragoman.search.global_feature import GlobalFeature
from dragoman.search.phrase.batch import Batch, Found
from dragoman.search.phrase.greedy import gloss
from dragoman.search.phrase.lattice import derivation_features
from dragoman.search.phrase.translator import Translator

#: Sentences that are sampled together, for each thread.
_BATCH = 8

#: Phrases whose features are computed at once: they need some hundred bytes each.
_PHRASES = 1 << 16


@dataclass(frozen=True)
class Sampling(Schedule):
    """How many samples there are and how chains come to them."""

    samples: int = option(1000, "samples a chain", minimum=1)
    chains: int = option(2, "independent chains a sentence", minimum=1)
    burn_in: int = option(100, "scans before the first sample", minimum=0)
    start_temperature: float = option(
        3.0, "temperature of the first scan; it falls to the last during burn-in", minimum=1e-6
    )
    temperature: float = option(1.0, "the score of a derivation is divided by this", minimum=1e-6)
    thin: int = option(1, "keep every so-manieth sample", minimum=1)
    collect: Literal["scan", "pass"] = option("scan", "a sample for each scan, or for each operator's pass in it")
    initial: Literal["gloss", "random", "beam"] = option(
        "beam", "begin with the best monotone gloss, a random derivation, or what the decoder finds"
    )


@dataclass(frozen=True, eq=False)
class SampledBatch:
    """The samples of some sentences, and how they came about.

    `visited` has the counts of steps and jumps, `components` how many parts the segmentation graph of each sentence has
    (see `reachability.py`): the operators alone get nowhere from one part to another.
    """

    samples: Samples
    visited: Visited
    components: NDArray[np.int64]


class Sampler:
    """Draws derivations from the model's distribution, p(derivation) ∝ exp(score / temperature), by Markov chains.

    With `proposal_weights`, steps are drawn from the same model under other weights (say, a small language model in
    place of a large one) and accepted so that the distribution stays that of the translator's weights (8.2.1 of the
    thesis). The model's global features have part in it, and so have `global_features` beside them; all are weighted by
    their names in the translator's weights.
    """

    def __init__(
        self,
        translator: Translator,
        options: Sampling = Sampling(),
        *,
        proposal_weights: Weights | None = None,
        global_features: Sequence[GlobalFeature] = (),
    ):
        self.translator = translator
        self.options = options
        self._proposal_weights = proposal_weights
        ours = features_of(translator.model.global_features)
        weights = translator.weights
        if ours:
            weights = Weights({feature.name: 0.0 for feature in ours}).updated(weights)
        names = {feature.name for feature in global_features}
        chosen = [*(feature for feature in ours if feature.name not in names), *global_features]
        self._functions = GlobalFunctions(chosen, weights) if chosen else None
        # What weighs nothing changes nothing, and if no values are wanted, is not even looked at.
        felt = [feature for feature in chosen if weights.get(feature.name) != 0]
        self._felt = GlobalFunctions(felt, weights) if felt else None
        check_weights(translator.weights)
        if proposal_weights is not None:
            check_weights(proposal_weights)

    def sample(
        self,
        lines: Iterable[str],
        *,
        seed: int = 1,
        documents: Iterable[object] | None = None,
        features: bool = True,
        trace: bool = False,
        threads: int = 1,
        progress: Progress = SILENT,
    ) -> Iterator[Samples]:
        """Sample tokenised sentences, in order, a batch at a time.

        Each sentence and chain has random numbers of its own, which depend on the seed, the sentence's place among the
        lines and the chain's number: more samples, chains or threads leave the first ones as they are. `documents` are
        labels of the lines for global features of documents; lines with the same label in a row are a document, and by
        default all are one. `features=False` leaves features out, which take longer than the sampling itself.
        """
        for part in self.batches(
            lines,
            seed=seed,
            documents=documents,
            features=features,
            trace=trace,
            threads=threads,
            progress=progress,
        ):
            yield part.samples

    def batches(
        self,
        lines: Iterable[str],
        *,
        seed: int = 1,
        documents: Iterable[object] | None = None,
        features: bool = True,
        trace: bool = False,
        threads: int = 1,
        progress: Progress = SILENT,
    ) -> Iterator[SampledBatch]:
        """Sample like `sample`, and tell how it went."""
        number = 0
        functions = self._functions if features or trace else self._felt
        together = functions is not None and functions.see_documents
        for part, bounds in document_parts(lines, documents, _BATCH * threads, together=together):
            batch = self.translator.batch(part)
            visited = self._visit(batch, functions, bounds, number, seed=seed, trace=trace, threads=threads)
            short = int((visited.collected.min(axis=1) < self.options.samples).sum())
            if short:
                progress.warn(f"the time was over for {short} of sentences {number + 1} to {number + len(part)}")
            yield SampledBatch(
                self._samples(batch, visited, functions, bounds, features=features),
                visited,
                segmentation_components(batch, threads=threads),
            )
            number += len(part)

    def _visit(
        self,
        batch: Batch,
        functions: GlobalFunctions | None,
        documents: NDArray[np.int64],
        number: int,
        *,
        seed: int,
        trace: bool,
        threads: int,
    ) -> Visited:
        options = self.options
        found = self._searched(batch, threads)
        return run_chains(
            batch,
            options,
            reordering_limit=self.translator.reordering_limit,
            seed=seed,
            samples=options.samples,
            chains=options.chains,
            burn_in=cooling(options.start_temperature, options.temperature, options.burn_in),
            temperature=options.temperature,
            thin=options.thin,
            per_pass=options.collect == "pass",
            trace=trace,
            starts=self._starts(batch, found, threads),
            lattices=found if options.jump_every else None,
            proposal=None if self._proposal_weights is None else batch.reweighted(self._proposal_weights),
            functions=functions,
            documents=documents,
            first_number=number,
            threads=threads,
        )

    def _searched(self, batch: Batch, threads: int) -> Found | None:
        if not self.options.jump_every and self.options.initial != "beam":
            return None
        limit = self.translator.reordering_limit
        return batch.search(self.translator.limits, limit, lattice=bool(self.options.jump_every), threads=threads)

    def _starts(self, batch: Batch, found: Found | None, threads: int) -> Ragged[np.int32] | None:
        if self.options.initial == "random":
            return None
        glosses = gloss(batch, threads=threads)
        if self.options.initial == "gloss" or found is None:
            return glosses
        # What is too large for the beam begins as a gloss.
        rows = [row if len(row) else plain for row, plain in zip(found.derivations, glosses, strict=True)]
        return Ragged.concatenate([Ragged(row, np.array([0, len(row)])) for row in rows])

    def _samples(
        self,
        batch: Batch,
        visited: Visited,
        functions: GlobalFunctions | None,
        bounds: NDArray[np.int64],
        *,
        features: bool,
    ) -> Samples:
        options, derivations = batch.options, visited.derivations
        sentences = np.repeat(np.arange(len(visited.sentences) - 1), np.diff(visited.sentences))
        placed = derivations.values + np.repeat(options.offsets[sentences], derivations.lengths)
        words = options.words.take(placed)
        hypotheses = Ragged(words.values, words.offsets[derivations.offsets])
        before = np.repeat(hypotheses.offsets[:-1], derivations.lengths)
        ranges = [options.begin[placed], options.end[placed], words.offsets[:-1] - before, words.offsets[1:] - before]
        rows, scores = FeatureRows.zeros(len(sentences)), visited.scores
        if features:
            rows = _features(batch, derivations, sentences)
        documents = None
        if functions is not None and visited.document_values is not None:
            documents = DocumentTrace(functions.of_documents, bounds, visited.document_values)
        if functions is not None:
            values = functions.values(batch, sentences, hypotheses)
            scores = scores + values.dot(batch.weights)
            rows = FeatureRows.join([rows, values]) if features else rows
        return Samples(
            vocab=options.vocab,
            sentences=visited.sentences,
            hypotheses=hypotheses,
            scores=scores,
            features=rows,
            segmentations=Ragged(np.stack(ranges, axis=1).astype(np.int32), derivations.offsets),
            counts=visited.counts,
            trace=visited.trace,
            documents=documents,
        )


def _features(batch: Batch, derivations: Ragged[np.int32], sentences: NDArray[np.int64]) -> FeatureRows:
    """Features of many derivations, some at a time."""
    cuts = np.searchsorted(derivations.offsets, np.arange(_PHRASES, int(derivations.offsets[-1]), _PHRASES))
    bounds = np.unique([0, *cuts.tolist(), len(derivations)])
    parts = [
        derivation_features(batch, derivations.take(np.arange(begin, end)), sentences[begin:end])
        for begin, end in itertools.pairwise(bounds.tolist())
    ]
    return FeatureRows.concatenate(parts) if parts else FeatureRows.zeros(0)
