"""`dragoman methods`: list and explain tuning methods, metrics, decision rules and other components."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing
from typing import Annotated, Any, Literal

import typer

from dragoman.cli.main import paragraphs
from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import KINDS, Kind, command, command_group
from dragoman.core.errors import UsageError
from dragoman.core.options import Options

KindName = Literal[
    "aligner",
    "corpus",
    "decision",
    "estimator",
    "feature",
    "format",
    "global-feature",
    "method",
    "metric",
    "tagger",
    "utility",
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = command_group(app, "methods")

    @command(group, "list", examples=["dragoman methods list", "dragoman methods list metric"])
    def list_(
        kind: Annotated[KindName | None, typer.Argument(help="List this kind only.")] = None,
    ) -> None:
        """List tuning methods, metrics, decision rules and other components, with a line on each."""
        for name, one in KINDS.items():
            if kind in (None, name):
                rows = [(found, _summary(one.registry.get(found))) for found in one.registry.names()]
                terminal.output().print(terminal.table(f"{name}: {one.usage.format('NAME', 'NAME')}", ["", ""], rows))

    @command(group, "show", examples=["dragoman methods show mert", "dragoman methods show chrf --kind metric"])
    def show(
        name: Annotated[
            str, typer.Argument(help="Name of the component; see `dragoman methods list`.", autocompletion=_all_names)
        ],
        kind: Annotated[
            KindName | None, typer.Option(help="Kind of the component, if several kinds share the name.")
        ] = None,
    ) -> None:
        """Explain a tuning method, metric, decision rule or other component: what it computes, its cost, its options.

        The text is the docstring of its class: the paper, the cost, and departures from the paper.
        """
        wanted = KINDS if kind is None else {kind: KINDS[kind]}
        found = [one for one in wanted.values() if name in one.registry.names()]
        if not found:
            there = f"no {wanted[kind].title}" if kind else "nothing"
            raise UsageError(f"{there} is called '{name}'; expected a name of `dragoman methods list`")
        for one in found:
            _show(name, one, one.registry.get(name))


def _all_names() -> list[str]:
    return sorted({name for kind in KINDS.values() for name in kind.registry.names()})


def _summary(cls: type[Options]) -> str:
    return next(iter(paragraphs(cls.__doc__ or "")), "")


def _show(name: str, kind: Kind, cls: type[Options]) -> None:
    console = terminal.output()
    module = sys.modules[cls.__module__]
    texts = [*paragraphs(inspect.cleandoc(module.__doc__ or "")), *paragraphs(inspect.cleandoc(cls.__doc__ or ""))]
    console.print(f"{name}: {kind.title}", style="bold", markup=False)
    for text in [kind.usage.format(name, name), *texts]:
        console.print(text, markup=False)
        console.print()
    fields = dataclasses.fields(cls)
    if not fields:
        console.print("It has no options.")
        return
    hints = typing.get_type_hints(cls)
    rows = [
        (field.name, _values(hints[field.name], field.metadata), _default(field.default), field.metadata["help"])
        for field in fields
    ]
    console.print(terminal.table("Options", ["", "values", "default", "meaning"], rows))


def _values(hint: Any, limits: typing.Mapping[str, Any]) -> str:
    """Return the values that an option takes: their type with its limits, or the choices."""
    kinds = typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)
    named = [
        "|".join(map(str, typing.get_args(one))) if typing.get_origin(one) is Literal else one.__name__.lower()
        for one in kinds
        if one is not type(None)
    ]
    low, high = limits.get("minimum"), limits.get("maximum")
    return " ".join(
        [
            " or ".join(named),
            *([] if low is None else [f">= {low:g}"]),
            *([] if high is None else [f"<= {high:g}"]),
        ]
    )


def _default(value: Any) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
