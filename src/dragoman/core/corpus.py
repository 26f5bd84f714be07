"""Text as arrays of word ids: vocabulary, one side (`Corpus`), two sides (`Bitext`), and word alignment (`Links`)."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_chunks
from dragoman.core.progress import ProgressCallback, within
from dragoman.core.ragged import Ragged, blocks_of
from dragoman.core.spill import SMALL_PART, RaggedWriter
from dragoman.core.store import check_offsets, check_range, load_arrays
from dragoman.core.workspace import Workspace

UNK, BOS, EOS = 0, 1, 2
SPECIAL = ("<unk>", "<s>", "</s>")


@dataclass(frozen=True, eq=False)
class Vocab:
    """A list of distinct words and an index over it, as arrays that can be memory-mapped.

    Every vocabulary starts with `<unk>`, `<s>` and `</s>`, so that ids 0, 1, 2 mean the same everywhere.

    >>> vocab = Vocab.of(["la", "maison"])
    >>> vocab.id("maison"), vocab.id("jardin"), vocab[3], len(vocab)
    (4, 0, 'la', 5)
    """

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    index: NDArray[np.int32]

    @classmethod
    def of(cls, words: Iterable[str] = ()) -> Vocab:
        """Build the vocabulary of the given words, in order of first occurrence."""
        text = "\n".join([*SPECIAL, *words]) + "\n"
        _, _, blob, offsets, index = kernels.intern_lines(_bytes(text.encode()), texts_of([]))
        return cls(blob, offsets, index)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Vocab:
        """Rebuild a vocabulary from the result of `arrays`; refuse arrays that are not a vocabulary."""
        blob, offsets, index = (arrays.get(name) for name in ("blob", "offsets", "index"))
        if not _is_vocabulary(blob, offsets, index):
            raise DataError("the arrays of a vocabulary are missing or damaged")
        return cls(blob, offsets, index)  # type: ignore[arg-type]

    def check(self, prefix: str = "") -> None:
        """Refuse arrays that are not an index of distinct words; messages name them with the `prefix`."""
        check_offsets(f"{prefix}offsets", self.offsets, len(self.blob))
        check_range(f"{prefix}index", self.index, -1, len(self))
        try:
            bytes(self.blob).decode()
        except UnicodeDecodeError:
            raise DataError(f"the array '{prefix}blob' is not UTF-8", expected="words") from None
        if np.any((self.blob == ord(" ")) | ((self.blob >= ord("\t")) & (self.blob <= ord("\r")))):
            raise DataError(f"the array '{prefix}blob' holds white space", expected="words")
        if np.any(np.diff(self.offsets) == 0) or np.any(self.blob[self.offsets[:-1]] & 0xC0 == 0x80):
            raise DataError(f"the array '{prefix}offsets' cuts letters apart, or words without letters off")
        if tuple(self[i] for i in range(len(SPECIAL))) != SPECIAL:
            raise DataError(f"the array '{prefix}blob' begins with other words", expected=" ".join(SPECIAL))
        if not np.array_equal(self.map_to(self), np.arange(len(self))):
            raise DataError(f"the array '{prefix}index' does not lead to every word", expected="an index of the words")

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays that make up the vocabulary, by name, for storing."""
        return {"blob": self.blob, "offsets": self.offsets, "index": self.index}

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, word_id: int) -> str:
        if not 0 <= word_id < len(self):
            raise IndexError(f"word id {word_id} in a vocabulary of {len(self)}")
        return bytes(self.blob[self.offsets[word_id] : self.offsets[word_id + 1]]).decode()

    def __iter__(self) -> Iterator[str]:
        text = bytes(self.blob)
        bounds = self.offsets.tolist()
        return (text[a:b].decode() for a, b in itertools.pairwise(bounds))

    def id(self, word: str) -> int:
        """Return the id of one word, or UNK."""
        ids, _ = self.encode(word.encode())
        return int(ids[0]) if len(ids) == 1 else UNK

    def encode(self, text: bytes) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Look up lines of words: return ids (UNK for unknown words), and line offsets."""
        return kernels.lookup_lines(_bytes(text), self.for_kernels(), self.index)

    def for_kernels(self) -> kernels.Texts:
        """Return the words in the form that kernels take."""
        return kernels.Texts(values=self.blob, offsets=self.offsets)

    def extend(self, text: bytes) -> tuple[Vocab, NDArray[np.int32], NDArray[np.int64]]:
        """Look up lines of words and add new ones: return the larger vocabulary, ids, and line offsets."""
        ids, lines, blob, offsets, index = kernels.intern_lines(_bytes(text), self.for_kernels())
        return Vocab(blob, offsets, index), ids, lines

    def decode(self, ids: NDArray[np.int32], lines: NDArray[np.int64]) -> bytes:
        """Write ids as lines of words, the inverse of `encode`."""
        return kernels.join_lines(kernels.Rows(values=ids, offsets=lines), self.for_kernels()).tobytes()

    def map_to(self, other: Vocab) -> NDArray[np.int32]:
        """Return, for each id, the id of the same word in another vocabulary, or UNK."""
        lines = np.arange(len(self) + 1, dtype=np.int64)
        text = self.decode(np.arange(len(self), dtype=np.int32), lines)
        return other.encode(text)[0]

    def text(self, ids: Sequence[int] | NDArray[np.int32]) -> str:
        """Return the words of one line, separated by spaces."""
        return " ".join(self[int(i)] for i in ids)


def common_vocab(vocabs: Sequence[Vocab]) -> tuple[Vocab, list[NDArray[np.int32]]]:
    """Merge vocabularies into one that begins with the first; return it and, for each, the new ids of its words."""
    vocab = vocabs[0] if vocabs else Vocab.of()
    known = {id(vocab): np.arange(len(vocab), dtype=np.int32)}
    for other in vocabs:
        if id(other) not in known:
            everything = np.arange(len(other), dtype=np.int32)
            vocab, known[id(other)], _ = vocab.extend(other.decode(everything, np.array([0, len(everything)])))
    return vocab, [known[id(other)] for other in vocabs]


def _bytes(text: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(text, np.uint8)


def texts_of(pieces: Sequence[bytes]) -> kernels.Texts:
    """Return pieces of UTF-8 text in the form that kernels take."""
    offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return kernels.Texts(values=np.frombuffer(b"".join(pieces), np.uint8), offsets=offsets)


def _is_vocabulary(blob: Any, offsets: Any, index: Any) -> bool:
    """Return True if kernels can look up words in these arrays without reading outside them or looping forever."""
    for array, dtype in ((blob, np.uint8), (offsets, np.int64), (index, np.int32)):
        if array is None or array.dtype != dtype or array.ndim != 1:
            return False
    words = len(offsets) - 1
    return bool(
        words >= len(SPECIAL)
        and offsets[0] == 0
        and offsets[-1] == len(blob)
        and np.all(offsets[1:] >= offsets[:-1])
        and len(index).bit_count() == 1
        and len(index) > words
        and np.min(index) == -1
        and np.max(index) < words
    )


#: Bytes of text that are numbered at a time; each time costs as much as one pass over the vocabulary.
_BYTES_AT_ONCE = 1 << 23


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
    def read(
        cls,
        path: PathLike,
        vocab: Vocab | None = None,
        *,
        workspace: Workspace | None = None,
        progress_callback: ProgressCallback = lambda done: None,
    ) -> Corpus:
        """Read a tokenised text file, one sentence per line; words are added to `vocab` (a new one by default)."""
        builder = CorpusBuilder(vocab, workspace)
        for chunk in read_chunks(path):
            builder.add(chunk.data)
            progress_callback(chunk.share)
        return builder.corpus()

    @classmethod
    def from_lines(cls, lines: Iterable[str], vocab: Vocab | None = None) -> Corpus:
        """Build from tokenised strings, one a sentence."""
        text = _encode([*lines])
        found, ids, offsets = (vocab or Vocab.of()).extend(text)
        return cls(found, Ragged(ids, offsets))

    @classmethod
    def concatenate(cls, parts: Sequence[Corpus]) -> Corpus:
        """Concatenate several texts; the vocabulary begins with that of the first."""
        vocab, maps = common_vocab([part.vocab for part in parts])
        rows = [
            Ragged(ids[part.sentences.values], part.sentences.offsets) for ids, part in zip(maps, parts, strict=True)
        ]
        return cls(vocab, Ragged.concatenate(rows))

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def words(self) -> int:
        """Number of running words."""
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


def _encode(lines: Sequence[str], first: int = 0) -> bytes:
    """Write sentences, of which the first has the number `first`, as lines of UTF-8."""
    text = "".join(f"{line}\n" for line in lines)
    if text.count("\n") != len(lines):
        row = first + next(row for row, line in enumerate(lines) if "\n" in line)
        raise DataError(f"sentence {row} holds a line break", expected="one line for each sentence")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        row = first + text.count("\n", 0, error.start)
        raise DataError(f"sentence {row} holds half a character", expected="text that UTF-8 can hold") from None


class CorpusBuilder:
    """Builds a corpus from text that comes block by block.

    Word ids that take more than a small part of the workspace's memory are written to its folder and mapped.

    >>> builder = CorpusBuilder()
    >>> builder.add(b"la maison\\nla\\n")
    >>> builder.add_lines(["la mer"])
    >>> [row.tolist() for row in builder.corpus().sentences]
    [[3, 4], [3], [3, 5]]
    """

    def __init__(self, vocab: Vocab | None = None, workspace: Workspace | None = None):
        self._vocab, self._workspace = vocab or Vocab.of(), workspace or Workspace()
        self._spelt: list[bytes] = []
        self._held: list[Ragged[np.int32]] = []
        self._writer: RaggedWriter | None = None
        self._folder = Path()
        self._rows = 0

    def add(self, text: bytes) -> None:
        """Add whole lines, in UTF-8."""
        self._spelt.append(text)
        if sum(map(len, self._spelt)) >= _BYTES_AT_ONCE:
            self._number()

    def add_lines(self, lines: Sequence[str]) -> None:
        """Add sentences."""
        self.add(_encode(lines, self._rows))
        self._rows += len(lines)

    def corpus(self) -> Corpus:
        """Return the corpus of the text added so far."""
        self._number()
        if self._writer is not None:
            self._write()
            with self._workspace.writing():
                self._writer.finish()
            arrays: dict[str, Any] = load_arrays(self._folder)
            return Corpus(self._vocab, Ragged(arrays["words"], arrays["offsets"]))
        if not self._held:
            return Corpus(self._vocab, Ragged(np.empty(0, np.int32), np.zeros(1, np.int64)))
        return Corpus(self._vocab, self._held[0] if len(self._held) == 1 else Ragged.concatenate(self._held))

    def _number(self) -> None:
        if not self._spelt:
            return
        text = self._spelt[0] if len(self._spelt) == 1 else b"".join(self._spelt)
        self._spelt = []
        self._vocab, ids, lines = self._vocab.extend(text)
        self._held.append(Ragged(ids, lines))
        memory = self._workspace.memory
        if (
            memory is not None
            and sum(part.values.nbytes + part.offsets.nbytes for part in self._held) > memory // SMALL_PART
        ):
            self._write()

    def _write(self) -> None:
        with self._workspace.writing():
            if self._writer is None:
                self._folder = Path(tempfile.mkdtemp(prefix="text-", dir=self._workspace.folder))
                self._writer = RaggedWriter(self._folder, "words", "offsets", np.int32)
            for part in self._held:
                self._writer.write(part)
        self._held = []


@dataclass(frozen=True, eq=False)
class Bitext:
    """A parallel text: two corpora with the same number of lines, which are translations of each other."""

    source: Corpus
    target: Corpus

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise DataError(
                f"the source has {len(self.source)} lines and the target {len(self.target)}",
                expected="one target line for each source line",
            )

    @classmethod
    def read(
        cls,
        source: PathLike,
        target: PathLike,
        *,
        workspace: Workspace | None = None,
        progress_callback: ProgressCallback = lambda done: None,
    ) -> Bitext:
        """Read two tokenised text files with the same number of lines."""
        ours = Corpus.read(source, workspace=workspace, progress_callback=within(progress_callback, 0, 0.5))
        theirs = Corpus.read(target, workspace=workspace, progress_callback=within(progress_callback, 0.5, 1))
        if len(ours) != len(theirs):
            raise DataError(
                f"has {len(theirs)} lines, but {source} has {len(ours)}", path=target, expected="as many as the source"
            )
        return cls(ours, theirs)

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def concatenate(cls, parts: Sequence[Bitext]) -> Bitext:
        """Concatenate several parallel texts."""
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
        """Cut the text into ranges of sentence pairs with about `words` words on both sides together."""
        return blocks_of(self.source.sentences.offsets + self.target.sentences.offsets, words)


#: One row per sentence pair; a link is `source position << 16 | target position`, so rows are limited to 65,535 words.
Links = Ragged[np.uint32]

#: Positions among all words take more memory than links.
_LINKS_AT_ONCE = 1 << 20


def links_of(rows: Iterable[Iterable[tuple[int, int]]]) -> Links:
    """Build links from pairs of positions.

    >>> source_positions(links_of([[(0, 0), (1, 2)], []])).tolist()
    [0, 1]
    """
    return Ragged.of([[s << 16 | t for s, t in row] for row in rows], np.uint32)


def source_positions(links: Links) -> NDArray[np.uint32]:
    """Return the source position of each link."""
    return links.values >> np.uint32(16)


def target_positions(links: Links) -> NDArray[np.uint32]:
    """Return the target position of each link."""
    return links.values & np.uint32(0xFFFF)


def links_before(source_offsets: NDArray[np.int64], links: Links) -> NDArray[np.int64]:
    """Return the number of links before each running source word, and their total.

    >>> links_before(np.array([0, 2, 3]), links_of([[(0, 0), (0, 1)], [(0, 0)]])).tolist()
    [0, 2, 2, 3]
    """
    before = np.zeros(int(source_offsets[-1]) + 1, np.int64)
    for at in links.blocks(_LINKS_AT_ONCE):
        part, offsets = links.part(at), source_offsets[at.start : at.stop + 1]
        positions = np.repeat(offsets[:-1] - offsets[0], part.lengths) + source_positions(part)
        before[offsets[0] + 1 : offsets[-1] + 1] = np.bincount(positions, minlength=int(offsets[-1] - offsets[0]))
    return np.cumsum(before, out=before)


def aligned_rows(
    source: Ragged[np.int32], target: Ragged[np.int32], links: Links, before: NDArray[np.int64] | None = None
) -> kernels.AlignedText:
    """Return a parallel text in the form that kernels take; some need `before`, the result of `links_before`."""
    return kernels.AlignedText(
        source=source.for_kernels(),
        target=target.for_kernels(),
        links=kernels.UnsignedRows(values=links.values, offsets=links.offsets),
        links_before=before,
    )
