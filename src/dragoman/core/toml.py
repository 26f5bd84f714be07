"""TOML files: read by the standard library, written here (it has no writer)."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike


def read_toml(path: PathLike) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        return parse_toml(Path(path).read_bytes(), path)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", path=path) from None


def parse_toml(data: bytes, path: PathLike) -> dict[str, Any]:
    """Parse the contents of a TOML file; `path` is for messages."""
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise DataError("is not UTF-8", path=path, expected="a TOML file") from None
    except (ValueError, RecursionError) as error:  # also for too long numbers and too deep nesting
        raise DataError(f"is not TOML ({error})", path=path) from None


def format_toml(values: Mapping[str, Any], prefix: str = "") -> str:
    """Write a mapping of scalars, lists, mappings and lists of mappings as TOML.

    >>> print(format_toml({"order": 3, "lm": [{"name": "lm"}], "settings": {"limit": 6}}), end="")
    order = 3
    <BLANKLINE>
    [[lm]]
    name = "lm"
    <BLANKLINE>
    [settings]
    limit = 6
    """
    lines = [f"{_key(key)} = {_value(value)}\n" for key, value in values.items() if not _is_table(value)]
    for key, value in values.items():
        name = f"{prefix}{_key(key)}"
        if isinstance(value, Mapping):
            lines.append(f"\n[{name}]\n{format_toml(value, f'{name}.')}")
        elif _is_table(value):
            lines += [f"\n[[{name}]]\n{format_toml(row, f'{name}.')}" for row in value]
    return "".join(lines)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)
    )


def _key(key: str) -> str:
    return key if key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key) else _string(key)


def _string(value: str) -> str:
    # JSON's escapes are TOML's, except that TOML also wants DEL escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str | Path):
        return _string(str(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    raise TypeError(f"cannot write a {type(value).__name__} as TOML")
