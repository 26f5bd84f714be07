"""Word classes: which class each word of a language belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import SPECIAL, Corpus, Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output, read_lines
from dragoman.core.ragged import Ragged
from dragoman.core.store import Arrays, check_range

#: The largest number of classes: there is a count for every pair of them.
MOST_CLASSES = 10_000


@dataclass(frozen=True, eq=False)
class WordClasses:
    """The class of each word of `vocab`, from 1 to `number`; 0 is no class: the special words have none.

    `log_likelihood` is that of the text from which the classes were estimated, under a bigram model over them, in
    natural logarithms; None if it is not known.

    >>> classes = WordClasses.of({"a": 1, "the": 1, "dog": 2})
    >>> classes["the"], classes["cat"], len(classes)
    (1, 0, 3)
    """

    vocab: Vocab
    classes: NDArray[np.int32]
    number: int
    log_likelihood: float | None = None

    @classmethod
    def of(cls, classes: Mapping[str, int]) -> Self:
        """Return the classes of words."""
        numbers = [0] * len(SPECIAL) + [*classes.values()]
        return cls(Vocab.of(classes), np.array(numbers, np.int32), max(numbers))

    def __len__(self) -> int:
        return len(self.vocab) - len(SPECIAL)

    def __getitem__(self, word: str) -> int:
        return int(self.classes[self.vocab.id(word)])

    def of_words(self, vocab: Vocab) -> NDArray[np.int32]:
        """Return the class of each word of a vocabulary; 0 for words that have none."""
        return self.classes if vocab is self.vocab else self.classes[vocab.map_to(self.vocab)]

    @cached_property
    def names(self) -> Vocab:
        """The classes as words: class c has the name `str(c)` and the id `c + 2`."""
        return Vocab.of(map(str, range(1, self.number + 1)))

    @cached_property
    def name_ids(self) -> NDArray[np.int32]:
        """The id of each word's class among `names`; `<unk>` if it has none."""
        return np.where(self.classes > 0, self.classes + np.int32(len(SPECIAL) - 1), 0).astype(np.int32)

    def text(self, corpus: Corpus) -> Corpus:
        """Return a text with the names of classes in place of words."""
        ids = self.name_ids if corpus.vocab is self.vocab else self.name_ids[corpus.vocab.map_to(self.vocab)]
        return Corpus(self.names, Ragged(ids[corpus.sentences.values], corpus.sentences.offsets))

    def members(self) -> list[list[str]]:
        """Return the words of each class, in the order of the vocabulary."""
        found: list[list[str]] = [[] for _ in range(self.number + 1)]
        for word, its in zip(self.vocab, self.classes.tolist(), strict=True):
            found[its].append(word)
        return found[1:]

    def write(self, path: PathLike) -> None:
        """Write a line for each word: the word, a tab, and the number of its class, as mkcls does."""
        with open_output(path) as stream:
            for word, its in zip(self.vocab, self.classes.tolist(), strict=True):
                if its:
                    stream.write(f"{word}\t{its}\n".encode())

    @classmethod
    def read(cls, path: PathLike) -> Self:
        """Read a file of words and the numbers of their classes, separated by a tab or spaces."""
        found: dict[str, int] = {}
        for line, text in enumerate(read_lines(path), 1):
            pieces = text.encode().split()
            if len(pieces) != 2 or not pieces[1].isdigit() or not 0 < int(pieces[1]) <= MOST_CLASSES:
                raise DataError(
                    f"found '{text}'",
                    path=path,
                    line=line,
                    expected=f"a word, a tab and the number of its class, from 1 to {MOST_CLASSES:,}",
                )
            word = pieces[0].decode()
            if word in found:
                raise DataError(f"has a second class for '{word}'", path=path, line=line, expected="one for each word")
            if word not in SPECIAL:
                found[word] = int(pieces[1])
        if not found:
            raise DataError("has no words", path=path, expected="words with the numbers of their classes")
        return cls.of(found)

    def arrays(self) -> Arrays:
        """Return its arrays by name, for storing."""
        return {"classes": self.classes} | {f"vocab.{name}": array for name, array in self.vocab.arrays().items()}

    def about(self) -> dict[str, Any]:
        """Return its description in `model.toml`."""
        about: dict[str, Any] = {"classes": self.number, "words": len(self)}
        return about if self.log_likelihood is None else about | {"log_likelihood": self.log_likelihood}

    @classmethod
    def rebuild(cls, about: Mapping[str, Any], arrays: Arrays) -> Self:
        """Rebuild classes from their description and arrays."""
        classes, number, likelihood = arrays.get("classes"), about.get("classes"), about.get("log_likelihood")
        if not isinstance(number, int) or not 0 < number <= MOST_CLASSES:
            raise DataError(f"has {number!r} word classes", expected=f"a number from 1 to {MOST_CLASSES:,}")
        if likelihood is not None and not isinstance(likelihood, float):
            raise DataError(f"has the log-likelihood {likelihood!r}", expected="a number")
        vocab = Vocab.from_arrays({name[6:]: array for name, array in arrays.items() if name.startswith("vocab.")})
        if classes is None or classes.dtype != np.int32 or classes.shape != (len(vocab),):
            raise DataError("the array 'classes' is missing or of the wrong type", expected="a class for each word")
        return cls(vocab, classes, number, likelihood)  # type: ignore[arg-type]

    def check(self, source_vocab: Vocab, target_vocab: Vocab) -> None:
        """Refuse classes that do not exist, and classes of special words."""
        self.vocab.check("vocab.")
        check_range("classes", self.classes, 0, self.number + 1)
        if self.classes[: len(SPECIAL)].any():
            raise DataError("the array 'classes' has classes of special words", expected="none")
