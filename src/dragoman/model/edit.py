"""Change models: cut them down to a test set, add grammars, write mixed tables out as plain ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dragoman.core.corpus import Corpus, common_vocab
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike
from dragoman.core.phrases import PhrasePairs
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.model.feature_types import SPARSE_FEATURES
from dragoman.model.grammar import Grammar, rules_for
from dragoman.model.mixture import collapse_mixture, renumbered
from dragoman.model.parts import grammar_features, initial_chart_weights
from dragoman.model.phrase_table import PhraseTable

#: It is the prefix of feature names in weights files.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")

#: Settings of text preparation: two models that differ here have different words.
_PREPARATION = ("source_language", "target_language", "tokenise", "lowercase", "unicode")


def with_grammar(
    model: Model, name: str, other: Model, *, part: str | None = None, runtime: Runtime = Runtime()
) -> Model:
    """Add a grammar to a hierarchical model: the phrase table or the rules of another model.

    `part` says which of its tables or grammars, if it has several. The new grammar has features of its own, named after
    it, and `NAME.penalty` counts its rules; they begin with the weights of an untuned model. The vocabularies grow by
    the words that only the other model knows; language models and everything else stay as they are.
    """
    if model.kind != "chart":
        raise UsageError("the model is phrase-based; expected a hierarchical one, to which grammars can be added")
    columns = _pairs(other, part, runtime)
    _refuse_name(model, name, columns.score_names)
    for setting in _PREPARATION:
        ours, theirs = (getattr(one.settings, setting) for one in (model, other))
        if ours != theirs:
            text = f"'{setting.replace('_', '-')}' is {theirs!r} there and {ours!r} here"
            runtime.warn(f"the text of the other model was prepared differently ({text}): its words may not fit")
    source_vocab, source_ids = common_vocab([model.source_vocab, columns.source_vocab])
    target_vocab, target_ids = common_vocab([model.target_vocab, columns.target_vocab])
    with runtime.stage(f"indexing {name}"):
        grammar = Grammar.from_pairs(
            replace(
                columns,
                source_vocab=source_vocab,
                target_vocab=target_vocab,
                sources=renumbered(columns.sources, source_ids[1]),
                targets=renumbered(columns.targets, target_ids[1]),
                reordering={},
            )
        )
    return replace(
        model,
        source_vocab=source_vocab,
        target_vocab=target_vocab,
        grammars={**model.grammars, name: grammar},
        weights=model.weights.updated(_weights(model, name, grammar)),
        history={**model.history, f"grammar {name}": dict(other.history)},
    )


def _pairs(other: Model, part: str | None, runtime: Runtime) -> PhrasePairs:
    other = bake(other)
    parts: Mapping[str, Any] = {**other.tables, **other.grammars}
    if not parts:
        raise UsageError("the other model has neither a phrase table nor a grammar")
    if part is None and len(parts) > 1:
        raise UsageError(f"the other model has {', '.join(parts)}; say which to take")
    if part is not None and part not in parts:
        raise UsageError(f"the other model has no table or grammar {part}; expected {' or '.join(parts)}")
    found = parts[part] if part is not None else next(iter(parts.values()))
    if not isinstance(found, PhraseTable):
        found = found.whole(runtime=runtime)
    pairs: PhrasePairs = found.to_pairs(other.source_vocab, other.target_vocab)
    return pairs


def _refuse_name(model: Model, name: str, scores: tuple[str, ...]) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a grammar; expected letters, digits, _ and -, a letter first")
    prefixes = {SPARSE_FEATURES.get(known).prefix for known in SPARSE_FEATURES.names()}
    if name in model.grammars:
        raise UsageError(f"the model has a grammar {name} already; expected another name")
    if name in prefixes or name in model.language_models or set(_names(name, scores)) & set(model.feature_names):
        raise UsageError(f"the features of a model have the name {name} already; expected another name")


def _names(name: str, scores: tuple[str, ...]) -> list[str]:
    """Return the features of an added grammar."""
    return grammar_features({"": (), name: scores})[-len(scores) - 1 :]


def _weights(model: Model, name: str, grammar: Grammar) -> dict[str, float]:
    known = {one: part.score_names for one, part in model.grammars.items()}
    untuned = initial_chart_weights({**known, name: grammar.score_names}, model.language_models)
    return {feature: untuned[feature] for feature in _names(name, grammar.score_names)}


def filter_to_text(model: Model, corpus: Corpus, *, runtime: Runtime = Runtime()) -> Model:
    """Keep only the phrase pairs and rules whose source side matches a text (in the words of the model, see `encode`).

    What is left of a grammar on demand is a table of its rules for the text.
    """
    tables = {}
    for name, table in model.tables.items():
        rows = table.rows_for(corpus, runtime=runtime)
        tables[name] = PhraseTable.from_pairs(table.to_pairs(model.source_vocab, model.target_vocab).take(rows))
    limit = model.settings.span_limit
    known = [
        grammar.for_sentences(corpus.sentences, span_limit=limit, runtime=runtime)
        for grammar in model.grammars.values()
    ]
    rules = rules_for(known, corpus, limit, runtime=runtime)
    grammars = {
        name: grammar.take(rows, model.source_vocab, model.target_vocab)
        for name, grammar, rows in zip(model.grammars, known, rules, strict=True)
    }
    return replace(model, tables=tables, grammars=grammars)


def encode(model: Model, path: PathLike) -> Corpus:
    """Read a prepared source text in the words of a model; unknown words become `<unk>`."""
    corpus = Corpus.read(path)
    sentences = replace(corpus.sentences, values=corpus.vocab.map_to(model.source_vocab)[corpus.sentences.values])
    return Corpus(model.source_vocab, sentences)


def bake_for_export(model: Model, *, runtime: Runtime = Runtime()) -> Model:
    """Return a model as other toolkits can have it: mixtures collapsed, and no language models over classes."""
    over_classes = [name for name, lm in model.language_models.items() if lm.classes is not None]
    if over_classes:
        names = ", ".join(over_classes)
        runtime.warn(f"language models over classes cannot be written and are left out: {names}")
    kept = {name: lm for name, lm in model.language_models.items() if name not in over_classes}
    return bake(replace(model, language_models=kept))


def bake(model: Model, weights: Weights | None = None) -> Model:
    """Return a model whose mixtures are collapsed with given interpolation weights, by default its own."""
    weights = model.weights if weights is None else weights
    tables, grammars = dict(model.tables), dict(model.grammars)
    interpolation_weights = model.interpolation_weights(weights)
    for name, part in model.mixed_parts.items():
        mixture = part.to_pairs(model.source_vocab, model.target_vocab)
        orientations = {each: interpolation_weights[each] for each in mixture.reordering_components}
        pairs = collapse_mixture(mixture, interpolation_weights[name], orientations)
        if isinstance(part, Grammar):
            grammars[name] = Grammar.from_pairs(pairs, part.hole_counts)
        else:
            tables[name] = PhraseTable.from_pairs(pairs)
    names = set(model.interpolation_weight_names)
    return replace(
        model,
        tables=tables,
        grammars=grammars,
        language_models={
            name: replace(lm, components={}, shares=()) if lm.components else lm
            for name, lm in model.remixed(weights).language_models.items()
        },
        weights=Weights({name: value for name, value in weights.items() if name not in names}),
    )
