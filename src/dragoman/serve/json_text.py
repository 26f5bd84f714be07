"""JSON of answers, in which parts may be JSON already: trees are deeper than a serialiser that calls itself can go.

And of requests: how many values there are, before anybody makes something of each.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

#: What stands before or between values; brackets within brackets are refused by whoever reads them.
_MARKS = (b",", b":")


class Written(str):
    """Text that is JSON already."""

    __slots__ = ()


def written(value: Any) -> str:
    """Write a value as JSON; numbers that are not finite are null.

    >>> written({"a": [1, float("nan")], "b": Written('{"c": 2}')})
    '{"a": [1, null], "b": {"c": 2}}'
    """
    if isinstance(value, Written):
        return value
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {written(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return "null"
    return json.dumps(value, ensure_ascii=False)


def pieces(value: Any, depth: int) -> Iterator[str]:
    """The same in pieces, those of all values down to some depth apart, so that nobody has to wait for one long text.

    >>> list(pieces({"a": [1, "b"], "c": {}}, 2))
    ['{', '"a": ', '[', '1', ', ', '"b"', ']', ', "c": ', '{', '}', '}']
    """
    if depth and isinstance(value, Mapping):
        yield "{"
        for i, (key, one) in enumerate(value.items()):
            yield f"{', ' if i else ''}{json.dumps(key, ensure_ascii=False)}: "
            yield from pieces(one, depth - 1)
        yield "}"
    elif depth and isinstance(value, list | tuple):
        yield "["
        for i, one in enumerate(value):
            if i:
                yield ", "
            yield from pieces(one, depth - 1)
        yield "]"
    else:
        yield written(value)


def is_short(value: Any, most: int) -> bool:
    """Whether a value has few parts, so that it is written in no time; nested values and long texts count.

    >>> is_short({"a": [1, 2]}, 4), is_short({"a": [1, 2]}, 3), is_short(["word"], 4)
    (True, False, False)
    """
    waiting, parts = [value], 0
    while waiting:
        one = waiting.pop()
        parts += len(one) if isinstance(one, str) else 1
        if isinstance(one, Mapping | list | tuple):
            if len(one) > most - parts:
                return False
            waiting += one.values() if isinstance(one, Mapping) else one
        if parts > most:
            return False
    return True


def may_have_more_values(body: bytes, most: int) -> bool:
    """Whether there may be more values in a body than so many, by a look that takes no time."""
    return sum(map(body.count, _MARKS)) > most


def has_more_values(body: bytes, most: int) -> bool:
    """Whether there are more values in a body of JSON than so many; whether it is right is not looked at.

    >>> has_more_values(b'{"a": [1, 2, ",,,"]}', 3), has_more_values(b'{"a": [1, 2, ",,,"]}', 2)
    (False, True)
    """
    at = found = 0
    while at >= 0:
        quote = body.find(b'"', at)
        found += sum(body.count(mark, at, quote if quote >= 0 else len(body)) for mark in _MARKS)
        if found > most:
            return True
        at = quote if quote < 0 else _behind_string(body, quote)
    return False


def _behind_string(body: bytes, quote: int) -> int:
    """The place behind a string, or -1 if it has no end."""
    end = body.find(b'"', quote + 1)
    while end >= 0:
        first = end
        while body[first - 1] == ord("\\"):
            first -= 1
        if (end - first) % 2 == 0:
            return end + 1
        end = body.find(b'"', end + 1)
    return -1
