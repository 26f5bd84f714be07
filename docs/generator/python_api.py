"""Python: the front door, and the rooms behind it with their modules, classes and functions.

Signatures are those of the source text: defaults there have names, where the objects themselves have addresses.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dragoman
from generator.markdown import code, prose, summary, table

_WIDTH = 100
#: Decorators that change how something is called.
_SHOWN = ("cached_property", "classmethod", "property", "staticmethod")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def pages() -> Mapping[str, str]:
    """The page of the front door, and one for each room."""
    rooms = [module.name for module in pkgutil.iter_modules(dragoman.__path__) if module.ispkg]
    return {"python/index.md": _front_door(rooms), **{f"python/{room}.md": _room(room) for room in rooms}}


def _front_door(rooms: list[str]) -> str:
    names = sorted(getattr(dragoman, "__all__", []))
    listed = table(
        ["room", "what is in it"],
        ([f"[`dragoman.{room}`]({room}.md)", summary(_docstring(f"{room}/__init__.py"))] for room in rooms),
    )
    door = "\n".join(_public(name, getattr(dragoman, name)) for name in names)
    return f"# Python\n\n{prose(dragoman.__doc__)}\n\n{door}\n## Rooms\n\n{listed}"


def _public(name: str, member: Any) -> str:
    heading = f"## {name} {{ #{name.replace('_', '-').strip('-')} }}\n\n"
    if isinstance(member, types.ModuleType):
        return f"{heading}{prose(member.__doc__)}\n"
    if not hasattr(member, "__qualname__"):
        return f"{heading}{code(repr(member))}\n"
    tree = ast.parse(Path(inspect.getsourcefile(inspect.unwrap(member)) or "").read_text(encoding="utf-8"))
    found = next(node for node in tree.body if getattr(node, "name", None) == member.__name__)
    where = f"`{member.__module__}.{member.__qualname__}`\n\n"
    return f"{heading}{where}{_body(found, name, '###', name)}"


def _room(room: str) -> str:
    folder = Path(dragoman.__path__[0]) / room
    parts = [f"# dragoman.{room}\n\n{prose(_docstring(f'{room}/__init__.py'))}\n"]
    for path in sorted(folder.rglob("*.py")):
        module = ".".join(["dragoman", room, *path.relative_to(folder).with_suffix("").parts])
        if not path.stem.startswith("_"):
            parts.append(_module(module, ast.parse(path.read_text(encoding="utf-8"))))
    return "\n".join(parts)


def _module(name: str, tree: ast.Module) -> str:
    anchor = name.removeprefix("dragoman.").replace("_", "-").replace(".", "-")
    parts = [f"## {name} {{ #{anchor} }}\n\n{prose(ast.get_docstring(tree))}\n"]
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            place = f"{anchor}-{node.name.replace('_', '-').lower()}"
            parts.append(f"### {node.name} {{ #{place} }}\n\n{_body(node, node.name, '####', place)}")
    return "\n".join(parts)


def _body(node: ast.stmt, name: str, heading: str, anchor: str) -> str:
    """The signature and the docstring of a function or class; methods of a class below headings of their own."""
    if isinstance(node, Function):
        return f"{_fenced(_signature(node, name))}{prose(ast.get_docstring(node))}\n"
    if not isinstance(node, ast.ClassDef):
        return ""
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    fields = [
        f"    {ast.unparse(line)}"
        for line in node.body
        if isinstance(line, ast.AnnAssign) and not ast.unparse(line.target).startswith("_")
    ]
    head = f"class {name}({bases})" if bases else f"class {name}"
    shown = "\n".join([f"{head}:", *fields]) if fields else head
    parts = [f"{_fenced(shown)}{prose(ast.get_docstring(node))}\n"]
    for method in _methods(node):
        label = f"{heading} {name}.{method.name} {{ #{anchor}-{method.name.replace('_', '-')} }}"
        parts.append(f"{label}\n\n{_fenced(_signature(method, method.name))}{prose(ast.get_docstring(method))}\n")
    return "\n".join(parts)


def _methods(node: ast.ClassDef) -> Iterator[Function]:
    for line in node.body:
        if isinstance(line, Function) and not line.name.startswith("_"):
            yield line


def _signature(node: Function, name: str) -> str:
    decorators = "".join(f"@{name}\n" for name in map(ast.unparse, node.decorator_list) if name in _SHOWN)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{decorators}{name}({ast.unparse(node.args)}){returns}"
    if len(line.rpartition("\n")[2]) <= _WIDTH:
        return line
    arguments = "".join(f"    {argument},\n" for argument in _arguments(node.args))
    return f"{decorators}{name}(\n{arguments}){returns}"


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    """Each argument with its type and default, one by one."""
    places = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(places) - len(arguments.defaults)) + list(arguments.defaults)
    for at, (argument, default) in enumerate(zip(places, defaults, strict=True)):
        yield _argument(argument, default)
        if at + 1 == len(arguments.posonlyargs):
            yield "/"
    if arguments.vararg:
        yield f"*{ast.unparse(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _argument(argument, default)
    if arguments.kwarg:
        yield f"**{ast.unparse(arguments.kwarg)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    equals = " = " if argument.annotation else "="
    return ast.unparse(argument) + (f"{equals}{ast.unparse(default)}" if default is not None else "")


def _fenced(text: str) -> str:
    return f"```python\n{text}\n```\n\n"


def _docstring(path: str) -> str | None:
    return ast.get_docstring(ast.parse((Path(dragoman.__path__[0]) / path).read_text(encoding="utf-8")))
