"""Are all scores of a batch finite? Where they are not, no derivation is better than another, and no search says so."""

from __future__ import annotations

import numpy as np

from dragoman.core.errors import DataError
from dragoman.search.chart.batch import ChartBatch
from dragoman.search.finite import LARGEST_SCORE, check_weights, score_error


def check_scores(batch: ChartBatch, first_number: int | None = None) -> None:
    """Refuse a batch whose scores are not finite, by the name of the feature that makes them so; O(rules and matches).

    `first_number` is how many sentences come before the batch, where that is known.
    """
    # Logarithms of language models are of a usual size, or the model would not have been opened: weights say enough.
    check_weights(batch.weights, ["glue", *batch.model.language_models])
    with np.errstate(over="ignore", invalid="ignore"):  # which is what we are looking for
        local, spans = batch.local, batch.arrays.match_scores
    for rule in np.flatnonzero(~(np.abs(local) < LARGEST_SCORE)).tolist():
        matches = np.flatnonzero(batch.rules.matches[:, 0] == batch.rules.side[rule])
        raise _error(batch, int(matches[0]), rule, first_number)
    for match, rule_class in np.argwhere(~(np.abs(spans) < LARGEST_SCORE)).tolist():
        rule = int(np.argmax(batch.arrays.rule_classes == rule_class))
        raise _error(batch, match, rule, first_number, whatever=True)


def _error(batch: ChartBatch, match: int, rule: int, first_number: int | None, *, whatever: bool = False) -> DataError:
    """What to say of a rule, or of a match whatever the rule of that class."""
    rules = batch.rules
    sentence = int(np.searchsorted(rules.match_offsets, match, side="right")) - 1
    words = rules.source.sentences[sentence][slice(*rules.matches[match, 1:3].tolist())]
    place = "" if first_number is None else f"sentence {first_number + sentence + 1}: "
    what = f"{place}a rule on '{rules.source.vocab.text(words)}'"
    found: dict[str, float] = {}
    if whatever:
        for rows in batch.span_rows:
            found |= rows.row(match)
        for holes in batch.hole_rows:
            found |= holes.rows.row(int(holes.numbers(np.array([rule]), np.array([match]))[0]))
    else:
        symbols = [f"X{-symbol}" if symbol < 0 else rules.vocab[symbol] for symbol in rules.words[rule].tolist()]
        what += f" → '{' '.join(symbols)}'"
        found |= zip(batch.model.dense_features, rules.dense[rule].tolist(), strict=True)
        for rows in batch.rule_rows:
            found |= rows.row(rule)
    return score_error(what, found, batch.weights)
