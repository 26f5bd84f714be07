"""The model bundle: a folder with `model.toml`, `weights.txt`, and memory-mapped arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError, UsageError, version
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike, output_folder
from dragoman.core.journal import weights_file
from dragoman.core.options import format_toml
from dragoman.core.phrases import DIRECTIONS
from dragoman.core.progress import ProgressCallback, within
from dragoman.core.runtime import Runtime
from dragoman.core.store import (
    CHECKSUMS,
    Arrays,
    checked_files,
    compare_checksums,
    digest,
    fingerprint,
    is_verified,
    remember_verified,
    save_arrays,
    write_checksums,
)
from dragoman.formats.penn_trees import TreeFile
from dragoman.formats.tagged_text import TaggedText
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.feature_types import (
    SPARSE_FEATURES,
    BoundaryFeature,
    CopyFeature,
    Feature,
    GlobalFeature,
    HoleFeature,
    ModelParts,
    OrientationFeature,
    SparseFeature,
)
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.lm_mixture import remixed
from dragoman.model.mixture import INTERPOLATION_PREFIX, interpolation_weight_names, read_interpolation_weights
from dragoman.model.parts import (
    CASING,
    CHART_FEATURES,
    COMPOUNDS,
    CORE_FEATURES,
    EXTRA,
    FORMAT,
    KINDS,
    PARTS,
    WEIGHTS,
    Kind,
    Part,
    Settings,
    check_once,
    grammar_features,
    in_folder,
    mark_checked,
    phrase_features,
    read_bundle,
    read_description,
    read_weights,
    reordering_features,
)
from dragoman.model.phrase_table import PhraseTable
from dragoman.model.rule_scores import AlignedText
from dragoman.model.word_classes import WordClasses
from dragoman.text.compounds import CompoundSplitter
from dragoman.text.preparation import Casing, TextPreparation

#: Of the time of saving; the rest goes to checksums.
_SHARE_OF_WRITING = 0.7


Type = TypeVar("Type", bound=Feature)


@dataclass(frozen=True, eq=False)
class Model:
    """A model: vocabularies, phrase tables or grammars, language models, and weights.

    `history` is a record of how the model was made (options and counts), for people and for reports. `features` are the
    sparse and the global features, each with its learnt arrays; no search can use global features, which look at whole
    sentences and documents. `casing` restores the case of words if the model lower-cases text; `compounds` splits
    those of the source text. `word_classes` are those of the words of "source" and "target", for features that look at
    them.
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
    compounds: CompoundSplitter | None = None
    grammars: Mapping[str, Grammar | CorpusGrammar] = field(default_factory=dict)
    word_classes: Mapping[str, WordClasses] = field(default_factory=dict)

    def __repr__(self) -> str:
        parts = [f"{name}: {len(table):,} phrase pairs" for name, table in self.tables.items()]
        parts += [f"{name}: {grammar.summary}" for name, grammar in self.grammars.items()]
        parts += [f"{name}: order {lm.order}, {len(lm.vocab):,} words" for name, lm in self.language_models.items()]
        return f"Model({'; '.join(parts)})"

    @property
    def kind(self) -> Kind:
        """The search that the model is for, as its parts tell."""
        return "chart" if self.grammars else "phrase"

    def preparation(self, *, prepared: bool = False) -> TextPreparation:
        """Return the preparation of text for this model; of text that is `prepared`, it only splits compounds.

        Splitting what is split already changes nothing.
        """
        return TextPreparation(compounds=self.compounds) if prepared else self._preparation

    @cached_property
    def _preparation(self) -> TextPreparation:
        return self.settings.preparation(self.casing, self.compounds)

    @cached_property
    def reorderings(self) -> list[str]:
        """The names of the lexicalised reordering models."""
        return sorted({name for table in self.tables.values() for name in table.log_reordering})

    @property
    def feature_names(self) -> list[str]:
        """The dense and the global features, which have a weight each, in the order in which tools show them."""
        return [*self.dense_features, *self.global_features]

    @cached_property
    def dense_features(self) -> list[str]:
        """The features that every derivation has as the sum over its steps: what dynamic programs work on."""
        if self.kind == "chart":
            grammars = {name: grammar.score_names for name, grammar in self.grammars.items()}
            return [*CHART_FEATURES, *self.language_models, *grammar_features(grammars)]
        reorderings, names = self.reorderings, [*CORE_FEATURES, *self.language_models]
        for name, table in self.tables.items():
            names += phrase_features(name, table.score_names)
        for name in reorderings:
            names += reordering_features(name)
        return names

    @property
    def interpolation_weight_names(self) -> list[str]:
        """The names of interpolation weights of mixtures; they belong to no feature."""
        return [name for rows in self._mixtures.values() for row in rows for name in row]

    @property
    def weight_names(self) -> list[str]:
        """All names that must have a weight: dense and global features, and interpolation weights."""
        return [*self.feature_names, *self.interpolation_weight_names]

    @cached_property
    def _mixtures(self) -> dict[str, list[list[str]]]:
        """The names of the interpolation weights of each mixture, a row for each score or direction."""
        found = {}
        for name, part in self.mixed_parts.items():
            assert part.components is not None
            found[name] = interpolation_weight_names(name, part.score_names, part.components.names)
        for table in self.tables.values():
            for name, parts in table.reordering_components.items():
                found[name] = interpolation_weight_names(name, DIRECTIONS, parts.names)
        for name, lm in self.language_models.items():
            if lm.components:
                found[name] = [[f"{INTERPOLATION_PREFIX}{name}.{component}" for component in lm.components]]
        return found

    def remixed(self, weights: Mapping[str, float]) -> Model:
        """Return the model with its mixed language models as some weights have them; tables are mixed in searches."""
        mixed = {name: lm for name, lm in self.language_models.items() if lm.components}
        if not mixed:
            return self
        shares = self.interpolation_weights(weights)
        lms = {name: remixed(lm, shares[name][0].tolist()) for name, lm in mixed.items()}
        if all(lms[name] is lm for name, lm in mixed.items()):
            return self
        return replace(self, language_models={**self.language_models, **lms})

    @property
    def mixed_parts(self) -> dict[str, PhraseTable | Grammar]:
        """The tables and grammars that are mixtures, by name."""
        parts = {**self.tables, **self.grammars}
        return {
            name: part
            for name, part in parts.items()
            if not isinstance(part, CorpusGrammar) and part.components is not None
        }

    def interpolation_weights(self, weights: Mapping[str, float]) -> dict[str, NDArray[np.float64]]:
        """Return the interpolation weights of each mixture, a row for each score or direction; rows must sum to 1."""
        return {name: read_interpolation_weights(rows, weights) for name, rows in self._mixtures.items()}

    @property
    def sparse_prefixes(self) -> tuple[str, ...]:
        """The prefixes of the names of sparse features; the names themselves are known only as they occur."""
        return tuple(f"{feature.prefix}." for feature in self.sparse_features)

    def features_of(self, locality: type[Type]) -> tuple[Type, ...]:
        """Return the features of one type, ready for use."""
        every = (*self._attached.values(), *self.global_features.values())
        return tuple(feature for feature in every if isinstance(feature, locality))

    @property
    def boundary_feature(self) -> BoundaryFeature | None:
        """The feature of two neighbours, if there is one."""
        return next(iter(self.features_of(BoundaryFeature)), None)

    @cached_property
    def copy_feature(self) -> CopyFeature | None:
        """The feature that generates copies of words, if there is one."""
        return next((feature for feature in self.features_of(CopyFeature) if feature.generates), None)

    @cached_property
    def tree_features(self) -> list[str]:
        """The names of the features that look at trees of source sentences."""
        return [feature.name for feature in self.features if feature.needs_trees]

    def open_trees(
        self, trees: PathLike | Iterable[str] | None, *, name: str = "trees", runtime: Runtime = Runtime()
    ) -> TreeFile | None:
        """Open trees, a file or lines, if the model looks at them; warn if it does not, and refuse to go without."""
        if not self.tree_features:
            if trees is not None:
                runtime.warn("trees are not used: the model has no feature that looks at them")
            return None
        if trees is None:
            raise self.missing_trees(name)
        return TreeFile.read(trees) if isinstance(trees, str | os.PathLike) else TreeFile(trees)

    def missing_trees(self, name: str = "trees") -> UsageError:
        """Return the error for source sentences without trees, which users give as `name`."""
        names = " and ".join(self.tree_features)
        return UsageError(
            f"the model has the feature {names}, which looks at trees of the source sentences: give them with `{name}=`"
        )

    @cached_property
    def global_features(self) -> dict[str, GlobalFeature]:
        """The features of whole sentences and documents, by name."""
        return {feature.name: feature for feature in self.features if isinstance(feature, GlobalFeature)}

    @cached_property
    def sparse_features(self) -> dict[SparseFeature, Arrays]:
        """The sparse features, each with its learnt arrays."""
        return {feature: learnt for feature, learnt in self.features.items() if isinstance(feature, SparseFeature)}

    @cached_property
    def _attached(self) -> dict[str, SparseFeature]:
        """The sparse features, ready for use, by prefix."""
        attached = {}
        for feature, learnt in self.sparse_features.items():
            try:
                attached[feature.prefix] = feature.attached(self._parts(), learnt)
            except (DataError, UsageError) as error:
                raise DataError(f"the feature {feature.name} of the model: {error}") from None
        return attached

    def _parts(self, tagged: TaggedText | None = None, aligned: AlignedText | None = None) -> ModelParts:
        vocabs = self.source_vocab, self.target_vocab
        return ModelParts(*vocabs, self.tables, tagged, self.grammars, aligned, self.word_classes)

    def with_features(
        self,
        features: Sequence[Feature],
        *,
        tagged: TaggedText | None = None,
        aligned: AlignedText | None = None,
        runtime: Runtime = Runtime(),
    ) -> Model:
        """Return the model with more features, whose weights are 0 until they are tuned, or those that they begin with.

        They learn from the model, from a tagged text of its target language, and from a word-aligned parallel text,
        whose words need not be the model's.
        """
        every: dict[Feature, Arrays] = dict(self.features)
        for feature in features:
            _refuse_twice(feature, [*every], self.dense_features)
            refuse_kind(feature, self.kind)
            if self.compounds is not None and feature.needs_trees:
                raise UsageError(f"{feature.name} looks at trees of whole words, and the model splits compounds")
            every[feature] = {}
            if isinstance(feature, SparseFeature):
                feature.need_classes(self.word_classes)
                every[feature] = feature.learn(self._parts(tagged, aligned), runtime=runtime)
        added = {feature.name: 0.0 for feature in features if isinstance(feature, GlobalFeature)}
        for feature in features:
            added |= feature.start_weights if isinstance(feature, SparseFeature) else {}
        model = replace(self, features=every, weights=self.weights.updated(added) if added else self.weights)
        if len(model.features_of(BoundaryFeature)) > 1:
            raise UsageError("a model can have one feature of neighbours only")
        if sum(feature.generates for feature in model.features_of(CopyFeature)) > 1:
            raise UsageError("a model can have one feature that copies words only")
        return model

    def read_weights(self, path: PathLike, *, runtime: Runtime = Runtime()) -> Weights:
        """Read weights for this model, from a file or the folder of a tuning run; refuse unknown and missing names.

        Sparse names that the model cannot have are counted in a warning: they may come from a model with other tags.
        """
        file = weights_file(path, runtime.progress)
        weights = read_weights(file)
        names = set(self.weight_names)
        others = [name for name in weights if name not in names]
        unknown = [name for name in others if not name.startswith(_sparse_prefixes())]
        if unknown:
            raise DataError(f"has weights for {_some(unknown)}", path=file, expected="names of the model's features")
        missing = [name for name in self.weight_names if name not in weights]
        if missing:
            raise DataError(f"has no weight for {_some(missing)}", path=file, expected="one for every feature")
        try:
            self.interpolation_weights(weights)
        except UsageError as error:
            raise DataError(str(error), path=file) from None
        idle = [name for name in others if not self._can_have(name)]
        if idle:
            runtime.warn(f"{file}: the model has no features for {len(idle):,} of the weights: {_some(idle)}")
        return weights

    def can_weigh(self, name: str) -> bool:
        """Tell whether the model has a feature of this name, or may have one as it occurs."""
        return name in self.weight_names or self._can_have(name)

    def is_log_probability(self, name: str) -> bool:
        """Tell whether a feature is the (natural) logarithm of a probability; others are counts, distances and ratios.

        Language models are, the scores of tables and grammars, lexicalised reordering, and what sparse features say.
        """
        prefix, _, rest = name.partition(".")
        if name in self._log_probabilities or name in self.feature_names:
            return name in self._log_probabilities
        return prefix in self._attached and self._attached[prefix].is_log_probability(rest)

    @cached_property
    def _log_probabilities(self) -> frozenset[str]:
        """The dense features that are logarithms of probabilities."""
        parts = {**self.tables, **self.grammars}
        scores = [name for part, one in parts.items() for name in phrase_features(part, one.probability_names)]
        orders = [name for reordering in self.reorderings for name in reordering_features(reordering)]
        return frozenset([*self.language_models, *scores, *orders])

    def _can_have(self, name: str) -> bool:
        """Tell whether one of the sparse features can give a value of this name."""
        prefix, _, rest = name.partition(".")
        return prefix in self._attached and self._attached[prefix].has(rest)

    def save(self, path: PathLike, progress_callback: ProgressCallback = lambda done: None) -> None:
        """Write the bundle: whole or not at all; the same model gives the same bytes."""
        parts: dict[str, Arrays] = {}
        for vocab_name, vocab in (("source", self.source_vocab), ("target", self.target_vocab)):
            parts[f"vocab/{vocab_name}"] = vocab.arrays()
        for part_type in PARTS.values():
            parts |= {f"{part_type.folder}/{name}": part.arrays() for name, part in part_type.of(self).items()}
        parts |= {f"{EXTRA}/{feature.name}": dict(learnt) for feature, learnt in self.sparse_features.items()}
        for name, table in self._text_tables.items():
            parts[name] = table.arrays()
        done, total = 0, sum(array.nbytes for arrays in parts.values() for array in arrays.values())
        with output_folder(path) as folder:
            for place, arrays in parts.items():
                (folder / place).mkdir(parents=True, exist_ok=True)
                for name, array in arrays.items():
                    save_arrays(folder / place, {name: array})
                    done += array.nbytes
                    progress_callback(_SHARE_OF_WRITING * done / max(total, 1))
            (folder / WEIGHTS).write_text(self.weights.format(), encoding="utf-8")
            write_checksums(folder, within(progress_callback, _SHARE_OF_WRITING, 1))
            (folder / "model.toml").write_text(format_toml(self._description()), encoding="utf-8")

    def _description(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "dragoman": version(),
            "kind": next(name for name, kind in KINDS.items() if kind == self.kind),
            "settings": self.settings.to_dict(),
            **{
                heading: [{"name": name, **part.about()} for name, part in part_type.of(self).items()]
                for heading, part_type in PARTS.items()
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

        A bundle that is new on this machine, or has changed, is read from end to end first: nothing in it can do harm
        later.
        """
        folder = Path(path)
        model = cls(**read_bundle(folder))
        mark = fingerprint(checked_files(folder))
        if mark is None or not is_verified(mark):
            model.check(folder)
            if mark is not None:
                remember_verified(mark)
        mark_checked(model._all_parts, model.source_vocab, model.target_vocab)
        return model

    @cached_property
    def _all_parts(self) -> list[tuple[str, Part]]:
        parts = self.tables, self.grammars, self.language_models, self.word_classes
        return [item for some in parts for item in some.items()]

    @property
    def _text_tables(self) -> dict[str, Casing | CompoundSplitter]:
        """The tables of text preparation, by folder."""
        tables = {CASING: self.casing, COMPOUNDS: self.compounds}
        return {name: table for name, table in tables.items() if table is not None}

    def check_parts(self) -> None:
        """Refuse parts whose arrays could lead a kernel astray; each is read at most once."""
        check_once(self._all_parts, self.source_vocab, self.target_vocab)

    def check(self, folder: Path) -> None:
        """Refuse arrays that could lead a kernel astray, whatever their checksums, and those that have changed.

        `folder` is where they are from.
        """
        for name, vocab in (("source", self.source_vocab), ("target", self.target_vocab)):
            in_folder(folder / "vocab" / name, vocab.check)
        for part_type in PARTS.values():
            for name, part in part_type.of(self).items():
                in_folder(folder / part_type.folder / name, part.check, self.source_vocab, self.target_vocab)
        in_folder(folder / EXTRA, lambda: self._attached)
        for name, table in self._text_tables.items():
            in_folder(folder / name, table.check)
        if (folder / CHECKSUMS).exists():
            compare_checksums(folder, complete=False)


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


@cache
def _sparse_prefixes() -> tuple[str, ...]:
    """Return the prefixes that names of sparse features can have in any model."""
    return tuple(f"{SPARSE_FEATURES.get(name).prefix}." for name in SPARSE_FEATURES.names())


def refuse_kind(feature: Feature, kind: Kind) -> None:
    """Refuse a feature that models of a kind cannot have."""
    if isinstance(feature, BoundaryFeature | OrientationFeature) and kind == "chart":
        raise UsageError(f"{feature.name} is about neighbours, and the rules of a hierarchical model have none")
    if isinstance(feature, HoleFeature) and kind != "chart":
        raise UsageError(f"{feature.name} is about the holes of rules, and phrases have none")


def _refuse_twice(feature: Feature, others: Sequence[Feature], dense: Sequence[str]) -> None:
    """Refuse a feature with the name or the prefix of another."""
    names = [*(other.name for other in others), *(dense if isinstance(feature, GlobalFeature) else ())]
    if feature.name in names:
        raise UsageError(f"the model has the feature {feature.name} already")
    for other in others:
        if isinstance(feature, SparseFeature) and isinstance(other, SparseFeature) and feature.prefix == other.prefix:
            raise UsageError(f"the features {other.name} and {feature.name} both have the prefix {feature.prefix}")


def model_digest(path: PathLike) -> str:
    """Return a digest of a bundle: of its description, weights and the checksums of its arrays."""
    folder = Path(path)
    read_description(folder)
    return digest(folder / name for name in ("model.toml", WEIGHTS, CHECKSUMS) if (folder / name).exists())


def verify(path: PathLike) -> int:
    """Compare every array of a bundle with its checksum; return the number of arrays."""
    folder = Path(path)
    read_description(folder)
    return compare_checksums(folder, complete=True)
