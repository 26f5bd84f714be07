"""Systems from several corpora, a small one of the domain and larger ones of others (Haddow 2013, section 3.2).

As in the paper, `in` has the phrase table and orientations of the in-domain corpus alone, `joint` those of all corpora
concatenated; mixtures have the tables of the corpora, each trained by itself, with the orientations of `joint`; the
interpolated language model is the same in all systems. A corpus or concatenation is aligned and extracted once for all
systems, and only what some system needs is made.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Bitext, Corpus, Links
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike
from dragoman.core.options import Options, option, split_options
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.metrics.references import ReferencedText
from dragoman.model.bundle import Model
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.lm_mixture import interpolate
from dragoman.model.mixture import (
    INTERPOLATION_PREFIX,
    check_tables,
    collapse_mixture,
    fill_up,
    named_interpolation_weights,
    replace_reordering,
    uniform_interpolation_weights,
    uniform_reordering_weights,
    unite_tables,
    with_common_vocabs,
    with_interpolation_weights,
)
from dragoman.model.parts import Settings, initial_chart_weights, initial_weights
from dragoman.model.phrase_table import PhraseTable
from dragoman.text.compounds import CompoundSplitter
from dragoman.text.preparation import Casing, TextPreparation
from dragoman.training.align import ALIGNERS
from dragoman.training.align.auto import Auto
from dragoman.training.align.base import Aligner, symmetrise
from dragoman.training.lm.interpolate import estimate_interpolation_weights
from dragoman.training.lm.kneser_ney import KneserNey, estimate_model
from dragoman.training.mix import (
    TuningPairs,
    align_beside,
    perplexity_interpolation_weights,
    perplexity_reordering_weights,
    tuning_pairs,
)
from dragoman.training.phrase_model import PhraseModel, phrase_pairs
from dragoman.training.pipeline import language_model_text, with_reordering_limit
from dragoman.training.prepare import Cleaning, Preparation, clean, prepare_bitexts
from dragoman.training.rules.model import RuleModel, reordered_nonterminals, rules

Files = TypeVar("Files")

#: Names of the first phrase table and the language model.
_TABLE, _LM = "tm", "lm"

#: The systems, and what the phrase table of each is.
SYSTEMS = {
    "in": "of the first corpus alone, with its own orientations",
    "joint": "of all corpora, concatenated",
    "perp": "mixed, with shares by perplexity on the tuning set",
    "uniform": "mixed, in equal shares",
    "log-linear": "one of each corpus, each with features of its own",
    "fill-up": "of the first corpus, filled up with what it lacks from the others",
    "pro-mix": "mixed, with shares that are weights, for tune --method pro-mix",
}


@dataclass(frozen=True)
class Adaptation(Options):
    """Options of combining several corpora."""

    align: Literal["apart", "together"] = option(
        "apart",
        "apart: align the text of each table by itself, a corpus or for joint the concatenation; together: align all"
        " corpora and the tuning set at once, for all tables",
    )
    mix_reordering: bool = option(
        False, "interpolate the orientations of the corpora in mixtures; by default they are those of joint"
    )
    mix_lm: bool = option(
        False, "keep the language models of the corpora in pro-mix, so that their shares are weights that can be tuned"
    )


@dataclass(frozen=True)
class AdaptRecipe:
    """Options of each stage, from texts to systems; with a `rule_model` they are hierarchical."""

    adaptation: Adaptation = Adaptation()
    preparation: Preparation = Preparation()
    cleaning: Cleaning = Cleaning()
    aligner: Aligner = Auto()
    phrase_model: PhraseModel = PhraseModel()
    kneser_ney: KneserNey = KneserNey()
    rule_model: RuleModel | None = None

    @classmethod
    def from_dict(
        cls,
        options: Mapping[str, Any],
        *,
        aligner: str = "auto",
        aligner_options: Mapping[str, Any] | None = None,
        lm: Mapping[str, Any] | None = None,
        hierarchical: bool = False,
        rules: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build from options by name; those of the aligner, the language model and the rules are given separately."""
        if rules and not hierarchical:
            raise UsageError("rules are for hierarchical models; expected hierarchical=True")
        text, cleaning, table, adaptation = split_options(options, Preparation, Cleaning, PhraseModel, Adaptation)
        return cls(
            Adaptation.from_dict(adaptation),
            Preparation.from_dict(text),
            Cleaning.from_dict(cleaning),
            ALIGNERS.get(aligner).from_dict(aligner_options or {}),
            PhraseModel.from_dict(table),
            KneserNey.from_dict(lm or {}),
            RuleModel.from_dict(rules or {}) if hierarchical else None,
        )

    def described(self) -> dict[str, dict[str, Any]]:
        """Return all options, by stage."""
        parts = ("adaptation", "preparation", "cleaning", "phrase_model", "kneser_ney")
        named = {part: getattr(self, part).to_dict() for part in parts}
        if self.rule_model is not None:
            named["rule_model"] = self.rule_model.to_dict()
        return {**named, "aligner": {"name": self.aligner.name, **self.aligner.to_dict()}}

    def read(
        self,
        corpora: Mapping[str, tuple[PathLike, PathLike]],
        source: PathLike,
        reference: PathLike,
        *,
        runtime: Runtime = Runtime(),
    ) -> SystemBuilder:
        """Read named parallel texts, the one of the domain first, and a tuning set of the domain."""
        read = prepare_bitexts(corpora.values(), self.preparation, runtime=runtime)
        texts = dict(zip(corpora, read, strict=True))
        if not texts:
            raise UsageError("there is no corpus; expected two or more, the one of the domain first")
        first = next(iter(texts.values()))
        for name, text in texts.items():
            if text.settings != first.settings:
                raise UsageError(f"the corpus {name} is of other languages than the first; expected the same")
        return SystemBuilder(
            {name: text.bitext for name, text in texts.items()},
            tuning_bitext(source, reference, first.preparation(), runtime=runtime),
            self,
            settings=first.settings,
            casing=first.casing,
            compounds=first.compounds,
            runtime=runtime,
        )


class SystemBuilder:
    """Builder of systems from named corpora, the first of which is of the domain, and a tuning set of the domain."""

    def __init__(
        self,
        corpora: Mapping[str, Bitext],
        tuning: Bitext,
        recipe: AdaptRecipe = AdaptRecipe(),
        *,
        settings: Settings = Settings(),
        casing: Casing | None = None,
        compounds: CompoundSplitter | None = None,
        runtime: Runtime = Runtime(),
    ):
        if len(corpora) < 2:
            raise UsageError(f"there is {len(corpora)} corpus; expected two or more, the one of the domain first")
        self._recipe, self._settings, self._runtime = recipe, settings, runtime
        self._casing, self._compounds = casing, compounds
        if recipe.adaptation.mix_reordering and not self._reorders:
            raise UsageError("there are no orientations to mix; expected phrase tables with reordering")
        self._corpora = dict(corpora)
        *self._texts, self._tuning = self._cleaned(tuning)
        self._domain = next(iter(corpora))

    def _cleaned(self, tuning: Bitext) -> list[Bitext]:
        """Clean the corpora and the tuning set; what is aligned together has one vocabulary."""
        every = (*self._corpora.values(), tuning)
        parts = [clean(bitext, self._recipe.cleaning, runtime=self._runtime).bitext for bitext in every]
        if self._aligned_apart:
            return parts
        whole, bounds = Bitext.concatenate(parts), np.cumsum([0, *map(len, parts)])
        return [whole.take(np.arange(*ends)) for ends in itertools.pairwise(bounds.tolist())]

    @property
    def _reorders(self) -> bool:
        """True if tables have orientations; rules have none."""
        return self._recipe.phrase_model.reordering and self._recipe.rule_model is None

    @property
    def _aligned_apart(self) -> bool:
        return self._recipe.adaptation.align == "apart"

    def model(self, system: str) -> Model:
        """Build one of the systems, untuned."""
        if system not in SYSTEMS:
            raise UsageError(f"no system is called '{system}'; there are {', '.join(SYSTEMS)}")
        pairs, interpolation_weights = self._pairs(system)
        parts, weights, settings = self._indexed(pairs, system)
        lm, shares = self._language_model
        if system == "pro-mix":
            weights = weights.updated(interpolation_weights)
            if self._recipe.adaptation.mix_lm:
                lm = replace(lm, components=self._language_models, shares=tuple(shares.values()))
                named = {f"{INTERPOLATION_PREFIX}{_LM}.{name}": share for name, share in shares.items()}
                weights, interpolation_weights = weights.updated(named), interpolation_weights.updated(named)
        first = next(iter(pairs.values()))
        return Model(
            source_vocab=first.source_vocab,
            target_vocab=first.target_vocab,
            language_models={_LM: lm},
            weights=weights,
            settings=settings,
            casing=self._casing,
            compounds=self._compounds,
            history=self._history(system, interpolation_weights),
            **parts,
        )

    def _indexed(self, pairs: Mapping[str, PhrasePairs], system: str) -> tuple[dict[str, Any], Weights, Settings]:
        """Return tables or grammars as parts of a model, with untuned weights and settings."""
        scores, rule_model = {name: each.score_names for name, each in pairs.items()}, self._recipe.rule_model
        alone = system == "in"
        links = self._links(self._domain) if alone else self._joint_links
        if rule_model is not None:
            text = self._texts[0] if alone else self._joint_text
            counts = reordered_nonterminals(text, links, rule_model, runtime=self._runtime)
            with self._runtime.stage("indexing the rules"):
                grammars = {name: Grammar.from_pairs(each, counts) for name, each in pairs.items()}
            settings = replace(self._settings, span_limit=rule_model.max_span)
            return {"tables": {}, "grammars": grammars}, initial_chart_weights(scores, [_LM]), settings
        with self._runtime.stage("indexing the phrase table"):
            tables = {name: PhraseTable.from_pairs(each) for name, each in pairs.items()}
        reorderings = sorted({name for table in tables.values() for name in table.log_reordering})
        settings = with_reordering_limit(self._settings, links, self._recipe.phrase_model, runtime=self._runtime)
        return {"tables": tables}, initial_weights(scores, reorderings, [_LM]), settings

    def _pairs(self, system: str) -> tuple[dict[str, PhrasePairs], Weights]:
        """Return the tables of a system by name, and the interpolation weights of the corpora if it is a mixture."""
        if system == "in":
            return {_TABLE: self._table(self._domain)}, Weights()
        if system == "joint":
            return {_TABLE: self._joint}, Weights()
        if system == "fill-up":
            union = self._union
            with self._runtime.stage("filling the first phrase table up"):
                filled = fill_up(union)
            # A union whose orientations are mixed has not those of all corpora.
            mixes = self._recipe.adaptation.mix_reordering
            return {_TABLE: replace_reordering(filled, self._joint) if mixes else filled}, Weights()
        if system == "log-linear":
            check_tables(self._tables)
            tables = with_common_vocabs([*self._tables.values()])
            if self._reorders:
                joint = self._joint
                with self._runtime.stage("looking up orientations"):
                    tables = [replace_reordering(pairs, joint) for pairs in tables]
            return {_TABLE if i == 0 else f"{_TABLE}{i + 1}": pairs for i, pairs in enumerate(tables)}, Weights()
        union = self._union
        if system == "uniform":
            interpolation_weights, orientations = (
                uniform_interpolation_weights(union),
                uniform_reordering_weights(union),
            )
        else:
            interpolation_weights, orientations = self._perplexity_interpolation_weights
        mixed = with_interpolation_weights if system == "pro-mix" else collapse_mixture
        with self._runtime.stage("mixing the phrase tables"):
            pairs = mixed(union, interpolation_weights, orientations)
        return {_TABLE: pairs}, named_interpolation_weights(_TABLE, union, interpolation_weights, orientations)

    def _history(self, system: str, interpolation_weights: Weights) -> dict[str, Any]:
        return {
            "system": system,
            "corpora": {name: len(text) for name, text in zip(self._corpora, self._texts, strict=True)},
            "align": self._recipe.adaptation.align,
            "aligner": {"name": self._recipe.aligner.name, **self._recipe.aligner.to_dict()},
            **(
                {"phrase_model": self._recipe.phrase_model.to_dict()}
                if self._recipe.rule_model is None
                else {"rule_model": self._recipe.rule_model.to_dict()}
            ),
            "language_model": {**self._recipe.kneser_ney.to_dict(), "weights": self._language_model[1]},
            **(
                {"mixture": {"tables": list(self._corpora), "shares": dict(interpolation_weights)}}
                if interpolation_weights
                else {}
            ),
        }

    @cached_property
    def _links_together(self) -> list[Links]:
        """The word alignment of each corpus, and of the tuning set last, from one alignment of all."""
        parts = [*self._texts, self._tuning]
        links, bounds = self._aligned(Bitext.concatenate(parts)), np.cumsum([0, *map(len, parts)])
        return [links.take(np.arange(*ends)) for ends in itertools.pairwise(bounds.tolist())]

    def _links(self, name: str) -> Links:
        """The word alignment of one corpus."""
        i = list(self._corpora).index(name)
        if not self._aligned_apart:
            return self._links_together[i]
        if name not in self._links_apart:
            self._links_apart[name] = self._aligned(self._texts[i])
        return self._links_apart[name]

    @cached_property
    def _links_apart(self) -> dict[str, Links]:
        return {}

    @cached_property
    def _joint_text(self) -> Bitext:
        return Bitext.concatenate(self._texts)

    @cached_property
    def _joint_links(self) -> Links:
        """The word alignment of all corpora, concatenated."""
        return self._aligned(self._joint_text) if self._aligned_apart else Ragged.concatenate(self._links_together[:-1])

    @cached_property
    def _tuning_links(self) -> Links:
        """The word alignment of the tuning set, which is too small to be aligned by itself."""
        if not self._aligned_apart:
            return self._links_together[-1]
        return align_beside(self._tuning, self._joint_text, self._recipe.aligner, runtime=self._runtime)

    def _aligned(self, bitext: Bitext) -> Links:
        directions = self._recipe.aligner.align(bitext, runtime=self._runtime)
        with self._runtime.stage("symmetrising the word alignment"):
            return symmetrise(directions, self._recipe.phrase_model.symmetrisation, runtime=self._runtime)

    def _extracted(self, bitext: Bitext, links: Links) -> PhrasePairs:
        if self._recipe.rule_model is not None:
            return rules(bitext, links, self._recipe.rule_model, runtime=self._runtime)
        return phrase_pairs(bitext, links, self._recipe.phrase_model, runtime=self._runtime)

    @cached_property
    def _made(self) -> dict[str, PhrasePairs]:
        return {}

    def _table(self, name: str) -> PhrasePairs:
        """The phrase pairs of one corpus."""
        if name not in self._made:
            i = list(self._corpora).index(name)
            self._made[name] = self._extracted(self._texts[i], self._links(name))
        return self._made[name]

    @cached_property
    def _tables(self) -> dict[str, PhrasePairs]:
        return {name: self._table(name) for name in self._corpora}

    @cached_property
    def _joint(self) -> PhrasePairs:
        """The phrase pairs of all corpora together."""
        return self._extracted(self._joint_text, self._joint_links)

    @cached_property
    def _union(self) -> PhrasePairs:
        tables, mix = self._tables, self._recipe.adaptation.mix_reordering
        joint = self._joint if self._reorders and not mix else None
        with self._runtime.stage("uniting the phrase tables"):
            return unite_tables(tables, reordering=joint, mix_reordering=mix)

    @cached_property
    def _perplexity_interpolation_weights(self) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
        """The weights of the tables, a row for each score, and of mixed orientations, a row for each direction."""
        text, links, rule_model = self._tuning, self._tuning_links, self._recipe.rule_model
        if rule_model is not None:
            found = TuningPairs(rules(text, links, rule_model.unpruned(), runtime=self._runtime))
        else:
            longest = self._recipe.phrase_model.max_phrase_length
            found = tuning_pairs(text, links, longest, runtime=self._runtime)
        return (
            perplexity_interpolation_weights(self._union, found.pairs, runtime=self._runtime),
            perplexity_reordering_weights(self._union, found, runtime=self._runtime),
        )

    @cached_property
    def _language_models(self) -> dict[str, LanguageModel]:
        models = {}
        for name, corpus in self._corpora.items():
            self._runtime.note(f"language model of {name}")
            text = language_model_text([corpus.target])
            models[name] = estimate_model(text, self._recipe.kneser_ney, runtime=self._runtime)
        return models

    @cached_property
    def _language_model(self) -> tuple[LanguageModel, dict[str, float]]:
        """The mixture of the corpora's language models with least perplexity on the tuning set, and its weights."""
        models = [*self._language_models.values()]
        weights = estimate_interpolation_weights(models, self._tuning.target, runtime=self._runtime)
        mixed = interpolate(models, weights, runtime=self._runtime)
        return LanguageModel.from_ngrams(mixed), dict(zip(self._corpora, weights.tolist(), strict=True))


def domain_first(corpora: Mapping[str, Files], domain: str | None) -> dict[str, Files]:
    """Put the corpus of the domain first; without `domain` the order stays."""
    if domain is not None and domain not in corpora:
        raise UsageError(f"no corpus is called '{domain}'; there are {', '.join(corpora)}")
    return dict(corpora) if domain is None else {domain: corpora[domain], **corpora}


def tuning_bitext(
    source: PathLike, reference: PathLike, text: TextPreparation, *, runtime: Runtime = Runtime()
) -> Bitext:
    """Read a tuning set in the words of a model."""
    found = ReferencedText.read(Path(source), [Path(reference)], text, runtime=runtime)
    return Bitext(Corpus.from_lines(found.lines), found.references[0])


def check_systems(names: Sequence[str], flag: str = "mixture") -> None:
    """Refuse unknown systems, and a system named twice; `flag` is the option that names them."""
    unknown = [name for name in names if name not in SYSTEMS]
    if unknown:
        raise UsageError(f"no {flag.lstrip('-')} is called '{unknown[0]}'; there are {', '.join(SYSTEMS)}")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise UsageError(f"{flag} {twice[0]} is given twice; expected each once")
