"""Options as dataclasses: one declaration gives the Python argument, the command-line flag and the TOML key.

    @dataclass(frozen=True)
    class MyOptions(Options):
        iterations: int = option(5, "passes over the data", minimum=1)

Field types may be bool, int, float, str, Path, a Literal of strings, or any of these `| None`.

Options are read from and written to TOML files, which the standard library can only read. Old names still work in this
version, with a warning; version 0.3 drops them. One table serves flags, keys of TOML files, NAME=VALUE texts and
keyword arguments in Python, constructors included. An old name stands for the new one only where the new one is known
and the old one is not, so that other options may have the same name.

Classes that can be chosen by name are in registries: each folder of algorithms has one, and a new file is enough. A
registered class derives from the folder's base class and has a `name`. Other packages add theirs through the
entry-point group `dragoman.<kind>`. A registry may have parts, one for each subtype.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import json
import math
import pkgutil
import tomllib
import types
import typing
from abc import ABCMeta
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, ParamSpec, Self, TypeVar, cast

from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import SILENT

if TYPE_CHECKING:  # `dragoman --help` does not wait for what reads compressed files
    from dragoman.core.files import PathLike

P = ParamSpec("P")
R = TypeVar("R")

#: New names of options by their old names.
RENAMED: Mapping[str, str] = {
    "course": "validation",
    "judge_by": "validation_rule",
    "judge_every": "validate_every",
    "judge_evidence": "validation_evidence",
    "judge_samples": "validation_samples",
    "kept_bytes": "cache_bytes",
    "largest_turn": "max_angle",
    "links": "alignment_out",
    "metric": "utility",
    "most": "limit",
}


#: New names of what `import dragoman` gives, by their old names.
RENAMED_IN_PACKAGE: Mapping[str, str] = {"MbrResult": "ChosenTexts"}


def current_name(name: str, known: Collection[str]) -> str:
    """Return the current name of an option, if it is among the known names; without a warning.

    >>> current_name("largest_turn", ["max_angle"]), current_name("largest_turn", ["pop_limit"])
    ('max_angle', 'largest_turn')
    """
    new = RENAMED.get(name)
    return new if new is not None and new in known and name not in known else name


def renaming(old: str, new: str) -> str:
    """Return the text of the warning for an old name."""
    return f"{old} is now called {new}; the old name will be dropped in version 0.3"


def current_names(values: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return values by current names; warn of old names, and refuse an option that is given by both names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        new = current_name(name, known)
        if new != name:
            if new in values:
                raise UsageError(f"found {name} and {new}, which are the same option; expected {new}")
            SILENT.warn(renaming(name, new))
        found[new] = value
    return found


def accept_old_names(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function take keyword arguments by their old names."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: P.args, **named: P.kwargs) -> R:
        return function(*args, **current_names(named, known))

    return call


T = TypeVar("T", bound="Options")
Constructed = TypeVar("Constructed")


def option(
    default: Any,
    help: str,  # noqa: A002 - the name that every command-line library uses for it
    *,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """Declare a field of an options dataclass."""
    return dataclasses.field(default=default, metadata={"help": help, "minimum": minimum, "maximum": maximum})


class _AcceptsOldNames(ABCMeta):
    """Type of options, whose constructors take old names, too. Many options are abstract classes as well."""

    def __call__(cls: type[Constructed], *values: Any, **named: Any) -> Constructed:
        known = getattr(cls, "__dataclass_fields__", {})
        return cast(Constructed, ABCMeta.__call__(cls, *values, **current_names(named, known)))

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of the constructor, for `help` and editors."""
        _, *others = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
        return inspect.Signature(others)


@dataclasses.dataclass(frozen=True)
class Options(metaclass=_AcceptsOldNames):
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


def read_toml(path: PathLike) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        return parse_toml(Path(path).read_bytes(), path)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", path=path) from None


def parse_toml(data: bytes, path: PathLike) -> dict[str, Any]:
    """Parse the contents of a TOML file; `path` is for messages."""
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise DataError("is not UTF-8", path=path, expected="a TOML file") from None
    except (ValueError, RecursionError) as error:  # also for too long numbers and too deep nesting
        raise DataError(f"is not TOML ({error})", path=path) from None


def format_toml(values: Mapping[str, Any], prefix: str = "") -> str:
    """Write a mapping of scalars, lists, mappings and lists of mappings as TOML.

    >>> print(format_toml({"order": 3, "lm": [{"name": "lm"}], "settings": {"limit": 6}}), end="")
    order = 3
    <BLANKLINE>
    [[lm]]
    name = "lm"
    <BLANKLINE>
    [settings]
    limit = 6
    """
    lines = [f"{_key(key)} = {_value(value)}\n" for key, value in values.items() if not _is_table(value)]
    for key, value in values.items():
        name = f"{prefix}{_key(key)}"
        if isinstance(value, Mapping):
            lines.append(f"\n[{name}]\n{format_toml(value, f'{name}.')}")
        elif _is_table(value):
            lines += [f"\n[[{name}]]\n{format_toml(row, f'{name}.')}" for row in value]
    return "".join(lines)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)
    )


def _key(key: str) -> str:
    return key if key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key) else _string(key)


def _string(value: str) -> str:
    # JSON's escapes are TOML's, except that TOML also wants DEL escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str | Path):
        return _string(str(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    raise TypeError(f"cannot write a {type(value).__name__} as TOML")


Registered = TypeVar("Registered")
Part = TypeVar("Part")


class Registry(Generic[Registered]):
    """Classes of one kind by name, from the modules of `package` and from entry points."""

    def __init__(self, kind: str, package: str, base: type[Registered]):
        self.kind = kind
        self._package = package
        self._base = base
        self.parts: list[Registry[Any]] = []

    def part(self, kind: str, base: type[Part]) -> Registry[Part]:
        """Return the part of the registry with the classes of one type, including entry points of that kind."""
        part = _Part(kind, self, base)
        self.parts.append(part)
        return part

    @cached_property
    def _classes(self) -> dict[str, type[Registered]]:
        package = importlib.import_module(self._package)
        found: list[Any] = []
        for module in pkgutil.iter_modules(package.__path__):
            members = vars(importlib.import_module(f"{self._package}.{module.name}"))
            found += [m for m in members.values() if isinstance(m, type) and issubclass(m, self._base)]
        for kind in dict.fromkeys([self.kind, *(part.kind for part in self.parts)]):
            found += [entry.load() for entry in entry_points(group=f"dragoman.{kind}")]
        classes: dict[str, type[Registered]] = {}
        for cls in found:
            name = cls.__dict__.get("name")
            if isinstance(name, str) and classes.setdefault(name, cls) is not cls:
                ours, theirs = (f"{one.__module__}.{one.__qualname__}" for one in (classes[name], cls))
                raise UsageError(
                    f"two {self.kind}s are called '{name}': {ours} and {theirs}; expected a name of its own for each"
                )
        return classes

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._classes)

    def get(self, name: str) -> type[Registered]:
        """Return the class with that name."""
        if name not in self._classes:
            raise UsageError(f"no {self.kind} is called '{name}'; there are {', '.join(self.names())}")
        return self._classes[name]


class _Part(Registry[Registered]):
    """The classes of a registry that have one type."""

    def __init__(self, kind: str, whole: Registry[Any], base: type[Registered]):
        super().__init__(kind, whole._package, base)
        self._whole = whole

    @property
    def _classes(self) -> dict[str, type[Registered]]:
        return {name: cls for name, cls in self._whole._classes.items() if issubclass(cls, self._base)}
