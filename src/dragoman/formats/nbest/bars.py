"""Escapes of bars in words, where `|||` separates columns: as in Moses, `|` is written `&#124;`.

Moses escapes `&` as `&amp;` first, so that nothing is lost. Here that is done only where it matters: a word that has
`&#124;` itself becomes `&amp;#124;`. All other `&` are unchanged. A file with unescaped bars keeps them, except in
words that would be taken for `|||` or for segmentation marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from dragoman.core.corpus import Vocab
from dragoman.core.ragged import Ragged

_ESCAPE = re.compile(r"&((?:amp;)*)#124;")
_MARK = re.compile(r"\|[0-9]+-[0-9]+\|")


def unescape_bars(vocab: Vocab, words: Ragged[np.int32]) -> tuple[Vocab, Ragged[np.int32], bool]:
    """Unescape words, and return whether there were unescaped bars."""
    if b"|" not in vocab.blob.tobytes() and b"#124;" not in vocab.blob.tobytes():
        return vocab, words, False
    bare = any("|" in word for word in _used(vocab, words))
    return *_replaced(vocab, words, lambda word: _ESCAPE.sub(_less, word)), bare


def escape_bars(vocab: Vocab, words: Ragged[np.int32], *, bare: bool) -> tuple[Vocab, Ragged[np.int32]]:
    """Escape words for writing; with `bare`, bars that do no harm are not escaped."""
    if b"|" not in vocab.blob.tobytes() and b"#124;" not in vocab.blob.tobytes():
        return vocab, words

    def written(word: str) -> str:
        word = _ESCAPE.sub(r"&amp;\1#124;", word)
        return word if bare and "|||" not in word and not _MARK.fullmatch(word) else word.replace("|", "&#124;")

    return _replaced(vocab, words, written)


def _less(match: re.Match[str]) -> str:
    return f"&{match[1].removeprefix('amp;')}#124;" if match[1] else "|"


def _used(vocab: Vocab, words: Ragged[np.int32]) -> list[str]:
    return [vocab[word] for word in np.unique(words.values).tolist()]


def _replaced(vocab: Vocab, words: Ragged[np.int32], change: Callable[[str], str]) -> tuple[Vocab, Ragged[np.int32]]:
    """Replace words by others, which are added to the vocabulary."""
    used = np.unique(words.values).tolist()
    changes = {number: new for number in used if (new := change(old := vocab[number])) != old}
    if not changes:
        return vocab, words
    vocab, numbers, _ = vocab.extend("".join(f"{word}\n" for word in changes.values()).encode())
    place = np.arange(len(vocab), dtype=np.int32)
    place[[*changes]] = numbers
    return vocab, Ragged(place[words.values], words.offsets)
