"""The sides of rules as files spell them: nonterminals in brackets among the words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab


def spelled(path: PathLike, rules: PhrasePairs, spelling: Sequence[str], end: str | None = None) -> PhrasePairs:
    """Return rules in whose sides nonterminals are words, for writing."""
    source_vocab, sources = with_nonterminals(path, rules.source_vocab, rules.sources, spelling, end)
    target_vocab, targets = with_nonterminals(path, rules.target_vocab, rules.targets, spelling, end)
    return replace(rules, source_vocab=source_vocab, target_vocab=target_vocab, sources=sources, targets=targets)


def with_nonterminals(
    path: PathLike, vocab: Vocab, sides: Ragged[np.int32], spelling: Sequence[str], end: str | None = None
) -> tuple[Vocab, Ragged[np.int32]]:
    """Return a vocabulary in which the nonterminals -1, -2 are words, and sides in it, each followed by `end`.

    Words of the file to write that would be read as nonterminals are refused.

    >>> vocab, sides = with_nonterminals("rules", Vocab.of(["la"]), Ragged.of([[-1, 3]], np.int32), ["[X,1]"])
    >>> vocab.text(sides[0])
    '[X,1] la'
    """
    _refuse_brackets(path, vocab, sides)
    larger, ids, _ = vocab.extend(" ".join([*spelling, *([end] if end else [])]).encode())
    names = ids[: len(spelling)]
    values = sides.values.copy()
    values[values < 0] = names[-1 - values[values < 0]]
    if end is None:
        return larger, Ragged(values, sides.offsets)
    return larger, Ragged(np.insert(values, sides.offsets[1:], ids[-1]), sides.offsets + np.arange(len(sides) + 1))


def _refuse_brackets(path: PathLike, vocab: Vocab, sides: Ragged[np.int32]) -> None:
    lengths = np.diff(vocab.offsets)
    first, last = vocab.blob[vocab.offsets[:-1]], vocab.blob[vocab.offsets[1:] - 1]
    bracketed = (lengths >= 2) & (first == ord("[")) & (last == ord("]"))
    if bracketed.any():
        words = sides.values[sides.values >= 0]
        found = words[bracketed[words]]
        if len(found):
            raise DataError(f"the word '{vocab[int(found[0])]}' would be read as a nonterminal", path=path)
