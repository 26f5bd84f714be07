"""Tagged text: factored, `the|DT house|NN`, or with a file of tags beside the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import SPECIAL, Corpus, Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike
from dragoman.core.ragged import Ragged
from dragoman.formats.faults import quote


@dataclass(frozen=True, eq=False)
class TaggedText:
    """Two texts of the same shape: words, and the tag of each."""

    words: Corpus
    tags: Corpus

    def lowercased(self) -> TaggedText:
        """Return the text with its words in lower case."""
        vocab, ids = _interned([word.lower() for word in self.words.vocab])
        return TaggedText(_recoded(self.words, vocab, ids), self.tags)


def read_factored(path: PathLike) -> TaggedText:
    """Read a factored text with words like `house|NN`; the tag follows the last bar."""
    tokens = Corpus.read(path)
    pieces = [token.rpartition("|") for token in tokens.vocab]
    unfit = np.array([not word or not tag for word, _, tag in pieces])
    unfit[: len(SPECIAL)] = True  # of which only those in the text count
    wrong = np.flatnonzero(unfit[tokens.sentences.values])
    if len(wrong):
        line = int(np.searchsorted(tokens.sentences.offsets, wrong[0], side="right"))
        token = tokens.vocab[int(tokens.sentences.values[wrong[0]])]
        raise DataError(f"found {quote(token)}", path=path, line=line, expected="a word, a bar and a tag: house|NN")
    words = _recoded(tokens, *_interned([word for word, _, _ in pieces]))
    return TaggedText(words, _recoded(tokens, *_interned([tag for _, _, tag in pieces])))


def read_tags(text: PathLike, tags: PathLike) -> TaggedText:
    """Read a text and the file of its tags, which must have the same numbers of lines, and of tokens on each line."""
    words, labels = Corpus.read(text), Corpus.read(tags)
    if len(words) != len(labels):
        raise DataError(f"has {len(labels)} lines", path=tags, expected=f"{len(words)}, as {text} has")
    wrong = np.flatnonzero(words.sentences.lengths != labels.sentences.lengths)
    if len(wrong):
        row = int(wrong[0])
        found, expected = int(labels.sentences.lengths[row]), int(words.sentences.lengths[row])
        raise DataError(f"has {found} tags", path=tags, line=row + 1, expected=f"{expected}, one for each word")
    return TaggedText(words, labels)


def _interned(words: Sequence[str]) -> tuple[Vocab, NDArray[np.int32]]:
    """Return the vocabulary of words, which begin with the special ones, and the id of each."""
    text = "".join(f"{word}\n" for word in words[len(SPECIAL) :])
    vocab, ids, _ = Vocab.of().extend(text.encode())
    return vocab, np.concatenate([np.arange(len(SPECIAL), dtype=np.int32), ids])


def _recoded(corpus: Corpus, vocab: Vocab, ids: NDArray[np.int32]) -> Corpus:
    return Corpus(vocab, Ragged(ids[corpus.sentences.values], corpus.sentences.offsets))
