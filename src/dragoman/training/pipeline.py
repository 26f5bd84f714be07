"""The whole training of a phrase-based model: text in, model out. Each step is a function of its own room."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike, read_lines
from dragoman.core.links import Links
from dragoman.core.options import Options, option
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import SILENT, Progress
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import BOS, EOS
from dragoman.formats.arpa import read_arpa
from dragoman.formats.pharaoh import read_links
from dragoman.model.bundle import Model
from dragoman.model.features import initial_weights
from dragoman.model.language_model import LanguageModel
from dragoman.model.phrase_table import PhraseTable
from dragoman.model.settings import Settings
from dragoman.text.casing import Casing
from dragoman.text.preparation import DEFAULT_LANGUAGE
from dragoman.text.tokenise import tokenise_lines
from dragoman.training import prune
from dragoman.training.align.base import Aligner
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.clean import Cleaning, clean
from dragoman.training.extract import extract_phrases
from dragoman.training.lexical import lexical_tables
from dragoman.training.lm.kneser_ney import KneserNey, estimate
from dragoman.training.reorder import score_reordering
from dragoman.training.score import score_phrases
from dragoman.training.symmetrise import Method as Symmetrisation, symmetrise


@dataclass(frozen=True)
class Preparation(Options):
    """From raw text to words."""

    tokenised: bool = option(False, "the text is tokenised already: take its words as they are")
    lowercase: bool = option(True, "lower-case the text (tokenised text is left as it is)")
    recase: bool = option(True, "learn how words are written, so that translations of a lower-cased model can be")
    unicode: Literal["NFC", "as-is"] = option("NFC", "compose letters with their accents, or leave text as it is")
    source_language: str | None = option(None, "language code of the source, for the tokeniser; by default the ending")
    target_language: str | None = option(None, "language code of the target, for the tokeniser; by default the ending")


@dataclass(frozen=True)
class PhraseModel(Options):
    """From words to a phrase table."""

    symmetrisation: Symmetrisation = option("grow-diag-final-and", "how the two alignment directions are combined")
    max_phrase_length: int = option(7, "longest phrase, in words, on either side", minimum=1, maximum=255)
    smoothing: Literal["none", "good-turing", "kneser-ney"] = option("none", "of the relative frequencies")
    reordering: bool = option(True, "train a lexicalised reordering model (msd-bidirectional-fe)")
    prune_limit: int = option(0, "keep so many targets a source phrase, best p(e|f) first; 0 keeps all", minimum=0)
    prune_significance: str | None = option(None, "drop pairs whose -log p-value is below: a+e, a-e or a number")
    prune_score: float = option(0.0, "drop pairs with p(e|f) below", minimum=0, maximum=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prune_significance is not None:
            _significance_threshold(self.prune_significance)


class Prepared(NamedTuple):
    """A parallel text in words, and what a translator must do to its input and output."""

    bitext: Bitext
    settings: Settings
    casing: Casing | None = None


def prepare(
    source: PathLike, target: PathLike, options: Preparation, *, threads: int = 1, progress: Progress = SILENT
) -> Prepared:
    """Read, tokenise and lower-case a parallel text, and learn how its target words are written."""
    if options.tokenised:
        with progress.stage("reading"):
            bitext = Bitext.read(source, target)
        if options.unicode == "NFC":
            bitext = Bitext(_composed(bitext.source, source, progress), _composed(bitext.target, target, progress))
        return Prepared(bitext, Settings(unicode=options.unicode))
    sides, languages, casing = [], [], None
    for path, language in ((source, options.source_language), (target, options.target_language)):
        languages.append(language or _language_of(path, progress))
        with progress.stage(f"reading {path}"):
            lines = list(read_lines(path))
            if options.unicode == "NFC":
                lines = _composed_lines(lines, path, progress)
        lines = tokenise_lines(lines, languages[-1], threads=threads, progress=progress)
        with progress.stage(f"numbering the words of {languages[-1]}") as done:
            if options.lowercase:
                if options.recase and path is target:
                    casing = Casing.learn(lines)
                    done(0.8)
                lines = [line.lower() for line in lines]
            sides.append(Corpus.from_lines(lines))
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            f"has {len(sides[1])} lines, but {source} has {len(sides[0])}",
            path=target,
            expected="as many as the source",
        )
    settings = Settings(
        source_language=languages[0],
        target_language=languages[1],
        tokenise=True,
        lowercase=options.lowercase,
        unicode=options.unicode,
    )
    return Prepared(Bitext(*sides), settings, casing)


def _composed_lines(lines: list[str], path: PathLike, progress: Progress) -> list[str]:
    """Bring lines into Unicode's composed normal form, and say if that was needed."""
    odd = [i for i, line in enumerate(lines) if not unicodedata.is_normalized("NFC", line)]
    for i in odd:
        lines[i] = unicodedata.normalize("NFC", lines[i])
    if odd:
        progress.note(f"{path}: letters of {len(odd):,} lines were composed (Unicode's NFC)")
    return lines


def _composed(corpus: Corpus, path: PathLike, progress: Progress) -> Corpus:
    """The same for a text in words; only a vocabulary with other forms costs more than a look at it."""
    vocab = corpus.vocab
    words = vocab.decode(np.arange(len(vocab), dtype=np.int32), np.arange(len(vocab) + 1)).decode()
    if unicodedata.is_normalized("NFC", words):
        return corpus
    return Corpus.from_lines(_composed_lines(corpus.lines(), path, progress))


def _language_of(path: PathLike, progress: Progress) -> str:
    endings = [ending.lstrip(".") for ending in Path(path).suffixes if ending not in (".gz", ".bz2", ".xz", ".zst")]
    if endings and len(endings[-1]) == 2 and endings[-1].isalpha():
        return endings[-1]
    progress.warn(
        f"{path}: the name does not end in a language code such as .fr, so the text is tokenised as English; the"
        " options source-language and target-language say otherwise"
    )
    return DEFAULT_LANGUAGE


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
    the text was prepared.
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
    pairs = phrase_pairs(bitext, links, phrase_model, threads=threads, progress=progress)
    with progress.stage("indexing the phrase table"):
        table = PhraseTable.from_pairs(pairs)
    if not finished:
        with progress.stage("putting the language model's text together"):
            text = _language_model_text([whole.target, *lm_texts])
        ngrams = estimate(text, kneser_ney, threads=threads, progress=progress)
        with progress.stage("indexing the language model"):
            finished = [LanguageModel.from_ngrams(ngrams)]
    named = {"lm" if i == 0 else f"lm{i + 1}": model for i, model in enumerate(finished)}
    model = Model(
        source_vocab=bitext.source.vocab,
        target_vocab=bitext.target.vocab,
        tables={"tm": table},
        language_models=named,
        weights=initial_weights({"tm": table.score_names}, pairs.reordering, named),
        settings=settings,
        casing=casing,
        history={
            "sentence_pairs": len(bitext),
            "dropped_pairs": len(whole) - len(bitext),
            "source_words": bitext.source.words,
            "target_words": bitext.target.words,
            "links": len(links.values),
            "aligner": {"name": "file"} if alignment is not None else {"name": aligner.name, **aligner.to_dict()},
            "cleaning": cleaning.to_dict(),
            "phrase_model": phrase_model.to_dict(),
            "language_model": {"name": "file"} if arpas else kneser_ney.to_dict(),
        },
    )
    return Trained(model, bitext, links)


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
        threshold = _significance_threshold(options.prune_significance)
        pairs = prune.significance(pairs, bitext, threshold, threads=threads, progress=progress)
    if options.prune_limit:
        pairs = prune.table_limit(pairs, options.prune_limit)
    if not len(pairs):
        raise UsageError("pruning left no phrase pair; prune less")
    return pairs


def _significance_threshold(text: str) -> str | float:
    if text in ("a+e", "a-e"):
        return text
    try:
        threshold = float(text)
    except ValueError:
        threshold = math.nan
    if math.isnan(threshold):
        raise UsageError(f"prune-significance is '{text}'; expected a+e, a-e or a number")
    return threshold


def _language_model_text(parts: Sequence[Corpus]) -> Corpus:
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
