"""From the files of several corpora to systems that combine them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import UsageError
from dragoman.core.files import PathLike
from dragoman.core.options import routed
from dragoman.core.runtime import Runtime
from dragoman.metrics.texts import ReferencedText
from dragoman.text.preparation import TextPreparation
from dragoman.training.adapt import SYSTEMS, Adaptation, Adapted
from dragoman.training.align import ALIGNERS
from dragoman.training.align.auto import Auto
from dragoman.training.align.base import Aligner
from dragoman.training.clean import Cleaning
from dragoman.training.lm.kneser_ney import KneserNey
from dragoman.training.phrases import PhraseModel
from dragoman.training.prepare import Preparation, prepare


@dataclass(frozen=True)
class AdaptRecipe:
    """All options of the way from texts to systems."""

    adaptation: Adaptation = Adaptation()
    preparation: Preparation = Preparation()
    cleaning: Cleaning = Cleaning()
    aligner: Aligner = Auto()
    phrase_model: PhraseModel = PhraseModel()
    kneser_ney: KneserNey = KneserNey()

    @classmethod
    def from_dict(
        cls,
        options: Mapping[str, Any],
        *,
        aligner: str = "auto",
        aligner_options: Mapping[str, Any] | None = None,
        lm: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build from options by their names, those of the aligner and of the language model apart."""
        text, cleaning, table, adaptation = routed(options, Preparation, Cleaning, PhraseModel, Adaptation)
        return cls(
            Adaptation.from_dict(adaptation),
            Preparation.from_dict(text),
            Cleaning.from_dict(cleaning),
            ALIGNERS.get(aligner).from_dict(aligner_options or {}),
            PhraseModel.from_dict(table),
            KneserNey.from_dict(lm or {}),
        )

    def described(self) -> dict[str, dict[str, Any]]:
        """All options, by what they are of."""
        parts = ("adaptation", "preparation", "cleaning", "phrase_model", "kneser_ney")
        named = {part: getattr(self, part).to_dict() for part in parts}
        return {**named, "aligner": {"name": self.aligner.name, **self.aligner.to_dict()}}

    def read(
        self,
        corpora: Mapping[str, tuple[PathLike, PathLike]],
        source: PathLike,
        reference: PathLike,
        *,
        runtime: Runtime = Runtime(),
    ) -> Adapted:
        """Read parallel texts by name, that of the domain first, and a tuning set of the domain."""
        texts = {name: prepare(*paths, self.preparation, runtime=runtime) for name, paths in corpora.items()}
        if not texts:
            raise UsageError("there is no corpus; expected two or more, the one of the domain first")
        first = next(iter(texts.values()))
        for name, text in texts.items():
            if text.settings != first.settings:
                raise UsageError(f"the corpus {name} is of other languages than the first; expected the same")
        return Adapted(
            {name: text.bitext for name, text in texts.items()},
            tuning_bitext(source, reference, first.settings.preparation(), runtime=runtime),
            self.adaptation,
            cleaning=self.cleaning,
            aligner=self.aligner,
            phrase_model=self.phrase_model,
            kneser_ney=self.kneser_ney,
            settings=first.settings,
            casing=first.casing,
            runtime=runtime,
        )


def tuning_bitext(
    source: PathLike, reference: PathLike, text: TextPreparation, *, runtime: Runtime = Runtime()
) -> Bitext:
    """Read a tuning set in the words of a model."""
    found = ReferencedText.read(Path(source), [Path(reference)], text, runtime=runtime)
    return Bitext(Corpus.from_lines(found.lines), found.references[0])


def check_systems(names: Sequence[str], flag: str = "mixture") -> None:
    """Refuse systems that there are not, and one that is named twice; `flag` is what they were given by."""
    unknown = [name for name in names if name not in SYSTEMS]
    if unknown:
        raise UsageError(f"no {flag.lstrip('-')} is called '{unknown[0]}'; there are {', '.join(SYSTEMS)}")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise UsageError(f"{flag} {twice[0]} is given twice; expected each once")
