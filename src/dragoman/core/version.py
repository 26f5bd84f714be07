"""The version of the installed package, looked up when it is asked for: that takes longer than all our imports."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """Return Dragoman's version."""
    from importlib import metadata

    return metadata.version("dragoman")
