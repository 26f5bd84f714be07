"""Hierarchical models of cdec and Joshua: their grammars and language models become a Model, and the other way round.

cdec's language model and word penalty are in logarithms to the base 10, so that weights differ by ln 10; its glue
counts one part less than ours, which only adds a constant to the score of every derivation, and its PassThrough is 1
where our unknown word is -100 and a rule. It has no count of rules: a feature of the grammar, `RulePenalty=1`, is one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike, open_output, output_folder
from dragoman.core.phrases import PhrasePairs
from dragoman.core.runtime import Runtime
from dragoman.formats.arpa import read_arpa, write_arpa
from dragoman.formats.cdec import (
    CdecSegment,
    read_cdec_grammar,
    read_cdec_weights,
    read_segment_grammars,
    write_cdec_grammar,
    write_cdec_weights,
)
from dragoman.formats.joshua_grammar import read_joshua_grammar, write_joshua_grammar
from dragoman.model.bundle import Model
from dragoman.model.edit import bake_for_export
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.moses_parts import name_part
from dragoman.model.parts import initial_chart_weights, phrase_features

_GRAMMAR, _RULE_PENALTY, _LANGUAGE_MODEL = "tm", "RulePenalty", "LanguageModel"


def import_cdec(
    grammar: PathLike,
    *,
    language_models: Sequence[PathLike] = (),
    weights: PathLike | None = None,
    runtime: Runtime = Runtime(),
) -> Model:
    """Read a grammar of cdec, ARPA files, and cdec's weights; without those the model starts with untuned ones."""
    return _cdec_model(read_cdec_grammar(grammar, runtime=runtime), language_models, weights, runtime)


def import_cdec_segments(
    segments: PathLike,
    *,
    language_models: Sequence[PathLike] = (),
    weights: PathLike | None = None,
    runtime: Runtime = Runtime(),
) -> tuple[list[CdecSegment], Model]:
    """Read input in which each sentence names a grammar: its sentences, and one model with the rules of all."""
    sentences, rules = read_segment_grammars(segments, runtime=runtime)
    return sentences, _cdec_model(rules, language_models, weights, runtime)


def import_joshua(
    grammar: PathLike,
    *,
    language_models: Sequence[PathLike] = (),
    score_names: Sequence[str] | None = None,
    runtime: Runtime = Runtime(),
) -> Model:
    """Read a grammar of Joshua and ARPA files; the model starts with untuned weights."""
    rules = read_joshua_grammar(grammar, score_names=score_names, runtime=runtime)
    return _model(rules, language_models, {"imported_from": "joshua"}, runtime)


def _model(
    rules: PhrasePairs, language_models: Sequence[PathLike], history: Mapping[str, str], runtime: Runtime
) -> Model:
    models = {
        name_part("lm", i): LanguageModel.from_ngrams(read_arpa(file, runtime=runtime))
        for i, file in enumerate(language_models)
    }
    return Model(
        source_vocab=rules.source_vocab,
        target_vocab=rules.target_vocab,
        tables={},
        grammars={_GRAMMAR: Grammar.from_pairs(rules)},
        language_models=models,
        weights=initial_chart_weights({_GRAMMAR: rules.score_names}, models),
        history=history,
    )


def _cdec_model(
    rules: PhrasePairs, language_models: Sequence[PathLike], weights: PathLike | None, runtime: Runtime
) -> Model:
    rules, counted = _without_rule_penalty(rules)
    model = _model(rules, language_models, {"imported_from": "cdec"}, runtime)
    if weights is None:
        costs = [
            name
            for name, column in zip(rules.score_names, model.grammars[_GRAMMAR].whole().log_scores.T, strict=True)
            if column.min(initial=0) >= 0 and column.max(initial=0) > 0
        ]
        if costs:
            runtime.warn(
                f"{', '.join(costs)} have no negative values, as costs have: their weights may need another sign"
            )
        return model
    theirs = read_cdec_weights(weights)
    names = {_language_model(i): name for i, name in enumerate(model.language_models)}
    ours = {name: theirs.pop(feature, 0.0) / math.log(10) for feature, name in names.items()}
    ours["word_penalty"] = theirs.pop("WordPenalty", 0.0) / math.log(10)
    ours["glue"] = theirs.pop("Glue", 0.0)
    ours["rule_penalty"] = theirs.pop(_RULE_PENALTY, 0.0) if counted else 0.0
    ours["unknown_word"] = (ours["rule_penalty"] - theirs.pop("PassThrough", 0.0)) / 100
    for name in rules.score_names:
        (feature,) = phrase_features(_GRAMMAR, [name])
        ours[feature] = theirs.pop(name, 0.0)
    if theirs:
        runtime.warn(f"{weights}: left out the weights of features that the model does not have: {', '.join(theirs)}")
    return replace(model, weights=Weights({name: ours[name] for name in model.weights}))


def _without_rule_penalty(rules: PhrasePairs) -> tuple[PhrasePairs, bool]:
    """Take a feature that counts rules out of a grammar: every hierarchical model counts them."""
    if _RULE_PENALTY not in rules.score_names or len(rules.score_names) == 1:
        return rules, False
    column = rules.score_names.index(_RULE_PENALTY)
    if not np.allclose(rules.scores[:, column], math.e):
        return rules, False
    names = tuple(name for name in rules.score_names if name != _RULE_PENALTY)
    return replace(rules, scores=np.delete(rules.scores, column, axis=1), score_names=names), True


def export_cdec(model: Model, path: PathLike, *, runtime: Runtime = Runtime()) -> None:
    """Write a model as a folder for cdec: cdec.ini (for use in that folder), grammar, weights and ARPA files."""
    model = bake_for_export(model, runtime=runtime)
    rules = _rules(model, "cdec", runtime)
    weights = model.weights
    penalty = weights.get("rule_penalty", 0.0)
    theirs = dict(zip(rules.score_names, weights.vector(phrase_features(*_scores(model))).tolist(), strict=True))
    if penalty:
        scores = np.insert(rules.scores, rules.scores.shape[1], math.e, axis=1)
        rules = replace(rules, scores=scores, score_names=(*rules.score_names, _RULE_PENALTY))
        theirs[_RULE_PENALTY] = penalty
    theirs["Glue"] = weights.get("glue", 0.0)
    theirs["WordPenalty"] = weights.get("word_penalty", 0.0) * math.log(10)
    theirs["PassThrough"] = penalty - 100 * weights.get("unknown_word", 0.0)
    lines = [
        "formalism=scfg",
        "grammar=grammar.gz",
        "weights=weights",
        "add_pass_through_rules=true",
        f"scfg_max_span_limit={model.settings.span_limit}",
        "feature_function=WordPenalty",
    ]
    with output_folder(path) as folder:
        with runtime.stage("writing grammar.gz"):
            write_cdec_grammar(folder / "grammar.gz", rules)
        _write_language_models(model, folder, runtime)
        for i, name in enumerate(model.language_models):
            lines.append(f"feature_function=KLanguageModel -n {_language_model(i)} {name}.arpa.gz")
            theirs[_language_model(i)] = weights.get(name, 0.0) * math.log(10)
        write_cdec_weights(folder / "weights", theirs)
        with open_output(folder / "cdec.ini") as stream:
            stream.write("".join(f"{line}\n" for line in lines).encode())


def export_joshua(model: Model, path: PathLike, *, named: bool = False, runtime: Runtime = Runtime()) -> None:
    """Write the grammar of a model for Joshua, and ARPA files; weights are not written."""
    model = bake_for_export(model, runtime=runtime)
    rules = _rules(model, "Joshua", runtime)
    with output_folder(path) as folder:
        with runtime.stage("writing grammar.gz"):
            write_joshua_grammar(folder / "grammar.gz", rules, named=named)
        _write_language_models(model, folder, runtime)


def _write_language_models(model: Model, folder: Path, runtime: Runtime) -> None:
    for name, language_model in model.language_models.items():
        with runtime.stage(f"writing {name}.arpa.gz"):
            write_arpa(folder / f"{name}.arpa.gz", language_model.to_ngrams())


def _language_model(i: int) -> str:
    return name_part(_LANGUAGE_MODEL, i)


def _scores(model: Model) -> tuple[str, tuple[str, ...]]:
    ((name, grammar),) = model.grammars.items()
    return name, grammar.score_names


def _rules(model: Model, toolkit: str, runtime: Runtime) -> PhrasePairs:
    """The rules of the one grammar of a model, with scores in double precision."""
    if model.kind != "chart":
        raise UsageError(f"a phrase-based model cannot be written for {toolkit}; expected a hierarchical one")
    if len(model.grammars) != 1:
        raise UsageError(f"a model with {len(model.grammars)} grammars cannot be written for {toolkit}; expected one")
    for what, features in (("sparse", [f.name for f in model.sparse_features]), ("global", [*model.global_features])):
        if features:
            runtime.warn(f"{what} features cannot be written and are left out: {', '.join(features)}")
    (grammar,) = model.grammars.values()
    table = grammar.whole(runtime=runtime)
    rules = table.to_pairs(model.source_vocab, model.target_vocab)
    return replace(rules, scores=np.exp(table.log_scores.astype(np.float64)))
