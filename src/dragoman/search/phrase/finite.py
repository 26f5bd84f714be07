"""Are all scores of a batch finite? Where they are not, no derivation is better than another, and no search says so."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dragoman.core.errors import DataError
from dragoman.model.features import reordering_features
from dragoman.search.phrase.batch import PhraseBatch, boundary_names

#: Scores beyond this are overflowing, or were infinite to begin with.
_LARGEST = 1e100

_EXPECTED = "features and weights whose sum is finite"


def check_scores(batch: PhraseBatch, first_number: int | None = None) -> None:
    """Refuse a batch whose scores are not finite, by the name of the feature that makes them so; O(options).

    `first_number` is how many sentences come before the batch, where that is known.
    """
    batch.weights.check_finite()
    _check_transitions(batch)
    if not len(batch.options):
        return
    arrays = batch.arrays
    with np.errstate(over="ignore", invalid="ignore"):  # which is what we are looking for
        worst = np.abs(batch.estimates)
        worst = worst + np.abs(arrays.reorder_from).max(axis=1) + np.abs(arrays.reorder_to).max(axis=1)
    wrong = np.flatnonzero(~(worst < _LARGEST))
    if len(wrong):
        raise _error(batch, int(wrong[0]), first_number)


def _check_transitions(batch: PhraseBatch) -> None:
    """Look at what is scored between options, not in them."""
    feature, scores = batch.boundary_feature, batch.arrays.boundary
    names = [] if feature is None else boundary_names(feature)
    large = np.flatnonzero(~(np.abs(scores.ravel()) < _LARGEST)).tolist()
    for name in [*(names[i] for i in large), "distortion"]:
        weight = batch.weights.get(name, 0.0)
        if not abs(weight) < _LARGEST:
            raise DataError(f"{name} has the weight {weight:g}", expected=_EXPECTED)


def _error(batch: PhraseBatch, option: int, first_number: int | None) -> DataError:
    options = batch.options
    sentence = int(options.sentence[option])
    words = options.source.sentences[sentence][options.begin[option] : options.end[option]]
    place = "" if first_number is None else f"sentence {first_number + sentence + 1}: "
    with np.errstate(over="ignore", invalid="ignore"):
        features = list(_features(batch, option))
        name, value, weight = max(features, key=lambda found: _size(found[1] * found[2]))
        score = sum(value * weight for _, value, weight in features)
    return DataError(
        f"{place}the option '{options.source.vocab.text(words)}' → '{options.vocab.text(options.words[option])}' "
        f"scores {score:g}: {name} is {value:g} and weighs {weight:g}",
        expected=_EXPECTED,
    )


def _features(batch: PhraseBatch, option: int) -> Iterator[tuple[str, float, float]]:
    """Name, value and weight of all that an option has."""
    model, options = batch.model, batch.options
    found = dict(zip(model.dense_features, options.dense[option].tolist(), strict=True))
    for rows in batch.sparse:
        found |= rows.row(option)
    for k, name in enumerate(model.language_models):
        found[name] = float(batch.read(k, np.zeros(1, np.int32), np.array([option], np.int32))[0])
    for r, name in enumerate(model.reorderings):
        found |= zip(reordering_features(name), options.reordering[r, option].tolist(), strict=True)
    for name, value in found.items():
        yield name, value, batch.weights.get(name, 0.0)


def _size(score: float) -> float:
    return np.inf if np.isnan(score) else abs(score)
