"""Interpolation of the phrase tables or grammars of several models, by perplexity (Sennrich 2012) or given weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Bitext, Corpus, Links
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike
from dragoman.core.options import Options, option
from dragoman.core.phrases import DIRECTIONS, PhrasePairs
from dragoman.core.runtime import Runtime
from dragoman.formats.pharaoh import read_links
from dragoman.model.bundle import Model
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.grammar import Grammar
from dragoman.model.mixture import (
    check_interpolation_weights,
    collapse_mixture,
    components_of,
    interpolation_weight_names,
    named_interpolation_weights,
    normalise_interpolation_weights,
    rows_of_pairs,
    uniform_interpolation_weights,
    uniform_reordering_weights,
    unite_tables,
    with_interpolation_weights,
)
from dragoman.model.phrase_table import PhraseTable
from dragoman.training.align.auto import Auto
from dragoman.training.align.base import Aligner, symmetrise
from dragoman.training.extract import extract_phrases, orientation_counts
from dragoman.training.lexical import lexical_tables
from dragoman.training.prepare import clean
from dragoman.training.rules.model import rules
from dragoman.training.score import score_phrases

Floats = NDArray[np.float64]


def fit_mixture_weights(
    probabilities: Floats,
    counts: Floats | None = None,
    *,
    iterations: int,
    tolerance: float,
    note: Callable[[int, float, Floats], None] = lambda iteration, likelihood, weights: None,
) -> Floats:
    """Return weights that sum to 1 and maximise the mean logarithm of Σ weight · probability.

    `probabilities` has a row for each distribution and a column for each event, which occurred `counts` times (once by
    default); no column may be all zero. Stops when an iteration raises the mean by less than `tolerance`. `note` is
    called with the mean and the weights at the beginning of each iteration. The mean is concave in the weights, so the
    result is a global optimum.

    >>> probabilities, counts = np.array([[0.5, 0.5], [0.25, 1.0]]), np.array([3.0, 2.0])
    >>> fit_mixture_weights(probabilities, counts, iterations=1000, tolerance=1e-12).round(3).tolist()
    [0.8, 0.2]
    """
    frequencies = None if counts is None else counts / counts.sum()
    weights = np.full(len(probabilities), 1 / len(probabilities))
    last = -np.inf
    for iteration in range(1, iterations + 1):
        mixture = weights @ probabilities
        likelihood = float(np.log(mixture).mean()) if frequencies is None else float(np.log(mixture) @ frequencies)
        note(iteration, likelihood, weights)
        if likelihood - last < tolerance:
            break
        last = likelihood
        expected = probabilities / mixture
        weights = weights * (expected.mean(axis=1) if frequencies is None else expected @ frequencies)
        weights /= weights.sum()
    return weights


#: EM has converged when an iteration gains less than this; iterations cost next to nothing.
_TOLERANCE, _ITERATIONS = 1e-13, 20_000

#: Longest source phrases, in words, that a tuning set is aligned with if there is no text.
_DICTIONARY = 3


@dataclass(frozen=True)
class Mixing(Options):
    """Options of mixing phrase tables."""

    weights: str = option(
        "perplexity", "interpolation weights: perplexity (on the tuning set), uniform, numbers (0.7,0.3) or a file"
    )
    normalise: bool = option(False, "divide given weights by their sum; otherwise they must sum to 1")
    keep_components: bool = option(False, "keep each table's scores, so that the interpolation weights can be tuned")
    mix_reordering: bool = option(
        False, "interpolate the orientations of the tables, too; by default they are those of the base"
    )
    max_phrase_length: int = option(7, "longest phrase taken from the tuning set", minimum=1, maximum=255)


@dataclass(frozen=True, eq=False)
class TuningText:
    """A tuning set in words, with a file of its word alignment, or a text to align it together with."""

    bitext: Bitext
    alignment: PathLike | None = None
    beside: Bitext | None = None


def mix_models(
    models: Mapping[str, Model],
    options: Mixing = Mixing(),
    *,
    tuning: TuningText | None = None,
    base: Model | None = None,
    aligner: Aligner = Auto(),
    runtime: Runtime = Runtime(),
) -> Model:
    """Return a model with the mixture of the models' phrase tables or grammars.

    Language models, orientations and settings are those of `base`, by default the first of the models. Shares by
    perplexity need a `tuning` set. If it has neither a word alignment nor a text to align it with, it is aligned
    together with the short source phrases of all tables, each with its best translation, from which the aligner learns
    the words.
    """
    parts = {name: _only_part(name, model) for name, model in models.items()}
    first = next(iter(models.values()))
    base = base or first
    _check_alike({**models, "base": base})
    name, own = _only_part("base", base)
    tables = {
        each: part.to_pairs(model.source_vocab, model.target_vocab)
        for (each, model), (_, part) in zip(models.items(), parts.values(), strict=True)
    }
    with runtime.stage(f"uniting the {_NAMED[first.kind]}s"):
        union = unite_tables(
            tables,
            reordering=None if options.mix_reordering else own.to_pairs(base.source_vocab, base.target_vocab),
            mix_reordering=options.mix_reordering,
        )
    if options.weights == "perplexity":
        if tuning is None:
            raise UsageError("shares by perplexity need a tuning set: a source and a reference")
        links, bitext = _aligned(tuning, tables, aligner, runtime)
        if first.kind == "chart":
            found = TuningPairs(rules(bitext, links, runtime=runtime))
        else:
            found = tuning_pairs(bitext, links, options.max_phrase_length, runtime=runtime)
        interpolation_weights = perplexity_interpolation_weights(union, found.pairs, runtime=runtime)
        orientations = perplexity_reordering_weights(union, found, runtime=runtime)
    else:
        given = given_interpolation_weights(options, name, union)
        interpolation_weights, orientations = given.pop(name), given
    with runtime.stage(f"mixing and indexing the {_NAMED[first.kind]}"):
        return mixed_model(
            base,
            name,
            union,
            interpolation_weights,
            orientations,
            keep_components=options.keep_components,
            how=options.weights,
        )


_NAMED = {"phrase": "phrase table", "chart": "grammar"}


def _only_part(name: str, model: Model) -> tuple[str, PhraseTable | Grammar]:
    """Return the only phrase table or grammar of a model, with its name there."""
    parts: dict[str, PhraseTable | Grammar | CorpusGrammar] = {**model.tables, **model.grammars}
    if len(parts) != 1:
        raise UsageError(f"the model '{name}' has {len(parts)} {_NAMED[model.kind]}s; expected one")
    if model.sparse_features:
        raise UsageError(f"the model '{name}' has extra features; expected one without: add them after mixing")
    ((part, found),) = parts.items()
    if isinstance(found, CorpusGrammar):
        raise UsageError(f"the model '{name}' extracts rules on demand; expected a grammar of rules")
    if found.components is not None:
        raise UsageError(f"the model '{name}' is a mixture with components itself; expected a plain one")
    return part, found


def _check_alike(models: Mapping[str, Model]) -> None:
    (first, one), *others = models.items()
    for name, other in others:
        if one.kind != other.kind:
            ours, theirs = _NAMED[one.kind], _NAMED[other.kind]
            raise UsageError(f"the model '{first}' has a {ours}, and '{name}' has a {theirs}; expected the same")
        for setting in (
            "source_language",
            "target_language",
            "tokenise",
            "lowercase",
            "unicode",
            "normalise_punctuation",
            "protect",
            "source_segmenter",
            "target_segmenter",
            "units",
            "boundaries",
        ):
            ours, theirs = getattr(one.settings, setting), getattr(other.settings, setting)
            if ours != theirs:
                raise UsageError(
                    f"the model '{first}' has {setting.replace('_', ' ')} {ours}, and '{name}' has {theirs};"
                    " expected models of the same languages and preparation"
                )


def mixed_model(
    base: Model,
    name: str,
    union: PhrasePairs,
    interpolation_weights: NDArray[np.float64],
    orientations: Mapping[str, NDArray[np.float64]],
    *,
    keep_components: bool = False,
    how: str = "",
) -> Model:
    """Replace the table or grammar of a model by a mixture; `how` is for its history."""
    assert union.components is not None
    named = named_interpolation_weights(name, union, interpolation_weights, orientations)
    mixed = with_interpolation_weights if keep_components else collapse_mixture
    pairs = mixed(union, interpolation_weights, orientations)
    own = base.grammars.get(name)
    part: dict[str, Any] = (
        {"grammars": {name: Grammar.from_pairs(pairs, own.hole_counts)}}
        if isinstance(own, Grammar)
        else {"tables": {name: PhraseTable.from_pairs(pairs)}}
    )
    others = {each: value for each, value in base.weights.items() if each in base.feature_names}
    return replace(
        base,
        source_vocab=union.source_vocab,
        target_vocab=union.target_vocab,
        **part,
        weights=Weights(others).updated(named if keep_components else {}),
        history={
            **base.history,
            "mixture": {"weights": how, "tables": list(union.components.names), "shares": dict(named)},
        },
    )


def given_interpolation_weights(options: Mixing, table: str, union: PhrasePairs) -> dict[str, NDArray[np.float64]]:
    """Return the interpolation weights that the options give: equal ones, numbers, or a file with a line for each.

    Those of the table, a row for each score, and those of orientations that are mixed, a row for each direction.
    """
    assert union.components is not None
    if options.weights == "uniform":
        return {table: uniform_interpolation_weights(union), **uniform_reordering_weights(union)}
    parts = {table: union.score_names, **dict.fromkeys(union.reordering_components, DIRECTIONS)}
    names = {part: interpolation_weight_names(part, scores, union.components.names) for part, scores in parts.items()}
    every = [row for rows in names.values() for row in rows]
    if Path(options.weights).exists():
        interpolation_weights = _file_interpolation_weights(Path(options.weights), every)
    else:
        interpolation_weights = np.tile(_numbers(options.weights, union.components.names), (len(every), 1))
    what = [row[0].rpartition(".")[0] for row in every]
    if options.normalise:
        interpolation_weights = normalise_interpolation_weights(interpolation_weights, what)
    else:
        check_interpolation_weights(interpolation_weights, what)
    return dict(zip(names, np.split(interpolation_weights, np.cumsum([*map(len, names.values())])[:-1]), strict=True))


def _file_interpolation_weights(file: Path, names: list[list[str]]) -> NDArray[np.float64]:
    weights = Weights.read(file)
    known = {name for row in names for name in row}
    unknown = [name for name in weights if name.startswith("mix.") and name not in known]
    if unknown:
        raise DataError(f"has a share for {unknown[0]}", path=file, expected="the names of tables that are mixed")
    missing = [name for row in names for name in row if name not in weights]
    if missing:
        raise DataError(f"has no share for {missing[0]}", path=file, expected="one for each table and score")
    return np.array([weights.vector(row) for row in names])


def _numbers(text: str, tables: tuple[str, ...]) -> NDArray[np.float64]:
    try:
        numbers = np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise UsageError(
            f"the weights are '{text}'; expected perplexity, uniform, a file, or a number for each table"
        ) from None
    if len(numbers) != len(tables):
        raise UsageError(f"the weights are '{text}'; expected {len(tables)} numbers, for {', '.join(tables)}")
    return numbers


class TuningPairs(NamedTuple):
    """The phrase pairs or rules of a tuning set, with occurrences as the last count, and how often by orientation."""

    pairs: PhrasePairs
    orientations: NDArray[np.int64] | None = None


def tuning_pairs(bitext: Bitext, links: Links, longest: int, *, runtime: Runtime = Runtime()) -> TuningPairs:
    """Extract the phrase pairs of an aligned tuning set, and count them by orientation, in the order of its scores."""
    instances = extract_phrases(bitext, links, max_length=longest, runtime=runtime)
    lexical = lexical_tables(bitext, links)
    found = score_phrases(instances, bitext, links, lexical, runtime=runtime)
    counts = orientation_counts(instances, found.pair_of_instance, len(found.pairs))
    return TuningPairs(found.pairs, counts)


def perplexity_reordering_weights(
    union: PhrasePairs, tuning: TuningPairs, *, runtime: Runtime = Runtime()
) -> dict[str, NDArray[np.float64]]:
    """Return for each direction the interpolation weights that minimise the cross-entropy of orientations, if mixed.

    These are the orientations of the tuning set's pairs, as far as some table has the pair.
    """
    if not union.reordering_components or tuning.orientations is None:
        return {}
    has, rows = rows_of_pairs(union, tuning.pairs)
    counts = tuning.orientations[has].astype(np.float64)
    found = {}
    for name, parts in union.reordering_components.items():
        probabilities = parts.probabilities[rows].astype(np.float64)
        weights = []
        for direction, scores in zip(DIRECTIONS, np.split(np.arange(counts.shape[1]), len(DIRECTIONS)), strict=True):
            events = probabilities[:, :, scores].transpose(1, 0, 2).reshape(len(parts.names), -1)
            weights.append(
                fit_mixture_weights(events, counts[:, scores].ravel(), iterations=_ITERATIONS, tolerance=_TOLERANCE)
            )
            runtime.note(f"{name}.{direction}: {_shown(parts.names, weights[-1])}")
        found[name] = np.array(weights)
    return found


def _shown(names: Sequence[str], weights: NDArray[np.float64]) -> str:
    return ", ".join(f"{name} {weight:.4f}" for name, weight in zip(names, weights, strict=True))


def perplexity_interpolation_weights(
    union: PhrasePairs, pairs: PhrasePairs, *, runtime: Runtime = Runtime()
) -> NDArray[np.float64]:
    """Return for each score the interpolation weights that minimise the cross-entropy of a tuning set's pairs.

    Pairs that no table has are left out: every mixture gives them probability 0. A table that has none of the pairs
    is refused, because its weight cannot be estimated.
    """
    assert union.components is not None
    assert pairs.counts is not None
    has, probabilities = components_of(union, pairs)
    counts = pairs.counts[has, 2].astype(np.float64)
    if not len(counts):
        raise DataError(
            "none of the tuning set's phrase pairs is in any of the tables", expected="text of their languages"
        )
    for t, name in enumerate(union.components.names):
        if not probabilities[:, t].any():
            raise DataError(
                f"the table '{name}' has none of the {len(has):,} phrase pairs of the tuning set",
                expected="a table that has some: give its share by hand, or leave it out",
            )
    interpolation_weights = []
    for s, score in enumerate(union.score_names):
        column = probabilities[:, :, s].T
        there = column.any(axis=0)
        interpolation_weights.append(
            fit_mixture_weights(column[:, there], counts[there], iterations=_ITERATIONS, tolerance=_TOLERANCE)
        )
        entropy = -float(np.log2(interpolation_weights[-1] @ column[:, there]) @ counts[there] / counts[there].sum())
        shown = _shown(union.components.names, interpolation_weights[-1])
        runtime.note(f"{score}: {shown}; cross-entropy {entropy:.3f} bits of {int(counts[there].sum()):,} pairs")
    return np.array(interpolation_weights)


def _aligned(
    tuning: TuningText, tables: Mapping[str, PhrasePairs], aligner: Aligner, runtime: Runtime
) -> tuple[Links, Bitext]:
    """Return the word alignment of the tuning set's usable sentence pairs, and these pairs."""
    cleaned = clean(tuning.bitext, runtime=runtime)
    if tuning.alignment is not None:
        return read_links(tuning.alignment, tuning.bitext).take(cleaned.rows), cleaned.bitext
    beside = [dictionary(table) for table in tables.values()] if tuning.beside is None else [tuning.beside]
    return align_beside(cleaned.bitext, Bitext.concatenate(beside), aligner, runtime=runtime), cleaned.bitext


def align_beside(bitext: Bitext, beside: Bitext, aligner: Aligner, *, runtime: Runtime = Runtime()) -> Links:
    """Align a text together with a larger one, from which the aligner learns the words."""
    whole = Bitext.concatenate([bitext, clean(beside).bitext])
    links = symmetrise(aligner.align(whole, runtime=runtime), runtime=runtime)
    return links.take(np.arange(len(bitext)))


def dictionary(table: PhrasePairs) -> Bitext:
    """Return the short source phrases of a table, each with its best translation, as a parallel text.

    Rules with nonterminals are left out.
    """
    holes = np.concatenate([[0], np.cumsum(table.sources.values < 0)])
    fit = (table.sources.lengths <= _DICTIONARY) & (np.diff(holes[table.sources.offsets]) == 0)
    short = np.flatnonzero(fit[table.source_ids])
    score = table.scores[short, table.score_names.index("fwd") if "fwd" in table.score_names else 0]
    order = short[np.lexsort((-score, table.source_ids[short]))]
    best = order[np.unique(table.source_ids[order], return_index=True)[1]]
    return Bitext(
        Corpus(table.source_vocab, table.sources.take(table.source_ids[best])),
        Corpus(table.target_vocab, table.targets.take(table.target_ids[best])),
    )
