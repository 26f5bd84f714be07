"""Shared by the searches of phrases and charts: feature rows, checks of scores, limits and results of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.display import shorten
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.phrases import REORDERING_SCORES
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.features import OrientationFeature, PairFeature, PairsInUse, SpanFeature, SpansInUse, SparseFeature
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits
from dragoman.search.translation import SearchResult
from dragoman.text.source_trees import ParsedLine, SourceTree


def trees_of(model: Model, lines: Sequence[str]) -> list[SourceTree]:
    """Return the trees of lines, which must have some if the model has a feature that looks at them."""
    if not model.tree_features:
        return []
    trees = []
    for line in lines:
        if not isinstance(line, ParsedLine):
            raise model.missing_trees()
        trees.append(line.tree)
    return trees


def encode_targets(vocab: Vocab, targets: Sequence[str]) -> Ragged[np.int32]:
    """Return forced translations as word ids."""
    return Ragged(*vocab.encode("".join(f"{target}\n" for target in targets).encode()))


def pair_rows(features: Iterable[PairFeature], pairs: PairsInUse) -> list[FeatureRows]:
    """Return the rows of each feature, one row per pair."""
    return [_checked(feature, feature(pairs), len(pairs.words)) for feature in features]


def span_rows(features: Iterable[SpanFeature], source: Corpus, spans: SpansInUse) -> list[FeatureRows]:
    """Return the rows of each feature, one row per span of the source sentences."""
    if spans.trees:
        for i, (tree, words) in enumerate(zip(spans.trees, source.sentences.lengths.tolist(), strict=True)):
            if tree.words != words:
                found = f"the tree of '{shorten(source.line(i))}' is over {tree.words} words"
                raise DataError(found, expected=f"{words}, as the sentence has")
    return [_checked(feature, feature(spans), len(spans.begin)) for feature in features]


@dataclass(frozen=True, eq=False)
class OrientedRows:
    """Properties of options, one row each; each property is six features, one for each orientation and direction."""

    rows: FeatureRows

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features: those of the first property, then those of the next."""
        return tuple(f"{name}.{score}" for name in self.rows.names for score in REORDERING_SCORES)

    def scores(self, weights: Weights) -> NDArray[np.float64]:
        """Return the weighted sum of each row, for each of the six."""
        size = len(REORDERING_SCORES)
        of_property = weights.vector(self.names).reshape(-1, size)[self.rows.ids] * self.rows.values[:, None]
        row = np.repeat(np.arange(len(self.rows)), np.diff(self.rows.offsets))
        return np.stack([np.bincount(row, of_property[:, i], len(self.rows)) for i in range(size)], axis=1)

    def numbers(self, right: NDArray[np.int32]) -> NDArray[np.int32]:
        """Number the options: those with the same properties and the same right symbol have the same number."""
        row = np.repeat(np.arange(len(self.rows)), np.diff(self.rows.offsets))
        bounds = self.rows.offsets + np.arange(len(self.rows) + 1)
        keys = np.empty(int(bounds[-1]), np.int32)
        keys[np.arange(len(row)) + row] = self.rows.ids
        keys[bounds[1:] - 1] = right
        return kernels.intern_sequences(keys, bounds)[0]

    def take(self, rows: NDArray[np.integer], columns: NDArray[np.integer]) -> FeatureRows:
        """Return the features of rows (-1: none) in the orientation and direction that `columns` give."""
        given = self.rows
        padded = FeatureRows(given.names, np.append(given.offsets, given.offsets[-1]), given.ids, given.values)
        picked = padded.take(np.where(rows >= 0, rows, len(given)))
        column = np.repeat(columns, np.diff(picked.offsets))
        ids = picked.ids * np.int32(len(REORDERING_SCORES)) + column.astype(np.int32)
        return FeatureRows(self.names, picked.offsets, ids, picked.values)

    def row(self, option: int) -> dict[str, float]:
        """Return all six features of each property of an option."""
        return {f"{name}.{score}": 1.0 for name in self.rows.row(option) for score in REORDERING_SCORES}


def orientation_rows(features: Sequence[OrientationFeature], pairs: PairsInUse) -> OrientedRows | None:
    """Return the properties of pairs that have features of orientations, with prefixes; None if there are none."""
    if not features:
        return None
    found = []
    for feature in features:
        rows = _checked(feature, feature(pairs), len(pairs.words))
        names = tuple(f"{feature.prefix}.{name}" for name in rows.names)
        found.append(replace(rows, names=names))
    return OrientedRows(FeatureRows.join(found))


def _checked(feature: SparseFeature, rows: FeatureRows, count: int) -> FeatureRows:
    """Refuse a wrong number of rows: kernels trust features."""
    if len(rows) != count:
        found = f"the feature {feature.name} has {len(rows)} rows for {count} pairs, rules or spans"
        raise DataError(found, expected="one for each")
    return rows


#: The value of the feature `unknown_word` for each untranslated word, as in Moses.
UNKNOWN_WORD = -100.0


def copied_words(
    model: Model, source: Corpus, unknown: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return the positions of words that pass through, ascending, and the class under which each is copied, or -1.

    These are words that nothing translates (`unknown`), and others that a feature of the model copies.
    """
    feature = model.copy_feature
    if feature is None:
        return unknown, np.full(len(unknown), -1, np.int8)
    words = source.sentences.values
    classes = feature.copy_classes(source.vocab, translated=True)[words]
    classes[unknown] = feature.copy_classes(source.vocab, translated=False)[words[unknown]]
    passed = classes >= 0
    passed[unknown] = True
    return np.flatnonzero(passed), classes[passed]


def pass_through(
    model: Model, source: Corpus, positions: NDArray[np.int64], *, dropped: NDArray[np.bool_]
) -> tuple[Vocab, Ragged[np.int32]]:
    """Copy source words to the target; those that are `dropped` become nothing.

    Returns the model's target vocabulary with these words added, and a row of target words for each position.
    """
    vocab, offsets = model.target_vocab, np.concatenate([[0], np.cumsum(~dropped)])
    if dropped.all():
        return vocab, Ragged(np.empty(0, np.int32), offsets)
    ids = source.sentences.values[positions[~dropped]]
    vocab, words, _ = vocab.extend(source.vocab.decode(ids, np.arange(len(ids) + 1)))
    return vocab, Ragged(words, offsets)


def lm_words(
    model: Model, vocab: Vocab, words: NDArray[np.int32], lm_ids: Sequence[NDArray[np.int32]]
) -> NDArray[np.int32]:
    """Return the words of a batch as ids of each language model, one row per model; ids below 0 are no words and stay.

    `vocab` has the model's target words first; `lm_ids` are their ids in each language model.
    """
    rows = np.empty((len(lm_ids), len(words)), np.int32)
    for k, (ids, language_model) in enumerate(zip(lm_ids, model.language_models.values(), strict=True)):
        if vocab is not model.target_vocab:  # which has words of the source too, that nothing translates
            new = np.arange(len(model.target_vocab), len(vocab), dtype=np.int32)
            found = language_model.words.encode(vocab.decode(new, np.arange(len(new) + 1)))[0]
            ids = np.concatenate([ids, language_model.ids_of(language_model.words)[found]])
        rows[k] = np.where(words < 0, words, ids[words])
    return rows


#: Scores beyond this are overflowing, or were infinite to begin with.
LARGEST_SCORE = 1e100

_EXPECTED = "features and weights whose sum is finite"


def check_weights(weights: Weights, names: Iterable[str]) -> None:
    """Refuse weights that are not finite, and too large weights of features that are scored between steps."""
    weights.check_finite()
    for name in names:
        weight = weights.get(name, 0.0)
        if not abs(weight) < LARGEST_SCORE:
            raise DataError(f"{name} has the weight {weight:g}", expected=_EXPECTED)


def refuse_other_mixtures(model: Model, before: Weights, after: Weights) -> None:
    """Refuse weights with other interpolation weights than those that a batch was collected with."""
    if any(after.get(name) != before.get(name) for name in model.interpolation_weight_names):
        raise UsageError("weights with other shares of mixed tables (mix.*) are for other options; expected the same")


def score_error(what: str, features: Mapping[str, float], weights: Weights) -> DataError:
    """Return the error for an item whose score is not finite; it names the feature that contributes most."""
    products = [(name, value, weights.get(name, 0.0)) for name, value in features.items()]
    with np.errstate(over="ignore", invalid="ignore"):
        name, value, weight = max(products, key=lambda found: _size(found[1] * found[2]))
        score = sum(value * weight for _, value, weight in products)
    return DataError(f"{what} scores {score:g}: {name} is {value:g} and weighs {weight:g}", expected=_EXPECTED)


def _size(score: float) -> float:
    return np.inf if np.isnan(score) else abs(score)


#: The numbers by which kernels know the algorithms.
ALGORITHMS = {"stack": 0, "cube": 1, "exhaustive": 2, "incremental": 3}


def kernel_limits(limits: SearchLimits, pop_limit: int, *, forced: bool, keep_all: bool) -> kernels.SearchLimits:
    """Return limits as kernels take them; `pop_limit` is used if they have none, and forced searches are exhaustive."""
    return kernels.SearchLimits(
        algorithm=ALGORITHMS["exhaustive" if forced else limits.algorithm],
        stack_size=limits.stack_size,
        threshold=np.inf if limits.beam_threshold is None else limits.beam_threshold,
        pop_limit=limits.pop_limit or pop_limit,
        max_size=limits.max_size,
        keep_all=keep_all,
    )


class Outcomes(Protocol):
    """Results of a kernel: the outcome of each sentence (0 found, 1 no derivation, 2 too large), and more."""

    @property
    def outcomes(self) -> NDArray[np.uint8]:
        """The outcome of each sentence."""


Batch = TypeVar("Batch")
Outcome = TypeVar("Outcome", bound=Outcomes)

_TOO_LARGE = 2

#: The outcome of a sentence with a score that is not finite, which is refused.
NOT_FINITE = 3


class BatchResult(SearchResult, Generic[Batch, Outcome]):
    """Search results of a batch; `global_values` are values of global features, which a search cannot score."""

    def __init__(
        self,
        batch: Batch,
        found: Outcome,
        *,
        global_values: FeatureRows | None = None,
        runtime: Runtime = Runtime(),
    ):
        self.batch = batch
        self.found = found
        self._global_values = global_values
        self._runtime = runtime

    def __len__(self) -> int:
        return len(self.found.outcomes)

    def has_derivation(self, i: int) -> bool:
        """Tell whether sentence i has a derivation; only a forced target can have none."""
        return bool(self.found.outcomes[i] == 0)

    def is_too_large(self, i: int) -> bool:
        """Tell whether the search for the forced target of sentence i was given up."""
        return bool(self.found.outcomes[i] == _TOO_LARGE)


def refuse_too_large(found: Outcomes, lines: Sequence[str], max_size: int, what: str) -> None:
    """Refuse the first sentence that needed more memory than was allowed.

    Not for forced targets: one more sentence without a derivation is no reason to lose the work on the others.
    """
    for i in np.flatnonzero(found.outcomes == _TOO_LARGE).tolist():
        line = lines[i]
        raise DataError(
            f"the search of '{shorten(line)}' ({len(line.split())} words) needs more than {max_size:,} {what}",
            expected="a shorter sentence, tighter limits, or a larger max-size",
        )
