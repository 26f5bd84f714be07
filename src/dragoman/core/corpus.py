"""Text as arrays of word ids: one side (`Corpus`) and two sides line by line (`Bitext`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_chunks
from dragoman.core.ragged import Ragged, blocks_of
from dragoman.core.vocab import Vocab, common_vocab


@dataclass(frozen=True, eq=False)
class Corpus:
    """Lines of words: `sentences` holds ids of `vocab`. Words are separated by ASCII white space, nothing else.

    >>> corpus = Corpus.from_lines(["la maison", "", "la la"])
    >>> len(corpus), corpus.sentences[2].tolist(), corpus.line(0)
    (3, [3, 3], 'la maison')
    """

    vocab: Vocab
    sentences: Ragged[np.int32]

    @classmethod
    def read(cls, path: PathLike, vocab: Vocab | None = None) -> Corpus:
        """Read a tokenised text file, one sentence a line; words are added to `vocab` (a new one by default)."""
        return cls._from_blocks((chunk.data for chunk in read_chunks(path)), vocab)

    @classmethod
    def from_lines(cls, lines: Iterable[str], vocab: Vocab | None = None) -> Corpus:
        """Build from tokenised strings, one a sentence."""
        lines = list(lines)
        text = "".join(f"{line}\n" for line in lines)
        if text.count("\n") != len(lines):
            row = next(row for row, line in enumerate(lines) if "\n" in line)
            raise DataError(f"sentence {row} holds a line break", expected="one line for each sentence")
        try:
            return cls._from_blocks([text.encode()], vocab)
        except UnicodeEncodeError as error:
            row = text.count("\n", 0, error.start)
            raise DataError(f"sentence {row} holds half a character", expected="text that UTF-8 can hold") from None

    @classmethod
    def _from_blocks(cls, blocks: Iterable[bytes], vocab: Vocab | None) -> Corpus:
        vocab = vocab or Vocab.of()
        parts = [Ragged(np.empty(0, np.int32), np.zeros(1, np.int64))]
        for block in blocks:
            vocab, ids, lines = vocab.extend(block)
            parts.append(Ragged(ids, lines))
        return cls(vocab, parts[1] if len(parts) == 2 else Ragged.concatenate(parts))

    @classmethod
    def concatenate(cls, parts: Sequence[Corpus]) -> Corpus:
        """Put several texts one after the other; the vocabulary begins with that of the first."""
        vocab, maps = common_vocab([part.vocab for part in parts])
        rows = [
            Ragged(ids[part.sentences.values], part.sentences.offsets) for ids, part in zip(maps, parts, strict=True)
        ]
        return cls(vocab, Ragged.concatenate(rows))

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def words(self) -> int:
        """The number of running words."""
        return len(self.sentences.values)

    def line(self, row: int) -> str:
        """Return one sentence as text."""
        return self.vocab.text(self.sentences[row])

    def text(self) -> bytes:
        """Return all sentences as lines of UTF-8 text."""
        return self.vocab.decode(self.sentences.values, self.sentences.offsets)

    def lines(self) -> list[str]:
        """Return all sentences as strings."""
        return self.text().decode().split("\n")[:-1]

    def take(self, rows: NDArray[np.integer]) -> Corpus:
        """Return the given sentences, in that order."""
        return Corpus(self.vocab, self.sentences.take(rows))

    def compact(self) -> Corpus:
        """Return the same sentences with a vocabulary of their words only."""
        used, ids = np.unique(self.sentences.values, return_inverse=True)
        text = self.vocab.decode(used.astype(np.int32), np.array([0, len(used)], np.int64))
        small, numbers, _ = Vocab.of().extend(text)
        return Corpus(small, Ragged(numbers[ids], self.sentences.offsets))


@dataclass(frozen=True, eq=False)
class Bitext:
    """Two corpora of the same number of lines, each line the translation of the other."""

    source: Corpus
    target: Corpus

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise DataError(
                f"the source has {len(self.source)} lines and the target {len(self.target)}",
                expected="one target line for each source line",
            )

    @classmethod
    def read(cls, source: PathLike, target: PathLike) -> Bitext:
        """Read two tokenised text files of equally many lines."""
        ours, theirs = Corpus.read(source), Corpus.read(target)
        if len(ours) != len(theirs):
            raise DataError(
                f"has {len(theirs)} lines, but {source} has {len(ours)}", path=target, expected="as many as the source"
            )
        return cls(ours, theirs)

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def concatenate(cls, parts: Sequence[Bitext]) -> Bitext:
        """Put several one after the other."""
        return cls(
            Corpus.concatenate([part.source for part in parts]), Corpus.concatenate([part.target for part in parts])
        )

    def take(self, rows: NDArray[np.integer]) -> Bitext:
        """Return the given sentence pairs, in that order."""
        return Bitext(self.source.take(rows), self.target.take(rows))

    def part(self, at: slice) -> Bitext:
        """Return a range of sentence pairs, without a copy."""
        return Bitext(
            Corpus(self.source.vocab, self.source.sentences.part(at)),
            Corpus(self.target.vocab, self.target.sentences.part(at)),
        )

    def blocks(self, words: int) -> Iterator[slice]:
        """Cut the text into ranges of sentence pairs that have about so many words on both sides together."""
        return blocks_of(self.source.sentences.offsets + self.target.sentences.offsets, words)
