"""What happens to text before a metric counts: lower-casing, sacreBLEU's tokenisers, and changes word by word.

Our text is words separated by ASCII white space; sacreBLEU cuts at any Unicode white space, so that a no-break space
separates words there. Where a preparation is used, the words are sacreBLEU's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Literal

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab

Tokenisation = Literal["none", "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab"]

_OTHER_SPACE = re.compile(r"[^\S\n ]")


def change_words(corpus: Corpus, change: Callable[[str], str]) -> Corpus:
    """Rewrite each distinct word: `change` gets all of them as lines of one text and keeps the lines.

    A word may become several, or none. The cost is that of the vocabulary, not of the running text.

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
    """Cut words at Unicode white space as well, and lower-case them if wanted."""
    return change_words(corpus, str.lower if lowercase else str)


def change_lines(corpus: Corpus, change: Callable[[str], str]) -> Corpus:
    """Rewrite each sentence; for changes that look at neighbouring words."""
    changed = "".join(f"{change(line)}\n" for line in corpus.lines())
    vocab, ids, lines = Vocab.of().extend(_OTHER_SPACE.sub(" ", changed).encode())
    return Corpus(vocab, Ragged(ids, lines))


def tokenise(corpus: Corpus, tokenisation: Tokenisation, *, lowercase: bool = False) -> Corpus:
    """Prepare text as sacreBLEU's BLEU does with one of its tokenisers; `none` leaves words as they are."""
    if tokenisation == "none":
        return words_as_in_sacrebleu(corpus, lowercase=lowercase)
    tokeniser = _sacrebleu_tokeniser(tokenisation)
    return change_lines(corpus, lambda line: tokeniser((line.lower() if lowercase else line).rstrip()))


def is_installed(tokenisation: Tokenisation) -> bool:
    """Whether a tokeniser can be used here: those of MeCab need packages of their own."""
    try:
        _sacrebleu_tokeniser(tokenisation)
    except UsageError:
        return False
    return True


@functools.cache
def _sacrebleu_tokeniser(tokenisation: Tokenisation) -> Callable[[str], str]:
    from sacrebleu.metrics.bleu import BLEU  # takes long to import, and few need it

    try:
        found: Callable[[str], str] = BLEU(tokenize=tokenisation, force=True).tokenizer
    except (ImportError, RuntimeError):
        extra = tokenisation.partition("-")[0]
        wanted = f"pip install 'sacrebleu[{extra}]', or another tokeniser"
        raise UsageError(f"the tokeniser {tokenisation} is not installed; expected {wanted}") from None
    return found
