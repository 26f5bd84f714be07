"""Chains of SampleRank over derivations of phrase-based models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.phrases import REORDERING_SCORES
from dragoman.features import GlobalFeature
from dragoman.metrics.bleu import BleuScorer
from dragoman.metrics.metric import Scorer
from dragoman.model.parts import reordering_features
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.search.phrase.batch import PhraseBatch, boundary_names
from dragoman.search.phrase.translation_options import PhraseOptions
from dragoman.search.phrase.translator import PhraseTranslator
from dragoman.tuning.methods.samplerank.rank_chains import (
    BatchValue,
    Plan,
    RankChains,
    RankRequest,
    RankResult,
    RankSteps,
    TrainingSentences,
)


def bleu_references(scorer: Scorer, options: PhraseOptions, smoothing: float) -> kernels.BleuReferences | None:
    """Return what the kernel needs for BLEU; None if it cannot compute this metric.

    The kernel joins the words of options, so the metric must count words as they are, without a tokeniser.
    """
    if not isinstance(scorer, BleuScorer) or scorer.metric.tokenise != "none":
        return None
    references = scorer.references
    words = references.encode(Corpus(options.vocab, options.words))
    lengths = np.sort(references.lengths.T.astype(np.float64), axis=1)
    if scorer.metric.reference_length == "shortest":
        lengths = lengths[:, :1]
    if scorer.metric.reference_length == "average":
        lengths = lengths.mean(axis=1, keepdims=True)
    return kernels.BleuReferences(
        options=words.for_kernels(),
        references=references.grouped.for_kernels(),
        count=len(references),
        lengths=np.ascontiguousarray(lengths),
        order=scorer.metric.order,
        smoothing=smoothing,
    )


class MetricGain:
    """Any metric whose statistics add up, as a function that the kernel calls, which is slow.

    Gains are `sign` times the metric; if it is BLEU, `smoothing` is added to all counts.
    """

    def __init__(self, scorer: Scorer, vocab: Vocab, *, sign: int, smoothing: float):
        self._scorer, self._vocab = scorer, vocab
        self._value = BatchValue(scorer, sign, smoothing)

    def __call__(
        self, sentence: int, words: NDArray[np.int32], offsets: NDArray[np.int64], rest: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the statistics of translations of a sentence, and the gain of each with the rest of the batch."""
        lines = self._vocab.decode(words, offsets).decode().split("\n")[:-1]
        statistics = self._scorer.statistics(Corpus.from_lines(lines), np.full(len(lines), sentence, np.int64))
        statistics = np.ascontiguousarray(statistics, np.float64)
        total = statistics + rest if len(rest) else statistics
        return statistics, np.ascontiguousarray(self._value(total))


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The names of all features, marks of the trained ones, and the features of options.

    The dense features come first, then the sparse ones of options, those of orientations and boundaries, and the
    global ones.
    """

    names: tuple[str, ...]
    learnt: NDArray[np.bool_]
    arrays: kernels.FeatureTable

    @classmethod
    def of(cls, batch: PhraseBatch, chosen: Callable[[Sequence[str]], Collection[str]]) -> FeatureTable:
        """Number the features of a batch; `chosen` selects those whose weights are trained."""
        dense, global_names = batch.model.dense_features, tuple(batch.model.global_features)
        sparse = FeatureRows.join([FeatureRows.zeros(len(batch.options)), *batch.sparse]).used()
        boundaries = () if batch.boundary_feature is None else boundary_names(batch.boundary_feature)
        oriented = None if batch.oriented is None else batch.oriented.rows
        first = len(dense) + len(sparse.names)
        of_orientations = () if batch.oriented is None else batch.oriented.names
        names = (*dense, *sparse.names, *of_orientations, *boundaries, *global_names)
        learnt = chosen(names)
        column = {name: i for i, name in enumerate(dense)}
        options, models = batch.options, batch.model
        is_learnt = np.array([name in learnt for name in names], bool)
        shifted = FeatureRows(sparse.names, sparse.offsets, (sparse.ids + len(dense)).astype(np.int32), sparse.values)
        properties = FeatureRows.zeros(len(batch.options)) if oriented is None else oriented
        numbered = replace(properties, ids=first + properties.ids * np.int32(len(REORDERING_SCORES)))
        arrays = kernels.FeatureTable(
            oriented=numbered.for_kernels(),
            dense=np.ascontiguousarray(options.dense),
            sparse=shifted.for_kernels(),
            reorderings=np.ascontiguousarray(options.reordering.reshape(-1, 6)),
            reordering_models=np.array([column[reordering_features(name)[0]] for name in models.reorderings], np.int32),
            language_models=np.array([column[name] for name in models.language_models], np.int32),
            global_features=np.arange(len(names) - len(global_names), len(names), dtype=np.int32),
            distortion=column["distortion"],
            boundary=first + len(of_orientations),
            learnt=is_learnt.astype(np.uint8),
        )
        return cls(names, is_learnt, arrays)


class PhraseRankChains(RankChains):
    """Chains over phrase-based derivations, in the kernel."""

    def __init__(self, steps: RankSteps, translator: PhraseTranslator, sentences: TrainingSentences):
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

    def run(self, plan: Plan, weights: NDArray[np.float64], asked: RankRequest) -> RankResult:
        """Run chains in the kernel; see `RankChains.run`."""
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
                    feature_units=np.ones(weights.shape[1]) if asked.units is None else asked.units,
                    seed=asked.seed,
                    first_batch=asked.first_batch,
                ),
                weights=weights,
                settings=self._settings(asked),
                threads=asked.runtime.threads,
                progress=asked.progress_callback,
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
        return RankResult(
            weights=found["weights"],
            totals=found["totals"],
            squares=found["squares"],
            collected=found["counts"][:, 0],
            counts=found["counts"][:, 1:],
            gains=found["measures"][:, 0],
            moved=found["measures"][:, 1],
            traces=found["traces"],
        )

    def _settings(self, asked: RankRequest) -> kernels.RankSettings:
        steps = self._steps
        return kernels.RankSettings(
            start=("monotone", "gloss", "random").index(steps.start),
            rates=(steps.merge_split, steps.reorder, steps.retranslate),
            burn_in=steps.burn_in,
            samples=steps.samples,
            temperature=steps.temperature,
            gain_scale=steps.gain_scale,
            in_words=steps.gain_unit == "words",
            margin=steps.margin or -1.0,
            bound=steps.aggressiveness / asked.cooled,
            constraints=steps.constraints if steps.update == "hildreth" else 1,
            by_margin=steps.violation == "margin",
            by_gain=steps.better == "gain",
            worse=("drawn", "best", "fear").index(steps.worse or "drawn"),
            best_found=steps.best_found,
            applied_only=steps.counted == "applied",
            sign=float(self._sentences.sign),
            reordering_limit=self.reordering_limit,
            trace=asked.trace,
        )
