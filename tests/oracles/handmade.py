"""Features made of functions, to be handed to a translator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman.features import Feature


def handmade(locality: type[Feature], function: Callable[..., Any], **members: Any) -> Any:
    """A feature of a type, named after its function."""
    name = function.__name__
    members = {"name": name, "prefix": name, "__call__": lambda self, seen: function(seen), **members}
    return type(name, (locality,), members)()
