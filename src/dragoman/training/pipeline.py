"""The whole training of a phrase-based or hierarchical model: text in, model out. Each step is a room of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike
from dragoman.core.links import Links
from dragoman.core.options import Options, option
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import SILENT, Progress
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import BOS, EOS
from dragoman.core.weights import Weights
from dragoman.formats.arpa import read_arpa
from dragoman.formats.pharaoh import read_links
from dragoman.model.bundle import Model
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.features import initial_chart_weights, initial_weights
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.phrase_table import PhraseTable
from dragoman.model.settings import Settings
from dragoman.text.casing import Casing
from dragoman.training import prune
from dragoman.training.align.base import Aligner
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.clean import Cleaning, clean
from dragoman.training.extract import extract_phrases
from dragoman.training.jumps import FAR, TOO_MANY, USUAL, share_of_long_jumps
from dragoman.training.lexical import lexical_tables
from dragoman.training.lm.kneser_ney import KneserNey, estimate
from dragoman.training.reorder import score_reordering
from dragoman.training.rules.model import RuleModel, corpus_grammar, grammar
from dragoman.training.score import score_phrases
from dragoman.training.symmetrise import Method as Symmetrisation, symmetrise


@dataclass(frozen=True)
class PhraseModel(Options):
    """From words to a phrase table."""

    symmetrisation: Symmetrisation = option("grow-diag-final-and", "how the two alignment directions are combined")
    max_phrase_length: int = option(7, "longest phrase, in words, on either side", minimum=1, maximum=255)
    smoothing: Literal["none", "good-turing", "kneser-ney"] = option("none", "of the relative frequencies")
    reordering: bool = option(True, "train a lexicalised reordering model (msd-bidirectional-fe)")
    reordering_limit: int | None = option(
        None,
        "longest jump between phrases that the model allows; by default 6, or 12 where more than 5 % of the jumps that"
        " word links show are longer than 6; -1 is no limit",
        minimum=-1,
        maximum=2**31 - 1,
    )
    prune_limit: int = option(0, "keep so many targets a source phrase, best p(e|f) first; 0 keeps all", minimum=0)
    prune_significance: str | None = option(None, "drop pairs whose -log p-value is below: a+e, a-e or a number")
    prune_score: float = option(0.0, "drop pairs with p(e|f) below", minimum=0, maximum=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prune_significance is not None:
            prune.significance_threshold(self.prune_significance)


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
    aligner: Aligner = Diagonal(),
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
    threads: int = 1,
    progress: Progress = SILENT,
) -> Trained:
    """Train a model from tokenised parallel text.

    `alignment` is a file of links made elsewhere, one line for each line of `bitext`. The language model is estimated
    from the target side and `lm_texts`; `arpas` are finished ones that take its place. `settings` and `casing` say how
    the text was prepared. With a `rule_model` the model is hierarchical: its rules take the place of the phrase table,
    or stand beside its phrases, which become a second grammar (`with_phrases`); `on_demand` keeps the aligned text in
    the model, and no rules.
    """
    whole = bitext
    # What can be wrong with files comes to light before the work begins.
    finished = [LanguageModel.from_ngrams(read_arpa(path, progress=progress)) for path in arpas]
    links = None if alignment is None else read_links(alignment, bitext)
    cleaned = clean(bitext, cleaning, progress)
    bitext = cleaned.bitext
    if links is not None:
        links = links.take(cleaned.rows)
    else:
        directions = aligner.align(bitext, threads=threads, progress=progress)
        with progress.stage("putting both directions together"):
            links = symmetrise(directions, phrase_model.symmetrisation, threads=threads)
    used: dict[str, Options] = {}
    tables: dict[str, PhraseTable] = {}
    grammars: dict[str, Grammar | CorpusGrammar] = {}
    if rule_model is not None:
        used["rule_model"] = rule_model
        settings = replace(settings, span_limit=rule_model.max_span)
        if on_demand:
            grammars["tm"] = corpus_grammar(bitext, links, rule_model, threads=threads, progress=progress)
        else:
            grammars["tm"] = grammar(bitext, links, rule_model, threads=threads, progress=progress)
    if rule_model is None:
        settings = with_reordering_limit(settings, links, phrase_model, progress)
        if alignment is None and aligner.name == Diagonal.name and share_of_long_jumps(links) > TOO_MANY:
            progress.note("the diagonal aligner is made for languages of similar word order: try --aligner hmm")
    if rule_model is None or with_phrases:
        used["phrase_model"] = phrase_model
        pairs = phrase_pairs(bitext, links, phrase_model, threads=threads, progress=progress)
        with progress.stage("indexing the phrase table"):
            if rule_model is None:
                tables["tm"] = PhraseTable.from_pairs(pairs)
            else:
                grammars["phrases"] = Grammar.from_pairs(pairs)
    if not finished:
        with progress.stage("putting the language model's text together"):
            text = language_model_text([whole.target, *lm_texts])
        ngrams = estimate(text, kneser_ney, threads=threads, progress=progress)
        with progress.stage("indexing the language model"):
            finished = [LanguageModel.from_ngrams(ngrams)]
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
    settings: Settings, links: Links, options: PhraseModel, progress: Progress = SILENT
) -> Settings:
    """The settings with the limit that was asked for, or with one that suits the word order that links show."""
    if options.reordering_limit is not None:
        return replace(settings, reordering_limit=options.reordering_limit)
    share = share_of_long_jumps(links)
    if settings.reordering_limit != USUAL or share <= TOO_MANY:
        return settings
    progress.note(
        f"{share:.0%} of the jumps between words are longer than {USUAL}: the model's reordering limit is {FAR}"
        " (--reordering-limit; a longer one takes longer to translate with)"
    )
    return replace(settings, reordering_limit=FAR)


def phrase_pairs(
    bitext: Bitext, links: Links, options: PhraseModel, *, threads: int = 1, progress: Progress = SILENT
) -> PhrasePairs:
    """Extract, score and prune the phrase pairs of an aligned text, with their reordering scores."""
    with progress.stage("counting linked words"):
        lexical = lexical_tables(bitext, links)
    instances = extract_phrases(bitext, links, max_length=options.max_phrase_length, threads=threads, progress=progress)
    scored = score_phrases(
        instances, bitext, links, lexical, smoothing=options.smoothing, threads=threads, progress=progress
    )
    pairs = scored.pairs
    if not len(pairs):
        raise DataError("no phrase pair could be extracted", expected="a parallel text with some word links")
    if options.reordering:
        with progress.stage("scoring reordering"):
            pairs = replace(pairs, reordering={"lr": score_reordering(instances, scored)})
    if options.prune_score:
        pairs = prune.minimum_score(pairs, "fwd", options.prune_score)
    if options.prune_significance is not None:
        threshold = prune.significance_threshold(options.prune_significance)
        pairs = prune.significance(pairs, bitext, threshold, threads=threads, progress=progress)
    if options.prune_limit:
        pairs = prune.table_limit(pairs, options.prune_limit)
    if not len(pairs):
        raise UsageError("pruning left no phrase pair; prune less")
    return pairs


def language_model_text(parts: Sequence[Corpus]) -> Corpus:
    """Put texts together, without empty lines and without lines that hold marks of sentence ends as words."""
    vocab = parts[0].vocab
    rows = []
    for part in parts:
        words, offsets = part.sentences.values, part.sentences.offsets
        marks = np.concatenate([[0], np.cumsum((words == BOS) | (words == EOS))])[offsets]
        fit = np.flatnonzero((part.sentences.lengths > 0) & (np.diff(marks) == 0))
        vocab, ids, lines = vocab.extend(part.take(fit).text())
        rows.append(Ragged(ids, lines))
    return Corpus(vocab, Ragged.concatenate(rows))
