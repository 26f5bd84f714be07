"""Classes of options: tables of their fields, and a page of those that no registry has."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import typing
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any

import dragoman
from dragoman.cli.shell.flags import Flags
from dragoman.core.options import Options
from generator import commands
from generator.markdown import bounds, code, kind, prose, table, value


def import_everything() -> None:
    """Import all modules of the package, so that all classes and registries are there."""
    for module in pkgutil.walk_packages(dragoman.__path__, "dragoman."):
        if not module.name.split(".")[-1].startswith("_"):
            importlib.import_module(module.name)


def options_table(options: type[Options]) -> str:
    """The fields of a class of options."""
    hints = typing.get_type_hints(options)
    return table(
        ["option", "type", "default", "meaning"],
        (
            [code(field.name), _kind(field, hints[field.name]), _default(field, hints[field.name]), _help(field)]
            for field in dataclasses.fields(options)
        ),
    )


def pages(named: Collection[type[Options]]) -> Mapping[str, str]:
    """The page of all classes of options that are not chosen by a name."""
    import_everything()
    found = [cls for cls in _subclasses(Options) if cls not in named and not inspect.isabstract(cls)]
    users = _users()
    parts = [
        "# Options\n\nWhat is not chosen by name and has options all the same: the same class is an argument in Python,"
        " a group of flags on the command line and, where there is one, a table of a TOML file.\n"
    ]
    for cls in sorted(found, key=lambda cls: cls.__name__):
        facts = f"`{cls.__module__}`"
        if cls in users:
            facts += "; flags of " + ", ".join(users[cls])
        parts.append(f"## {cls.__name__}\n\n{facts}\n\n{prose(cls.__doc__)}\n\n{options_table(cls)}")
    return {"options.md": "\n".join(parts)}


def _kind(field: dataclasses.Field[Any], hint: Any) -> str:
    allowed = bounds(field.metadata.get("minimum"), field.metadata.get("maximum"))
    return ", ".join(part for part in (kind(hint), allowed) if part)


def _default(field: dataclasses.Field[Any], hint: Any) -> str:
    return "none" if field.default is None and type(None) in typing.get_args(hint) else value(field.default)


def _help(field: dataclasses.Field[Any]) -> str:
    return prose(field.metadata["help"])


def _subclasses(cls: type[Options]) -> Iterator[type[Options]]:
    for sub in cls.__subclasses__():
        if sub.__module__.startswith("dragoman."):
            yield sub
            yield from _subclasses(sub)


def _users() -> dict[type[Options], list[str]]:
    """The commands that have flags for a class, as links."""
    users: dict[type[Options], list[str]] = {}
    for command in commands.commands():
        # A command takes single flags; the function behind it takes them by classes.
        for hint in typing.get_type_hints(inspect.unwrap(command.function), include_extras=True).values():
            extras = hint.__metadata__ if typing.get_origin(hint) is Annotated else ()
            if any(isinstance(extra, Flags) for extra in extras):
                users.setdefault(hint.__origin__, []).append(f"[`{command.name}`]({command.page})")
    return users
