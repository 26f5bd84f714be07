"""Write the reference, page by page, from the registries and the command line of the installed package.

    python docs/generate_reference.py FOLDER

Nothing but the package is needed. The build of the site does the same (`make docs`); its output is not kept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from generator import commands, options, python_api, registries
from generator.markdown import table


def pages() -> Mapping[str, str]:
    """All pages of the reference, by file name."""
    found = {
        **commands.pages(),
        **registries.pages(),
        **options.pages(registries.named_classes()),
        **python_api.pages(),
    }
    return {"index.md": _index(found), **found}


def write(folder: Path) -> None:
    """Write all pages into a folder."""
    for name, text in pages().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _index(found: Mapping[str, str]) -> str:
    rows = []
    for name, text in found.items():
        if "/" not in name or name.endswith("/index.md"):
            title = text.partition("\n")[0].removeprefix("# ")
            rows.append([f"[{title}]({name})", _INDEXED.get(name, _count(text))])
    return (
        "# Reference\n\nWritten from the code itself: the command line, the registries, the options and the docstrings,"
        " which say what each thing computes, what it costs, whose idea it is and where it departs from the paper.\n\n"
        + table(["", ""], rows)
    )


def _count(text: str) -> str:
    names = [line.split()[1] for line in text.splitlines() if line.startswith("## ")]
    return ", ".join(f"`{name}`" for name in names)


_INDEXED = {
    "commands/index.md": "what can be typed, with flags, types, defaults and examples",
    "options.md": "what is not chosen by name: searches, loops, samplers, training",
    "python/index.md": "the front door, and the rooms behind it",
}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/generate_reference.py FOLDER")
    write(Path(sys.argv[1]))
