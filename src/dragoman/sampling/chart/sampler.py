"""Sampling hierarchical derivations.

Arun's thesis (2011), 8.2.3: derivations are drawn from the forest without language models (Blunsom & Osborne, 2008) and
accepted by Metropolis and Hastings, so that the distribution is that of the model with its language models. Beside
whole derivations, as there, subtrees, rules and stretches of glue are drawn anew. The moves, and why the chains have
the right distribution, are in `kernels/sampling/chart/chain.hpp`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.core.weights import Weights
from dragoman.features import GlobalFeature
from dragoman.sampling.chart.chains import MOVES, Visited, gloss, refuse_document_features, run_chains
from dragoman.sampling.chart.forest import ChartForest, Spelled, best_derivations, translation_log_scores
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.sampler import Request, Sampled, Sampler
from dragoman.sampling.schedule import Sampling, cooling
from dragoman.search.chart.batch import ChartBatch
from dragoman.search.chart.graph import SentenceGraph
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SearchLimits

#: Sentences that are sampled together, for each thread.
_BATCH = 8


class ChartSampler(Sampler):
    """Draws hierarchical derivations; see `Sampler.of`."""

    def __init__(
        self,
        translator: ChartTranslator,
        options: Sampling = Sampling(),
        *,
        proposal_weights: Weights | None = None,
        global_features: Sequence[GlobalFeature] = (),
    ):
        super().__init__(translator, options, proposal_weights, global_features)
        self._charts = translator
        refuse_document_features(self._felt)

    def _sampled(self, lines: Iterable[str], asked: Request) -> Iterator[Sampled]:
        number = asked.first
        functions = self._functions if asked.features or asked.trace else self._felt
        stream = iter(lines)
        while part := list(itertools.islice(stream, _BATCH * asked.runtime.threads)):
            batch = self._charts.batch(part)
            visited = self._visit(batch, number, asked)
            short = int((visited.collected.min(axis=1) < self.options.samples).sum())
            if short:
                asked.runtime.warn(f"the time was over for {short} of sentences {number + 1} to {number + len(part)}")
            yield Sampled(
                samples=_samples(batch, visited, functions, features=asked.features),
                derivations=visited.derivations,
                moves=MOVES,
                tried=visited.tried,
                accepted=visited.changed,
                collected=visited.collected,
                # Any part can be cut into words, and anything can come of them; without glue the root can change.
                components=np.ones(len(part), np.int64),
            )
            number += len(part)

    def forest(self, line: str, limits: SearchLimits) -> ChartForest | None:
        """Return the graph that a search under these limits keeps of a sentence; None if that is too large."""
        batch = self._charts.batch([line])
        found = batch.search(limits, forests=True, runtime=self.translator.runtime)
        if found.outcomes[0] != 0 or found.every is None:
            return None
        return ChartForest(batch, SentenceGraph.of(batch, found.every, 0), self.options.temperature)

    def log_scores(self, line: str, translations: Ragged[np.int32]) -> np.ndarray:
        """For each translation of a sentence ln Σ exp(score / temperature) over all derivations that write it."""
        return translation_log_scores(
            self._charts, line, translations, temperature=self.options.temperature, runtime=self.translator.runtime
        )

    def _visit(self, batch: ChartBatch, number: int, asked: Request) -> Visited:
        options = self.options
        return run_chains(
            batch,
            options,
            seed=asked.seed,
            samples=options.samples,
            chains=options.chains,
            burn_in=cooling(options.start_temperature, options.temperature, options.burn_in),
            temperature=options.temperature,
            thin=options.thin,
            trace=asked.trace,
            starts=self._starts(batch, asked.runtime),
            proposal=None if self._proposal_weights is None else batch.reweighted(self._proposal_weights),
            functions=self._felt,
            first_number=number,
            runtime=asked.runtime,
        )

    def _starts(self, batch: ChartBatch, runtime: Runtime) -> Ragged[np.int32] | None:
        if self.options.initial == "random":
            return None
        glosses = gloss(batch, runtime=runtime)
        if self.options.initial == "gloss":
            return glosses
        found = best_derivations(batch, batch.search(self.translator.limits, runtime=runtime))
        # What is too large for the search begins as a gloss.
        rows = [row if len(row) else plain for row, plain in zip(found, glosses, strict=True)]
        return Ragged.concatenate([Ragged(row, np.array([0, len(row)])) for row in rows])


def _samples(batch: ChartBatch, visited: Visited, functions: GlobalFunctions | None, *, features: bool) -> Samples:
    sentences = np.repeat(np.arange(len(visited.sentences) - 1), np.diff(visited.sentences))
    spelled = Spelled.of(batch, sentences, visited.derivations)
    rows = spelled.features() if features else FeatureRows.zeros(len(sentences))
    scores = visited.scores
    if functions is not None:
        values = functions.values(batch.rules.source, sentences, batch.rules.vocab, spelled.words)
        scores = scores + values.dot(batch.weights)
        rows = FeatureRows.join([rows, values]) if features else rows
    return Samples(
        vocab=batch.rules.vocab,
        sentences=visited.sentences,
        hypotheses=spelled.words,
        scores=scores,
        features=rows,
        segmentations=spelled.parts,
        counts=visited.counts,
        trace=visited.trace,
    )
