"""JSON of answers, in which parts may be JSON already: trees are deeper than a serialiser that calls itself can go."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


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
