"""Text as Markdown: docstrings, tables, and the types and values of options as people write them."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

#: What Markdown or HTML would take for markup in a sentence that was not written as such.
_MARKUP = re.compile(r"[<*_\[\]\\]")
_NAMES = {bool: "yes or no", int: "integer", float: "number", str: "text", Path: "path"}


def prose(docstring: str | None) -> str:
    """A docstring as Markdown: paragraphs, code spans and indented blocks stay, anything else is plain text.

    >>> prose("p_1 < `p_2`.\\n\\n    x_1 = <s>")
    'p\\\\_1 \\\\< `p_2`.\\n\\n    x_1 = <s>'
    """
    blocks = inspect.cleandoc(docstring or "").split("\n\n")
    return "\n\n".join(_block(block) for block in blocks)


def summary(docstring: str | None) -> str:
    """The first sentence or paragraph of a docstring, in one line."""
    return " ".join(prose(docstring).split("\n\n")[0].split())


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, or nothing if it has no rows."""
    lines = [_row(row) for row in rows]
    return "\n".join([_row(columns), "|" + "---|" * len(columns), *lines]) + "\n" if lines else ""


def code(text: str) -> str:
    """A code span, whatever the text."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def slug(title: str) -> str:
    """Return the file name of a page with that title, which is also the anchor of such a heading.

    >>> slug("Formats of n-best lists")
    'formats-of-n-best-lists'
    """
    return re.sub(r"[^\w]+", "-", title.lower()).strip("-")


def kind(hint: Any) -> str:
    """The type of an option in words; its choices if it has some.

    >>> kind(Literal["words", "phrases"] | None), kind(list[Path])
    ('`words`, `phrases`', 'path, repeatable')
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(kind(one) for one in arguments if one is not type(None))
    if origin is Literal:
        return ", ".join(code(str(choice)) for choice in arguments)
    if origin is list:
        return f"{kind(arguments[0])}, repeatable"
    return _NAMES.get(hint, getattr(hint, "__name__", str(hint)))


def value(default: Any) -> str:
    """A default as it is written on a command line or in a file; nothing for None."""
    if default is None or default == "":
        return ""
    return code(str(default).lower() if isinstance(default, bool) else str(default))


def bounds(minimum: float | None, maximum: float | None) -> str:
    """Return the range of numbers that an option allows.

    >>> bounds(0, None), bounds(0.0, 1.0)
    ('at least 0', '0 to 1')
    """
    if minimum is not None and maximum is not None:
        return f"{minimum:g} to {maximum:g}"
    return "".join(
        f"{word} {limit:g}" for word, limit in (("at least", minimum), ("at most", maximum)) if limit is not None
    )


def _block(block: str) -> str:
    if all(line.startswith("    ") for line in block.splitlines()):
        return block
    if block.startswith(">>>"):
        return f"```pycon\n{block}\n```"
    # Lines that continue the items of a list keep their indentation, which is what makes them continue it.
    parts = re.split(r"(`+[^`]+`+)", block)
    return "".join(part if at % 2 else _MARKUP.sub(r"\\\g<0>", part) for at, part in enumerate(parts))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
