"""Candidates as users give them: files, lists of strings or dictionaries, mappings by id, and data frames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from dragoman.core.display import shorten
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.nbest import NBest
from dragoman.formats.nbest.format import NBEST_FORMATS, sniff
from dragoman.formats.nbest.json_rows import FailurePolicy, Failures
from dragoman.formats.nbest.order import IdOrderCheck, RequestedOrder, read_ids
from dragoman.front.texts import File, file_of

#: A candidate: a string, a pair of a string and its score, or a dictionary with `text` and perhaps `score`, `logprob`
#: and features by name.
Candidate = str | tuple[str, float] | Mapping[str, Any]

#: N-best lists: a file in a known format, lists in memory, a list of candidates for each sentence, a mapping from ids
#: to such lists, or a frame of pandas or Polars with the columns `sentence` (or `id`) and `text`.
Candidates = File | NBest | Sequence[Sequence[Candidate]] | Mapping[Any, Sequence[Candidate]] | Any

#: Ids of sentences in the order of the output, or a file of ids: one per line, or JSON lines with `id` or `custom_id`.
Order = File | Sequence[str | int]

#: Columns of a frame that are not features.
_COLUMNS = ("sentence", "id", "rank", "text", "score", "logprob", "source")


@dataclass(frozen=True, eq=False)
class GivenLists:
    """N-best lists, and the texts of their hypotheses with the white space that they were given with."""

    lists: NBest
    texts: Sequence[str]

    def arranged(self, order: Order | None) -> GivenLists:
        """Return the lists in the given order, if there is one."""
        if order is None:
            return self
        from_file = isinstance(order, str | PathLike)
        ids = read_ids(order) if isinstance(order, str | PathLike) else [*map(str, order)]
        counted = replace(self.lists, rows=np.arange(len(self.texts)))
        found = RequestedOrder(order if from_file else "the order", ids=ids).arrange(counted, "the lists")  # type: ignore[arg-type]
        assert found.rows is not None
        texts = [self.texts[row] for row in found.rows.tolist()]
        rows = None if self.lists.rows is None else self.lists.rows[found.rows]
        return GivenLists(replace(found, rows=rows), texts)


def given_lists(
    candidates: Candidates,
    form: str | None = None,
    order: Order | None = None,
    failed: FailurePolicy | None = None,
    *,
    quiet: bool = False,
) -> GivenLists:
    """Return candidates as n-best lists; warn if the ids of a file are not in order and no order is given."""
    if isinstance(candidates, NBest):
        return GivenLists(candidates, candidates.texts()).arranged(order)
    if isinstance(candidates, str | PathLike):
        file = file_of(candidates)
        kind = sniff(file) if form is None else NBEST_FORMATS.get(form)
        lists = kind.from_dict({} if failed is None else {"failed": failed}).read(file)
        if order is None and not quiet:
            seen = IdOrderCheck()
            seen.add(lists)
            seen.warn(file)
        return GivenLists(lists, lists.texts()).arranged(order)
    if hasattr(candidates, "columns") and hasattr(candidates, "to_dict"):
        return _of_frame(candidates).arranged(order)
    if isinstance(candidates, Mapping):
        ids = tuple(name if isinstance(name, int) else str(name) for name in candidates)
        given = _of_rows([*candidates.values()], ids)
    else:
        given = _of_rows([*candidates])
    return _without_failures(given, failed or "empty").arranged(order)


def _of_rows(rows: Sequence[Sequence[Candidate]], ids: tuple[int | str, ...] | None = None) -> GivenLists:
    alone = next((row for row in rows if isinstance(row, str)), None)
    if alone is not None:
        raise UsageError(f"found '{shorten(alone)}' for a sentence; expected a list of its candidates, or a Path")
    every = [_fields(one, i) for i, row in enumerate(rows) for one in row]
    return _of_fields(every, np.cumsum([0, *map(len, rows)]), ids)


def _without_failures(given: GivenLists, failed: FailurePolicy) -> GivenLists:
    """Count, skip or refuse sentences without candidates, as in a file."""
    lists, failures = given.lists, Failures(failed)
    empty = np.diff(lists.sentences) == 0
    for i in np.flatnonzero(empty).tolist():
        failures.add(lists.called(i), "an empty list", "the candidates", i + 1)
    failures.seen = len(lists)
    failures.warn("the candidates")
    if failed != "skip" or not empty.any():
        return given
    kept = lists.take(np.flatnonzero(~empty))
    return GivenLists(replace(kept, ids=lists.ids and kept.ids), given.texts)


def _fields(candidate: Candidate, sentence: int) -> Mapping[str, Any]:
    """Return a candidate as a dictionary."""
    if isinstance(candidate, str):
        return {"text": candidate}
    if isinstance(candidate, Mapping):
        if not isinstance(candidate.get("text"), str):
            raise UsageError(f"a candidate of sentence {sentence + 1} has no 'text'; expected a string")
        return candidate
    if isinstance(candidate, Sequence) and len(candidate) == 2 and isinstance(candidate[0], str):
        return {"text": candidate[0], "score": candidate[1]}
    found = f"found {type(candidate).__name__} as a candidate of sentence {sentence + 1}"
    raise UsageError(f"{found}; expected a string, a pair of string and score, or a dictionary with 'text'")


def _of_fields(
    every: Sequence[Mapping[str, Any]], bounds: Any, ids: tuple[int | str, ...] | None, sources: Any = None
) -> GivenLists:
    texts = [str(one["text"]) for one in every]
    lists = NBest.of_texts([" ".join(text.split()) for text in texts], _numbers(every, "score"), bounds)
    logprobs = np.array(_numbers(every, "logprob"))
    names = [*dict.fromkeys(name for one in every for name in one if name not in _COLUMNS)]
    columns = {name: np.array(_numbers(every, name, 0.0)) for name in names}
    return GivenLists(
        replace(
            lists,
            logprobs=None if np.isnan(logprobs).all() else logprobs,
            features=FeatureRows.of_columns(columns, len(texts)) if columns else lists.features,
            ids=ids,
            sources=sources,
        ),
        texts,
    )


def _numbers(every: Sequence[Mapping[str, Any]], name: str, missing: float = math.nan) -> list[float]:
    """Return the numbers of one field; `missing` where there is none."""
    found = []
    for one in every:
        value = one.get(name)
        try:
            found.append(missing if value is None else float(value))
        except (TypeError, ValueError):
            raise UsageError(f"'{name}' of '{shorten(str(one['text']))}' is {value!r}; expected a number") from None
    return found


def _of_frame(table: Any) -> GivenLists:
    """Return the lists of a frame: a row per candidate; a sentence's rows need not stand together."""
    names = [str(name) for name in table.columns]
    if "text" not in names or not {"sentence", "id"} & {*names}:
        raise UsageError(f"the frame has the columns {', '.join(names)}; expected 'text', and 'sentence' or 'id'")
    columns: dict[str, list[Any]] = {name: [*table[name].to_list()] for name in names if _is_used(table, name)}
    key = "sentence" if "sentence" in names else "id"
    owners: dict[Any, list[int]] = {}
    for row, owner in enumerate(columns[key]):
        owners.setdefault(owner, []).append(row)
    order = [row for rows in owners.values() for row in rows]
    every = [{name: values[row] for name, values in columns.items()} for row in order]
    ids = tuple(name if isinstance(name, int) else str(name) for name in owners)
    sources = tuple(str(columns["source"][rows[0]]) for rows in owners.values()) if "source" in columns else None
    return _of_fields(every, np.cumsum([0, *map(len, owners.values())]), ids, sources)


def _is_used(table: Any, name: str) -> bool:
    """Return whether a column is one of ours, or has numbers."""
    if name in _COLUMNS:
        return True
    kinds: Iterable[str] = ("int", "float", "bool", "Int", "Float", "UInt", "Boolean")
    return str(table[name].dtype).startswith(tuple(kinds))
