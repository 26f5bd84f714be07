"""Vocabularies: words as numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.store import check_offsets, check_range

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
