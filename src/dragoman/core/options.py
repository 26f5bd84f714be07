"""Options as dataclasses: one declaration gives the Python argument, the command-line flag and the TOML key.

    @dataclass(frozen=True)
    class MyOptions(Options):
        iterations: int = option(5, "passes over the data", minimum=1)

Field types may be bool, int, float, str, Path, a Literal of strings, or any of these `| None`.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

from dragoman.core.deprecations import current_names
from dragoman.core.errors import UsageError

T = TypeVar("T", bound="Options")


def option(
    default: Any,
    help: str,  # noqa: A002 - the name that every command-line library uses for it
    *,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """Declare a field of an options dataclass."""
    return dataclasses.field(default=default, metadata={"help": help, "minimum": minimum, "maximum": maximum})


@dataclasses.dataclass(frozen=True)
class Options:
    """Base of all options; values are checked on construction.

    A class with a field `preset` may have `presets`, each of which maps fields to values. The values of the chosen
    preset replace the defaults; options that are given explicitly take precedence.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __new__(cls, *values: Any, **named: Any) -> Self:
        """Remember the options that are given, so that a preset does not change them."""
        self = super().__new__(cls)
        if cls.presets:
            given = {field.name for field, _ in zip(dataclasses.fields(cls), values, strict=False)} | named.keys()
            object.__setattr__(self, "_given", given)
        return self

    def __post_init__(self) -> None:
        preset = self.presets.get(getattr(self, "preset", None) or "", {})
        for name in preset.keys() - self.__dict__.pop("_given", set()):
            object.__setattr__(self, name, preset[name])
        hints = _hints(type(self))
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            _check(field, hints[field.name], value)
            # A path may come as text, from a file or a command line.
            if isinstance(value, str) and Path in _kinds(hints[field.name]):
                object.__setattr__(self, field.name, Path(value))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from a mapping; unknown keys are refused."""
        known = {field.name for field in dataclasses.fields(cls)}
        values = current_names(values, known)
        for key in values:
            if key not in known:
                raise UsageError(f"unknown option '{key}'; known are {', '.join(sorted(known))}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the options that are set, by name."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def parse_options(options: type[T], assignments: Sequence[str], base: T | None = None) -> T:
    """Build options from `name=value` strings, converted to the types of the fields; the others come from `base`.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Diagonal(Options):
    ...     iterations: int = option(5, "passes")
    >>> parse_options(Diagonal, ["iterations=7"])
    Diagonal(iterations=7)
    """
    hints = _hints(options)
    known = {field.name for field in dataclasses.fields(options)}
    values = {}
    for assignment in assignments:
        given, equals, text = assignment.partition("=")
        (name,) = current_names({given.strip().replace("-", "_"): text}, known)
        if not equals or name not in known:
            wanted = f"NAME=VALUE with a NAME of {', '.join(sorted(known))}" if known else "none: it has no options"
            called = getattr(options, "name", None)  # options of a registered class can be looked up
            more = f" (see `dragoman methods show {called}`)" if isinstance(called, str) else ""
            raise UsageError(f"found '{assignment}'; expected {wanted}{more}")
        values[name] = _convert(name, hints[name], text.strip())
    return options(**values) if base is None else dataclasses.replace(base, **values)


def split_options(options: Mapping[str, Any], *kinds: type[Options]) -> list[dict[str, Any]]:
    """Split options by the classes that have them; a name that no class has is refused."""
    names = [{field.name for field in dataclasses.fields(kind)} for kind in kinds]
    options = current_names(options, set().union(*names))
    for name in options:
        if not any(name in own for own in names):
            known = ", ".join(sorted(set().union(*names)))
            raise UsageError(f"there is no option '{name}'; there are {known}")
    return [{name: value for name, value in options.items() if name in own} for own in names]


_HINTS: dict[type, dict[str, Any]] = {}


def _hints(options: type) -> dict[str, Any]:
    """Return the types of the fields; cached per class, because finding them is slow."""
    if options not in _HINTS:
        _HINTS[options] = typing.get_type_hints(options)
    return _HINTS[options]


def _kinds(hint: Any) -> tuple[Any, ...]:
    """Return the types that a field may have: `Literal[…] | None` is a typing.Union, `int | None` a types.UnionType."""
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _convert(name: str, hint: Any, text: str) -> Any:
    kinds = _kinds(hint)
    if bool in kinds:
        if text.lower() not in ("true", "false"):
            raise UsageError(f"{name} is '{text}'; expected true or false")
        return text.lower() == "true"
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                raise UsageError(f"{name} is '{text}'; expected a number") from None
    return text


def _check(field: dataclasses.Field[Any], hint: Any, value: Any) -> None:
    name = field.name
    kinds = _kinds(hint)
    if value is None:
        if type(None) not in kinds:
            raise UsageError(f"{name} is missing")
        return
    choices = [choice for kind in kinds if typing.get_origin(kind) is Literal for choice in typing.get_args(kind)]
    if choices and value not in choices:
        raise UsageError(f"{name} is '{value}'; expected one of {', '.join(choices)}")
    if not choices and not any(_is_a(value, kind) for kind in kinds):
        names = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds if kind is not type(None))
        raise UsageError(f"{name} is {value!r}; expected {names}")
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{name} is {value}; expected a finite number")
    for bound, wrong, word in (("minimum", float.__lt__, "at least"), ("maximum", float.__gt__, "at most")):
        limit = field.metadata.get(bound)
        if limit is not None and isinstance(value, int | float) and wrong(float(value), float(limit)):
            raise UsageError(f"{name} is {value}; expected {word} {limit:g}")


def _is_a(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else str | Path if kind is Path else kind)
