"""Evaluation as in Bollmann (2019): accuracy of tokens, seen and unseen, character error rate, and significance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.metrics.cer import Cer
from dragoman.normalisation.examples import Examples
from dragoman.normalisation.lexicon import Memory


@dataclass(frozen=True)
class NormalisationScores:
    """Accuracy and error rates of predictions, in percent; None if there is nothing to measure.

    `stems_of_wrong` is the share of wrong predictions that have the stem of the modern form, if there is a stemmer.
    """

    tokens: int
    accuracy: float
    seen_tokens: int
    seen: float | None
    unseen: float | None
    cer: float
    cer_of_wrong: float | None
    stems_of_wrong: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return dict(vars(self))


def is_correct(examples: Examples, predictions: Sequence[str]) -> NDArray[np.bool_]:
    """Return which predictions are the modern forms of their tokens."""
    if len(predictions) != len(examples):
        raise DataError(f"there are {len(predictions)} predictions for {len(examples)} tokens", expected="as many")
    return np.array([found == token.modern for token, found in zip(examples.tokens, predictions, strict=True)], bool)


def evaluate(
    examples: Examples,
    predictions: Sequence[str],
    memory: Memory = Memory(),
    stem: Callable[[str], str] | None = None,
    form: Callable[[str], str] = str,
) -> NormalisationScores:
    """Compare predictions with the modern forms of tokens; seen tokens are those with memorised forms.

    `stem` returns the stem of a form (`lexicon.stemmer`); `form` returns the form of a token that is looked up.
    """
    if not len(examples):
        raise DataError("there are no tokens to evaluate on", expected="some")
    correct = is_correct(examples, predictions)
    seen = np.array([form(token.historical) in memory.counts for token in examples.tokens], bool)
    scorer = Cer(units="words").scorer([Corpus.from_lines(token.modern for token in examples.tokens)])
    statistics = scorer.statistics(Corpus.from_lines(predictions))
    return NormalisationScores(
        tokens=len(examples),
        accuracy=100 * float(correct.mean()),
        seen_tokens=int(seen.sum()),
        seen=_percent(correct[seen]),
        unseen=_percent(correct[~seen]),
        cer=float(scorer.score(statistics.sum(axis=0))),
        stems_of_wrong=None if stem is None else _percent(_same_stems(examples, predictions, correct, stem)),
        cer_of_wrong=float(scorer.score(statistics[~correct].sum(axis=0))) if not correct.all() else None,
    )


def mcnemar(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """Return the p-value of McNemar's exact test on the tokens that only one of two systems has correct.

    >>> mcnemar(np.array([True] * 6 + [False]), np.array([False] * 6 + [False]))
    0.03125
    """
    from scipy.stats import binomtest  # takes long to load, and is needed for evaluation only

    only_one, only_other = int((one & ~other).sum()), int((other & ~one).sum())
    if only_one + only_other == 0:
        return 1.0
    return float(binomtest(only_one, only_one + only_other).pvalue)


def _same_stems(
    examples: Examples, predictions: Sequence[str], correct: NDArray[np.bool_], stem: Callable[[str], str]
) -> NDArray[np.bool_]:
    """Return which wrong predictions have the correct stem."""
    wrong = np.flatnonzero(~correct).tolist()
    return np.array([stem(predictions[i]) == stem(examples.tokens[i].modern) for i in wrong], bool)


def _percent(correct: NDArray[np.bool_]) -> float | None:
    return 100 * float(correct.mean()) if len(correct) else None
