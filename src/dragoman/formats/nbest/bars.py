"""Bars in words, where `|||` separates columns: as Moses does, `|` is written `&#124;`.

Moses escapes `&` as `&amp;` first, so that nothing is lost; here that happens only where it matters, to a word that has
`&#124;` itself, which becomes `&amp;#124;`. All other `&` stay as they are. A file with bars that are not escaped keeps
them, but for words that would be taken for `|||` or for marks of segmentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab

_ESCAPE = re.compile(r"&((?:amp;)*)#124;")
_MARK = re.compile(r"\|[0-9]+-[0-9]+\|")


def unescape_bars(vocab: Vocab, words: Ragged[np.int32]) -> tuple[Vocab, Ragged[np.int32], bool]:
    """Read words as they were escaped, and say whether there are bars that were not."""
    if b"|" not in vocab.blob.tobytes() and b"#124;" not in vocab.blob.tobytes():
        return vocab, words, False
    bare = any("|" in word for word in _used(vocab, words))
    return *_changed(vocab, words, lambda word: _ESCAPE.sub(_less, word)), bare


def escape_bars(vocab: Vocab, words: Ragged[np.int32], *, bare: bool) -> tuple[Vocab, Ragged[np.int32]]:
    """Escape words for writing; with `bare`, bars that do no harm stay as they are."""
    if b"|" not in vocab.blob.tobytes() and b"#124;" not in vocab.blob.tobytes():
        return vocab, words

    def written(word: str) -> str:
        word = _ESCAPE.sub(r"&amp;\1#124;", word)
        return word if bare and "|||" not in word and not _MARK.fullmatch(word) else word.replace("|", "&#124;")

    return _changed(vocab, words, written)


def _less(match: re.Match[str]) -> str:
    return f"&{match[1].removeprefix('amp;')}#124;" if match[1] else "|"


def _used(vocab: Vocab, words: Ragged[np.int32]) -> list[str]:
    return [vocab[word] for word in np.unique(words.values).tolist()]


def _changed(vocab: Vocab, words: Ragged[np.int32], change: Callable[[str], str]) -> tuple[Vocab, Ragged[np.int32]]:
    """The words with some of them replaced by others, which the vocabulary gets."""
    used = np.unique(words.values).tolist()
    changes = {number: new for number in used if (new := change(old := vocab[number])) != old}
    if not changes:
        return vocab, words
    vocab, numbers, _ = vocab.extend("".join(f"{word}\n" for word in changes.values()).encode())
    place = np.arange(len(vocab), dtype=np.int32)
    place[[*changes]] = numbers
    return vocab, Ragged(place[words.values], words.offsets)
