"""From names that tables show to names of folders."""

from __future__ import annotations

import re


def folder_name(name: str) -> str:
    """A name that is good for a folder.

    >>> folder_name("LUS (1/100)")
    'LUS-1-100'
    """
    return re.sub(r"[^\w.]+", "-", name).strip("-.") or "unnamed"
