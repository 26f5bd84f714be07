"""Are all scores of a batch finite? Where they are not, no derivation is better than another, and no search says so."""

from __future__ import annotations

import numpy as np

from dragoman.core.errors import DataError
from dragoman.model.features import reordering_features
from dragoman.search.finite import LARGEST_SCORE, check_weights, score_error
from dragoman.search.phrase.batch import PhraseBatch, boundary_names


def check_scores(batch: PhraseBatch, first_number: int | None = None) -> None:
    """Refuse a batch whose scores are not finite, by the name of the feature that makes them so; O(options).

    `first_number` is how many sentences come before the batch, where that is known.
    """
    batch.weights.check_finite()
    names = [] if batch.boundary_feature is None else boundary_names(batch.boundary_feature)
    large = np.flatnonzero(~(np.abs(batch.arrays.boundary.ravel()) < LARGEST_SCORE)).tolist()
    check_weights(batch.weights, [*(names[i] for i in large), "distortion"])
    if not len(batch.options):
        return
    arrays = batch.arrays
    with np.errstate(over="ignore", invalid="ignore"):  # which is what we are looking for
        worst = np.abs(batch.estimates)
        worst = worst + np.abs(arrays.reorder_from).max(axis=1) + np.abs(arrays.reorder_to).max(axis=1)
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
    """All that an option has."""
    model, options = batch.model, batch.options
    found = dict(zip(model.dense_features, options.dense[option].tolist(), strict=True))
    for rows in batch.sparse:
        found |= rows.row(option)
    for k, name in enumerate(model.language_models):
        found[name] = float(batch.read(k, np.zeros(1, np.int32), np.array([option], np.int32))[0])
    for r, name in enumerate(model.reorderings):
        found |= zip(reordering_features(name), options.reordering[r, option].tolist(), strict=True)
    return found
