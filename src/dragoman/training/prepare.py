"""Prepare parallel text for training: read, tokenise, lower-case, learn the case of words, split compounds, clean."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import SPECIAL, UNK, Bitext, Corpus, CorpusBuilder, Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike, read_chunks, read_lines
from dragoman.core.options import Options, option
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.parts import Settings
from dragoman.text.compounds import CompoundSplitter
from dragoman.text.preparation import DEFAULT_LANGUAGE, Casing, CasingLearner, TextPreparation
from dragoman.text.segment import SEGMENTERS, Segmentation, is_installed, tool_for
from dragoman.text.tokenise import CHUNK_LINES, Tokeniser, tokenise_blocks
from dragoman.text.words import Units, unspaced_language

#: Words of a tokenised text that are decoded together.
_WORDS_AT_ONCE = 1 << 20

#: Lines that show whether there are spaces between words.
_SAMPLE = 500

ChosenSegmenter = Literal["auto", "none", "characters", "mecab", "jieba", "pythainlp"]
_SEGMENTER_HELP = (
    "segmenter of raw {} text without spaces between words; by default the tool for its language if it is installed,"
    " or characters"
)


@dataclass(frozen=True)
class Preparation(Options):
    """Options of tokenising and lower-casing raw text."""

    tokenised: bool = option(False, "the text is tokenised already: split it at spaces only")
    lowercase: bool = option(True, "lower-case the text (tokenised text is not changed)")
    recase: bool = option(True, "train a recaser, so that lower-cased models produce cased output")
    normalise_punctuation: bool = option(
        True, "make apostrophes, quotation marks, dashes and spaces of raw text uniform"
    )
    source_segmenter: ChosenSegmenter = option("auto", _SEGMENTER_HELP.format("source"))
    target_segmenter: ChosenSegmenter = option("auto", _SEGMENTER_HELP.format("target"))
    compounds: Literal["auto", "split", "whole"] = option(
        "auto", "split compounds of the source text into its other words; by default if there are many, as in German"
    )
    unicode: Literal["NFC", "as-is"] = option("NFC", "compose letters with their accents, or leave the text unchanged")
    units: Units = option(
        "words", "units of the model: words, or the characters of the raw text (▁ stands for a space)"
    )
    boundaries: bool = option(False, "add boundary symbols to character sequences")
    source_language: str | None = option(
        None, "language code of the source, for the tokeniser; by default the file's ending"
    )
    target_language: str | None = option(
        None, "language code of the target, for the tokeniser; by default the file's ending"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.boundaries and self.units != "characters":
            raise UsageError("boundaries are for models of characters only; expected units of characters too")
        if (self.tokenised or self.units == "characters") and {self.source_segmenter, self.target_segmenter} - {
            "auto",
            "none",
        }:
            raise UsageError(
                "text that is tokenised already, or in characters, is not segmented; expected raw text for a segmenter"
            )

    def with_whole_words(self) -> Self:
        """Leave compounds whole unless they must be split: for alignments and trees of whole words."""
        return replace(self, compounds="whole") if self.compounds == "auto" else self


class PreparedText(NamedTuple):
    """A parallel text in words, with what a translator must do to its input and output."""

    bitext: Bitext
    settings: Settings = Settings()
    casing: Casing | None = None
    compounds: CompoundSplitter | None = None

    def preparation(self) -> TextPreparation:
        """Return the preparation of further text like this."""
        return self.settings.preparation(self.casing, self.compounds)


def prepare_bitext(
    source: PathLike,
    target: PathLike,
    options: Preparation,
    *,
    first: int | None = None,
    runtime: Runtime = Runtime(),
) -> PreparedText:
    """Read, tokenise and lower-case a parallel text, learn the case of its target words, and split source compounds.

    `first` limits raw text to its first lines. Text is read block by block and kept as ids of words, which are mapped
    from files of the workspace if its memory does not suffice.
    """
    (text,) = prepare_bitexts([(source, target)], options, first=first, runtime=runtime)
    return text


def prepare_bitexts(
    files: Iterable[tuple[PathLike, PathLike]],
    options: Preparation,
    *,
    first: int | None = None,
    runtime: Runtime = Runtime(),
) -> list[PreparedText]:
    """Prepare several parallel texts for one model: compounds are those of all of them together."""
    texts = [_read(source, target, options, first, runtime) for source, target in files]
    if options.compounds == "whole" or options.units == "characters" or not texts:
        return texts
    splitter = CompoundSplitter.without_fillers(_word_counts([text.bitext.source for text in texts]))
    if options.compounds == "auto" and not splitter.has_many:
        return texts
    if options.compounds == "auto":
        runtime.note(
            f"{splitter.share:.0%} of the different source words are compounds of others, so compounds are split; to"
            " change this, use the option compounds"
        )
    with runtime.stage("splitting compounds") as progress_callback:
        splitter = splitter.with_fillers()
        split = [
            Bitext(_split(text.bitext.source, splitter, progress_callback, runtime), text.bitext.target)
            for text in texts
        ]
    return [text._replace(bitext=bitext, compounds=splitter) for text, bitext in zip(texts, split, strict=True)]


def _word_counts(corpora: Sequence[Corpus]) -> Counter[str]:
    """Count the words of several texts."""
    counts: Counter[str] = Counter()
    for corpus in corpora:
        found = np.zeros(len(corpus.vocab), np.int64)
        for at in corpus.sentences.blocks(_WORDS_AT_ONCE):
            found += np.bincount(corpus.sentences.part(at).values, minlength=len(found))
        counts.update({word: count for word, count in zip(corpus.vocab, found.tolist(), strict=True) if count})
    return counts


def _split(corpus: Corpus, splitter: CompoundSplitter, progress_callback: ProgressCallback, runtime: Runtime) -> Corpus:
    """Split the compounds of a text, word by word of its vocabulary."""
    vocab, ids, lines = Vocab.of().extend("".join(f"{word}\n" for word in splitter.split(corpus.vocab)).encode())
    parts = Ragged(ids, lines)
    builder = CorpusBuilder(workspace=runtime.workspace)
    for at in corpus.sentences.blocks(_WORDS_AT_ONCE):
        block = corpus.sentences.part(at)
        found = parts.take(block.values)
        builder.add(vocab.decode(found.values, found.offsets[block.offsets - block.offsets[0]]))
        progress_callback(at.stop / len(corpus))
    return builder.corpus()


def _read(
    source: PathLike, target: PathLike, options: Preparation, first: int | None, runtime: Runtime
) -> PreparedText:
    """Read, tokenise and lower-case a parallel text, and learn the case of its target words."""
    if options.units == "characters":
        settings = Settings(unicode=options.unicode, units="characters", boundaries=options.boundaries)
        return PreparedText(_in_characters(source, target, settings, first, runtime), settings)
    if options.tokenised:
        with runtime.stage("reading") as progress_callback:
            bitext = Bitext.read(source, target, workspace=runtime.workspace, progress_callback=progress_callback)
        for corpus, path in ((bitext.source, source), (bitext.target, target)):
            _warn_of_long_words(corpus, path, runtime)
        if options.unicode == "NFC":
            sides = [
                _composed(corpus, path, runtime) for corpus, path in ((bitext.source, source), (bitext.target, target))
            ]
            bitext = Bitext(*sides)
        return PreparedText(bitext, Settings(unicode=options.unicode))
    learner = CasingLearner() if options.lowercase and options.recase else None
    settings = Settings(
        tokenise=True,
        lowercase=options.lowercase,
        unicode=options.unicode,
        normalise_punctuation=options.normalise_punctuation,
        protect=True,
    )
    sides = []
    for side, path in (("source", source), ("target", target)):
        text = _Reading(path, settings, first=first, runtime=runtime)
        language, segmenter = _language_and_segmenter(text.sample, path, side, options, runtime)
        if side == "source":
            settings = replace(settings, source_language=language, source_segmenter=segmenter)
            sides.append(text.corpus(language, settings.preparation().source_tokeniser))
        else:
            settings = replace(settings, target_language=language, target_segmenter=segmenter)
            sides.append(text.corpus(language, settings.preparation().target_tokeniser, learner))
    _check_lengths(sides, source, target)
    return PreparedText(Bitext(*sides), settings, None if learner is None else learner.casing())


def read_target(path: PathLike, settings: Settings, *, runtime: Runtime = Runtime()) -> Corpus:
    """Read more text of the target language, prepared like the parallel text."""
    if settings.units == "characters":
        return _of_characters(path, settings.preparation().target, None, runtime)
    if not settings.tokenise:
        with runtime.stage(f"reading {path}") as progress_callback:
            return Corpus.read(path, workspace=runtime.workspace, progress_callback=progress_callback)
    text = _Reading(path, settings, runtime=runtime)
    return text.corpus(settings.target_language or DEFAULT_LANGUAGE, settings.preparation().target_tokeniser)


class _Reading:
    """Reader of one side of a raw text: tokenises and numbers its words, a block of lines at a time."""

    def __init__(self, path: PathLike, settings: Settings, *, first: int | None = None, runtime: Runtime = Runtime()):
        self._path, self._settings, self._first, self._runtime = path, settings, first, runtime
        self._composed, self._share = 0, 0.0
        # A text may come through a pipe: the sample is kept, and nothing is read twice.
        self._blocks = self._read()
        self._ahead = list(itertools.islice(self._blocks, 1))

    @property
    def sample(self) -> list[str]:
        """The first lines."""
        return self._ahead[0][:_SAMPLE] if self._ahead else []

    def corpus(self, language: str, tokeniser: Tokeniser, learner: CasingLearner | None = None) -> Corpus:
        """Tokenise the text; `learner` sees the words before they are lower-cased."""
        builder = CorpusBuilder(workspace=self._runtime.workspace)
        blocks = itertools.chain(self._ahead, self._blocks)
        with self._runtime.stage(f"tokenising {self._path}") as progress_callback:
            for lines in tokenise_blocks(blocks, language, tokeniser, runtime=self._runtime):
                if learner is not None:
                    learner.add(lines)
                builder.add_lines([line.lower() for line in lines] if self._settings.lowercase else lines)
                progress_callback(self._share)
            _note_composed(self._composed, self._path, self._runtime)
            return builder.corpus()

    def _read(self) -> Iterator[list[str]]:
        left = self._first
        for chunk in read_chunks(self._path):
            lines = [line.removesuffix("\r") for line in chunk.data.decode().split("\n")[:-1]]
            if left is not None:
                lines, left = lines[:left], left - min(left, len(lines))
            for start in range(0, len(lines), CHUNK_LINES):
                block = lines[start : start + CHUNK_LINES]
                self._composed += _compose(block) if self._settings.unicode == "NFC" else 0
                yield block
            self._share = chunk.share
            if left == 0:
                return


def _in_characters(
    source: PathLike, target: PathLike, settings: Settings, first: int | None, runtime: Runtime
) -> Bitext:
    """Read both sides of a text in characters, neither tokenised nor lower-cased: a model learns case and spelling."""
    text = settings.preparation()
    sides = [
        _of_characters(path, prepared, first, runtime)
        for path, prepared in ((source, text.source), (target, text.target))
    ]
    _check_lengths(sides, source, target)
    return Bitext(*sides)


def _of_characters(
    path: PathLike, prepared: Callable[..., Iterator[str]], first: int | None, runtime: Runtime
) -> Corpus:
    builder = CorpusBuilder(workspace=runtime.workspace)
    with runtime.stage(f"reading {path}"):
        lines = prepared(itertools.islice(read_lines(path), first), runtime=runtime)
        while block := list(itertools.islice(lines, CHUNK_LINES)):
            builder.add_lines(block)
        return builder.corpus()


def _check_lengths(sides: Sequence[Corpus], source: PathLike, target: PathLike) -> None:
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            f"has {len(sides[1])} lines, but {source} has {len(sides[0])}",
            path=target,
            expected="as many as the source",
        )


def _compose(lines: list[str]) -> int:
    """Convert lines to Unicode's NFC in place; return how many changed."""
    odd = [i for i, line in enumerate(lines) if not unicodedata.is_normalized("NFC", line)]
    for i in odd:
        lines[i] = unicodedata.normalize("NFC", lines[i])
    return len(odd)


def _note_composed(lines: int, path: PathLike, runtime: Runtime) -> None:
    if lines:
        runtime.note(f"{path}: {lines:,} lines were converted to Unicode's NFC (composed letters)")


def _composed(corpus: Corpus, path: PathLike, runtime: Runtime) -> Corpus:
    """Convert a text in words to NFC; it is decoded only if its vocabulary has other forms."""
    vocab = corpus.vocab
    words = vocab.decode(np.arange(len(vocab), dtype=np.int32), np.arange(len(vocab) + 1)).decode()
    if unicodedata.is_normalized("NFC", words):
        return corpus
    builder, composed = CorpusBuilder(workspace=runtime.workspace), 0
    with runtime.stage(f"composing letters of {path}") as progress_callback:
        for at in corpus.sentences.blocks(_WORDS_AT_ONCE):
            lines = Corpus(vocab, corpus.sentences.part(at)).lines()
            composed += _compose(lines)
            builder.add_lines(lines)
            progress_callback(at.stop / len(corpus))
    _note_composed(composed, path, runtime)
    return builder.corpus()


def _language_and_segmenter(
    sample: Sequence[str], path: PathLike, side: str, options: Preparation, runtime: Runtime
) -> tuple[str, Segmentation]:
    """Return the language of one side of a raw text, and its segmenter if there are no spaces between words."""
    script = unspaced_language(sample)
    chosen: ChosenSegmenter = getattr(options, f"{side}_segmenter")
    language: str | None = getattr(options, f"{side}_language") or _ending(path) or script
    if script is not None and chosen == "none":
        runtime.warn(f"{path}: has no spaces between words, and no segmenter is used: its lines are very long words")
    if script is not None and chosen == "auto":
        tool = tool_for(language or script) or tool_for(script)
        chosen = "characters" if tool is None or not is_installed(tool) else tool
        other = "" if tool in (None, chosen) else f" (by {tool} after pip install 'dragoman[{SEGMENTERS[tool].extra}]')"
        runtime.note(
            f"{path}: there are no spaces between words, so the text is segmented by {chosen}{other}; to change this,"
            f" use the option {side}-segmenter"
        )
    if language is None and chosen not in ("auto", "none"):
        language = DEFAULT_LANGUAGE
    if language is None:
        runtime.warn(
            f"{path}: the name does not end in a language code such as .fr, so the text is tokenised as English; to"
            " change this, use the options source-language and target-language"
        )
    return language or DEFAULT_LANGUAGE, "none" if chosen == "auto" else chosen


def _ending(path: PathLike) -> str | None:
    """Return the language code that a file's name ends in."""
    endings = [ending.lstrip(".") for ending in Path(path).suffixes if ending not in (".gz", ".bz2", ".xz", ".zst")]
    return endings[-1] if endings and len(endings[-1]) == 2 and endings[-1].isalpha() else None


def _warn_of_long_words(corpus: Corpus, path: PathLike, runtime: Runtime) -> None:
    sample = Corpus(corpus.vocab, corpus.sentences.part(slice(0, min(_SAMPLE, len(corpus))))).lines()
    if unspaced_language(sample) is not None:
        runtime.warn(f"{path}: has no spaces between words; expected raw text, which is segmented, or words")


#: Words with a special meaning in files and models.
RESERVED = ("|||", *SPECIAL)


@dataclass(frozen=True)
class Cleaning(Options):
    """Limits of sentence pairs for training; the defaults are those of Moses' `clean-corpus-n`."""

    # A word alignment link has 16 bits for each position.
    max_length: int = option(80, "maximum number of words on either side", minimum=1, maximum=65535)
    max_ratio: float = option(9.0, "maximum ratio of the lengths of both sides", minimum=1)


@dataclass(frozen=True, eq=False)
class CleaningResult:
    """The sentence pairs that are kept, their rows in the original bitext, and the number dropped for each reason."""

    bitext: Bitext
    rows: NDArray[np.intp]
    dropped: Mapping[str, int]


def clean(bitext: Bitext, options: Cleaning | None = None, *, runtime: Runtime = Runtime()) -> CleaningResult:
    """Drop pairs with an empty or long side, with sides of very different lengths, or with reserved words.

    A pair counts for the first reason that holds. If anything is dropped, one warning says how much and why.

    >>> source, target = Corpus.from_lines(["a b", "c", "d"]), Corpus.from_lines(["A", "C", "D"])
    >>> clean(Bitext(source, target)).rows.tolist()
    [0, 1, 2]
    """
    options = options or Cleaning()
    lengths = np.stack([bitext.source.sentences.lengths, bitext.target.sentences.lengths])
    shorter, longer = lengths.min(axis=0), lengths.max(axis=0)
    reasons = {
        "with an empty side": shorter == 0,
        f"longer than {options.max_length} words": longer > options.max_length,
        f"with one side over {options.max_ratio:g} times as long": longer > options.max_ratio * shorter,
        f"with a reserved word ({' '.join(RESERVED)})": _has_reserved(bitext.source) | _has_reserved(bitext.target),
    }
    kept = np.ones(len(bitext), bool)
    dropped = {}
    for reason, holds in reasons.items():
        dropped[reason] = int((kept & holds).sum())
        kept &= ~holds
    rows = np.flatnonzero(kept)
    why = ", ".join(f"{count:,} {reason}" for reason, count in dropped.items() if count)
    if not len(rows):
        raise DataError(
            f"none of the {len(bitext):,} sentence pairs can be used: {why}" if why else "there are no sentence pairs"
        )
    if why:
        runtime.warn(f"skipped {len(bitext) - len(rows):,} of {len(bitext):,} pairs: {why}")
    return CleaningResult(bitext.take(rows) if why else bitext, rows, dropped)


def _has_reserved(corpus: Corpus) -> NDArray[np.bool_]:
    reserved = np.zeros(len(corpus.vocab), bool)
    # A reserved word that is not in the vocabulary has the id of <unk>, which is reserved itself.
    reserved[[UNK, *(corpus.vocab.id(word) for word in RESERVED)]] = True
    places = np.flatnonzero(reserved[corpus.sentences.values])
    rows = np.zeros(len(corpus), bool)
    rows[np.searchsorted(corpus.sentences.offsets, places, side="right") - 1] = True
    return rows
