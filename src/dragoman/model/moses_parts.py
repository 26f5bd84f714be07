"""Shared by phrase-based and hierarchical Moses models: files, language models, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike
from dragoman.core.runtime import Runtime
from dragoman.formats.arpa import read_arpa, write_arpa
from dragoman.formats.moses.ini import MosesFeature, MosesIni
from dragoman.model.bundle import Model
from dragoman.model.language_model import LanguageModel


def name_part(stem: str, i: int) -> str:
    """Name the i-th part of one type: tm, tm2, tm3."""
    return stem if i == 0 else f"{stem}{i + 1}"


def feature_file(path: PathLike, feature: MosesFeature) -> Path:
    """Return the file of a feature, which must have one."""
    if feature.file is None:
        raise DataError(f"{feature.kind} {feature.name} names no file", path=path, line=feature.line)
    return feature.file


def name_weights(
    path: PathLike, feature: MosesFeature, names: Sequence[str], weights: Sequence[float]
) -> dict[str, float]:
    """The weights of a feature by our names; refuses any other number of them."""
    if len(names) != len(weights):
        raise DataError(
            f"found {len(weights)} weights for {feature.name}",
            path=path,
            line=feature.line,
            expected=f"{len(names)}, one for each score of {feature.file}",
        )
    return dict(zip(names, weights, strict=True))


def penalty_weights(ini: MosesIni, names: Mapping[str, str]) -> dict[str, float]:
    """The weights of features that have no file, by our names for their kinds."""
    return {names[f.kind]: f.weights[0] for f in ini.features if f.kind in names and f.weights}


def read_language_models(
    path: PathLike, ini: MosesIni, weights: dict[str, float], *, runtime: Runtime = Runtime()
) -> dict[str, LanguageModel]:
    """Read the language models that a configuration names; their weights are added to `weights`."""
    language_models: dict[str, LanguageModel] = {}
    for i, feature in enumerate(f for f in ini.features if f.is_language_model):
        name = name_part("lm", i)
        language_models[name] = LanguageModel.from_ngrams(read_arpa(feature_file(path, feature), runtime=runtime))
        weights |= name_weights(path, feature, [name], feature.weights)
    return language_models


def table_limit_of(ini: MosesIni) -> int | None:
    """Return the limit on translations of a source side, if the configuration has one; 0 is no limit."""
    limits = [f.arguments.get("table-limit") for f in ini.features if f.is_phrase_table]
    limit = next((value for value in limits if value is not None), None)
    if limit is not None and limit.isdigit():
        return int(limit)
    return None if ini.table_limit is None else max(0, ini.table_limit)


def write_language_models(
    model: Model, folder: Path, weights: Weights, *, runtime: Runtime = Runtime()
) -> list[MosesFeature]:
    """Write the language models of a model as ARPA files, and return the features that name them."""
    features = []
    for i, (name, language_model) in enumerate(model.language_models.items()):
        file = folder / f"{name}.arpa.gz"
        with runtime.stage(f"writing {file.name}"):
            write_arpa(file, language_model.to_ngrams())
        arguments = {"factor": "0", "path": file.name, "order": str(language_model.order)}
        features.append(MosesFeature("KENLM", f"LM{i}", (weights.get(name, 0.0),), arguments, file))
    return features
