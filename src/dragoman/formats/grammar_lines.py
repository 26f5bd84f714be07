"""Lines of grammar files: rules with numbered nonterminals and scores, and the union of several grammars.

    [X] ||| la [X,1] ||| the [X,1] ||| fwd=-0.5 bwd=-1.25 ||| 0-0

On the target side, `[X,1]` can be `[1]`. Features are logarithms or other additive values, with names or without; a
named feature that a line does not mention is 0. Links are between words; in positions, a nonterminal counts as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Vocab, texts_of
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_chunks
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import FAULTS, check_fault
from dragoman.formats.pair_lines import Ends, Phrases, first_of_each_pair, points_of, write_pair_lines


def spell_nonterminals(
    path: PathLike, rules: PhrasePairs, spelling: Sequence[str], end: str | None = None
) -> PhrasePairs:
    """Return rules whose nonterminals are words, for writing."""
    source_vocab, sources = add_nonterminals(path, rules.source_vocab, rules.sources, spelling, end)
    target_vocab, targets = add_nonterminals(path, rules.target_vocab, rules.targets, spelling, end)
    return replace(rules, source_vocab=source_vocab, target_vocab=target_vocab, sources=sources, targets=targets)


def add_nonterminals(
    path: PathLike, vocab: Vocab, sides: Ragged[np.int32], spelling: Sequence[str], end: str | None = None
) -> tuple[Vocab, Ragged[np.int32]]:
    """Return a vocabulary with words for the nonterminals -1, -2, and sides in it, each followed by `end`.

    Words that would be read back as nonterminals are refused.

    >>> vocab, sides = add_nonterminals("rules", Vocab.of(["la"]), Ragged.of([[-1, 3]], np.int32), ["[X,1]"])
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


def union_of_rules(parts: Sequence[PhrasePairs]) -> PhrasePairs:
    """Return the union of several lists of rules; each rule is taken from the first list that has it.

    The words of a list must have the same ids in all later ones. A score that a list does not have is 1 there.
    """
    if len(parts) == 1:
        return parts[0]
    sides = []
    for phrases, ids in (
        ([part.sources for part in parts], [part.source_ids for part in parts]),
        ([part.targets for part in parts], [part.target_ids for part in parts]),
    ):
        every = Ragged.concatenate(phrases)
        starts = np.cumsum([0, *map(len, phrases)])[:-1]
        # Numbers increase in order of first occurrence among the rules, not among the lists of phrases.
        used = every.take(np.concatenate([own + start for own, start in zip(ids, starts, strict=True)]))
        numbers, words, offsets = kernels.intern_sequences(used.values, used.offsets)
        sides.append((Ragged(words, offsets), numbers))
    (sources, source_ids), (targets, target_ids) = sides
    names = tuple(dict.fromkeys(name for part in parts for name in part.score_names))
    scores = np.ones((len(source_ids), len(names)), parts[0].scores.dtype)
    first = 0
    for part in parts:
        scores[first : first + len(part), [names.index(name) for name in part.score_names]] = part.scores
        first += len(part)
    empty = [Ragged(np.empty(0, np.uint16), np.zeros(len(part) + 1, np.int64)) for part in parts]
    links = [part.alignments or none for part, none in zip(parts, empty, strict=True)]
    rules = PhrasePairs(
        parts[-1].source_vocab,
        parts[-1].target_vocab,
        sources,
        targets,
        source_ids,
        target_ids,
        scores,
        names,
        alignments=Ragged.concatenate(links) if any(part.alignments is not None for part in parts) else None,
    )
    rows, _ = first_of_each_pair(source_ids, target_ids)
    return rules if rows is None else rules.take(rows)


# Each feature is a dense column: more than this must be a sparse model.
_MOST_FEATURES = 256

_NONTERMINALS = ("[X,1]", "[X,2]")

# Separators of features, and of a name and its value.
_NOT_IN_NAMES = frozenset(" \t\r\n\f\v=;|")


def read_numbered_grammar(
    path: PathLike,
    *,
    unnamed: Callable[[int], str],
    costs: bool,
    source_vocab: Vocab | None,
    target_vocab: Vocab | None,
    score_names: Sequence[str] | None,
    runtime: Runtime = Runtime(),
) -> PhrasePairs:
    """Read a grammar, compressed or not; its words are added to the vocabularies (new ones by default).

    `unnamed` gives names to the features without a name, counted from 0; if these are `costs`, they are negated. Scores
    are the exponentials of features, in double precision, because they may exceed the range of single precision.
    """
    source_vocab, target_vocab, names = source_vocab or Vocab.of(), target_vocab or Vocab.of(), Vocab.of()
    sources, targets, ends = Phrases(), Phrases(), Ends(path)
    nameless = further_lines = 0
    ids, values = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    lengths, points = [np.empty(0, np.int64)], [Ragged(np.empty(0, np.uint16), np.zeros(1, np.int64))]
    with runtime.stage(f"reading {path}"):
        for chunk in read_chunks(path):
            side, other_side, features, links, source_words, target_words, all_names, nameless, further, fault = (
                kernels.parse_grammar(
                    np.frombuffer(chunk.data, np.uint8),
                    source_vocab.for_kernels(),
                    target_vocab.for_kernels(),
                    names.for_kernels(),
                    nameless,
                    costs,
                )
            )
            check_fault(fault, chunk.data, FAULTS, path, chunk.first_line)
            ends.add(chunk)
            source_vocab, target_vocab, names = Vocab(*source_words), Vocab(*target_words), Vocab(*all_names)
            sources.add(*side)
            targets.add(*other_side)
            ids.append(features[0])
            values.append(features[1])
            lengths.append(np.diff(features[2]))
            points.append(Ragged(*links))
            further_lines += further
    if further_lines:
        runtime.warn(f"{path}: left out what follows the links on {further_lines} lines")
    distinct_sources, source_ids = sources.finish()
    distinct_targets, target_ids = targets.finish()
    columns, logs = _dense(path, np.concatenate(ids), np.concatenate(values), np.concatenate(lengths))
    found = [unnamed(-1 - column) if column < 0 else names[column] for column in columns]
    if not len(logs):
        runtime.warn(f"{path}: the grammar is empty")
        found, logs = [*(score_names or PHRASE_SCORES)], np.empty((0, len(score_names or PHRASE_SCORES)))
    alignments = Ragged.concatenate(points)
    rules = PhrasePairs(
        source_vocab,
        target_vocab,
        distinct_sources,
        distinct_targets,
        source_ids,
        target_ids,
        np.exp(logs),
        _score_names(path, found, score_names),
        alignments=alignments if len(alignments.values) else None,
    )
    rows, repeated = first_of_each_pair(source_ids, target_ids)
    if repeated:
        runtime.warn(f"{path}: {repeated} rules occur more than once; the first of each is kept")
    return rules if rows is None else rules.take(rows)


def _dense(
    path: PathLike, ids: NDArray[np.int32], values: NDArray[np.float32], lengths: NDArray[np.int64]
) -> tuple[list[int], NDArray[np.float64]]:
    """Make a column for each feature: first those without a name, then the others in order of first occurrence."""
    distinct = np.unique(ids)
    if len(distinct) > _MOST_FEATURES:
        raise DataError(f"has {len(distinct)} different features", path=path, expected=f"at most {_MOST_FEATURES}")
    columns = np.concatenate([distinct[distinct < 0][::-1], distinct[distinct >= 0]])
    place = np.empty(len(distinct), np.int64)
    place[np.searchsorted(distinct, columns)] = np.arange(len(columns))
    logs = np.zeros((len(lengths), len(columns)))
    logs[np.repeat(np.arange(len(lengths)), lengths), place[np.searchsorted(distinct, ids)]] = values
    return columns.tolist(), logs


def _score_names(path: PathLike, found: Sequence[str], wanted: Sequence[str] | None) -> tuple[str, ...]:
    if not found:
        raise DataError("has no features", path=path, expected="at least one, between the third and the fourth |||")
    if wanted is not None and len(wanted) != len(found):
        raise DataError(f"has {len(found)} features", path=path, expected=f"{len(wanted)}")
    names = tuple(found if wanted is None else wanted)
    if len(set(names)) < len(names):
        raise DataError(
            f"has features of the same name among {', '.join(names)}", path=path, expected="names that differ"
        )
    return names


def write_numbered_grammar(
    path: PathLike, rules: PhrasePairs, *, named: bool, costs: bool = False, runtime: Runtime = Runtime()
) -> None:
    """Write a grammar, compressed by the ending of its name, sorted by bytes; `costs` are negated features."""
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(rules.scores.astype(np.float64)), -100.0)
    if not np.isfinite(logs).all():
        raise DataError("the scores to write hold a number that is not finite or negative", path=path)
    # The rounding of `exp` and `log` is far beyond the twelfth digit.
    values = np.round(-logs if costs else logs, 12).astype(np.float32) + np.float32(0)
    if named and any(not name or not _NOT_IN_NAMES.isdisjoint(name) for name in rules.score_names):
        raise DataError(
            f"the scores to write are called {', '.join(rules.score_names)}",
            path=path,
            expected="names without spaces, =, ; and |",
        )
    labels = texts_of([f"{name}=".encode() if named else b"" for name in rules.score_names])
    points = points_of(rules.alignments)

    def lines(rows: NDArray[np.int64], texts: kernels.PairTexts) -> NDArray[np.uint8]:
        return kernels.format_grammar(rows, texts, values, labels, points)

    write_pair_lines(path, spell_nonterminals(path, rules, _NONTERMINALS), lines, runtime=runtime)
