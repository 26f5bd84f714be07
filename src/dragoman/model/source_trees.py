"""Which models look at trees of source sentences, and what to say if there are none, or no use for them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from dragoman.core.errors import UsageError
from dragoman.core.files import PathLike
from dragoman.core.runtime import Runtime
from dragoman.formats.penn_trees import TreeFile
from dragoman.model.bundle import Model


def features_of_trees(model: Model) -> list[str]:
    """The names of the model's features that look at trees."""
    return [feature.name for feature in model.extra_features if feature.of_trees]


def no_trees(model: Model, name: str = "trees") -> UsageError:
    """What to say if such a model is to translate sentences without trees, which are given under a name."""
    names = " and ".join(features_of_trees(model))
    return UsageError(
        f"the model has the feature {names}, which looks at trees of the source sentences: give them with `{name}=`"
    )


def trees_for(
    model: Model, trees: PathLike | Iterable[str] | None, *, name: str = "trees", runtime: Runtime = Runtime()
) -> TreeFile | None:
    """Open trees, a file or lines, if the model looks at them; says so if it does not, and refuses to go without."""
    if not features_of_trees(model):
        if trees is not None:
            runtime.warn("trees are not used: the model has no feature that looks at them")
        return None
    if trees is None:
        raise no_trees(model, name)
    return TreeFile.read(trees) if isinstance(trees, str | os.PathLike) else TreeFile(trees)
