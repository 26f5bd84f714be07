"""The text of HTML, translated: tags stay where they are, and what is between them is a text each."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from html import escape, unescape

_TAG = re.compile(r"(<!--.*?-->|<(script|style)\b.*?</\2\s*>|<[^<>]*>)", re.DOTALL | re.IGNORECASE)


async def translated_html(text: str, translate: Callable[[str], Awaitable[str]]) -> str:
    """Translate what is between tags; comments, scripts and styles stay as they are."""
    parts: list[str] = []
    at = 0
    for found in [*_TAG.finditer(text), None]:
        between = text[at : len(text) if found is None else found.start()]
        if between.strip():
            between = escape(await translate(unescape(between)), quote=False)
        parts.append(between)
        if found is not None:
            parts.append(found[0])
            at = found.end()
    return "".join(parts)
