"""Candidates of several systems together: one list for each sentence, with each candidate's system as a feature.

Log-probabilities of different systems have different scales, so that they are normalised within each system's list, and
each has a feature of its own, as the system has (system combination, as in Rosti et al. 2007).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.nbest import NBest
from dragoman.decision.posterior import WeightsFrom, hypothesis_scores

#: The beginnings of the names of features: 1 for the candidates of a system, and its log-probability.
SYSTEM, SYSTEM_LOGPROB = "system.", "logprob."


def named_files(paths: Sequence[Path]) -> dict[str, Path]:
    """Return files by the names of their systems: NAME=FILE, or a file, whose name counts up to its first dot.

    Files whose names are equal up to the first dot are called by their paths.

    >>> named_files([Path("out/a.jsonl"), Path("b=test.b.jsonl")])
    {'a': PosixPath('out/a.jsonl'), 'b': PosixPath('test.b.jsonl')}
    >>> [*named_files([Path("x/test.jsonl"), Path("y/test.jsonl")])]
    ['x/test.jsonl', 'y/test.jsonl']
    """
    pairs = [_named(path) for path in paths]
    if len({path for _, path in pairs}) < len(pairs):
        raise UsageError("a file of candidates is given twice; expected another for each system")
    given = [name for name, _ in pairs if name]
    twice = next((name for name in given if given.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"two files of candidates are called '{twice}'; expected another name for each system")
    short = [name or path.name.partition(".")[0] for name, path in pairs]
    distinct = len({*short}) == len(short) and all(short)
    return {found if distinct else name or str(path): path for found, (name, path) in zip(short, pairs, strict=True)}


def _named(path: Path) -> tuple[str, Path]:
    """Return the name of NAME=FILE and the file; the name of a file that is there is its own."""
    name, equals, file = str(path).partition("=")
    return (name, Path(file)) if equals and name and file and "/" not in name and not path.exists() else ("", path)


def join_systems(systems: Mapping[str, NBest], *, scale: float = 1.0, weights_from: WeightsFrom | None = None) -> NBest:
    """Join the lists of several systems for the same sentences, matched by id, or by order if ids differ.

    Sentences are in the order of the first system; a list has the candidates of the first system, then those of the
    second, and so on; `rows` counts them from file to file. The log-probability of a candidate is normalised within its
    system's list at the given scale, so that every system has the same weight in an average over candidates. Features
    `system.NAME` and `logprob.NAME` are of one system each; others with the same name are the same feature.
    """
    if len(systems) < 2:
        raise UsageError(f"there are {len(systems)} systems to join; expected at least two")
    parts = _aligned(systems)
    home = np.concatenate([np.repeat(np.arange(len(part)), np.diff(part.sentences)) for part in parts])
    order = np.argsort(home, kind="stable")
    sizes = [len(part.scores) for part in parts]
    owner = np.repeat(np.arange(len(parts)), sizes)
    numbers = [_logprobs(part, name, scale, weights_from) for name, part in zip(systems, parts, strict=True)]
    logprobs = np.concatenate(numbers)
    columns: dict[str, NDArray[np.float64]] = {}
    for i, name in enumerate(systems):
        columns[f"{SYSTEM}{name}"] = (owner == i).astype(np.float64)
        if weights_from != "uniform" and _has_numbers(parts[i]):
            columns[f"{SYSTEM_LOGPROB}{name}"] = np.where(owner == i, logprobs, 0.0)
    joined = NBest.concatenate([replace(part, extras=None, logprobs=None, segmentations=None) for part in parts])
    rows = np.concatenate([_rows(part) + sum(sizes[:i]) for i, part in enumerate(parts)])
    first = parts[0]
    together = replace(
        joined,
        sentences=np.concatenate([[0], np.cumsum(np.bincount(home, minlength=len(first)))]).astype(np.int64),
        features=FeatureRows.join([joined.features, FeatureRows.of_columns(columns, len(logprobs))]),
        logprobs=logprobs,
        rows=rows,
    ).reordered(order)
    return replace(
        together,
        ids=first.ids,
        sources=next((part.sources for part in parts if part.sources is not None), None),
        references=next((part.references for part in parts if part.references is not None), None),
    )


def _aligned(systems: Mapping[str, NBest]) -> list[NBest]:
    """Return the lists of all systems in the order of the first."""
    (first_name, first), *others = systems.items()
    wanted, found = [*map(str, first.sentence_ids)], [first]
    for name, lists in others:
        ids = [*map(str, lists.sentence_ids)]
        if ids != wanted and set(ids) & set(wanted):
            unknown = next((one for one in [*wanted, *ids] if (one in wanted) != (one in ids)), None)
            if unknown is not None:
                has, has_not = (first_name, name) if unknown in wanted else (name, first_name)
                raise DataError(
                    f"{has} has a list with the id '{unknown}', and {has_not} has not", expected="the same ids"
                )
            place = {one: i for i, one in enumerate(ids)}
            lists = replace(lists, rows=_rows(lists)).take(np.array([place[one] for one in wanted], np.int64))
        elif len(ids) != len(wanted):
            raise DataError(f"{name} has {len(ids)} lists, and {first_name} has {len(wanted)}", expected="as many")
        found.append(lists)
    return found


def _rows(lists: NBest) -> NDArray[np.int64]:
    return np.arange(len(lists.scores)) if lists.rows is None else lists.rows


def _has_numbers(lists: NBest) -> bool:
    return lists.logprobs is not None or not np.isnan(lists.scores).all()


def _logprobs(lists: NBest, name: str, scale: float, weights_from: WeightsFrom | None) -> NDArray[np.float64]:
    """Return log-probabilities, normalised within each list at a scale, or those of equal weights if there are none."""
    if weights_from is None and not _has_numbers(lists):
        weights_from = "uniform"
    try:
        values = scale * hypothesis_scores(lists, weights_from)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    filled = np.flatnonzero(np.diff(lists.sentences))
    sizes, begins = np.diff(lists.sentences)[filled], lists.sentences[:-1][filled]
    if not len(filled):
        return values
    highest = np.repeat(np.maximum.reduceat(values, begins), sizes)
    totals = np.add.reduceat(np.exp(values - highest), begins)
    return np.asarray((values - highest - np.repeat(np.log(totals), sizes)) / scale)
