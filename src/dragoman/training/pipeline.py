"""The whole training of a phrase-based or hierarchical model: text in, model out. Each step is a room of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.checkpoint import stage_key
from dragoman.core.corpus import Bitext, Corpus, Links
from dragoman.core.files import PathLike
from dragoman.core.options import Options
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.spill import spill_arrays
from dragoman.core.store import Arrays, ragged_array, save_arrays
from dragoman.core.vocab import BOS, EOS
from dragoman.core.weights import Weights
from dragoman.formats.arpa import read_arpa
from dragoman.formats.pharaoh import read_links
from dragoman.model.bundle import Model
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.features import initial_chart_weights, initial_weights
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.parts import Settings
from dragoman.model.phrase_table import PhraseTable
from dragoman.text.casing import Casing
from dragoman.training.align.auto import FAR, TOO_MANY, USUAL, Auto, share_of_long_jumps
from dragoman.training.align.base import Aligner, symmetrise
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.lm.kneser_ney import KneserNey, estimate_model
from dragoman.training.merge import (
    mapped_grammar,
    mapped_table,
    merged_grammar,
    merged_table,
    write_grammar,
    write_table,
)
from dragoman.training.partitions import Parts
from dragoman.training.phrases import PHRASES, PhraseModel, phrase_parts
from dragoman.training.prepare import Cleaning, clean
from dragoman.training.rules.extract import RULES
from dragoman.training.rules.model import RuleModel, corpus_grammar, reordered_nonterminals, rule_parts

#: Text is spelt in pieces of so many words.
_WORDS_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Trained:
    """A model, and what it was made of: the sentence pairs that were used, and their word links."""

    model: Model
    bitext: Bitext
    links: Links


def train(
    bitext: Bitext,
    *,
    cleaning: Cleaning = Cleaning(),
    aligner: Aligner = Auto(),
    phrase_model: PhraseModel = PhraseModel(),
    rule_model: RuleModel | None = None,
    with_phrases: bool = False,
    on_demand: bool = False,
    kneser_ney: KneserNey = KneserNey(),
    alignment: PathLike | None = None,
    lm_texts: Sequence[Corpus] = (),
    arpas: Sequence[PathLike] = (),
    settings: Settings = Settings(),
    casing: Casing | None = None,
    runtime: Runtime = Runtime(),
) -> Trained:
    """Train a model from tokenised parallel text.

    `alignment` is a file of links made elsewhere, one line for each line of `bitext`. The language model is estimated
    from the target side and `lm_texts`; `arpas` are finished ones that take its place. `settings` and `casing` say how
    the text was prepared. With a `rule_model` the model is hierarchical: its rules take the place of the phrase table,
    or stand beside its phrases, which become a second grammar (`with_phrases`); `on_demand` keeps the aligned text in
    the model, and no rules. A workspace with limited memory has what does not fit on disk, parts of the model too: it
    must stay open until the model is saved. With a checkpoint, a training that was killed goes on with what it made.
    Workers that are elsewhere align, extract, count and score phrases and rules, and count n-grams; all else is done
    here.
    """
    whole = bitext
    # What can be wrong with files and disks comes to light before the work begins.
    if rule_model is not None:
        RULES.check_disk(bitext, runtime.workspace)
    if rule_model is None or with_phrases:
        PHRASES.check_disk(bitext, runtime.workspace)
    finished = [LanguageModel.from_ngrams(read_arpa(path, runtime=runtime)) for path in arpas]
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
        if on_demand:
            grammars["tm"] = corpus_grammar(bitext, links, rule_model, runtime=runtime)
        else:
            grammars["tm"] = _rule_grammar(bitext, links, rule_model, runtime)
    if rule_model is None:
        settings = with_reordering_limit(settings, links, phrase_model, runtime=runtime)
        if alignment is None and aligner.name == Diagonal.name and share_of_long_jumps(links) > TOO_MANY:
            runtime.note("the diagonal aligner is made for languages of similar word order: try the aligner hmm")
    if rule_model is None or with_phrases:
        used["phrase_model"] = phrase_model
        if rule_model is None:
            tables["tm"] = _phrase_table(bitext, links, phrase_model, runtime)
        else:
            grammars["phrases"] = _phrase_grammar(bitext, links, phrase_model, runtime)
    if not finished:
        with runtime.stage("putting the language model's text together"):
            text = language_model_text([whole.target, *lm_texts])
        finished = [estimate_model(text, kneser_ney, runtime=runtime)]
    named = {"lm" if i == 0 else f"lm{i + 1}": model for i, model in enumerate(finished)}
    model = Model(
        source_vocab=bitext.source.vocab,
        target_vocab=bitext.target.vocab,
        tables=tables,
        grammars=grammars,
        language_models=named,
        weights=_untuned(tables, grammars, named),
        settings=settings,
        casing=casing,
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
    return Trained(model, bitext, links)


def _aligned(bitext: Bitext, aligner: Aligner, options: PhraseModel, runtime: Runtime) -> Links:
    """Align words in both directions, unless a training that was killed has done so."""
    key = stage_key(bitext, {"aligner": aligner.name, **aligner.to_dict(), "symmetrise": options.symmetrisation})
    found = _made_before("links", key, "word alignment", runtime)
    if found is not None:
        return ragged_array(found, "links", "offsets", np.uint32, "links")
    directions = aligner.align(bitext, runtime=runtime)
    with runtime.stage("putting both directions together"):
        links = symmetrise(directions, options.symmetrisation, runtime=runtime)
        arrays: Arrays = {"links": links.values, "offsets": links.offsets}
        if runtime.checkpoint is None:
            arrays = spill_arrays(runtime.workspace, "links", arrays)
        else:
            arrays = runtime.checkpoint.save("links", key, lambda folder: save_arrays(folder, arrays))
        return ragged_array(arrays, "links", "offsets", np.uint32, "links")


def _phrase_table(bitext: Bitext, links: Links, options: PhraseModel, runtime: Runtime) -> PhraseTable:
    """Make the phrase table; one that does not fit into memory may have been made by a training that was killed."""
    key = stage_key(bitext, options.to_dict(), [links.values, links.offsets])
    made = _made_before("table", key, "phrase table", runtime)
    if made is not None:
        return mapped_table(made)
    found, workspace = phrase_parts(bitext, links, options, runtime=runtime), runtime.workspace
    with runtime.stage("indexing the phrase table") as progress_callback:
        if runtime.checkpoint is None or found.whole is not None:
            return merged_table(found, workspace, progress_callback)
        return mapped_table(
            runtime.checkpoint.save(
                "table", key, lambda folder: write_table(found, workspace, folder, progress_callback)
            )
        )


def _rule_grammar(bitext: Bitext, links: Links, options: RuleModel, runtime: Runtime) -> Grammar:
    counts = reordered_nonterminals(bitext, links, options, runtime=runtime)
    key = stage_key(bitext, options.to_dict(), [links.values, links.offsets])
    return _grammar("rules", key, lambda: rule_parts(bitext, links, options, runtime=runtime), counts, runtime)


def _phrase_grammar(bitext: Bitext, links: Links, options: PhraseModel, runtime: Runtime) -> Grammar:
    """Phrases as a grammar, which has no scores of reordering."""
    options = replace(options, reordering=False)

    def make() -> Parts:
        return phrase_parts(bitext, links, options, as_grammars=True, runtime=runtime)

    key = stage_key(bitext, options.to_dict(), [links.values, links.offsets])
    return _grammar("phrases", key, make, None, runtime)


def _grammar(
    stage: str, key: str, make: Callable[[], Parts], hole_counts: NDArray[np.float64] | None, runtime: Runtime
) -> Grammar:
    """Make a grammar; one that does not fit into memory may have been made by a training that was killed."""
    made = _made_before(stage, key, stage, runtime)
    if made is not None:
        return mapped_grammar(made)
    found, workspace = make(), runtime.workspace
    with runtime.stage(f"indexing the {stage}") as progress_callback:
        if runtime.checkpoint is None or found.whole is not None:
            return merged_grammar(found, workspace, hole_counts, progress_callback)

        def write(folder: Path) -> None:
            write_grammar(found.parts, workspace, folder, hole_counts, progress_callback)

        return mapped_grammar(runtime.checkpoint.save(stage, key, write))


def _made_before(stage: str, key: str, what: str, runtime: Runtime) -> Arrays | None:
    """What a training that was killed has made."""
    made = None if runtime.checkpoint is None else runtime.checkpoint.load(stage, key, runtime.progress)
    if made is not None:
        runtime.note(f"going on with the {what} of a training that was killed")
    return made


def _untuned(
    tables: dict[str, PhraseTable],
    grammars: dict[str, Grammar | CorpusGrammar],
    language_models: dict[str, LanguageModel],
) -> Weights:
    if grammars:
        return initial_chart_weights({name: grammar.score_names for name, grammar in grammars.items()}, language_models)
    reorderings = sorted({name for table in tables.values() for name in table.log_reordering})
    return initial_weights({name: table.score_names for name, table in tables.items()}, reorderings, language_models)


def with_reordering_limit(
    settings: Settings, links: Links, options: PhraseModel, *, runtime: Runtime = Runtime()
) -> Settings:
    """The settings with the limit that was asked for, or with one that suits the word order that links show."""
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
    """Put texts together, without empty lines and without lines that hold marks of sentence ends as words."""
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
