"""Registries of classes that can be chosen by name: each folder of algorithms has one, and a new file is enough.

A registered class derives from the folder's base class and has a `name`. Other packages add theirs through the
entry-point group `dragoman.<kind>`. A registry may have parts, one for each subtype.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cached_property
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from dragoman.core.errors import UsageError

T = TypeVar("T")
Part = TypeVar("Part")


class Registry(Generic[T]):
    """Classes of one kind by name, from the modules of `package` and from entry points."""

    def __init__(self, kind: str, package: str, base: type[T]):
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
    def _classes(self) -> dict[str, type[T]]:
        package = importlib.import_module(self._package)
        found: list[Any] = []
        for module in pkgutil.iter_modules(package.__path__):
            members = vars(importlib.import_module(f"{self._package}.{module.name}"))
            found += [m for m in members.values() if isinstance(m, type) and issubclass(m, self._base)]
        for kind in dict.fromkeys([self.kind, *(part.kind for part in self.parts)]):
            found += [entry.load() for entry in entry_points(group=f"dragoman.{kind}")]
        classes: dict[str, type[T]] = {}
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

    def get(self, name: str) -> type[T]:
        """Return the class with that name."""
        if name not in self._classes:
            raise UsageError(f"no {self.kind} is called '{name}'; there are {', '.join(self.names())}")
        return self._classes[name]


class _Part(Registry[T]):
    """The classes of a registry that have one type."""

    def __init__(self, kind: str, whole: Registry[Any], base: type[T]):
        super().__init__(kind, whole._package, base)
        self._whole = whole

    @property
    def _classes(self) -> dict[str, type[T]]:
        return {name: cls for name, cls in self._whole._classes.items() if issubclass(cls, self._base)}
