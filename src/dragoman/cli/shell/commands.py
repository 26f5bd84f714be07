"""The commands of the folder above, each loaded when it is wanted.

The first line of a module says which command it has, and a line about it: `dragoman NAME`: what it does. That line is
read, not imported, so that `dragoman --help` need not wait for what only some commands use.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from dragoman.cli.shell.help_page import Context, HelpGroup

_FIRST_LINE = re.compile(r'"""`dragoman ([a-z-]+)`: (.+?)(?:""")?$')


@dataclass(frozen=True)
class Listed:
    """A command as its module's first line has it."""

    module: str
    summary: str


@functools.cache
def listed() -> dict[str, Listed]:
    """All commands by name."""
    found = {}
    for file in Path(__file__).parent.parent.glob("*.py"):
        with file.open(encoding="utf-8") as stream:
            line = _FIRST_LINE.match(stream.readline().rstrip())
        if line:
            name, summary = line.groups()
            found[name] = Listed(f"dragoman.cli.{file.stem}", summary[0].upper() + summary[1:])
    return dict(sorted(found.items()))


class Commands(Mapping[str, Any]):
    """The commands, made when they are looked up."""

    def __getitem__(self, name: str) -> Any:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.callback()(lambda: None)  # without it, an application with one command would be that command
        importlib.import_module(listed()[name].module).register(app)
        return typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[str]:
        return iter(listed())

    def __len__(self) -> int:
        return len(listed())


class LazyGroup(HelpGroup):
    """The group of all commands; its help loads none of them."""

    def __init__(self, **settings: Any):
        super().__init__(**{**settings, "commands": None})
        self.commands = Commands()  # type: ignore[assignment]

    def list_commands(self, ctx: Context) -> list[str]:
        """All names."""
        return list(self.commands)

    def summary(self, ctx: Context, name: str) -> str:
        """The line about a command: its module's."""
        return listed()[name].summary

    def shell_complete(self, ctx: Context, incomplete: str) -> list[Any]:
        """Names and options that begin so; no command is loaded for it."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        item = _completion_item()
        return [item(name, help=one.summary) for name, one in listed().items() if name.startswith(incomplete)]


def _completion_item() -> Any:
    """The class of what is offered, which newer versions of the library have inside."""
    try:
        return importlib.import_module("typer._click.shell_completion").CompletionItem
    except ImportError:
        return importlib.import_module("click.shell_completion").CompletionItem
