"""Training of a phrase-based or hierarchical model, from text to model. Each stage is a module of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from dragoman.core.checkpoint import stage_key
from dragoman.core.corpus import BOS, EOS, Bitext, Corpus, Links
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike
from dragoman.core.options import Options
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.spill import spill_arrays
from dragoman.core.store import Arrays, ragged_array, save_arrays
from dragoman.formats.arpa import read_arpa
from dragoman.formats.pharaoh import read_links
from dragoman.model.bundle import Model, refuse_kind
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.feature_types import BoundaryFeature, SparseFeature
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.parts import Settings, initial_chart_weights, initial_weights
from dragoman.model.phrase_table import PhraseTable
from dragoman.model.word_classes import WordClasses
from dragoman.training.align.auto import FAR, TOO_MANY, USUAL, Auto, share_of_long_jumps
from dragoman.training.align.base import Aligner, symmetrise
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.classes import Clustering, class_language_model, class_tagged, estimate_classes
from dragoman.training.lm.kneser_ney import KneserNey, estimate_model
from dragoman.training.merge import Index, Indexed, grammar_index, table_index
from dragoman.training.partitions import ScoredParts
from dragoman.training.phrase_model import PHRASE_KIND, PhraseModel, phrase_parts
from dragoman.training.prepare import Cleaning, PreparedText, clean
from dragoman.training.rules.extract import RULE_KIND
from dragoman.training.rules.model import RuleModel, corpus_grammar, reordered_nonterminals, rule_parts

#: The name of the language model over word classes.
CLASS_LM = "class_lm"

#: Its untuned weight: with the weights that Moses starts with, translations of three validation sets were best with it.
_CLASS_LM_WEIGHT = 0.2

#: Text is converted to another vocabulary in pieces of this many words.
_WORDS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class TrainRecipe:
    """Options of each stage of training.

    With a `rule_model` the model is hierarchical: its rules take the place of the phrase table, or stand beside its
    phrases, which become a second grammar (`with_phrases`). `on_demand` keeps the aligned text in the model, and no
    rules. `features` are sparse features that the model gets besides. `clustering` gives both languages word classes,
    and the model, beside its language model, one over classes of the order `class_lm_order`, if that is not 0.
    """

    cleaning: Cleaning = Cleaning()
    aligner: Aligner = Auto()
    phrase_model: PhraseModel = PhraseModel()
    rule_model: RuleModel | None = None
    with_phrases: bool = False
    on_demand: bool = False
    kneser_ney: KneserNey = KneserNey()
    features: Sequence[SparseFeature] = ()
    clustering: Clustering | None = None
    class_lm_order: int = 0


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """A model, with the sentence pairs that it was trained on and their word alignment."""

    model: Model
    bitext: Bitext
    links: Links


def train_model(
    text: PreparedText,
    recipe: TrainRecipe = TrainRecipe(),
    *,
    alignment: PathLike | None = None,
    lm_texts: Sequence[Corpus] = (),
    second_lm_texts: Sequence[Corpus] = (),
    arpas: Sequence[PathLike] = (),
    runtime: Runtime = Runtime(),
) -> TrainingResult:
    """Train a model from tokenised parallel text.

    `alignment` is a file of word alignments made elsewhere, one line for each sentence pair. The language model is
    estimated from the target side and `lm_texts`; `arpas` are finished ones that take its place. A further one is
    estimated from `second_lm_texts`.

    If the memory of the workspace is limited, what does not fit is on disk, parts of the model too: the workspace must
    stay open until the model is saved. With a checkpoint, a training that was killed continues with what it made.
    Remote workers align, extract, count and score phrases and rules, and count n-grams; all else is done here.
    """
    cleaning, aligner, kneser_ney = recipe.cleaning, recipe.aligner, recipe.kneser_ney
    phrase_model, rule_model, with_phrases = recipe.phrase_model, recipe.rule_model, recipe.with_phrases
    bitext, settings = text.bitext, text.settings
    whole = bitext
    # Check features, files and disk space before the work begins.
    for feature in recipe.features:
        refuse_kind(feature, "phrase" if rule_model is None else "chart")
        feature.need_classes(() if recipe.clustering is None else ("source", "target"))
        if isinstance(feature, BoundaryFeature) and recipe.clustering is None:
            raise UsageError(
                f"{feature.name} learns from a tagged text or word classes; expected a number of classes, or"
                " `dragoman model add-features` for it"
            )
    if recipe.class_lm_order and recipe.clustering is None:
        raise UsageError("a language model over classes needs word classes; expected a number of classes")
    if rule_model is not None:
        RULE_KIND.check_disk(bitext, runtime.workspace)
    if rule_model is None or with_phrases:
        PHRASE_KIND.check_disk(bitext, runtime.workspace)
    finished = [LanguageModel.from_ngrams(read_arpa(path, runtime=runtime)) for path in arpas]
    if alignment is not None and text.compounds is not None:
        raise UsageError("a word alignment from elsewhere is of whole words; expected compounds that are left whole")
    links = None if alignment is None else read_links(alignment, bitext)
    cleaned = clean(bitext, cleaning, runtime=runtime)
    bitext = cleaned.bitext
    links = links.take(cleaned.rows) if links is not None else _aligned(bitext, aligner, phrase_model, runtime)
    used: dict[str, Options] = {}
    tables: dict[str, PhraseTable] = {}
    grammars: dict[str, Grammar | CorpusGrammar] = {}
    if rule_model is not None:
        used["rule_model"] = rule_model
        settings = replace(settings, span_limit=rule_model.max_span)
        if recipe.on_demand:
            grammars["tm"] = corpus_grammar(bitext, links, rule_model, runtime=runtime)
        else:
            grammars["tm"] = _rule_grammar(bitext, links, rule_model, runtime)
    if rule_model is None:
        settings = with_reordering_limit(settings, links, phrase_model, runtime=runtime)
        if alignment is None and aligner.name == Diagonal.name and share_of_long_jumps(links) > TOO_MANY:
            runtime.note("the diagonal aligner is for languages with similar word order: try the aligner hmm")
    if rule_model is None or with_phrases:
        used["phrase_model"] = phrase_model
        if rule_model is None:
            tables["tm"] = _phrase_table(bitext, links, phrase_model, runtime)
        else:
            grammars["phrases"] = _phrase_grammar(bitext, links, phrase_model, runtime)
    if not finished:
        with runtime.stage("collecting the language model's text"):
            lm_text = language_model_text([whole.target, *lm_texts])
        finished = [estimate_model(lm_text, kneser_ney, runtime=runtime)]
    if second_lm_texts:
        with runtime.stage("collecting the second language model's text"):
            lm_text = language_model_text(second_lm_texts)
        finished.append(estimate_model(lm_text, kneser_ney, runtime=runtime))
    named = {"lm" if i == 0 else f"lm{i + 1}": model for i, model in enumerate(finished)}
    word_classes: dict[str, WordClasses] = {}
    if recipe.clustering is not None:
        used["word_classes"] = recipe.clustering
        for side, corpus in (("source", bitext.source), ("target", bitext.target)):
            word_classes[side] = estimate_classes(corpus, recipe.clustering, name=f"classes-{side}", runtime=runtime)
    if recipe.class_lm_order:
        over_classes = replace(kneser_ney, order=recipe.class_lm_order, word_list=None)
        class_text = language_model_text([whole.target, *lm_texts])
        named[CLASS_LM] = class_language_model(class_text, word_classes["target"], over_classes, runtime=runtime)
    model = Model(
        source_vocab=bitext.source.vocab,
        target_vocab=bitext.target.vocab,
        tables=tables,
        grammars=grammars,
        language_models=named,
        word_classes=word_classes,
        weights=_untuned(tables, grammars, named),
        settings=settings,
        casing=text.casing,
        compounds=text.compounds,
        history={
            "sentence_pairs": len(bitext),
            "dropped_pairs": len(whole) - len(bitext),
            "source_words": bitext.source.words,
            "target_words": bitext.target.words,
            "links": len(links.values),
            "aligner": {"name": "file"} if alignment is not None else {"name": aligner.name, **aligner.to_dict()},
            **({} if alignment is not None else {"symmetrisation": phrase_model.symmetrisation}),
            "cleaning": cleaning.to_dict(),
            **{name: options.to_dict() for name, options in used.items()},
            "language_model": {"name": "file"} if arpas else kneser_ney.to_dict(),
        },
    )
    if recipe.features:
        tagged = class_tagged(bitext.target, word_classes["target"]) if word_classes else None
        model = model.with_features(recipe.features, tagged=tagged, runtime=runtime)
    return TrainingResult(model, bitext, links)


def _aligned(bitext: Bitext, aligner: Aligner, options: PhraseModel, runtime: Runtime) -> Links:
    """Align words in both directions, unless a training that was killed has done so."""
    key = stage_key(bitext, {"aligner": aligner.name, **aligner.to_dict(), "symmetrise": options.symmetrisation})
    found = _made_before(_Stage("links", key, "word alignment"), runtime)
    if found is not None:
        return ragged_array(found, "links", "offsets", np.uint32, "links")
    directions = aligner.align(bitext, runtime=runtime)
    with runtime.stage("symmetrising the word alignment"):
        links = symmetrise(directions, options.symmetrisation, runtime=runtime)
        arrays: Arrays = {"links": links.values, "offsets": links.offsets}
        if runtime.checkpoint is None:
            arrays = spill_arrays(runtime.workspace, "links", arrays)
        else:
            arrays = runtime.checkpoint.save("links", key, lambda folder: save_arrays(folder, arrays))
        return ragged_array(arrays, "links", "offsets", np.uint32, "links")


def _phrase_table(bitext: Bitext, links: Links, options: PhraseModel, runtime: Runtime) -> PhraseTable:
    key = stage_key(bitext, options.to_dict(), [links.values, links.offsets])
    extract = partial(phrase_parts, bitext, links, options, runtime=runtime)
    return _indexed(_Stage("table", key, "phrase table"), extract, table_index(), runtime)


def _rule_grammar(bitext: Bitext, links: Links, options: RuleModel, runtime: Runtime) -> Grammar:
    counts = reordered_nonterminals(bitext, links, options, runtime=runtime)
    key = stage_key(bitext, options.to_dict(), [links.values, links.offsets])
    extract = partial(rule_parts, bitext, links, options, runtime=runtime)
    return _indexed(_Stage("rules", key, "rules"), extract, grammar_index(counts), runtime)


def _phrase_grammar(bitext: Bitext, links: Links, options: PhraseModel, runtime: Runtime) -> Grammar:
    """Make a grammar of phrases, which has no scores of reordering."""
    options = replace(options, reordering=False)
    key = stage_key(bitext, options.to_dict(), [links.values, links.offsets])
    extract = partial(phrase_parts, bitext, links, options, as_grammars=True, runtime=runtime)
    return _indexed(_Stage("phrases", key, "phrases"), extract, grammar_index(), runtime)


class _Stage(NamedTuple):
    """A stage whose result a checkpoint keeps: its name there, the key of its input, and what users call the result."""

    name: str
    key: str
    result: str


def _indexed(stage: _Stage, extract: Callable[[], ScoredParts], index: Index[Indexed], runtime: Runtime) -> Indexed:
    """Extract and index pairs, unless a training that was killed did so and they did not fit into memory."""
    made = _made_before(stage, runtime)
    if made is not None:
        return index.from_arrays(made)
    found, workspace = extract(), runtime.workspace
    with runtime.stage(f"indexing the {stage.result}") as progress_callback:
        if runtime.checkpoint is None or found.whole is not None:
            return index.build(found, workspace, progress_callback)
        return index.from_arrays(
            runtime.checkpoint.save(
                stage.name, stage.key, lambda folder: index.write(found, workspace, folder, progress_callback)
            )
        )


def _made_before(stage: _Stage, runtime: Runtime) -> Arrays | None:
    """Return what a training that was killed has made."""
    made = None if runtime.checkpoint is None else runtime.checkpoint.load(stage.name, stage.key, runtime.progress)
    if made is not None:
        runtime.note(f"continuing with the {stage.result} of an interrupted training")
    return made


def _untuned(
    tables: dict[str, PhraseTable],
    grammars: dict[str, Grammar | CorpusGrammar],
    language_models: dict[str, LanguageModel],
) -> Weights:
    over_classes = dict.fromkeys(language_models.keys() & {CLASS_LM}, _CLASS_LM_WEIGHT)
    if grammars:
        scores = {name: grammar.score_names for name, grammar in grammars.items()}
        return initial_chart_weights(scores, language_models).updated(over_classes)
    reorderings = sorted({name for table in tables.values() for name in table.log_reordering})
    scores = {name: table.score_names for name, table in tables.items()}
    return initial_weights(scores, reorderings, language_models).updated(over_classes)


def with_reordering_limit(
    settings: Settings, links: Links, options: PhraseModel, *, runtime: Runtime = Runtime()
) -> Settings:
    """Set the reordering limit: as the options say, or by the word order that the word alignment shows."""
    if options.reordering_limit is not None:
        return replace(settings, reordering_limit=options.reordering_limit)
    share = share_of_long_jumps(links)
    if settings.reordering_limit != USUAL or share <= TOO_MANY:
        return settings
    runtime.note(
        f"{share:.0%} of the jumps between words are longer than {USUAL}: the model's reordering limit is {FAR}"
        " (a longer one takes longer to translate with)"
    )
    return replace(settings, reordering_limit=FAR)


def language_model_text(parts: Sequence[Corpus]) -> Corpus:
    """Concatenate texts, without empty lines and without lines that contain sentence markers as words."""
    vocab, rows = parts[0].vocab, []
    for part in parts:
        words, offsets = part.sentences.values, part.sentences.offsets
        fit = part.sentences.lengths > 0
        fit[np.searchsorted(offsets, np.flatnonzero((words == BOS) | (words == EOS)), side="right") - 1] = False
        sentences = part.sentences if fit.all() else part.sentences.take(np.flatnonzero(fit))
        if part is parts[0]:
            rows.append(sentences)
            continue
        for at in sentences.blocks(_WORDS_AT_ONCE):
            some = sentences.part(at)
            vocab, ids, lines = vocab.extend(part.vocab.decode(some.values, some.offsets))
            rows.append(Ragged(ids, lines))
    return Corpus(vocab, rows[0] if len(rows) == 1 else Ragged.concatenate(rows))
