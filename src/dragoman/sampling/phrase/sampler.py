"""Sampling phrase-based derivations.

Arun et al. (2009), *Monte Carlo inference and maximization for phrase-based translation*; Arun's thesis (2011),
chapter 5. The operators, and why the chains have the right distribution, are in `kernels/sampling/phrase/chain.hpp`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import DocumentTrace, Samples
from dragoman.core.weights import Weights
from dragoman.features import GlobalFeature
from dragoman.sampling.global_features import GlobalFunctions, document_parts
from dragoman.sampling.phrase.chains import Visited, run_chains
from dragoman.sampling.phrase.lattices import Lattice, segmentation_components, translation_log_scores
from dragoman.sampling.sampler import Request, Sampled, Sampler
from dragoman.sampling.schedule import Sampling, cooling
from dragoman.search.limits import SearchLimits
from dragoman.search.phrase.batch import PhraseBatch, PhraseOutcome
from dragoman.search.phrase.greedy import gloss
from dragoman.search.phrase.lattice import derivation_features
from dragoman.search.phrase.translator import PhraseTranslator

#: Sentences that are sampled together, for each thread.
_BATCH = 8

#: Phrases whose features are computed at once: they need some hundred bytes each.
_PHRASES = 1 << 16


class PhraseSampler(Sampler):
    """Draws phrase-based derivations; see `Sampler.of`."""

    def __init__(
        self,
        translator: PhraseTranslator,
        options: Sampling = Sampling(),
        *,
        proposal_weights: Weights | None = None,
        global_features: Sequence[GlobalFeature] = (),
    ):
        super().__init__(translator, options, proposal_weights, global_features)
        self._phrases = translator

    def _sampled(self, lines: Iterable[str], asked: Request) -> Iterator[Sampled]:
        number = asked.first
        functions = self._functions if asked.features or asked.trace else self._felt
        together = functions is not None and functions.see_documents
        for part, bounds in document_parts(lines, asked.documents, _BATCH * asked.runtime.threads, together=together):
            batch = self._phrases.batch(part)
            visited = self._visit(batch, functions, bounds, number, asked)
            short = int((visited.collected.min(axis=1) < self.options.samples).sum())
            if short:
                asked.runtime.warn(f"the time was over for {short} of sentences {number + 1} to {number + len(part)}")
            yield Sampled(
                samples=self._samples(batch, visited, functions, bounds, features=asked.features),
                derivations=visited.derivations,
                moves=("merge_split", "reorder", "retranslate", "jump"),
                tried=np.concatenate([visited.steps, visited.jumps[..., :1]], axis=2),
                accepted=np.concatenate([visited.changes, visited.jumps[..., 1:]], axis=2),
                collected=visited.collected,
                components=segmentation_components(batch, runtime=asked.runtime),
            )
            number += len(part)

    def forest(self, line: str, limits: SearchLimits) -> Lattice | None:
        """Return the lattice that a search under these limits keeps of a sentence; None if that is too large."""
        batch = self._phrases.batch([line])
        found = batch.search(limits, self._phrases.reordering_limit, lattice=True, runtime=self.translator.runtime)
        return Lattice.of(batch, found, self.options.temperature) if found.outcomes[0] == 0 else None

    def log_scores(self, line: str, translations: Ragged[np.int32]) -> NDArray[np.float64]:
        """For each translation of a sentence ln Σ exp(score / temperature) over all derivations that write it."""
        return translation_log_scores(
            self._phrases, line, translations, temperature=self.options.temperature, runtime=self.translator.runtime
        )

    def _visit(
        self,
        batch: PhraseBatch,
        functions: GlobalFunctions | None,
        documents: NDArray[np.int64],
        number: int,
        asked: Request,
    ) -> Visited:
        options, runtime = self.options, asked.runtime
        found = self._searched(batch, runtime)
        return run_chains(
            batch,
            options,
            reordering_limit=self._phrases.reordering_limit,
            seed=asked.seed,
            samples=options.samples,
            chains=options.chains,
            burn_in=cooling(options.start_temperature, options.temperature, options.burn_in),
            temperature=options.temperature,
            thin=options.thin,
            per_pass=options.collect == "pass",
            trace=asked.trace,
            starts=self._starts(batch, found, runtime),
            lattices=found if options.jump_every else None,
            proposal=None if self._proposal_weights is None else batch.reweighted(self._proposal_weights),
            functions=functions,
            documents=documents,
            first_number=number,
            runtime=runtime,
        )

    def _searched(self, batch: PhraseBatch, runtime: Runtime) -> PhraseOutcome | None:
        if not self.options.jump_every and self.options.initial != "beam":
            return None
        limit = self._phrases.reordering_limit
        return batch.search(self.translator.limits, limit, lattice=bool(self.options.jump_every), runtime=runtime)

    def _starts(self, batch: PhraseBatch, found: PhraseOutcome | None, runtime: Runtime) -> Ragged[np.int32] | None:
        if self.options.initial == "random":
            return None
        glosses = gloss(batch, runtime=runtime)
        if self.options.initial == "gloss" or found is None:
            return glosses
        # What is too large for the beam begins as a gloss.
        rows = [row if len(row) else plain for row, plain in zip(found.derivations, glosses, strict=True)]
        return Ragged.concatenate([Ragged(row, np.array([0, len(row)])) for row in rows])

    def _samples(
        self,
        batch: PhraseBatch,
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
            values = functions.values(options.source, sentences, options.vocab, hypotheses)
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


def _features(batch: PhraseBatch, derivations: Ragged[np.int32], sentences: NDArray[np.int64]) -> FeatureRows:
    """Features of many derivations, some at a time."""
    cuts = np.searchsorted(derivations.offsets, np.arange(_PHRASES, int(derivations.offsets[-1]), _PHRASES))
    bounds = np.unique([0, *cuts.tolist(), len(derivations)])
    parts = [
        derivation_features(batch, derivations.take(np.arange(begin, end)), sentences[begin:end])
        for begin, end in itertools.pairwise(bounds.tolist())
    ]
    return FeatureRows.concatenate(parts) if parts else FeatureRows.zeros(0)
