"""Models of other toolkits (Moses, cdec, Joshua), and models that combine several corpora or tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.core.corpus import Bitext
from dragoman.core.errors import UsageError
from dragoman.core.progress import Progress
from dragoman.front.system import System, load
from dragoman.front.texts import File, Text, TextFiles, files_of, runtime_of
from dragoman.model.bundle import Model
from dragoman.model.moses import import_moses
from dragoman.model.scfg import import_cdec, import_joshua
from dragoman.training.adapt import AdaptRecipe, check_systems, domain_first, tuning_bitext
from dragoman.training.align import ALIGNERS
from dragoman.training.mix import Mixing, TuningText, mix_models


def load_moses(ini: File, *, threads: int | None = None, progress: Progress | bool = True) -> System:
    """Load a Moses model with tables, language models and weights from its `moses.ini`; save it before tuning."""
    return System(import_moses(ini, runtime=runtime_of(threads, progress)), threads=threads)


def load_cdec(
    grammar: File,
    *,
    lm: File | Sequence[File] = (),
    weights: File | None = None,
    threads: int | None = None,
    progress: Progress | bool = True,
) -> System:
    """Load a cdec grammar, language models from ARPA files, and cdec's weights; save it before tuning."""
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
    """Load a Joshua grammar and language models from ARPA files; save it before tuning. `scores` names its features."""
    model = import_joshua(
        grammar, language_models=files_of(lm), score_names=scores, runtime=runtime_of(threads, progress)
    )
    return System(model, threads=threads)


def mix(
    models: Mapping[str, System | File],
    *,
    out: File,
    source: Text | None = None,
    reference: Text | None = None,
    base: System | File | None = None,
    alignment: File | None = None,
    align_with: tuple[Text, Text] | None = None,
    aligner: str = "auto",
    prepared: bool = False,
    threads: int | None = None,
    progress: Progress | bool = True,
    **options: Any,
) -> System:
    """Interpolate the phrase tables or grammars of several models, given by name, and save the model in `out`.

    `options` are options of `Mixing`: `weights` ("perplexity" on the tuning set `source` and `reference`, "uniform",
    numbers or a file), `normalise`, `keep_components`. All other parts come from `base`, by default the first model.
    The tuning set is aligned together with the tables' short phrases, unless its `alignment` is given as a file, or
    `align_with` names a parallel text to align it with.

    >>> import dragoman as dm, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> mixed = dm.mix({"in": dm.example(), "out": dm.example()}, weights="0.7,0.3", out=f"{folder}/mixed",
    ...                keep_components=True, progress=False)
    >>> mixed.weights["mix.tm.fwd.in"], mixed.translate("Un homme dort.")
    (0.7, 'A man sleeps.')
    """
    runtime = runtime_of(threads, progress)
    loaded = {name: _model(model) for name, model in models.items()}
    tuning = None
    if (source is None) != (reference is None):
        raise UsageError("a tuning set needs both source and reference")
    if source is not None and reference is not None and loaded:
        text = next(iter(loaded.values())).preparation(prepared=prepared)
        with TextFiles() as files:
            beside = None
            if align_with is not None:
                beside = Bitext.read(
                    files.path(align_with[0], "align_source"), files.path(align_with[1], "align_target")
                )
            sides = files.path(source, "source"), files.path(reference, "reference")
            tuning = TuningText(tuning_bitext(*sides, text, runtime=runtime), alignment, beside)
    mixed = mix_models(
        loaded,
        Mixing.from_dict(options),
        tuning=tuning,
        base=None if base is None else _model(base),
        aligner=ALIGNERS.get(aligner)(),
        runtime=runtime,
    )
    mixed.save(out)
    return load(out, threads=threads)


def adapt(
    corpora: Mapping[str, tuple[Text, Text]],
    mixtures: Sequence[str],
    *,
    source: Text,
    reference: Text,
    out: File,
    domain: str | None = None,
    aligner: str = "auto",
    aligner_options: Mapping[str, Any] | None = None,
    lm: Mapping[str, Any] | None = None,
    hierarchical: bool = False,
    rules: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | bool = True,
    **options: Any,
) -> dict[str, System]:
    """Train models for one domain from several parallel corpora, each (source, target); the in-domain one comes first.

    Texts are files or lists of lines. `mixtures` are names of systems, see the reference of `dragoman adapt`; each is
    saved in its own folder in `out`. `source` and `reference` are an in-domain tuning set. `options` are options of
    text preparation, cleaning and the phrase table, and `align` ("apart" or "together"); `lm` are options of the
    language model. `hierarchical` models have grammars in place of phrase tables; `rules` are their options.
    """
    check_systems(mixtures)
    recipe = AdaptRecipe.from_dict(
        options, aligner=aligner, aligner_options=aligner_options, lm=lm, hierarchical=hierarchical, rules=rules
    )
    with TextFiles() as files:
        sides = {
            name: (files.path(pair[0], f"{name}.source"), files.path(pair[1], f"{name}.target"))
            for name, pair in corpora.items()
        }
        tuning = files.path(source, "tuning.source"), files.path(reference, "tuning.reference")
        systems = recipe.read(domain_first(sides, domain), *tuning, runtime=runtime_of(threads, progress))
    for name in mixtures:
        systems.model(name).save(Path(out) / name)
    return {name: load(Path(out) / name, threads=threads) for name in mixtures}


def _model(model: System | File) -> Model:
    return model.model if isinstance(model, System) else Model.load(model)
