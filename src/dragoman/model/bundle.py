"""The model bundle: a folder with `model.toml`, `weights.txt`, and memory-mapped arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.checksums import (
    CHECKSUMS,
    checked_files,
    compare_checksums,
    digest,
    fingerprint,
    is_verified,
    remember_verified,
    write_checksums,
)
from dragoman.core.errors import DataError, UsageError, version
from dragoman.core.files import PathLike, output_folder
from dragoman.core.journal import weights_file
from dragoman.core.progress import ProgressCallback, within
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays, load_arrays, save_arrays
from dragoman.core.toml import format_toml, read_toml
from dragoman.core.vocab import Vocab
from dragoman.core.weights import Weights
from dragoman.formats.tagged_text import TaggedText
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.feature_types import (
    GLOBAL_FEATURES,
    SPARSE_FEATURES,
    BoundaryFeature,
    Feature,
    GlobalFeature,
    HoleFeature,
    ModelParts,
    SparseFeature,
)
from dragoman.model.features import (
    CHART_FEATURES,
    CORE_FEATURES,
    grammar_features,
    phrase_features,
    reordering_features,
)
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.mixture import read_shares, share_names
from dragoman.model.parts import (
    KINDS,
    PARTS,
    Kind,
    Part,
    Settings,
    check_once,
    in_folder,
    load_parts,
    part_rows,
    remember_sound,
)
from dragoman.model.phrase_table import PhraseTable
from dragoman.model.rule_scores import AlignedText
from dragoman.text.casing import Casing
from dragoman.text.preparation import TextPreparation

#: Raised when a change makes older bundles unreadable.
FORMAT = 1

_WEIGHTS, _CASING, _EXTRA = "weights.txt", "casing", "extra_features"

#: Of the time of saving; the rest goes to checksums.
_SHARE_OF_WRITING = 0.7


Loaded = TypeVar("Loaded")
Type = TypeVar("Type", bound=Feature)


@dataclass(frozen=True, eq=False)
class Model:
    """A model: vocabularies, any number of phrase tables or grammars and of language models, and weights.

    `history` is a record of how the model was made (options and counts), for people and for reports. `features` are
    those beside the dense ones, each with the arrays that it has learnt; no search can use those of whole sentences and
    documents. `casing` gives the words of a model that lower-cases their case back.
    """

    source_vocab: Vocab
    target_vocab: Vocab
    tables: Mapping[str, PhraseTable]
    language_models: Mapping[str, LanguageModel]
    weights: Weights
    settings: Settings = Settings()
    history: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[Feature, Arrays] = field(default_factory=dict)
    casing: Casing | None = None
    grammars: Mapping[str, Grammar | CorpusGrammar] = field(default_factory=dict)

    def __repr__(self) -> str:
        parts = [f"{name}: {len(table):,} phrase pairs" for name, table in self.tables.items()]
        parts += [f"{name}: {grammar.shown}" for name, grammar in self.grammars.items()]
        parts += [f"{name}: order {lm.order}, {len(lm.vocab):,} words" for name, lm in self.language_models.items()]
        return f"Model({'; '.join(parts)})"

    @property
    def kind(self) -> Kind:
        """Which search the model is for; its parts say so."""
        return "chart" if self.grammars else "phrase"

    def preparation(self, *, prepared: bool = False) -> TextPreparation:
        """What text goes through on its way to the model and back; nothing, if it is `prepared` already."""
        return TextPreparation() if prepared else self.settings.preparation(self.casing)

    @property
    def reorderings(self) -> list[str]:
        """The names of the lexicalised reordering models."""
        return sorted({name for table in self.tables.values() for name in table.log_reordering})

    @property
    def feature_names(self) -> list[str]:
        """The dense and the global features, which have a weight each, in the order in which tools show them."""
        return [*self.dense_features, *self.global_features]

    @property
    def dense_features(self) -> list[str]:
        """The features that every derivation has as the sum over its steps: what dynamic programs work on."""
        if self.kind == "chart":
            grammars = {name: grammar.score_names for name, grammar in self.grammars.items()}
            return [*CHART_FEATURES, *self.language_models, *grammar_features(grammars)]
        names = [*CORE_FEATURES, *self.language_models]
        for name, table in self.tables.items():
            names += phrase_features(name, table.score_names)
        for name in self.reorderings:
            names += reordering_features(name)
        return names

    @property
    def share_names(self) -> list[str]:
        """The shares of tables in mixtures: weights by which scores are mixed, and of no features."""
        return [name for rows in self._mixtures.values() for row in rows for name in row]

    @property
    def weight_names(self) -> list[str]:
        """All that must have a weight: dense and global features, and shares."""
        return [*self.feature_names, *self.share_names]

    @cached_property
    def _mixtures(self) -> dict[str, list[list[str]]]:
        """The names of the shares in each table that is a mixture, a row for each score."""
        return {
            name: share_names(name, table.score_names, table.components.names)
            for name, table in self.tables.items()
            if table.components is not None
        }

    def shares(self, weights: Mapping[str, float]) -> dict[str, NDArray[np.float64]]:
        """The shares that weights give each table that is a mixture, a row for each score; they must sum to 1."""
        return {name: read_shares(rows, weights) for name, rows in self._mixtures.items()}

    @property
    def sparse_prefixes(self) -> tuple[str, ...]:
        """What the names of features beside the dense ones begin with; which there are is known as they occur."""
        return tuple(f"{feature.prefix}." for feature in self.sparse_features)

    def features_of(self, locality: type[Type]) -> tuple[Type, ...]:
        """Return the features of one type, ready for use."""
        every = (*self._attached.values(), *self.global_features.values())
        return tuple(feature for feature in every if isinstance(feature, locality))

    @property
    def boundary_feature(self) -> BoundaryFeature | None:
        """The feature of two neighbours, if there is one."""
        return next(iter(self.features_of(BoundaryFeature)), None)

    @property
    def global_features(self) -> dict[str, GlobalFeature]:
        """The features of whole sentences and documents, by name."""
        return {feature.name: feature for feature in self.features if isinstance(feature, GlobalFeature)}

    @property
    def sparse_features(self) -> dict[SparseFeature, Arrays]:
        """The features that searches score beside the dense ones, each with the arrays that it has learnt."""
        return {feature: learnt for feature, learnt in self.features.items() if isinstance(feature, SparseFeature)}

    @cached_property
    def _attached(self) -> dict[str, SparseFeature]:
        """The sparse features, ready for use, by prefix."""
        attached = {}
        for feature, learnt in self.sparse_features.items():
            try:
                attached[feature.prefix] = feature.attached(self._parts(), learnt)
            except DataError as error:
                raise DataError(f"the feature {feature.name} of the model: {error}") from None
        return attached

    def _parts(self, tagged: TaggedText | None = None, aligned: AlignedText | None = None) -> ModelParts:
        return ModelParts(self.source_vocab, self.target_vocab, self.tables, tagged, self.grammars, aligned)

    def with_features(
        self,
        features: Sequence[Feature],
        *,
        tagged: TaggedText | None = None,
        aligned: AlignedText | None = None,
        runtime: Runtime = Runtime(),
    ) -> Model:
        """Add features, which learn what they need from the model, from a tagged text of its target language, and from
        a parallel text with links, whose words need not be the model's. They weigh 0 until tuned.
        """
        every: dict[Feature, Arrays] = dict(self.features)
        for feature in features:
            _refuse_twice(feature, [*every], self.dense_features)
            if isinstance(feature, BoundaryFeature) and self.kind == "chart":
                raise UsageError(f"{feature.name} is about neighbours, and the rules of a hierarchical model have none")
            if isinstance(feature, HoleFeature) and self.kind != "chart":
                raise UsageError(f"{feature.name} is about the holes of rules, and phrases have none")
            every[feature] = {}
            if isinstance(feature, SparseFeature):
                every[feature] = feature.learn(self._parts(tagged, aligned), runtime=runtime)
        added = {feature.name: 0.0 for feature in features if isinstance(feature, GlobalFeature)}
        model = replace(self, features=every, weights=self.weights.updated(added) if added else self.weights)
        if len(model.features_of(BoundaryFeature)) > 1:
            raise UsageError("a model can have one feature of neighbours only")
        return model

    def lm_word_ids(self, name: str) -> NDArray[np.int32]:
        """For each word of the target vocabulary its id in a language model (0 where the model lacks it)."""
        return self.language_models[name].ids_of(self.target_vocab)

    def read_weights(self, path: PathLike, *, runtime: Runtime = Runtime()) -> Weights:
        """Read weights for this model, from a file or the folder of a tuning run; refuse unknown and missing names.

        Sparse names that the model cannot have are counted in a warning: they may come from a model with other tags.
        """
        file = weights_file(path, runtime.progress)
        weights = _read_weights(file)
        names = set(self.weight_names)
        others = [name for name in weights if name not in names]
        unknown = [name for name in others if not name.startswith(_sparse_prefixes())]
        if unknown:
            raise DataError(f"has weights for {_some(unknown)}", path=file, expected="names of the model's features")
        missing = [name for name in self.weight_names if name not in weights]
        if missing:
            raise DataError(f"has no weight for {_some(missing)}", path=file, expected="one for every feature")
        try:
            self.shares(weights)
        except UsageError as error:
            raise DataError(str(error), path=file) from None
        idle = [name for name in others if not self._can_have(name)]
        if idle:
            runtime.warn(f"{file}: the model has no features for {len(idle):,} of the weights: {_some(idle)}")
        return weights

    def can_weigh(self, name: str) -> bool:
        """Whether the model has a feature of this name, or may have one as it occurs."""
        return name in self.weight_names or self._can_have(name)

    def _can_have(self, name: str) -> bool:
        """Whether one of the sparse features can give a value of this name."""
        prefix, _, rest = name.partition(".")
        return prefix in self._attached and self._attached[prefix].has(rest)

    def save(self, path: PathLike, progress_callback: ProgressCallback = lambda done: None) -> None:
        """Write the bundle: whole or not at all; the same model gives the same bytes."""
        parts: dict[str, Arrays] = {}
        for vocab_name, vocab in (("source", self.source_vocab), ("target", self.target_vocab)):
            parts[f"vocab/{vocab_name}"] = vocab.arrays()
        for sort in PARTS.values():
            parts |= {f"{sort.folder}/{name}": part.arrays() for name, part in sort.among(self).items()}
        parts |= {f"{_EXTRA}/{feature.name}": dict(learnt) for feature, learnt in self.sparse_features.items()}
        if self.casing is not None:
            parts[_CASING] = self.casing.arrays()
        done, total = 0, sum(array.nbytes for arrays in parts.values() for array in arrays.values())
        with output_folder(path) as folder:
            for place, arrays in parts.items():
                (folder / place).mkdir(parents=True, exist_ok=True)
                for name, array in arrays.items():
                    save_arrays(folder / place, {name: array})
                    done += array.nbytes
                    progress_callback(_SHARE_OF_WRITING * done / max(total, 1))
            (folder / _WEIGHTS).write_text(self.weights.format(), encoding="utf-8")
            write_checksums(folder, within(progress_callback, _SHARE_OF_WRITING, 1))
            (folder / "model.toml").write_text(format_toml(self._description()), encoding="utf-8")

    def _description(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "dragoman": version(),
            "kind": next(name for name, kind in KINDS.items() if kind == self.kind),
            "settings": self.settings.to_dict(),
            **{
                heading: [{"name": name, **part.about()} for name, part in sort.among(self).items()]
                for heading, sort in PARTS.items()
            },
            "extra_feature": [{"name": feature.name, "options": feature.to_dict()} for feature in self.sparse_features],
            "global_feature": [
                {"name": name, "options": feature.to_dict()} for name, feature in self.global_features.items()
            ],
            "history": dict(self.history),
        }

    @classmethod
    def load(cls, path: PathLike) -> Model:
        """Open a bundle; arrays are memory-mapped, so that this takes no time and processes share them.

        A bundle that is new on this machine, or has changed, is read from end to end first: nothing that it holds can
        harm later.
        """
        folder = Path(path)
        file = folder / "model.toml"
        about = _read_description(folder)
        try:
            model = cls(
                source_vocab=_load(folder / "vocab" / "source", Vocab.from_arrays),
                target_vocab=_load(folder / "vocab" / "target", Vocab.from_arrays),
                **_load_parts(folder, about, file),
                weights=_read_weights(folder / _WEIGHTS),
                settings=Settings.from_dict(_table(about, "settings", file)),
                history=_table(about, "history", file) if "history" in about else {},
                features=_load_features(folder, about, file),
                casing=_load(folder / _CASING, Casing.from_arrays) if (folder / _CASING).is_dir() else None,
            )
        except KeyError as error:
            raise DataError(f"lacks {error}", path=file, expected="a complete model") from None
        except UsageError as error:
            raise DataError(str(error), path=file) from None
        mark = fingerprint(checked_files(folder))
        if mark is None or not is_verified(mark):
            model.check(folder)
            if mark is not None:
                remember_verified(mark)
        for _, part in model._all_parts():
            remember_sound(part, model.source_vocab, model.target_vocab)
        return model

    def _all_parts(self) -> Iterator[tuple[str, Part]]:
        for sort in PARTS.values():
            yield from sort.among(self).items()

    def check_parts(self) -> None:
        """Refuse parts that were made with arrays that could lead a kernel astray; each is read once, if ever."""
        for name, part in self._all_parts():
            check_once(name, part, self.source_vocab, self.target_vocab)

    def check(self, folder: Path) -> None:
        """Refuse arrays that could lead a kernel astray, whatever their checksums, and those that have changed.

        `folder` is where they are from.
        """
        for name, vocab in (("source", self.source_vocab), ("target", self.target_vocab)):
            in_folder(folder / "vocab" / name, vocab.check)
        for sort in PARTS.values():
            for name, part in sort.among(self).items():
                in_folder(folder / sort.folder / name, part.check, self.source_vocab, self.target_vocab)
        in_folder(folder / _EXTRA, lambda: self._attached)
        if self.casing is not None:
            in_folder(folder / _CASING, self.casing.check)
        if (folder / CHECKSUMS).exists():
            compare_checksums(folder, complete=False)


def _read_description(folder: Path) -> dict[str, Any]:
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


def _load_parts(folder: Path, about: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """All parts by the attribute that they belong to, where no two have one name, whatever their sorts."""
    found: dict[str, dict[str, Any]] = {sort.attribute: {} for sort in PARTS.values()}
    for heading, sort in PARTS.items():
        parts = load_parts(folder / sort.folder, part_rows(about, heading, file), sort.part)
        twice = parts.keys() & found[sort.attribute].keys()
        if twice:
            raise DataError(
                f"has two {sort.attribute} of the name {twice.pop()}", path=file, expected="names that differ"
            )
        found[sort.attribute] |= parts
    return found


def _load_features(folder: Path, about: Mapping[str, Any], file: Path) -> dict[Feature, Arrays]:
    """The features, each with the arrays that it has learnt; those of sentences and documents learn nothing."""
    features: dict[Feature, Arrays] = {}
    for row in part_rows(about, "extra_feature", file, options=True):
        feature = SPARSE_FEATURES.get(row["name"]).from_dict(row["options"])
        features[feature] = load_arrays(folder / _EXTRA / row["name"])
    for row in part_rows(about, "global_feature", file, options=True):
        features[GLOBAL_FEATURES.get(row["name"]).from_dict(row["options"])] = {}
    return features


def _load(folder: Path, build: Callable[[Arrays], Loaded]) -> Loaded:
    return in_folder(folder, build, load_arrays(folder))


def _read_weights(file: Path) -> Weights:
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


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


@cache
def _sparse_prefixes() -> tuple[str, ...]:
    """What names of features beside the dense ones can begin with in any model."""
    return tuple(f"{SPARSE_FEATURES.get(name).prefix}." for name in SPARSE_FEATURES.names())


def _refuse_twice(feature: Feature, others: Sequence[Feature], dense: Sequence[str]) -> None:
    """Refuse a feature whose name, or the names of whose values, others have."""
    names = [*(other.name for other in others), *(dense if isinstance(feature, GlobalFeature) else ())]
    if feature.name in names:
        raise UsageError(f"the model has the feature {feature.name} already")
    for other in others:
        if isinstance(feature, SparseFeature) and isinstance(other, SparseFeature) and feature.prefix == other.prefix:
            raise UsageError(f"the features {other.name} and {feature.name} both have the prefix {feature.prefix}")


def model_digest(path: PathLike) -> str:
    """What a bundle holds, in a few letters: its description, weights and the checksums of its arrays."""
    folder = Path(path)
    _read_description(folder)
    return digest(folder / name for name in ("model.toml", _WEIGHTS, CHECKSUMS) if (folder / name).exists())


def verify(path: PathLike) -> int:
    """Compare every array of a bundle with its checksum; returns how many there are."""
    folder = Path(path)
    _read_description(folder)
    return compare_checksums(folder, complete=True)
