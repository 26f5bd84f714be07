"""Features that are computed for lists, and the notes in a file of weights that say how."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_lines
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.core.store import CHECKSUMS, digest
from dragoman.formats.nbest.numbers import read_numbers
from dragoman.metrics.neural.torch_models import model_fingerprint
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.utility import MetricUtility, NeuralUtility, utility_of
from dragoman.tuning.runs.list_features import language_model_scores, lengths, of_file, utility_scores

#: The beginning of a comment in a file of weights that says how a feature is computed.
_NOTE = "# feature: "

_FLAGS = {"file": "--feature {}=FILE", "lm": "--lm {}=PATH", "utility": "--utility-feature {}=UTILITY"}


@dataclass(frozen=True)
class ComputedFeature:
    """A feature that is read from a file of numbers, or computed by a language model, a utility, or from the length."""

    kind: Literal["file", "lm", "utility", "length"]
    #: The file of numbers, the language model, or the utility.
    source: str = ""
    #: Digest of the language model or of the utility's model.
    content: str | None = None

    @classmethod
    def of(cls, kind: Literal["file", "lm", "utility", "length"], source: str = "") -> ComputedFeature:
        """Return a feature with the digest of what computes it."""
        return cls(kind, source, _content(kind, source))

    def column(self, lists: NBest, *, runtime: Runtime) -> NDArray[np.float64]:
        """Compute the feature of all hypotheses."""
        if self.kind == "file":
            return of_file(lists, read_numbers(self.source))
        if self.kind == "lm":
            return language_model_scores(lists, self.source, runtime=runtime)
        if self.kind == "length":
            return lengths(lists)
        utility = utility_of(self.source)
        store = None if isinstance(utility, MetricUtility) else ScoreCache(ScoreCache.default_path())
        return utility_scores(lists, utility, cache=store, runtime=runtime)


def feature_notes(features: Mapping[str, ComputedFeature], folder: Path) -> str:
    """Return comments for a file of weights in a folder, one line for each feature.

    Language models are named relative to the folder, so that both can be moved together; a path that was given as
    absolute and leads elsewhere stays so.
    """
    rows = (
        {"name": name} | {key: one for key, one in asdict(_stored(made, folder)).items() if one}
        for name, made in features.items()
    )
    return "".join(f"{_NOTE}{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _stored(feature: ComputedFeature, folder: Path) -> ComputedFeature:
    """Return a feature as a file of weights in a folder has it."""
    if feature.kind != "lm":
        return feature
    home, source = folder.absolute(), Path(feature.source)
    if source.is_absolute() and not source.is_relative_to(home):
        return feature
    return replace(feature, source=os.path.relpath(source.absolute(), home))


def _found(feature: ComputedFeature, folder: Path) -> ComputedFeature:
    """Return a feature of a file of weights in a folder, with the path from here."""
    if feature.kind != "lm":
        return feature
    return replace(feature, source=os.path.normpath(folder.absolute() / feature.source))


def features_of_weights(path: PathLike, *, besides: Collection[str] = ()) -> dict[str, ComputedFeature]:
    """Return the computed features that a file of weights was tuned with, besides those that are known.

    Numbers in files belong to the lists of tuning: they must be given. A language model or a model of a utility that is
    not there, or that has changed, is an error.
    """
    found: dict[str, ComputedFeature] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.startswith(_NOTE):
            continue
        try:
            row = json.loads(line.removeprefix(_NOTE))
            name, feature = str(row.pop("name")), _found(ComputedFeature(**row), Path(path).parent)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError("has a comment on a feature that cannot be read", path=path, line=number) from None
        if name not in besides:
            _check(name, feature, path)
            found[name] = feature
    return found


def _check(name: str, feature: ComputedFeature, path: PathLike) -> None:
    """Refuse a feature that cannot be computed again as it was."""
    flag = _FLAGS.get(feature.kind, "").format(name)
    if feature.kind == "file":
        found = f"was tuned with numbers from {Path(feature.source).name} as '{name}'"
        raise DataError(found, path=path, expected=f"the numbers of these lists: {flag}")
    now = _content(feature.kind, feature.source)
    if now != feature.content:
        what = "is not there" if now is None else "has changed"
        found = f"was tuned with {feature.source} as '{name}', which {what}"
        raise DataError(found, path=path, expected=f"the same as in tuning, or another by {flag}")


def _content(kind: str, source: str) -> str | None:
    """Return a digest of what computes a feature; None if it is not there, or if its name says all."""
    if kind == "lm":
        path = Path(source)
        files = [path / CHECKSUMS] if path.is_dir() else [path]
        return digest(files) if files[0].exists() else None
    if kind == "utility":
        utility = utility_of(source)
        if isinstance(utility, NeuralUtility) and utility.model is not None and Path(utility.model).exists():
            return model_fingerprint(utility.model)
    return None
