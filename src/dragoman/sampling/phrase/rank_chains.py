"""Chains of SampleRank over phrase-based derivations, in the kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.weights import Weights
from dragoman.features import GlobalFeature
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.phrase.batch_gain import MetricGain, bleu_references
from dragoman.sampling.phrase.feature_table import FeatureTable
from dragoman.sampling.ranking import Plan, RankChains, Ranked, RankedSentences, Ranking, RankSteps
from dragoman.search.phrase.translator import PhraseTranslator


class PhraseRankChains(RankChains):
    """Sentences in the kernel's terms."""

    def __init__(self, steps: RankSteps, translator: PhraseTranslator, sentences: RankedSentences):
        self._steps, self._sentences = steps, sentences
        self.reordering_limit = translator.reordering_limit
        self.batch = translator.batch(sentences.lines)
        model = translator.model
        features = model.features_of(GlobalFeature)
        given = Weights(dict.fromkeys(model.global_features, 0.0)).updated(translator.weights)
        self._functions = GlobalFunctions(features, given) if features else None
        self.table = FeatureTable.of(self.batch, sentences.learnt)
        self.names, self.learnt = self.table.names, self.table.learnt
        options = self.batch.options
        self._bleu = bleu_references(sentences.scorer, options, steps.smoothing)
        self._gain = None
        if self._bleu is None:
            self._gain = MetricGain(sentences.scorer, options.vocab, sign=sentences.sign, smoothing=steps.smoothing)

    def ranked(self, plan: Plan, weights: NDArray[np.float64], asked: Ranking) -> Ranked:
        """Run chains as `run` says."""
        options = self.batch.options
        batches = [batch for chain in plan for batch in chain]
        try:
            found = kernels.samplerank(
                self.batch.arrays,
                self.table.arrays,
                []
                if self._functions is None
                else self._functions.for_kernels(options.source, options.vocab, options.words.values),
                references=self._bleu,
                callback=self._gain,
                plan=kernels.RankPlan(
                    units=self._sentences.units,
                    batch_units=np.concatenate([np.empty(0, np.int64), *batches]),
                    batch_offsets=np.cumsum([0, *(len(batch) for batch in batches)]),
                    chain_offsets=np.cumsum([0, *(len(chain) for chain in plan)]),
                    seed=asked.seed,
                    first_batch=asked.first_batch,
                ),
                weights=weights,
                settings=self._settings(asked.trace),
                threads=asked.runtime.threads,
                progress=asked.share,
            )
        except kernels.FunctionError as error:
            if self._functions is None:
                raise
            raise self._functions.failure(error) from None
        for sentence in found["missing"][found["missing"] >= 0].tolist():
            raise DataError(
                f"sentence {sentence + 1} ('{self._sentences.lines[sentence]}') has no derivation",
                expected="options that cover each word, in an order that the reordering limit allows",
            )
        return Ranked(
            weights=found["weights"],
            totals=found["totals"],
            collected=found["counts"][:, 0],
            counts=found["counts"][:, 1:],
            gains=found["measures"][:, 0],
            moved=found["measures"][:, 1],
            traces=found["traces"],
        )

    def _settings(self, trace: bool) -> kernels.RankSettings:
        steps = self._steps
        return kernels.RankSettings(
            rates=(steps.merge_split, steps.reorder, steps.retranslate),
            burn_in=steps.burn_in,
            samples=steps.samples,
            temperature=steps.temperature,
            gain_scale=steps.gain_scale,
            margin=steps.margin or -1.0,
            bound=steps.aggressiveness,
            constraints=steps.constraints if steps.update == "hildreth" else 1,
            by_margin=steps.violation == "margin",
            by_gain=steps.better == "gain",
            worse=("drawn", "best", "fear").index(steps.worse or "drawn"),
            best_found=steps.best_found,
            applied_only=steps.counted == "applied",
            sign=float(self._sentences.sign),
            reordering_limit=self.reordering_limit,
            trace=trace,
        )
