"""Dragoman: log-linear translation models — train, tune, sample, decode, compare.

    import dragoman as dm

    model = dm.train("train.fr", "train.en", out="model")          # or dm.load("model"), dm.load_moses("moses.ini")
    model.translate("Un homme dort.")                              # raw text in, text out
    run = model.tune("dev.fr", "dev.en", out="run")
    best = model.with_weights(run)
    best.translate(lines, decision="mbr"), best.nbest(line, 10), best.sample(line, 1000), best.hypergraph(line)
    dm.score(outputs, references), dm.compare({"a": outputs, "b": others}, references)
    dm.rerank(candidates, weights), dm.mbr(candidates)
    dm.normaliser(examples="examples.tsv", modern="words.txt", out="old-to-new").normalise("Vnd das liecht")
    dm.word_classes("train.en", classes=50)["house"]
    dm.mix({"in": "model1", "out": "model2"}, source="dev.fr", reference="dev.en", out="mixed")

A text of many lines is given as a `Path`, a list of lines, or the name of an existing file. Where sentences are
expected, a string is one sentence and a `Path` a file of sentences. `dm.example()` returns a small model to try things.

Names are imported when they are first used. They are thin layers over the packages below, which any program may use:
see the architecture page of the documentation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.front.candidates import join_candidates, mbr, rerank, tune_reranker
    from dragoman.front.chosen_texts import ChosenTexts
    from dragoman.front.conversion import adapt, load_cdec, load_joshua, load_moses, mix
    from dragoman.front.example import example
    from dragoman.front.normalisation import Normaliser, normaliser
    from dragoman.front.run import TuningRun
    from dragoman.front.scoring import Comparison, Score, compare, score
    from dragoman.front.system import System, load, train
    from dragoman.front.word_classes import word_classes

__all__ = [
    "ChosenTexts",
    "Comparison",
    "Normaliser",
    "Score",
    "System",
    "TuningRun",
    "adapt",
    "compare",
    "example",
    "join_candidates",
    "load",
    "load_cdec",
    "load_joshua",
    "load_moses",
    "mbr",
    "mix",
    "normaliser",
    "rerank",
    "score",
    "train",
    "tune_reranker",
    "word_classes",
]

_HOMES = {
    "candidates": ("join_candidates", "mbr", "rerank", "tune_reranker"),
    "conversion": ("adapt", "load_cdec", "load_joshua", "load_moses", "mix"),
    "scoring": ("Comparison", "Score", "compare", "score"),
    "example": ("example",),
    "normalisation": ("Normaliser", "normaliser"),
    "run": ("TuningRun",),
    "chosen_texts": ("ChosenTexts",),
    "system": ("System", "load", "train"),
    "word_classes": ("word_classes",),
}


def __getattr__(name: str) -> Any:
    """Import a name on first use; the version comes from the installed package."""
    from importlib import import_module

    if name == "__version__":
        return import_module("dragoman.core.errors").version()
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = getattr(import_module(f"dragoman.front.{home}"), name)
            return globals()[name]
    options = import_module("dragoman.core.options")
    if name in options.RENAMED_IN_PACKAGE:
        import warnings

        new = options.RENAMED_IN_PACKAGE[name]
        warnings.warn(options.renaming(name, new), DeprecationWarning, stacklevel=2)
        globals()[name] = __getattr__(new)
        return globals()[name]
    raise AttributeError(f"module 'dragoman' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return all public names."""
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"])
