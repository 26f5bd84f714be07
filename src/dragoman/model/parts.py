"""Parts of a model, the features that they give it, its settings, and how its bundle is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError, UsageError, version
from dragoman.core.feature_rows import Weights
from dragoman.core.options import Options, option, read_toml
from dragoman.core.phrases import REORDERING_SCORES
from dragoman.core.store import Arrays, load_arrays
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.feature_types import GLOBAL_FEATURES, SPARSE_FEATURES, Feature
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.phrase_table import PhraseTable
from dragoman.text.compounds import CompoundSplitter
from dragoman.text.preparation import Casing, TextPreparation
from dragoman.text.segment import Segmentation
from dragoman.text.words import Units

#: Raised when a change makes older bundles unreadable.
FORMAT = 1

#: Files and folders of a bundle.
WEIGHTS, CASING, COMPOUNDS, EXTRA = "weights.txt", "casing", "compounds", "extra_features"

#: The search that a model is for: the name of its folder below `search` and `sampling`.
Kind = Literal["phrase", "chart"]

#: The kinds by their names in `model.toml`.
KINDS: dict[str, Kind] = {"phrase-based": "phrase", "hierarchical": "chart"}


# Names become folders: none may lead elsewhere.
_NAME = re.compile(r"(?!\.\.?$)[^/\\\x00-\x1f]+")
_LONGEST_NAME = 255

Done = TypeVar("Done")


class Part(Protocol):
    """A table, grammar or language model: memory-mapped arrays, and a short description."""

    def arrays(self) -> Arrays:
        """Return its arrays by name."""

    def about(self) -> dict[str, Any]:
        """Return its description in `model.toml`."""

    @classmethod
    def rebuild(cls, about: Mapping[str, Any], arrays: Arrays) -> Self:
        """Build it from what the other two returned; refuse arrays that do not fit together."""

    def check(self, source_vocab: Vocab, target_vocab: Vocab) -> None:
        """Read it all, and refuse contents that no kernel may see in a model with these vocabularies."""


class PartType(NamedTuple):
    """One type of parts: their folder, the attribute of `Model` that has them by name, and their class."""

    folder: str
    attribute: str
    part: type[Part]

    def of(self, model: object) -> dict[str, Any]:
        """Return the parts of this type that a model has, by name."""
        return {name: part for name, part in getattr(model, self.attribute).items() if isinstance(part, self.part)}


#: The parts that there can be any number of, by their heading in `model.toml`.
PARTS: dict[str, PartType] = {
    "table": PartType("tables", "tables", PhraseTable),
    "grammar": PartType("grammars", "grammars", Grammar),
    "corpus": PartType("corpora", "grammars", CorpusGrammar),
    "language_model": PartType("language_models", "language_models", LanguageModel),
}


#: The parts that have been read from end to end, with the sizes of the vocabularies that they were checked for.
_CHECKED: WeakKeyDictionary[Part, tuple[int, int]] = WeakKeyDictionary()


def mark_checked(parts: Iterable[tuple[str, Part]], source_vocab: Vocab, target_vocab: Vocab) -> None:
    """Note that parts need not be read again: they have been checked, now or before they were loaded."""
    sizes = (len(source_vocab.offsets), len(target_vocab.offsets))
    for _, part in parts:
        _CHECKED[part] = sizes


def check_once(parts: Iterable[tuple[str, Part]], source_vocab: Vocab, target_vocab: Vocab) -> None:
    """Refuse parts that no kernel may see; each is read from end to end if it has not been before."""
    sizes = (len(source_vocab.offsets), len(target_vocab.offsets))
    for name, part in parts:
        if _CHECKED.get(part) != sizes:
            try:
                type(part).rebuild(part.about(), part.arrays()).check(source_vocab, target_vocab)
            except DataError as error:
                raise DataError(f"the model's {name}: {error}") from None
            _CHECKED[part] = sizes


def in_folder(folder: Path, work: Callable[..., Done], *arguments: Any) -> Done:
    """Call `work` on the arrays of a folder; errors about them name the folder."""
    try:
        return work(*arguments)
    except DataError as error:
        if error.path is not None:
            raise
        raise DataError(str(error), path=folder) from None


def part_rows(about: Mapping[str, Any], heading: str, file: Path, *, options: bool = False) -> list[dict[str, Any]]:
    """Return the tables of `model.toml` under one heading; each name must be one that a folder can have."""
    rows = about.get(heading, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"has no tables under {heading}", path=file, expected=f"[[{heading}]]")
    for row in rows:
        name = row["name"]
        if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name.encode()) > _LONGEST_NAME:
            raise DataError(f"has a {heading} of the name {name!r}", path=file, expected="a name without a path")
        if options and not isinstance(row.setdefault("options", {}), dict):
            raise DataError(f"has no table as the options of {name}", path=file, expected="options")
    names = [row["name"] for row in rows]
    if len(set(names)) < len(names):
        raise DataError(f"has two of one name under {heading}", path=file, expected="names that differ")
    return rows


@dataclass(frozen=True)
class Settings(Options):
    """Preparation of text for the model, and limits of its space; stored with it so that all tools agree."""

    source_language: str | None = option(None, "language of the source text, for tokenising")
    target_language: str | None = option(None, "language of the target text, for tokenising")
    tokenise: bool = option(False, "whether text must be tokenised before the model sees it")
    lowercase: bool = option(False, "whether text must be lower-cased before the model sees it")
    unicode: Literal["NFC", "as-is"] = option("as-is", "whether letters must be composed before the model sees text")
    normalise_punctuation: bool = option(False, "whether quotation marks, dashes and spaces must be made uniform first")
    protect: bool = option(False, "whether URLs, numbers and the like are single tokens, and unusual joins marked")
    source_segmenter: Segmentation = option("none", "segmenter of source text without spaces between words")
    target_segmenter: Segmentation = option("none", "segmenter of target text without spaces between words")
    units: Units = option("words", "units of the model: words, or characters")
    boundaries: bool = option(False, "whether character sequences have boundary symbols")
    reordering_limit: int = option(6, "longest jump between phrases; -1 is no limit", minimum=-1, maximum=2**31 - 1)
    span_limit: int = option(
        10, "longest span of a rule of a hierarchical model; glue joins longer ones", minimum=1, maximum=2**31 - 1
    )
    glue: bool = option(True, "whether a hierarchical model may join parts from left to right")
    table_limit: int = option(
        20, "translation options per source phrase, best p(e|f) first; 0 is no limit", minimum=0, maximum=2**31 - 1
    )

    def preparation(self, casing: Casing | None = None, compounds: CompoundSplitter | None = None) -> TextPreparation:
        """Return the preparation of text for a model with these settings."""
        return TextPreparation(
            source_language=self.source_language,
            target_language=self.target_language,
            tokenise=self.tokenise,
            lowercase=self.lowercase,
            nfc=self.unicode == "NFC",
            casing=casing,
            units=self.units,
            boundaries=self.boundaries,
            normalise_punctuation=self.normalise_punctuation,
            protect=self.protect,
            source_segmenter=self.source_segmenter,
            target_segmenter=self.target_segmenter,
            compounds=compounds,
        )


def read_description(folder: Path) -> dict[str, Any]:
    """Read `model.toml` of a bundle; refuse other formats and kinds of models."""
    file = folder / "model.toml"
    if not file.is_file():
        raise DataError("is not a model", path=folder, expected="a folder with model.toml")
    about = read_toml(file)
    if about.get("format") != FORMAT:
        raise DataError(
            f"has format {about.get('format')!r}, written by dragoman {about.get('dragoman', '?')}",
            path=file,
            expected=f"format {FORMAT}, which dragoman {version()} reads",
        )
    if about.get("kind") not in [*KINDS]:
        raise DataError(f"has a model of the kind {about.get('kind')!r}", path=file, expected=" or ".join(KINDS))
    return about


class _Place(NamedTuple):
    """A part of a bundle: its folder, the attribute of `Model` that it becomes, its name there, and its builder."""

    folder: str
    attribute: str
    name: str | None
    build: Callable[[Arrays], Any]


def read_bundle(folder: Path) -> dict[str, Any]:
    """Read the fields of a `Model` from its bundle; arrays are memory-mapped."""
    file, about = folder / "model.toml", read_description(folder)
    try:
        places = _places(folder, about, file)
        sparse = part_rows(about, "extra_feature", file, options=True)
        others = part_rows(about, "global_feature", file, options=True)
        settings = _table(about, "settings", file)
        history = _table(about, "history", file) if "history" in about else {}
        weights = read_weights(folder / WEIGHTS)
        fields = {"weights": weights, "settings": Settings.from_dict(settings), "history": history}
        features: dict[Feature, Arrays] = {}
        for row in sparse:
            feature = SPARSE_FEATURES.get(row["name"]).from_dict(row["options"])
            features[feature] = load_arrays(folder / EXTRA / row["name"])
        for row in others:
            features[GLOBAL_FEATURES.get(row["name"]).from_dict(row["options"])] = {}
        return fields | {"features": features} | _build(folder, places)
    except KeyError as error:
        raise DataError(f"lacks {error}", path=file, expected="a complete model") from None
    except UsageError as error:
        raise DataError(str(error), path=file) from None


def _places(folder: Path, about: Mapping[str, Any], file: Path) -> list[_Place]:
    """List the parts of a bundle; those of one attribute must have different names."""
    places = [_Place(f"vocab/{side}", f"{side}_vocab", None, Vocab.from_arrays) for side in ("source", "target")]
    taken = set[tuple[str, str]]()
    for heading, (place, attribute, part) in PARTS.items():
        for row in part_rows(about, heading, file):
            name = row["name"]
            if (attribute, name) in taken:
                raise DataError(f"has two {attribute} of the name {name}", path=file, expected="names that differ")
            taken.add((attribute, name))
            places.append(_Place(f"{place}/{name}", attribute, name, partial(part.rebuild, row)))
    if (folder / CASING).is_dir():
        places.append(_Place(CASING, "casing", None, Casing.from_arrays))
    if (folder / COMPOUNDS).is_dir():
        places.append(_Place(COMPOUNDS, "compounds", None, CompoundSplitter.from_arrays))
    return places


def _build(folder: Path, places: Sequence[_Place]) -> dict[str, Any]:
    """Map the arrays of all parts, then build them; an error names the folder of the part."""
    fields: dict[str, Any] = {part_type.attribute: {} for part_type in PARTS.values()}
    arrays = [load_arrays(folder / place.folder) for place in places]
    for place, found in zip(places, arrays, strict=True):
        try:
            part = place.build(found)
        except DataError as error:
            if error.path is not None:
                raise
            raise DataError(str(error), path=folder / place.folder) from None
        if place.name is None:
            fields[place.attribute] = part
        else:
            fields[place.attribute][place.name] = part
    return fields


def read_weights(file: Path) -> Weights:
    """Read weights, all of which must be finite."""
    weights = Weights.read(file)
    try:
        weights.check_finite()
    except UsageError as error:
        raise DataError(str(error), path=file) from None
    return weights


def _table(about: Mapping[str, Any], heading: str, file: Path) -> dict[str, Any]:
    table = about[heading]
    if not isinstance(table, dict):
        raise DataError(f"has a value for {heading}", path=file, expected=f"a table [{heading}]")
    return table


#: Features that every phrase-based model has, with what they count.
CORE_FEATURES = {
    "distortion": "minus the sum of jumps |start of this phrase - end of the one before|",
    "word_penalty": "minus the number of target words",
    "phrase_penalty": "the number of phrases",
    "unknown_word": "minus 100 for each source word that passes through untranslated",
}

#: Features that every hierarchical model has, with what they count.
CHART_FEATURES = {
    "glue": "the number of parts that are joined from left to right",
    "word_penalty": "minus the number of target words",
    "rule_penalty": "the number of rules, glue not counted",
    "unknown_word": "minus 100 for each source word that passes through untranslated",
}

#: A feature of each grammar but the first: how many of its rules there are.
GRAMMAR_PENALTY = "penalty"

_CHART_WEIGHTS = {"glue": 1.2, "word_penalty": -1.0, "rule_penalty": 0.2, "unknown_word": 1.0}
_CORE_WEIGHTS = {"distortion": 0.3, "word_penalty": -1.0, "phrase_penalty": 0.2, "unknown_word": 1.0}


def phrase_features(table: str, score_names: Iterable[str]) -> list[str]:
    """Name the features of a phrase table: the logarithms of its scores.

    >>> phrase_features("tm", ["bwd", "fwd"])
    ['tm.bwd', 'tm.fwd']
    """
    return [f"{table}.{name}" for name in score_names]


def grammar_features(grammars: Mapping[str, Iterable[str]]) -> list[str]:
    """Name the features of grammars: the logarithms of their scores, and the number of rules from all but the first.

    >>> grammar_features({"tm": ["fwd"], "phrases": ["fwd"]})
    ['tm.fwd', 'phrases.fwd', 'phrases.penalty']
    """
    names = []
    for i, (grammar, score_names) in enumerate(grammars.items()):
        names += [*phrase_features(grammar, score_names), *[f"{grammar}.{GRAMMAR_PENALTY}"] * (i > 0)]
    return names


def reordering_features(name: str) -> list[str]:
    """Name the six features of a lexicalised reordering model."""
    return [f"{name}.{score}" for score in REORDERING_SCORES]


def initial_weights(
    tables: dict[str, tuple[str, ...]], reorderings: Iterable[str], language_models: Iterable[str]
) -> Weights:
    """Return untuned weights that translate sensibly, the ones that Moses starts with; tune before you measure."""
    weights = dict(_CORE_WEIGHTS)
    for name in language_models:
        weights[name] = 0.5
    for table, score_names in tables.items():
        weights |= dict.fromkeys(phrase_features(table, score_names), 0.2)
    for name in reorderings:
        weights |= dict.fromkeys(reordering_features(name), 0.3)
    return Weights(weights)


def initial_chart_weights(grammars: Mapping[str, Iterable[str]], language_models: Iterable[str]) -> Weights:
    """Return untuned weights for a hierarchical model, which translate as those that Moses starts with."""
    weights = dict(_CHART_WEIGHTS) | dict.fromkeys(language_models, 0.5)
    weights |= dict.fromkeys(grammar_features(grammars), 0.2)
    return Weights(weights | {f"{name}.{GRAMMAR_PENALTY}": 0.0 for name in [*grammars][1:]})
