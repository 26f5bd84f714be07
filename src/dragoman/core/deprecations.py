"""Old names of options that still work in this version, with a warning; version 0.3 drops them.

One table serves flags, keys of TOML files, NAME=VALUE texts and keyword arguments in Python. An old name stands for the
new one only where the new one is known and the old one is not, so that other options may have the same name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, ParamSpec, TypeVar

from dragoman.core.errors import UsageError
from dragoman.core.progress import SILENT

P = ParamSpec("P")
R = TypeVar("R")

#: New names of options by their old names.
RENAMED: Mapping[str, str] = {
    "course": "validation",
    "judge_by": "validation_rule",
    "judge_every": "validate_every",
    "judge_evidence": "validation_evidence",
    "judge_samples": "validation_samples",
    "kept_bytes": "cache_bytes",
    "largest_turn": "max_angle",
    "links": "alignment_out",
    "most": "limit",
}


def current_name(name: str, known: Collection[str]) -> str:
    """Return the current name of an option, if it is among the known names; without a warning.

    >>> current_name("largest_turn", ["max_angle"]), current_name("largest_turn", ["pop_limit"])
    ('max_angle', 'largest_turn')
    """
    new = RENAMED.get(name)
    return new if new is not None and new in known and name not in known else name


def renaming(old: str, new: str) -> str:
    """Return the text of the warning for an old name."""
    return f"{old} is now called {new}; the old name will be dropped in version 0.3"


def current_names(values: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return values by current names; warn of old names, and refuse an option that is given by both names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        new = current_name(name, known)
        if new != name:
            if new in values:
                raise UsageError(f"found {name} and {new}, which are the same option; expected {new}")
            SILENT.warn(renaming(name, new))
        found[new] = value
    return found


def accept_old_names(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function take keyword arguments by their old names."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: P.args, **named: P.kwargs) -> R:
        return function(*args, **current_names(named, known))

    return call
