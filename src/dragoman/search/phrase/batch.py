"""A batch of sentences in a phrase-based search: options and weights in, derivations and hypergraphs out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import BOS, EOS, SPECIAL
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import Weights
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import check_range
from dragoman.features import BoundaryFeature, OrientationFeature, PairFeature, SpanFeature, SpansInUse
from dragoman.model.bundle import Model
from dragoman.model.parts import reordering_features
from dragoman.search.batch import (
    LARGEST_SCORE,
    NOT_FINITE,
    check_weights,
    kernel_limits,
    lm_words,
    orientation_rows,
    pair_rows,
    refuse_other_mixtures,
    score_error,
    span_rows,
)
from dragoman.search.limits import SearchLimits
from dragoman.search.phrase.translation_options import PhraseOptions, RankedScores
from dragoman.text.source_trees import SourceTree

#: The default number of candidates of a stack.
POP_LIMIT = 400


@dataclass(frozen=True, eq=False)
class PhraseOutcome:
    """Search results: the outcome of each sentence (0 found, 1 no derivation, 2 too large), and derivations."""

    outcomes: NDArray[np.uint8]
    scores: NDArray[np.float64]
    expansions: NDArray[np.int64]
    derivations: Ragged[np.int32]
    arrays: Mapping[str, NDArray[Any]]


class PhraseBatch:
    """The options of a batch of sentences, scored with weights; `trees` are source trees, if a feature needs them."""

    def __init__(
        self,
        model: Model,
        weights: Weights,
        options: PhraseOptions,
        lm_ids: Sequence[NDArray[np.int32]],
        trees: Sequence[SourceTree] = (),
        *,
        threads: int = 1,
    ):
        self.model = model
        self._threads = threads
        self.weights = weights
        self.options = options
        self._lm_ids = lm_ids
        self._trees = trees
        self._lm_names = list(model.language_models)
        self._automata = [lm.automaton for lm in model.language_models.values()]
        self._dense_weights, self._lm_weights = weights.vector(model.dense_features), weights.vector(self._lm_names)
        self._distortion_weight = weights.get("distortion", 0.0)
        self.boundary_feature = model.boundary_feature
        of_pairs, of_spans = model.features_of(PairFeature), model.features_of(SpanFeature)
        none = np.zeros(len(options), np.int32)
        self.left, self.right = (none, none) if self.boundary_feature is None else self._ends(self.boundary_feature)
        spans = SpansInUse(options.sentence, options.begin, options.end, trees)
        self.sparse = [*pair_rows(of_pairs, options), *span_rows(of_spans, options.source, spans)]
        # Properties of options, each with a weight for each of six orientations.
        self.oriented = orientation_rows(model.features_of(OrientationFeature), options)
        self._lm_words = lm_words(model, options.vocab, options.words.values, lm_ids)

    def _ends(self, feature: BoundaryFeature) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the left and right symbols of the options; refuse wrong ones, because kernels trust features."""
        left, right = feature(self.options)
        for side, symbols in (("left", left), ("right", right)):
            if symbols.dtype != np.int32 or symbols.shape != (len(self.options),):
                raise DataError(
                    f"the {side} symbols of {feature.prefix} are {symbols.shape} of {symbols.dtype}",
                    expected=f"one int32 for each of {len(self.options)} options",
                )
            check_range(f"{side} symbols of {feature.prefix}", symbols, 0, len(feature.symbols))
        return left, right

    def reweighted(self, weights: Weights) -> PhraseBatch:
        """Return the same options scored with other weights, with the same interpolation weights."""
        refuse_other_mixtures(self.model, self.weights, weights)
        return PhraseBatch(self.model, weights, self.options, self._lm_ids, self._trees)

    def of_lower_order(self, order: int) -> PhraseBatch:
        """Return the same options scored with the language models cut to an order."""
        models = {name: lm.cut(order) for name, lm in self.model.language_models.items()}
        model = replace(self.model, language_models=models)
        return PhraseBatch(model, self.weights, self.options, self._lm_ids, self._trees)

    def with_scores(self, local: NDArray[np.float64]) -> PhraseBatch:
        """Return the same options with these scores, and nothing else: no context, no distance counts."""
        model = replace(self.model, language_models={})
        batch = PhraseBatch(model, Weights({}), self.options, (), self._trees)
        batch.local = local
        return batch

    @property
    def _ranked(self) -> RankedScores | None:
        """The scores of the ranking that collected the options, if it had these weights."""
        ranked = self.options.ranked
        return ranked if ranked is not None and ranked.weights is self.weights else None

    @cached_property
    def local(self) -> NDArray[np.float64]:
        """The weighted sum of each option's local features."""
        if self._ranked is not None:
            return self._ranked.local
        scores = kernels.option_scores(self.options.dense, self._dense_weights)
        for rows in self.sparse:
            scores = scores + rows.dot(self.weights)
        return scores

    @cached_property
    def estimates(self) -> NDArray[np.float64]:
        """The local score of each option plus the language models' score of its words without context."""
        total = self.local.copy()
        rows = np.arange(len(total), dtype=np.int32)
        with np.errstate(over="ignore", invalid="ignore"):  # `check_scores` says what is not finite
            for k, weight in enumerate(self._lm_weights.tolist()):
                total += weight * self.read(k, np.zeros(len(rows), np.int32), rows)
        return total

    @cached_property
    def arrays(self) -> kernels.PhraseBatch:
        """The batch as kernels take it."""
        return self._arrays(np.arange(len(self._lm_names)))

    @cached_property
    def arrays_in_use(self) -> kernels.PhraseBatch:
        """The batch as kernels take it, without language models of weight 0, whose states would only cost time."""
        return self._arrays(np.flatnonzero(self._lm_weights))

    def _arrays(self, lms: NDArray[np.integer]) -> kernels.PhraseBatch:
        options, local, lm_weights = self.options, self.local, self._lm_weights
        reorder_from, reorder_to, exit_class = self._orientations()
        return kernels.PhraseBatch(
            boundary=self._boundary_scores(),
            language_models=[self._automata[k] for k in lms.tolist()],
            exit_class=exit_class,
            lengths=options.source.sentences.lengths.astype(np.int32),
            option_offsets=options.offsets,
            begin=options.begin,
            end=options.end,
            local=local,
            reorder_from=reorder_from,
            reorder_to=reorder_to,
            left=self.left,
            right=self.right,
            words=options.words.for_kernels(),
            lm_words=self._lm_words[lms],
            lm_weights=lm_weights[lms],
            distortion_weight=self._distortion_weight,
        )

    def _orientations(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
        """Return scores of orientations towards the option before, and after, and classes that score alike."""
        options, right, ranked = self.options, self.right, self._ranked
        if ranked is not None and self.oriented is None and self.boundary_feature is None:
            return ranked.reorder_from, ranked.reorder_to, ranked.exit_class
        reordering, weights = options.reordering, reordering_weights(self.model, self.weights)
        if self.oriented is not None:
            # Scores of properties are one more reordering model. Options score alike if their properties are the same.
            reordering = np.concatenate([reordering, self.oriented.scores(self.weights)[None]])
            weights = np.concatenate([weights, np.ones((1, 6))])
            right = self.oriented.numbers(right)
        six = np.ascontiguousarray(reordering).reshape(-1, 6)
        return kernels.option_orientations(
            options.offsets, options.begin, options.end, right, six, weights, self._threads
        )

    def search(
        self,
        limits: SearchLimits,
        reordering_limit: int,
        *,
        targets: Ragged[np.int32] | None = None,
        lattice: bool = False,
        runtime: Runtime = Runtime(),
    ) -> PhraseOutcome:
        """Search every sentence.

        `targets` are the only translations that are allowed, in words of `options.vocab`; the search then finds all
        their derivations. Scores that are not finite are refused.
        """
        check_context(self)
        found = kernels.search_phrases(
            self.arrays,
            targets=None if targets is None else targets.for_kernels(),
            limits=kernel_limits(limits, POP_LIMIT, forced=targets is not None, keep_all=lattice),
            reordering_limit=reordering_limit,
            threads=runtime.threads,
        )
        if NOT_FINITE in found["outcomes"]:
            check_scores(self)
        derivations = Ragged(found.pop("derivations"), found.pop("derivation_offsets"))
        return PhraseOutcome(found.pop("outcomes"), found.pop("scores"), found.pop("expansions"), derivations, found)

    def _boundary_scores(self) -> NDArray[np.float64]:
        if self.boundary_feature is None:
            return np.empty((0, 0))
        size = len(self.boundary_feature.symbols)
        return self.weights.vector(boundary_names(self.boundary_feature)).reshape(size, size)

    def read(self, k: int, states: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return natural log-probabilities under language model k of rows (options) after their states; -1 is </s>."""
        words = kernels.Rows(values=self._lm_words[k], offsets=self.options.words.offsets)
        return kernels.lm_read_rows(self._automata[k], words, states, rows)

    def read_sentences(self, k: int, options: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the natural log-probability under language model k of sentences, as rows of options, with </s>."""
        words = Ragged(self._lm_words[k], self.options.words.offsets).take(options)
        bounds = words.offsets[offsets]
        values = np.insert(words.values, bounds[1:], np.int32(EOS))
        model = self.model.language_models[self._lm_names[k]]
        rows = np.arange(len(offsets) - 1, dtype=np.int32)
        starts = np.full(len(rows), model.begin_state, np.int32)
        ended = Ragged(values, (bounds + np.arange(len(bounds))).astype(np.int64))
        return kernels.lm_read_rows(model.automaton, ended.for_kernels(), starts, rows)


def reordering_weights(model: Model, weights: Weights) -> NDArray[np.float64]:
    """Return six weights for each reordering model."""
    names = [name for reordering in model.reorderings for name in reordering_features(reordering)]
    return weights.vector(names).reshape(-1, 6)


def boundary_names(feature: BoundaryFeature) -> tuple[str, ...]:
    """Name the features of all pairs of symbols: right symbol of the first option, left symbol of the second."""
    return _boundary_names(feature.prefix, tuple(feature.symbols[1:]))


@lru_cache(maxsize=8)
def _boundary_names(prefix: str, symbols: tuple[str, ...]) -> tuple[str, ...]:
    lefts = (SPECIAL[EOS], *symbols)
    return tuple(f"{prefix}.{right}:{left}" for right in (SPECIAL[BOS], *symbols) for left in lefts)


def check_context(batch: PhraseBatch) -> None:
    """Refuse weights of features between options that are not finite."""
    check_weights(batch.weights, ["distortion"])
    with np.errstate(over="ignore", invalid="ignore"):  # which is what we are looking for
        arrays = batch.arrays
    if batch.boundary_feature is not None:
        names = boundary_names(batch.boundary_feature)
        large = np.flatnonzero(~(np.abs(arrays.boundary.ravel()) < LARGEST_SCORE)).tolist()
        check_weights(batch.weights, [names[i] for i in large])


def check_scores(batch: PhraseBatch, first_number: int | None = None) -> None:
    """Refuse a batch whose scores are not finite, and name the feature that is to blame; O(options).

    `first_number` is the number of sentences before the batch, if known.
    """
    check_context(batch)
    if not len(batch.local):
        return
    parts = batch.estimates[:, None], batch.arrays.reorder_from, batch.arrays.reorder_to
    with np.errstate(over="ignore", invalid="ignore"):
        if sum(np.abs(part).max() for part in parts) < LARGEST_SCORE:
            return
        worst = sum(np.abs(part).max(axis=1) for part in parts)
    wrong = np.flatnonzero(~(worst < LARGEST_SCORE))
    if len(wrong):
        raise _error(batch, int(wrong[0]), first_number)


def _error(batch: PhraseBatch, option: int, first_number: int | None) -> DataError:
    options = batch.options
    sentence = int(options.sentence[option])
    words = options.source.sentences[sentence][options.begin[option] : options.end[option]]
    place = "" if first_number is None else f"sentence {first_number + sentence + 1}: "
    pair = f"'{options.source.vocab.text(words)}' → '{options.vocab.text(options.words[option])}'"
    return score_error(f"{place}the option {pair}", _features(batch, option), batch.weights)


def _features(batch: PhraseBatch, option: int) -> dict[str, float]:
    """Return all features of an option."""
    model, options = batch.model, batch.options
    found = dict(zip(model.dense_features, options.dense[option].tolist(), strict=True))
    for rows in batch.sparse:
        found |= rows.row(option)
    for k, name in enumerate(model.language_models):
        found[name] = float(batch.read(k, np.zeros(1, np.int32), np.array([option], np.int32))[0])
    for r, name in enumerate(model.reorderings):
        found |= zip(reordering_features(name), options.reordering[r, option].tolist(), strict=True)
    if batch.oriented is not None:
        found |= batch.oriented.row(option)
    return found
