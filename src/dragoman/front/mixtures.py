"""Several corpora or models as one: phrase tables mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import UsageError
from dragoman.core.live import watcher_of
from dragoman.core.progress import Progress, available_cores
from dragoman.front.system import System, load, routed
from dragoman.front.texts import File
from dragoman.metrics.texts import ReferencedText
from dragoman.model.bundle import Model
from dragoman.training.adapt import SYSTEMS, Adaptation, Adapted, domain_first
from dragoman.training.align import ALIGNERS
from dragoman.training.clean import Cleaning
from dragoman.training.lm.kneser_ney import KneserNey
from dragoman.training.mix import Mixing, TuningText, mix as mix_models
from dragoman.training.phrases import PhraseModel
from dragoman.training.prepare import Preparation, prepare


def mix(
    models: Mapping[str, System | File],
    *,
    out: File,
    source: File | None = None,
    reference: File | None = None,
    base: System | File | None = None,
    alignment: File | None = None,
    align_with: tuple[File, File] | None = None,
    aligner: str = "diagonal",
    prepared: bool = False,
    threads: int | None = None,
    progress: Progress | bool = True,
    **options: Any,
) -> System:
    """Mix the phrase tables of several models, given by name, into one model in the folder `out`.

    `options` are those of `Mixing`: `weights` ("perplexity" on the tuning set `source` and `reference`, "uniform",
    numbers or a file), `normalise`, `keep_components`. All but the table is that of `base`, the first model by default.
    The tuning set is aligned with the tables' short phrases, unless its `alignment` is a file or there is a parallel
    text to align it with.

    >>> import dragoman as dm, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> mixed = dm.mix({"in": dm.example(), "out": dm.example()}, weights="0.7,0.3", out=f"{folder}/mixed",
    ...                keep_components=True, progress=False)
    >>> mixed.weights["mix.tm.fwd.in"], mixed.translate("Un homme dort.")
    (0.7, 'A man sleeps.')
    """
    watcher = watcher_of(progress)
    loaded = {name: _model(model) for name, model in models.items()}
    tuning = None
    if (source is None) != (reference is None):
        raise UsageError("a tuning set is a source and a reference")
    if source is not None and reference is not None and loaded:
        text = next(iter(loaded.values())).preparation(prepared=prepared)
        found = ReferencedText.read(Path(source), [Path(reference)], text, watcher)
        beside = None if align_with is None else Bitext.read(*align_with)
        tuning = TuningText(Bitext(Corpus.from_lines(found.lines), found.references[0]), alignment, beside)
    mixed = mix_models(
        loaded,
        Mixing.from_dict(options),
        tuning=tuning,
        base=None if base is None else _model(base),
        aligner=ALIGNERS.get(aligner)(),
        threads=threads or available_cores(),
        progress=watcher,
    )
    mixed.save(out)
    return load(out, threads=threads)


def adapt(
    corpora: Mapping[str, tuple[File, File]],
    mixtures: Sequence[str],
    *,
    source: File,
    reference: File,
    out: File,
    domain: str | None = None,
    aligner: str = "diagonal",
    lm: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | bool = True,
    **options: Any,
) -> dict[str, System]:
    """Train models of a domain from parallel texts with names, (source, target) each; that of the domain comes first.

    `mixtures` are the names of systems, see `dragoman adapt --help`; each gets a folder in `out`. `source` and
    `reference` are a tuning set of the domain. `options` are those of text preparation, cleaning and the phrase table,
    and `align` ("together" or "apart"); `lm` are those of the language model.
    """
    watcher, workers = watcher_of(progress), threads or available_cores()
    unknown = [name for name in mixtures if name not in SYSTEMS]
    if unknown:
        raise UsageError(f"no mixture is called '{unknown[0]}'; there are {', '.join(SYSTEMS)}")
    text, cleaning, table, adaptation = routed(options, Preparation, Cleaning, PhraseModel, Adaptation)
    prepared = {
        name: prepare(*sides, Preparation.from_dict(text), threads=workers, progress=watcher)
        for name, sides in domain_first(corpora, domain).items()
    }
    first = next(iter(prepared.values()))
    found = ReferencedText.read(Path(source), [Path(reference)], first.settings.preparation(), watcher)
    systems = Adapted(
        {name: each.bitext for name, each in prepared.items()},
        Bitext(Corpus.from_lines(found.lines), found.references[0]),
        Adaptation.from_dict(adaptation),
        cleaning=Cleaning.from_dict(cleaning),
        aligner=ALIGNERS.get(aligner)(),
        phrase_model=PhraseModel.from_dict(table),
        kneser_ney=KneserNey.from_dict(lm or {}),
        settings=first.settings,
        casing=first.casing,
        threads=workers,
        progress=watcher,
    )
    for name in mixtures:
        systems.model(name).save(Path(out) / name)
    return {name: load(Path(out) / name, threads=threads) for name in mixtures}


def _model(model: System | File) -> Model:
    return model.model if isinstance(model, System) else Model.load(model)
