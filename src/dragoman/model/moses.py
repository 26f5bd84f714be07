"""Models of Moses: a moses.ini with its tables becomes a Model, and the other way round.

This file is about phrase-based models; what it is given of hierarchical ones goes to `moses_chart`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike, output_folder
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.moses.ini import MosesFeature, MosesIni, read_moses_ini, write_moses_ini
from dragoman.formats.moses.phrase_table import read_phrase_table, write_phrase_table
from dragoman.formats.moses.reordering import attach_reordering, read_reordering, write_reordering
from dragoman.model.bundle import Model
from dragoman.model.edit import bake_for_export
from dragoman.model.moses_chart import import_hierarchical, write_hierarchical
from dragoman.model.moses_parts import (
    feature_file,
    name_part,
    name_weights,
    penalty_weights,
    read_language_models,
    table_limit_of,
    write_language_models,
)
from dragoman.model.parts import Settings, phrase_features, reordering_features
from dragoman.model.phrase_table import PhraseTable

_PENALTIES = {
    "UnknownWordPenalty": "unknown_word",
    "WordPenalty": "word_penalty",
    "PhrasePenalty": "phrase_penalty",
    "Distortion": "distortion",
}


def import_moses(path: PathLike, *, runtime: Runtime = Runtime()) -> Model:
    """Read a moses.ini and everything that it names: tables of phrases or rules, ARPA files, and weights."""
    ini = read_moses_ini(path, runtime=runtime)
    if ini.is_hierarchical:
        return import_hierarchical(path, ini, runtime=runtime)
    weights = penalty_weights(ini, _PENALTIES)
    tables: dict[str, PhrasePairs] = {}
    source_vocab, target_vocab = Vocab.of(), Vocab.of()
    for feature in (f for f in ini.features if f.is_phrase_table):
        name = name_part("tm", len(tables))
        pairs = read_phrase_table(
            feature_file(path, feature), source_vocab=source_vocab, target_vocab=target_vocab, runtime=runtime
        )
        source_vocab, target_vocab = pairs.source_vocab, pairs.target_vocab
        tables[name] = pairs
        names = phrase_features(name, pairs.score_names)
        given = feature.weights
        if len(given) == len(names) + 1:
            # The fifth weight of old tables, whose fifth score is e for every phrase.
            weights["phrase_penalty"] = weights.get("phrase_penalty", 0.0) + given[-1]
            given = given[:-1]
        weights |= name_weights(path, feature, names, given)
    for i, feature in enumerate(f for f in ini.features if f.is_reordering):
        name = name_part("lr", i)
        reordering = read_reordering(feature_file(path, feature), runtime=runtime)
        if reordering.scores.shape[1] != 6:
            raise DataError(
                f"has {reordering.scores.shape[1]} scores", path=feature.file, expected="6 (msd-bidirectional-fe)"
            )
        tables = {table: attach_reordering(pairs, reordering, name, runtime=runtime) for table, pairs in tables.items()}
        weights |= name_weights(path, feature, reordering_features(name), feature.weights)
    language_models = read_language_models(path, ini, weights, runtime=runtime)
    if not tables:
        raise DataError("names no phrase table", path=path, expected="a phrase-based model")
    return Model(
        source_vocab=source_vocab,
        target_vocab=target_vocab,
        tables={name: PhraseTable.from_pairs(pairs) for name, pairs in tables.items()},
        language_models=language_models,
        weights=Weights(weights),
        settings=_settings(ini),
        history={"imported_from": "moses"},
    )


def _settings(ini: MosesIni) -> Settings:
    settings = Settings()
    if ini.distortion_limit is not None:
        settings = replace(settings, reordering_limit=max(-1, ini.distortion_limit))
    limit = table_limit_of(ini)
    return settings if limit is None else replace(settings, table_limit=limit)


def _with_reordering(model: Model, name: str) -> PhrasePairs:
    """Return the pairs of all tables with this reordering model; each pair comes from the first table that has it."""
    tables = [table for table in model.tables.values() if name in table.log_reordering]
    columns = [table.to_pairs(model.source_vocab, model.target_vocab) for table in tables]
    if len(columns) == 1:
        return columns[0]
    sources, source_ids = _merge_phrases([pairs.sources for pairs in columns], [p.source_ids for p in columns])
    targets, target_ids = _merge_phrases([pairs.targets for pairs in columns], [p.target_ids for p in columns])
    first = np.sort(np.unique(source_ids.astype(np.int64) << 32 | target_ids, return_index=True)[1])
    rows = first[np.argsort(source_ids[first], kind="stable")]
    return PhrasePairs(
        model.source_vocab,
        model.target_vocab,
        sources,
        targets,
        source_ids[rows],
        target_ids[rows],
        np.empty((len(rows), 0), np.float32),
        (),
        reordering={name: np.concatenate([pairs.reordering[name] for pairs in columns])[rows]},
    )


def _merge_phrases(
    phrases: Sequence[Ragged[np.int32]], ids: Sequence[NDArray[np.int32]]
) -> tuple[Ragged[np.int32], NDArray[np.int32]]:
    """Merge lists of phrases, each phrase once, and renumber the ids that refer to them."""
    every = Ragged.concatenate(phrases)
    numbers, words, offsets = kernels.intern_sequences(every.values, every.offsets)
    starts = np.cumsum([0, *map(len, phrases)])
    renumbered = [numbers[part + start] for part, start in zip(ids, starts[:-1], strict=True)]
    return Ragged(words, offsets), np.concatenate(renumbered)


def export_moses(model: Model, path: PathLike, *, runtime: Runtime = Runtime()) -> None:
    """Write a model as a folder that Moses reads: moses.ini, tables of phrases or rules, and ARPA files.

    Mixtures are written as their weights say.
    """
    model = bake_for_export(model, runtime=runtime)
    weights = model.weights
    if model.sparse_features:
        names = ", ".join(feature.name for feature in model.sparse_features)
        runtime.warn(f"sparse features cannot be written and are left out: {names}")
    if model.global_features:
        runtime.warn(f"global features cannot be written and are left out: {', '.join(model.global_features)}")
    with output_folder(path) as folder:
        if model.kind == "chart":
            write_hierarchical(model, folder, runtime=runtime)
            return
        features = [MosesFeature(kind, f"{kind}0", (weights.get(name, 0.0),)) for kind, name in _PENALTIES.items()]
        for i, (name, table) in enumerate(model.tables.items()):
            file = folder / f"phrase-table.{name}.gz"
            pairs = table.to_pairs(model.source_vocab, model.target_vocab)
            with runtime.stage(f"writing {file.name}"):
                write_phrase_table(file, pairs)
            arguments = {
                "num-features": str(len(table.score_names)),
                "path": file.name,
                "table-limit": str(model.settings.table_limit),
            }
            features.append(
                MosesFeature(
                    "PhraseDictionaryMemory",
                    f"TranslationModel{i}",
                    tuple(weights.vector(phrase_features(name, table.score_names)).tolist()),
                    arguments,
                    file,
                )
            )
        for i, name in enumerate(model.reorderings):
            file = folder / f"reordering-table.{name}.gz"
            with runtime.stage(f"writing {file.name}"):
                write_reordering(file, _with_reordering(model, name), name)
            features.append(
                MosesFeature(
                    "LexicalReordering",
                    f"LexicalReordering{i}",
                    tuple(weights.vector(reordering_features(name)).tolist()),
                    {
                        "num-features": "6",
                        "type": "wbe-msd-bidirectional-fe-allff",
                        "input-factor": "0",
                        "output-factor": "0",
                        "path": file.name,
                    },
                    file,
                )
            )
        features += write_language_models(model, folder, weights, runtime=runtime)
        sections = {
            "input-factors": ("0",),
            "mapping": tuple(f"{i} T {i}" for i in range(len(model.tables))),
            "distortion-limit": (str(model.settings.reordering_limit),),
        }
        write_moses_ini(folder / "moses.ini", MosesIni(tuple(features), sections))
