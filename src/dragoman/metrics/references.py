"""References: read from files or lines, prepared as a metric counts, encoded once, and scored against.

Our text is words separated by ASCII white space; sacreBLEU cuts at any Unicode white space, so that a no-break space
separates words there. Where a preparation is used, the words are sacreBLEU's.
"""

from __future__ import annotations

import functools
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab, common_vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import read_lines
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.penn_trees import TreeFile, with_trees
from dragoman.metrics.metric import Scorer
from dragoman.text.preparation import TextPreparation

Preparation = Callable[[Corpus], Corpus]

#: A runtime without warnings.
UNHEARD = Runtime().quiet(warns=False)


def read_references(
    paths: Sequence[Path], text: TextPreparation = TextPreparation(), *, runtime: Runtime = UNHEARD
) -> list[Corpus]:
    """Read references; a name that is no file stands for the files NAME0, NAME1, …

    They are prepared by `text`, so that they can be compared with a model's output. Warns of empty lines.
    """
    files = reference_files(paths)
    as_they_are = text == TextPreparation()
    references = [
        Corpus.read(file) if as_they_are else Corpus.from_lines(text.target(read_lines(file))) for file in files
    ]
    for file, corpus in zip(files, references, strict=True):
        if len(corpus) != len(references[0]):
            raise DataError(
                f"has {len(corpus)} lines, but {files[0]} has {len(references[0])}", path=file, expected="as many"
            )
        if len(corpus) == 0:
            raise DataError("is empty", path=file, expected="one reference translation a line")
        empty = int((corpus.sentences.lengths == 0).sum())
        if empty:
            runtime.warn(f"{file}: {empty:,} of {len(corpus):,} references have no words")
    return references


def reference_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files of references; a name that is no file stands for NAME0, NAME1, …, if they exist."""
    files: list[Path] = []
    for path in paths:
        numbered = [path]
        if str(path) != "-" and not path.exists():
            numbered = []
            while (next_one := path.with_name(f"{path.name}{len(numbered)}")).exists():
                numbered.append(next_one)
        files += numbered or [path]
    return files


def check_references(references: Sequence[Corpus], metric: str) -> None:
    """Refuse to score against nothing, or against references of different lengths."""
    if not references:
        raise UsageError(f"{metric} needs at least one reference")
    for i, reference in enumerate(references[1:], start=2):
        if len(reference) != len(references[0]):
            raise DataError(
                f"reference {i} has {len(reference)} lines and reference 1 has {len(references[0])}",
                expected="equally many",
            )


def checked_sentences(hypotheses: int, sentences: NDArray[np.int64] | None, lines: int) -> NDArray[np.int64]:
    """Return the sentence of each hypothesis; refuse sentences that the references do not have."""
    if sentences is None:
        if hypotheses != lines:
            raise DataError(f"there are {hypotheses} hypotheses for {lines} reference lines", expected="one each")
        return np.arange(lines, dtype=np.int64)
    sentences = np.ascontiguousarray(sentences, np.int64)
    if sentences.shape != (hypotheses,):
        raise UsageError(f"{len(sentences)} sentence numbers were given for {hypotheses} hypotheses")
    if hypotheses and not 0 <= int(sentences.min()) <= int(sentences.max()) < lines:
        wrong = int(sentences[(sentences < 0) | (sentences >= lines)][0])
        raise DataError(f"a hypothesis translates sentence {wrong}", expected=f"a sentence from 0 to {lines - 1}")
    return sentences


class References:
    """References of one metric, prepared as it needs them (lower-cased, tokenised, stemmed, …).

    >>> references = References([Corpus.from_lines(["the house", "a cat"])], "bleu")
    >>> references.encode(Corpus.from_lines(["a house house", "dog"])).values.tolist()
    [5, 4, 4, -1]
    """

    def __init__(self, references: Sequence[Corpus], metric: str, prepare: Preparation | None = None):
        check_references(references, metric)
        self.prepare: Preparation = prepare or (lambda corpus: corpus)
        prepared = [self.prepare(reference) for reference in references]
        self.vocab, (_, *numbers) = common_vocab([Vocab.of(), *(reference.vocab for reference in prepared)])
        sides = [reference.sentences for reference in prepared]
        self.rows = [Ragged(ids[side.values], side.offsets) for ids, side in zip(numbers, sides, strict=True)]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lines(self) -> int:
        """The number of sentences."""
        return len(self.rows[0])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each reference (row) of each sentence (column)."""
        return np.stack([rows.lengths for rows in self.rows])

    @cached_property
    def grouped(self) -> Ragged[np.int32]:
        """All references of the first sentence, then those of the second, and so on."""
        places = np.arange(len(self) * self.lines).reshape(len(self), self.lines)
        return Ragged.concatenate(self.rows).take(places.T.ravel())

    def encode(self, hypotheses: Corpus) -> Ragged[np.int32]:
        """Return prepared hypotheses in the references' ids; words that no reference has are -1."""
        prepared = self.prepare(hypotheses)
        ids = prepared.vocab.map_to(self.vocab)
        ids[1:][ids[1:] == 0] = -1  # only the word <unk> itself is word 0
        return Ragged(ids[prepared.sentences.values], prepared.sentences.offsets)

    def matches(
        self,
        words: Ragged[np.int32],
        sentences: NDArray[np.int64],
        order: int,
        values: NDArray[np.float64] | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> NDArray[np.float64]:
        """Count the clipped n-gram matches of hypotheses with their references; a column per order.

        An n-gram counts 1, or the number in `values` at its occurrence in the grouped references.
        """
        compared = HypothesisReferenceIds(words, sentences, self.grouped)
        return compared.matches(order, values, references=len(self), runtime=runtime)

    def sentences(self, hypotheses: Corpus, sentences: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return the sentence of each hypothesis, checked."""
        return checked_sentences(len(hypotheses), sentences, self.lines)


class HypothesisReferenceIds(NamedTuple):
    """Hypotheses and references in the same ids: hypothesis i translates `sentences[i]`."""

    hypotheses: Ragged[np.int32]
    sentences: NDArray[np.int64]
    references: Ragged[np.int32]

    def for_kernels(self) -> kernels.Compared:
        """Return both as kernels take them."""
        return kernels.Compared(
            hypotheses=self.hypotheses.for_kernels(),
            sentences=self.sentences,
            references=self.references.for_kernels(),
        )

    def matches(
        self,
        order: int,
        values: NDArray[np.float64] | None = None,
        *,
        references: int = 1,
        runtime: Runtime = Runtime(),
    ) -> NDArray[np.float64]:
        """Count n-grams as `References.matches` does; a sentence has `references` rows, one after the other."""
        worth = np.empty((0, order)) if values is None else values
        return kernels.clipped_ngrams(self.for_kernels(), references, worth, order, runtime.threads)


def ngram_totals(lengths: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    """Return the number of n-grams of each order (column) in sentences of given lengths (row).

    >>> ngram_totals(np.array([3, 1]), 2).tolist()
    [[3, 2], [1, 0]]
    """
    return np.asarray(np.maximum(0, lengths[:, None] - np.arange(order)))


class ReferenceScorer(Scorer):
    """A scorer whose statistics come from a comparison with references, in words."""

    def __init__(self, references: References):
        self.references = references

    def statistics(
        self, hypotheses: Corpus, sentences: NDArray[np.int64] | None = None, *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return one row of statistics for each hypothesis; see `counts`."""
        return self.counts(hypotheses, self.references.sentences(hypotheses, sentences), runtime=runtime)

    @abstractmethod
    def counts(
        self, hypotheses: Corpus, sentences: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return the statistics of each hypothesis; the numbers of their sentences are checked."""

    def best_counts(self, counts: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the statistics of each hypothesis with the best score over all references."""
        others = iter(counts)
        best = next(others)
        for found in others:
            better = self.score(found) > self.score(best)
            best[better] = found[better]
        return best


@dataclass(frozen=True, eq=False)
class ReferencedText:
    """Prepared source sentences with parallel references, prepared as the model's output is."""

    lines: list[str]
    references: list[Corpus]

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def read(
        cls,
        source: Path,
        references: Sequence[Path],
        text: TextPreparation,
        *,
        trees: TreeFile | None = None,
        runtime: Runtime = UNHEARD,
    ) -> ReferencedText:
        """Read a source text and its references, and trees if the model uses them; warn of odd lines."""
        prepared = text.source(read_lines(source))
        lines: list[str] = list(prepared) if trees is None else [*with_trees(prepared, trees)]
        found = read_references(references, text, runtime=runtime)
        if len(found[0]) != len(lines):
            raise DataError(
                f"has {len(found[0])} lines, but {source} has {len(lines)}", path=references[0], expected="as many"
            )
        return cls(lines, found)


Tokenisation = Literal["none", "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "spm", "flores101", "flores200"]

#: Tokenisers that need a model of SentencePiece, which sacreBLEU downloads on first use.
_SENTENCEPIECE = ("spm", "flores101", "flores200")

_OTHER_SPACE = re.compile(r"[^\S\n ]")


def change_words(corpus: Corpus, change: Callable[[str], str]) -> Corpus:
    """Rewrite each distinct word: `change` gets all of them as lines of one text and keeps the lines.

    A word may become several, or none. The cost depends on the vocabulary, not on the running text.

    >>> change_words(Corpus.from_lines(["La Maison", "la"]), str.lower).lines()
    ['la maison', 'la']
    """
    size = len(corpus.vocab)
    before = corpus.vocab.decode(np.arange(size, dtype=np.int32), np.arange(size + 1, dtype=np.int64)).decode()
    after = _OTHER_SPACE.sub(" ", change(before))
    if after == before:
        return corpus
    vocab, ids, lines = Vocab.of().extend(after.encode())
    assert len(lines) == size + 1
    sentences = corpus.sentences
    if len(ids) == size and int(np.diff(lines).max()) == 1:
        return Corpus(vocab, Ragged(ids[sentences.values], sentences.offsets))
    words = Ragged(ids, lines).take(sentences.values)
    return Corpus(vocab, Ragged(words.values, words.offsets[sentences.offsets]))


def words_as_in_sacrebleu(corpus: Corpus, *, lowercase: bool = False) -> Corpus:
    """Cut words at Unicode white space as well, and lower-case them on request."""
    return change_words(corpus, str.lower if lowercase else str)


def change_lines(corpus: Corpus, change: Callable[[str], str]) -> Corpus:
    """Rewrite each sentence; for changes that look at neighbouring words."""
    changed = "".join(f"{change(line)}\n" for line in corpus.lines())
    vocab, ids, lines = Vocab.of().extend(_OTHER_SPACE.sub(" ", changed).encode())
    return Corpus(vocab, Ragged(ids, lines))


def tokenise(corpus: Corpus, tokenisation: Tokenisation, *, lowercase: bool = False) -> Corpus:
    """Prepare text as sacreBLEU's BLEU does with one of its tokenisers; `none` does not tokenise."""
    if tokenisation == "none":
        return words_as_in_sacrebleu(corpus, lowercase=lowercase)
    tokeniser = sacrebleu_tokeniser(tokenisation)
    return change_lines(corpus, lambda line: tokeniser((line.lower() if lowercase else line).rstrip()))


class SacrebleuTokeniser(Protocol):
    """A tokeniser of sacreBLEU."""

    def __call__(self, line: str) -> str:
        """Tokenise a line."""

    def signature(self) -> str:
        """Return the tokeniser's name in signatures."""


def tokeniser_installed(tokenisation: Tokenisation) -> bool:
    """Return whether a tokeniser is installed: those of MeCab need further packages."""
    try:
        sacrebleu_tokeniser(tokenisation)
    except UsageError:
        return False
    return True


@functools.cache
def sacrebleu_tokeniser(tokenisation: Tokenisation) -> SacrebleuTokeniser:
    """Return a tokeniser of sacreBLEU; refuse one that is not installed, or whose model is not on the disk."""
    from sacrebleu.metrics.bleu import BLEU  # slow to import, and rarely needed

    if tokenisation in _SENTENCEPIECE:
        _check_sentencepiece(tokenisation)
    try:
        found: SacrebleuTokeniser = BLEU(tokenize=tokenisation, force=True).tokenizer
    except (ImportError, RuntimeError):
        package = (
            "sentencepiece" if tokenisation in _SENTENCEPIECE else f"'sacrebleu[{tokenisation.partition('-')[0]}]'"
        )
        wanted = f"pip install {package}, or another tokeniser"
        raise UsageError(f"the tokeniser {tokenisation} is not installed; expected {wanted}") from None
    return found


def _check_sentencepiece(tokenisation: Tokenisation) -> None:
    """Refuse a tokeniser whose model sacreBLEU would download: nothing is downloaded here."""
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
    from sacrebleu.utils import SACREBLEU_DIR

    model = Path(SACREBLEU_DIR) / "models" / Path(SPM_MODELS[tokenisation]["url"]).name
    if not model.exists():
        raise UsageError(
            f"the tokeniser {tokenisation} needs its SentencePiece model, and Dragoman downloads nothing; expected"
            f" it as {model}, where sacrebleu -tok {tokenisation} puts it"
        )
