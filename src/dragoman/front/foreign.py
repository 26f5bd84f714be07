"""Models that other tools made."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.progress import Progress
from dragoman.front.runtime import runtime_of
from dragoman.front.system import System
from dragoman.front.texts import File, files_of
from dragoman.model.moses import import_moses
from dragoman.model.scfg import import_cdec, import_joshua


def load_moses(ini: File, *, threads: int | None = None, progress: Progress | bool = True) -> System:
    """Read a model of Moses, with its tables, language models and weights, from its `moses.ini`; save it to tune it."""
    return System(import_moses(ini, runtime=runtime_of(threads, progress)), threads=threads)


def load_cdec(
    grammar: File,
    *,
    lm: File | Sequence[File] = (),
    weights: File | None = None,
    threads: int | None = None,
    progress: Progress | bool = True,
) -> System:
    """Read a grammar of cdec, language models from ARPA files, and cdec's weights; save it to tune it."""
    model = import_cdec(grammar, language_models=files_of(lm), weights=weights, runtime=runtime_of(threads, progress))
    return System(model, threads=threads)


def load_joshua(
    grammar: File,
    *,
    lm: File | Sequence[File] = (),
    scores: Sequence[str] | None = None,
    threads: int | None = None,
    progress: Progress | bool = True,
) -> System:
    """Read a grammar of Joshua and language models from ARPA files; save it to tune it. `scores` names its features."""
    model = import_joshua(
        grammar, language_models=files_of(lm), score_names=scores, runtime=runtime_of(threads, progress)
    )
    return System(model, threads=threads)
