"""The commands: one page each, from the functions that the command line is made of."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer

from dragoman.cli.main import EXAMPLE, HEADING, command_entries, ordered_panels
from generator.markdown import bounds, code, kind, prose, summary, table, value

_EXAMPLES = f"{HEADING}Examples"


@dataclasses.dataclass(frozen=True)
class Flag:
    """One option or argument of a command."""

    panel: str
    names: str
    kind: str
    default: str
    help: str


@dataclasses.dataclass(frozen=True)
class Command:
    """A command as it is typed, `lm estimate`, with its text and its flags."""

    name: str
    text: str
    examples: list[str]
    flags: list[Flag]
    function: Callable[..., Any]

    @property
    def page(self) -> str:
        """The name of its page, which the commands of a group share."""
        return f"commands/{self.name.split()[0]}.md"


def commands() -> list[Command]:
    """All commands, in the order of their names."""
    app = typer.Typer()
    for module in {row.module for row in command_entries().values()}:
        importlib.import_module(module).register(app)
    return sorted(_commands(app, ""), key=lambda command: command.name)


def pages() -> Mapping[str, str]:
    """A page for each command or group of commands, and one that lists them."""
    found = commands()
    written = {"commands/index.md": _index(found)}
    for page, group in itertools.groupby(found, lambda command: command.page):
        members = list(group)
        if len(members) == 1 and " " not in members[0].name:
            written[page] = _title(members[0].name) + _command(members[0], "##")
        else:
            listed = table(["", ""], ([f"[{m.name}](#{m.name.replace(' ', '-')})", summary(m.text)] for m in members))
            sections = (f"## {m.name}\n\n" + _command(m, "###") for m in members)
            written[page] = _title(members[0].name.split()[0]) + listed + "\n" + "\n".join(sections)
    return written


def _commands(app: typer.Typer, prefix: str) -> Iterator[Command]:
    for info in app.registered_commands:
        assert info.callback is not None
        text, _, examples = (info.help or inspect.getdoc(info.callback) or "").partition(_EXAMPLES)
        shown = [line.removeprefix(EXAMPLE) for line in examples.strip().split("\n\n") if line]
        parameters = inspect.signature(info.callback).parameters.values()
        flags = [_flag(parameter) for parameter in parameters if parameter.annotation is not typer.Context]
        name = prefix + (info.name or info.callback.__name__.replace("_", "-"))
        yield Command(name, text.strip(), shown, flags, info.callback)
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from _commands(group.typer_instance, f"{prefix}{group.name or group.typer_instance.info.name} ")


def _flag(parameter: inspect.Parameter) -> Flag:
    hint = parameter.annotation.__origin__
    declared = next(extra for extra in parameter.annotation.__metadata__ if hasattr(extra, "param_decls"))
    is_argument = isinstance(declared, typer.models.ArgumentInfo)
    # In `Annotated`, the first name of a flag stands where a default otherwise would.
    names = [name for name in (declared.default, *(declared.param_decls or ())) if str(name).startswith("-")]
    if is_argument:
        names = [(declared.metavar or parameter.name.upper()) + ("..." if kind(hint).endswith("repeatable") else "")]
    elif not names:
        flag = parameter.name.replace("_", "-")
        names = [f"--{flag}/--no-{flag}" if hint is bool else f"--{flag}"]
    required = parameter.default in (inspect.Parameter.empty, ...)
    allowed = bounds(declared.min, declared.max)
    return Flag(
        panel=declared.rich_help_panel or ("Arguments" if is_argument else "Options"),
        names=", ".join(code(name) for name in "/".join(names).split("/")),
        kind="" if hint is bool else ", ".join(part for part in (kind(hint), allowed) if part),
        default="required" if required else value(parameter.default),
        help=prose(declared.help or ""),
    )


def _index(found: list[Command]) -> str:
    listed = table(
        ["command", "what it does"],
        ([f"[`dragoman {c.name}`]({_address(c)})", summary(c.text)] for c in found),
    )
    return (
        "# Commands\n\nEvery command explains itself with `--help`; these pages are written from the same text. Files"
        " may be plain or compressed (gzip, bzip2, xz, zstd), and `-` is standard input or output. Results go to"
        " standard output, everything else to standard error. Exit codes: 0 done, 1 something is wrong with the data,"
        f" 2 something is wrong with the command.\n\n{listed}\n`dragoman --version` prints the version;"
        " `dragoman --debug COMMAND` shows the traceback of an error; `dragoman --install-completion SHELL` lets bash,"
        " zsh or fish complete commands, options and names.\n"
    )


def _address(command: Command) -> str:
    page = command.page.removeprefix("commands/")
    return f"{page}#{command.name.replace(' ', '-')}" if " " in command.name else page


def _title(name: str) -> str:
    return f"# dragoman {name}\n\n"


def _command(command: Command, heading: str) -> str:
    examples = "".join(f"    $ {example}\n" for example in command.examples)
    parts = [prose(command.text), f"{heading} Examples\n\n{examples}" if examples else ""]
    panels = dict.fromkeys(flag.panel for flag in command.flags)
    for panel in ordered_panels(panels):
        rows = ([f.names, f.kind, f.default, f.help] for f in command.flags if f.panel == panel)
        parts.append(f"{heading} {panel}\n\n" + table(["flag", "type", "default", "meaning"], rows))
    return "\n\n".join(part for part in parts if part) + "\n"
