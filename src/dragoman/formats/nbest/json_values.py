"""JSON values of a file with their lines, strictly parsed: no repeated keys, and NaN only where it is allowed.

A file has a value per line, or is one list of values in any layout.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike
from dragoman.core.progress import ProgressCallback
from dragoman.formats.faults import quote
from dragoman.formats.nbest.chunks import prompt_chunks

_SPACE = re.compile(r"[ \t\n\r]*")
_LISTS = re.compile(r"[ \t\n\r\[]*")


@dataclass(frozen=True)
class JsonValue:
    """A value of a file: its first line, its text, and whether it is an element of a list that is the whole file.

    It is the `latest` if no later line has come yet.
    """

    line: int
    text: str
    value: Any
    element: bool = False
    latest: bool = False


@dataclass(frozen=True)
class JsonReader:
    """Reader of JSON values: an example for messages, whether a file may be one list, and whether NaN is allowed."""

    example: str
    lists: bool = True
    constants: bool = False

    def values(self, path: PathLike, progress_callback: ProgressCallback | None = None) -> Iterator[JsonValue]:
        """Yield the values of a file as they come; `progress_callback` gets the fraction read."""
        lines = _numbered(path, progress_callback)
        for number, text, latest in lines:
            try:
                value = self._decode(text)
            except DataError as error:
                if number > 1 or not text.lstrip().startswith("["):
                    raise DataError(str(error), path=path, line=number) from None
                yield from self._whole("\n".join([text, *(line for _, line, _ in lines)]), path)
                return
            if number == 1 and self.lists and isinstance(value, list):
                second = next((line for line in lines if line[1].strip()), None)
                if second is None:
                    yield from self._whole(text, path)
                    return
                yield JsonValue(1, text, value)
                number, text, latest = second
                value = self._located(text, path, number)
            yield JsonValue(number, text, value, latest=latest)

    def _whole(self, text: str, path: PathLike) -> Iterator[JsonValue]:
        """Yield the elements of a list that is the whole file."""
        if not self.lists:
            yield JsonValue(1, text, self._located(text, path, 1))
            return
        line, counted = 1, 0
        at = _skip(text, _skip(text, 0) + 1)
        more = text[at : at + 1] != "]"
        while more:
            line, counted = line + text.count("\n", counted, at), at
            try:
                value, end = _decoder(self.constants).raw_decode(text, at)
            except (ValueError, RecursionError):
                found = f"found {quote(text[at : at + 200])}, which is not JSON"
                raise DataError(found, path=path, line=line, expected=self.example) from None
            except DataError as error:
                raise DataError(str(error), path=path, line=line) from None
            yield JsonValue(line, text[at:end], value, element=True)
            at = _skip(text, end)
            more = text[at : at + 1] == ","
            at = _skip(text, at + 1) if more else at
        if text[at : at + 1] != "]" or text[at + 1 :].strip():
            line += text.count("\n", counted, at)
            found = f"found {quote(text[at : at + 200])} after an element of the list"
            raise DataError(found, path=path, line=line, expected="a comma, or ']' at the end of the file")

    def _decode(self, text: str) -> Any:
        try:
            return _decoder(self.constants).decode(text)
        except RecursionError:
            raise DataError("the JSON is nested too deeply", expected=self.example) from None
        except ValueError:
            raise DataError(f"found {quote(text)}, which is not JSON", expected=self.example) from None

    def _located(self, text: str, path: PathLike, line: int) -> Any:
        try:
            return self._decode(text)
        except DataError as error:
            raise DataError(str(error), path=path, line=line) from None


def _numbered(path: PathLike, progress_callback: ProgressCallback | None) -> Iterator[tuple[int, str, bool]]:
    """Yield lines with their numbers, and whether each is the last that has come so far."""
    for chunk in prompt_chunks(path, progress_callback):
        lines = chunk.lines()
        last = chunk.first_line + len(lines) - 1
        for number, text in enumerate(lines, chunk.first_line):
            yield number, text, number == last


def first_object(lines: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """Return the depth of lists around the first object of a file, and the object; an empty one if there is none."""
    return _first_object(lines[0] if lines[0].lstrip().startswith("{") else "\n".join(lines))


@lru_cache(maxsize=4)
def _first_object(text: str) -> tuple[int, dict[str, Any]]:
    match = _LISTS.match(text)
    assert match is not None
    try:
        value, _ = _decoder(constants=True).raw_decode(text, match.end())
    except (ValueError, RecursionError, DataError):
        return 0, {}
    return (match[0].count("["), value) if isinstance(value, dict) else (0, {})


def unknown_keys(fields: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Return the fields whose keys are not `known`, in their order."""
    known = set(known)
    return {key: value for key, value in fields.items() if key not in known} if fields.keys() - known else {}


def string_list(value: Any, key: str) -> list[str]:
    """Check and return a list of strings."""
    if not (isinstance(value, list) and all(isinstance(text, str) for text in value)):
        raise DataError(f"'{key}' is {quote(json.dumps(value))}", expected="a list of strings")
    return value


def text_list(value: Any, key: str) -> list[str | None]:
    """Check and return a list of strings, some of which may be null; null itself is an empty list."""
    if value is None:
        return []
    if not (isinstance(value, list) and all(isinstance(text, str | None) for text in value)):
        raise DataError(f"'{key}' is {quote(json.dumps(value))}", expected="a list of strings")
    return value


def parallel_list(fields: Mapping[str, Any], key: str, size: int) -> Sequence[Any]:
    """Check and return a list with an element for each hypothesis; None for each if the list is missing or empty."""
    value = fields.get(key) or []
    if not isinstance(value, list) or len(value) not in (0, size):
        count = f"{len(value)} elements" if isinstance(value, list) else quote(json.dumps(value))
        raise DataError(f"'{key}' has {count} for {size} hypotheses", expected="one for each")
    return value or [None] * size


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"the key {quote(twice)} occurs twice in one object", expected="each key once")
    return fields


def _not_finite(name: str) -> float:
    raise DataError(f"found {name}", expected="a finite number")


_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_not_finite)
_WITH_CONSTANTS = json.JSONDecoder(object_pairs_hook=_object)


def _decoder(constants: bool) -> json.JSONDecoder:
    return _WITH_CONSTANTS if constants else _STRICT
