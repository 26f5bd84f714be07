"""The features of a model: their names, their meaning, and the weights a model starts with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dragoman.core.phrases import REORDERING_SCORES
from dragoman.core.weights import Weights

#: Features that every phrase-based model has, with what they count.
CORE_FEATURES = {
    "distortion": "minus the sum of jumps |start of this phrase - end of the one before|",
    "word_penalty": "minus the number of target words",
    "phrase_penalty": "the number of phrases",
    "unknown_word": "minus 100 for each source word that passes through untranslated",
}

#: Features that every hierarchical model has, with what they count.
CHART_FEATURES = {
    "glue": "the number of parts that are joined from left to right",
    "word_penalty": "minus the number of target words",
    "rule_penalty": "the number of rules, glue not counted",
    "unknown_word": "minus 100 for each source word that passes through untranslated",
}

#: A feature of each grammar but the first: how many of its rules there are.
GRAMMAR_PENALTY = "penalty"

_CHART_WEIGHTS = {"glue": 1.2, "word_penalty": -1.0, "rule_penalty": 0.2, "unknown_word": 1.0}
_CORE_WEIGHTS = {"distortion": 0.3, "word_penalty": -1.0, "phrase_penalty": 0.2, "unknown_word": 1.0}


def phrase_features(table: str, score_names: Iterable[str]) -> list[str]:
    """Name the features of a phrase table: the logarithms of its scores.

    >>> phrase_features("tm", ["bwd", "fwd"])
    ['tm.bwd', 'tm.fwd']
    """
    return [f"{table}.{name}" for name in score_names]


def grammar_features(grammars: Mapping[str, Iterable[str]]) -> list[str]:
    """Name the features of grammars: the logarithms of their scores, and the number of rules from all but the first.

    >>> grammar_features({"tm": ["fwd"], "phrases": ["fwd"]})
    ['tm.fwd', 'phrases.fwd', 'phrases.penalty']
    """
    names = []
    for i, (grammar, score_names) in enumerate(grammars.items()):
        names += [*phrase_features(grammar, score_names), *[f"{grammar}.{GRAMMAR_PENALTY}"] * (i > 0)]
    return names


def reordering_features(name: str) -> list[str]:
    """Name the six features of a lexicalised reordering model."""
    return [f"{name}.{score}" for score in REORDERING_SCORES]


def initial_weights(
    tables: dict[str, tuple[str, ...]], reorderings: Iterable[str], language_models: Iterable[str]
) -> Weights:
    """Return untuned weights that translate sensibly, the ones that Moses starts with; tune before you measure."""
    weights = dict(_CORE_WEIGHTS)
    for name in language_models:
        weights[name] = 0.5
    for table, score_names in tables.items():
        weights |= dict.fromkeys(phrase_features(table, score_names), 0.2)
    for name in reorderings:
        weights |= dict.fromkeys(reordering_features(name), 0.3)
    return Weights(weights)


def initial_chart_weights(grammars: Mapping[str, Iterable[str]], language_models: Iterable[str]) -> Weights:
    """Return untuned weights for a hierarchical model, which translate as those that Moses starts with."""
    weights = dict(_CHART_WEIGHTS) | dict.fromkeys(language_models, 0.5)
    weights |= dict.fromkeys(grammar_features(grammars), 0.2)
    return Weights(weights | {f"{name}.{GRAMMAR_PENALTY}": 0.0 for name in [*grammars][1:]})
