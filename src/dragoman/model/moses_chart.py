"""Hierarchical models of Moses: a configuration for moses_chart with its rule tables becomes a Model, and back.

Moses' features count the glue grammar; ours do not, for glue is built in. A derivation with r rules (an unknown word
is one), k of them below glue, w target words and u unknown words has

    Moses: PhrasePenalty = r + k + 2, TranslationModel of the glue = k · ln 2.718, WordPenalty = -(w + 2)
    here:  rule_penalty = r, glue = k, word_penalty = -w, unknown_word = -100 u

(2 rules and 2 words are <s> and </s>). So the weight of `glue` is ln 2.718 times that of the glue grammar plus that of
PhrasePenalty, the other weights are Moses' own, and Moses' score of any derivation is ours plus the constant
2 PhrasePenalty - 2 WordPenalty.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike
from dragoman.core.phrases import PhrasePairs
from dragoman.core.runtime import Runtime
from dragoman.formats.moses.ini import MosesFeature, MosesIni, write_moses_ini
from dragoman.formats.moses.phrase_table import PENALTY_SCORE
from dragoman.formats.moses.rule_table import (
    GLUE_SCORE,
    is_glue_grammar,
    read_glue_grammar,
    read_rule_table,
    write_glue_grammar,
    write_rule_table,
)
from dragoman.model.bundle import Model
from dragoman.model.grammar import Grammar
from dragoman.model.moses_parts import (
    feature_file,
    name_part,
    penalty_weights,
    read_language_models,
    table_limit_of,
    write_language_models,
)
from dragoman.model.parts import GRAMMAR_PENALTY, Settings, initial_chart_weights, phrase_features

_PENALTIES = {"UnknownWordPenalty": "unknown_word", "WordPenalty": "word_penalty", "PhrasePenalty": "rule_penalty"}

# What Moses takes where a configuration does not say how much a rule may cover.
_SPAN_LIMIT = 20

# The limit of the glue grammar in what Moses' training writes: more than any sentence.
_GLUE_SPAN_LIMIT = 1000


def import_hierarchical(path: PathLike, ini: MosesIni, *, runtime: Runtime = Runtime()) -> Model:
    """Read everything that a configuration for moses_chart names: rule tables, glue grammar, ARPA files, weights."""
    weights = {"rule_penalty": 0.0} | penalty_weights(ini, _PENALTIES)
    tables = [feature for feature in ini.features if feature.is_phrase_table]
    glue = [feature for feature in tables if is_glue_grammar(feature_file(path, feature))]
    if len(glue) != 1:
        raise DataError(f"names {len(glue)} glue grammars", path=path, expected="one, with rules such as S → S X")
    weights["glue"] = math.log(read_glue_grammar(feature_file(path, glue[0]))) * _glue_weight(path, glue[0])
    grammars: dict[str, PhrasePairs] = {}
    source_vocab, target_vocab = Vocab.of(), Vocab.of()
    penalties: list[float] = []
    for feature in tables:
        if feature in glue:
            continue
        name = name_part("tm", len(grammars))
        rules = read_rule_table(
            feature_file(path, feature), source_vocab=source_vocab, target_vocab=target_vocab, runtime=runtime
        )
        source_vocab, target_vocab = rules.source_vocab, rules.target_vocab
        grammars[name] = rules
        names = phrase_features(name, rules.score_names)
        if not len(names) <= len(feature.weights) <= len(names) + 1:
            raise DataError(f"has {len(names)} scores", path=feature.file, expected=f"{len(feature.weights)}")
        weights |= dict(zip(names, feature.weights, strict=False))
        # The weight after those of the scores that were kept is that of a penalty.
        penalties.append(math.log(PENALTY_SCORE) * sum(feature.weights[len(names) :]))
    if not grammars:
        raise DataError("names no rule table", path=path, expected="a hierarchical model")
    weights |= {
        f"{name}.{GRAMMAR_PENALTY}": penalty - penalties[0]
        for name, penalty in zip([*grammars][1:], penalties[1:], strict=True)
    }
    weights["glue"] += weights["rule_penalty"]
    weights["rule_penalty"] += penalties[0]
    language_models = read_language_models(path, ini, weights, runtime=runtime)
    score_names = {name: rules.score_names for name, rules in grammars.items()}
    order = initial_chart_weights(score_names, language_models)
    return Model(
        source_vocab=source_vocab,
        target_vocab=target_vocab,
        tables={},
        grammars={name: Grammar.from_pairs(rules) for name, rules in grammars.items()},
        language_models=language_models,
        weights=Weights({name: weights.get(name, 0.0) for name in order}),
        settings=_settings(path, ini, tables, glue[0], runtime),
        history={"imported_from": "moses"},
    )


def _glue_weight(path: PathLike, feature: MosesFeature) -> float:
    if len(feature.weights) != 1:
        raise DataError(
            f"found {len(feature.weights)} weights for the glue grammar {feature.name}",
            path=path,
            line=feature.line,
            expected="one",
        )
    return feature.weights[0]


def _settings(
    path: PathLike, ini: MosesIni, tables: list[MosesFeature], glue: MosesFeature, runtime: Runtime
) -> Settings:
    given = ini.span_limits
    limits = {feature.name: given[i] if i < len(given) else _SPAN_LIMIT for i, feature in enumerate(tables)}
    if limits.pop(glue.name) < _GLUE_SPAN_LIMIT:
        runtime.warn(
            f"{path}: the glue grammar has a limit in [max-chart-span], but glue joins any number of words here"
        )
    if len(set(limits.values())) > 1 or min(limits.values()) < 1:
        raise DataError(
            f"has the limits {', '.join(map(str, limits.values()))} in [max-chart-span]",
            path=path,
            expected="the same positive one for all rule tables",
        )
    limit = table_limit_of(ini)
    return Settings(
        span_limit=next(iter(limits.values())), table_limit=Settings().table_limit if limit is None else limit
    )


def write_hierarchical(model: Model, folder: Path, *, runtime: Runtime = Runtime()) -> None:
    """Write a hierarchical model into a folder: moses.ini, rule tables, a glue grammar and ARPA files."""
    weights = model.weights
    features = [MosesFeature(kind, f"{kind}0", (weights.get(name, 0.0),)) for kind, name in _PENALTIES.items()]
    for i, (name, grammar) in enumerate(model.grammars.items()):
        file = folder / f"rule-table.{name}.gz"
        rules = grammar.whole(runtime=runtime).to_pairs(model.source_vocab, model.target_vocab)
        values = weights.vector(phrase_features(name, grammar.score_names)).tolist()
        penalty = weights.get(f"{name}.{GRAMMAR_PENALTY}", 0.0) if i else 0.0
        if penalty:
            scores = np.insert(rules.scores, rules.scores.shape[1], PENALTY_SCORE, axis=1)
            rules = replace(rules, scores=scores, score_names=(*rules.score_names, GRAMMAR_PENALTY))
            values.append(penalty / math.log(PENALTY_SCORE))
        with runtime.stage(f"writing {file.name}"):
            write_rule_table(file, rules)
        features.append(_table(f"TranslationModel{i}", file, values, table_limit=model.settings.table_limit))
    glue = folder / "glue-grammar"
    write_glue_grammar(glue)
    weight = (weights.get("glue", 0.0) - weights.get("rule_penalty", 0.0)) / math.log(GLUE_SCORE)
    features.append(_table(f"TranslationModel{len(model.grammars)}", glue, [weight]))
    features += write_language_models(model, folder, weights, runtime=runtime)
    sections = {
        "input-factors": ("0",),
        "mapping": tuple(f"{i} T {i}" for i in range(len(model.grammars) + 1)),
        "cube-pruning-pop-limit": ("200",),
        "non-terminals": ("X",),
        "search-algorithm": ("3",),
        "inputtype": ("3",),
        "max-chart-span": (*[str(model.settings.span_limit)] * len(model.grammars), str(_GLUE_SPAN_LIMIT)),
    }
    write_moses_ini(folder / "moses.ini", MosesIni(tuple(features), sections))


def _table(name: str, file: Path, weights: list[float], table_limit: int | None = None) -> MosesFeature:
    arguments = {"num-features": str(len(weights)), "path": file.name, "input-factor": "0", "output-factor": "0"}
    if table_limit is not None:
        arguments["table-limit"] = str(table_limit)
    return MosesFeature("PhraseDictionaryMemory", name, tuple(weights), arguments, file)
