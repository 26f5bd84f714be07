"""The order of sentences: by their ids, or as requested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_lines
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import quote
from dragoman.formats.nbest.json_values import JsonReader

Id = int | str

#: Keys of ids and texts in files beside lists; the first that exists counts.
ID_KEYS = ("custom_id", "id")
TEXT_KEYS = ("text", "reference")

_DIGITS = "0123456789"
_WAYS_OUT = "--order (order= in Python) gives another, --ids writes them out"
_EXAMPLE = "'{\"id\": …}' or '{\"custom_id\": …}' a line"


def sort_keys(ids: Sequence[Id]) -> list[Any] | None:
    """Return sort keys of ids: numbers, or the only number in strings that are otherwise equal; None if there are none.

    >>> ids = ["req-17", "req-2", "req-010"]
    >>> [name for _, name in sorted(zip(sort_keys(ids), ids))], sort_keys(["a", "b"])
    (['req-2', 'req-010', 'req-17'], None)
    """
    if all(isinstance(name, int) for name in ids):
        return [*ids]
    texts = [*map(str, ids)]
    if len(texts) == 1:
        return [0]
    before, after = _alike(texts), _alike([text[::-1] for text in texts])
    numbers = [text[before : len(text) - after] for text in texts]
    if not all(number.isascii() and number.isdigit() for number in numbers):
        return None
    # By length and digits: numbers may have more digits than Python converts.
    return [(len(number), number) for number in (number.lstrip("0") for number in numbers)]


def _alike(texts: Sequence[str]) -> int:
    """Return the length of the common prefix of all texts, without digits at its end."""
    first, last = min(texts), max(texts)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return len(first[:same].rstrip(_DIGITS))


def sort_by_id(nbest: NBest, path: PathLike, *, runtime: Runtime = Runtime()) -> NBest:
    """Sort sentences by their ids, if these have an order, with a note if that changes anything."""
    keys = sort_keys(nbest.sentence_ids)
    order = [*range(len(nbest))] if keys is None else sorted(range(len(nbest)), key=keys.__getitem__)
    if order == [*range(len(nbest))]:
        return nbest
    rows = np.arange(len(nbest.scores)) if nbest.rows is None else nbest.rows
    nbest = replace(nbest, rows=rows).take(np.array(order, np.int64))
    names = nbest.sentence_ids
    runtime.note(f"{path}: the lists were sorted by their ids, from {_said(names[:1])} on")
    return replace(nbest, ids=None if names == (*range(len(nbest)),) else nbest.ids)


class IdOrderCheck:
    """Checks the order of ids as sentences come; increasing numbers take no memory."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._fall: tuple[Id, Id] | None = None
        self._names: list[Id] = []

    def watch(self, blocks: Iterable[NBest]) -> Iterator[NBest]:
        """Yield the same blocks, and check them."""
        for block in blocks:
            self.add(block)
            yield block

    def add(self, nbest: NBest) -> None:
        """Check some more sentences."""
        if nbest.ids is None:
            return
        if self._names or not all(isinstance(name, int) for name in nbest.ids):
            self._names += nbest.ids
            return
        for name in map(int, nbest.ids):
            if self._last is not None and name < self._last and self._fall is None:
                self._fall = self._last, name
            self._last = name

    def warn(self, path: PathLike, *, runtime: Runtime = Runtime()) -> None:
        """Warn if ids have no order, or if the sentences are not sorted by them."""
        keys = sort_keys(self._names) if self._names else []
        if keys is None:
            ids = _said(self._names[:2])
            runtime.warn(
                f"{path}: the ids ({ids}, ...) have no natural order; the order of the file is kept; {_WAYS_OUT}"
            )
            return
        falls = (i for i in range(len(keys) - 1) if keys[i] > keys[i + 1])
        at = next(falls, None)
        fall = self._fall if at is None else (self._names[at], self._names[at + 1])
        if fall is not None:
            found = f"the sentences are not in the order of their ids ({' before '.join(map(_quoted, fall))})"
            runtime.warn(f"{path}: {found}, and the output follows the file; {_WAYS_OUT}")


def read_ids(path: PathLike) -> list[str]:
    """Read ids in the requested order: one per line, or JSON objects that have one, like the requests of a batch."""
    return _unique([name for name, _ in _entries(path)], path)


def read_texts(path: PathLike) -> dict[str, str] | None:
    """Read texts by id from a file with a JSON object per line; None for other files."""
    first = next((line for line in read_lines(path) if line.strip()), "")
    if not first.lstrip().startswith("{"):
        return None
    texts: list[str] = []
    ids: list[str] = []
    for name, fields in _entries(path):
        text = next((fields[key] for key in TEXT_KEYS if key in fields), None)
        if not isinstance(text, str):
            expected = f"a string under {' or '.join(TEXT_KEYS)}"
            raise DataError(f"the reference with the id {quote(name)} has no text", path=path, expected=expected)
        ids.append(name)
        texts.append(text)
    return dict(zip(_unique(ids, path), texts, strict=True))


def _entries(path: PathLike) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the ids of a file with the other fields of their objects, if any."""
    first = next((line for line in read_lines(path) if line.strip()), "")
    if not first.lstrip().startswith("{"):
        yield from ((line.strip(), {}) for line in read_lines(path) if line.strip())
        return
    for found in JsonReader(_EXAMPLE, lists=False).values(path):
        fields = found.value if isinstance(found.value, dict) else {}
        name = next((fields[key] for key in ID_KEYS if key in fields), None)
        if type(name) not in (int, str):
            raise DataError(f"found {quote(found.text)}, without an id", path=path, line=found.line, expected=_EXAMPLE)
        yield str(name), fields


def _unique(names: list[str], path: PathLike) -> list[str]:
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataError(f"the id {quote(twice)} occurs twice", path=path, expected="each id once")
    return names


@dataclass(frozen=True)
class RequestedOrder:
    """A requested order: the ids of lines, or their source texts."""

    path: PathLike
    ids: Sequence[str] | None = None
    sources: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.ids or self.sources or ())

    def places(
        self, ids: Sequence[Id], sources: Sequence[str] | None, path: PathLike, *, runtime: Runtime = Runtime()
    ) -> NDArray[np.int64]:
        """Return the position of the list of each line in a file; -1 if it has none, with a warning."""
        if self.ids is not None:
            found = self._by_id([*map(str, ids)], self.ids, path)
        else:
            found = self._by_source(ids, sources, self.sources or (), path)
        missing = np.flatnonzero(found < 0)
        if len(missing):
            first = _quoted((self.ids or self.sources or ())[missing[0]])
            counts = f"{len(missing):,} of {len(found):,} lines of {self.path} have no list"
            runtime.warn(f"{path}: {counts}, the first of them is line {missing[0] + 1}, {first}; they are left empty")
        return found

    def arrange(self, nbest: NBest, path: PathLike, *, runtime: Runtime = Runtime()) -> NBest:
        """Arrange lists in this order; lines without a list get an empty one."""
        names = nbest.sentence_ids
        places = self.places(names, nbest.sources, path, runtime=runtime)
        return nbest.placed(places, self.ids or [names[place] if place >= 0 else "" for place in places.tolist()])

    def _by_id(self, ids: Sequence[str], wanted: Sequence[str], path: PathLike) -> NDArray[np.int64]:
        place = {name: i for i, name in enumerate(ids)}
        found = np.array([place.get(name, -1) for name in wanted], np.int64)
        unknown = np.setdiff1d(np.arange(len(ids)), found)
        if len(unknown):
            what = f"{len(unknown):,} lists have an id that {self.path} has not, the first of them is"
            raise DataError(f"{what} {_quoted(ids[unknown[0]])}", path=path, expected="an order of all lists")
        return found

    def _by_source(
        self, ids: Sequence[Id], sources: Sequence[str] | None, wanted: Sequence[str], path: PathLike
    ) -> NDArray[np.int64]:
        if sources is None:
            raise DataError(
                "the lists do not say what they translate", path=path, expected="sources, or an order of ids"
            )
        keys = sort_keys(ids)
        of_text: dict[str, list[int]] = {}
        for i in range(len(ids)) if keys is None else sorted(range(len(ids)), key=keys.__getitem__):
            of_text.setdefault(sources[i].strip(), []).append(i)
        lines_of: dict[str, list[int]] = {}
        for line, text in enumerate(wanted):
            lines_of.setdefault(text.strip(), []).append(line)
        found = np.full(len(wanted), -1, np.int64)
        for text, lines in lines_of.items():
            own = of_text.pop(text, [])
            if own and (len(own) != len(lines) or (len(own) > 1 and keys is None)):
                what = (
                    f"{len(own)} lists are of the source {quote(text)}, which is on {len(lines)} lines of {self.path}"
                )
                raise DataError(what, path=path, expected="as many, with ids that have an order")
            found[lines[: len(own)]] = own
        failed = len(of_text.pop("", ()))  # lists without a source belong to lines that have no other list
        if of_text:
            first = next(iter(of_text))
            raise DataError(
                f"there is a list of the source {quote(first)}", path=path, expected=f"a line of {self.path}"
            )
        if (found < 0).sum() > failed:
            line = int(np.flatnonzero(found < 0)[0])
            raise DataError(
                f"no list is of line {line + 1} of {self.path}, {quote(wanted[line])}", path=path, expected="one"
            )
        return found


def _quoted(name: Id) -> str:
    return quote(str(name))


def _said(names: Sequence[Id]) -> str:
    return ", ".join(map(_quoted, names))
