"""Every command, name and option is in the reference."""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest
from generate_reference import write
from generator import python_api
from typer.testing import CliRunner

import dragoman
from dragoman.cli.main import build_app
from dragoman.core.corpus import Bitext
from dragoman.core.options import Options, Registry
from dragoman.training.pipeline import train_model

pytestmark = pytest.mark.slow

ROOT = Path(dragoman.__file__).parent
APP = build_app()


def every_registry():
    """Return the modules that call `Registry(`, also those that nothing imports yet."""
    for path in sorted(ROOT.rglob("*.py")):
        if re.search(r"= Registry\(", path.read_text(encoding="utf-8")):
            parts = path.relative_to(ROOT.parent).with_suffix("").parts
            name = ".".join(part for part in parts if part != "__init__")
            for member in vars(importlib.import_module(name)).values():
                if isinstance(member, Registry):
                    yield member.kind, member


REGISTRIES = dict(every_registry())
NAMED = [(kind, name) for kind, registry in sorted(REGISTRIES.items()) for name in registry.names()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    write(folder)
    return folder


@pytest.fixture(scope="module")
def text(folder):
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md")))


def section(text, heading):
    """Return the text between a heading and the next one of its level."""
    level = heading.split(" ")[0]
    found = re.findall(rf"^{re.escape(heading)}(?: \{{[^\n]*)?\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", text, re.M | re.S)
    assert len(found) == 1, heading
    return found[0]


@cache
def help_of(command):
    runner = CliRunner(env={"COLUMNS": "300", "TERM": "dumb", "NO_COLOR": "1"})
    return runner.invoke(APP, [*command.split(), "--help"]).output


def every_command(group=""):
    """The commands of a group, as its help lists them."""
    panels = help_of(group).partition("\nCommands\n")[2]
    names = re.findall(r"^  ([a-z][a-z-]*)(?: |$)", panels, re.M)
    return [command for name in names for command in every_command(f"{group} {name}")] or [group.strip()]


COMMANDS = every_command()


def test_the_commands_are_those_of_the_command_line(folder):
    assert {"train", "lm estimate", "tune-decision"} <= set(COMMANDS)
    listed = re.findall(r"\[`dragoman ([a-z -]+)`\]", (folder / "commands/index.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_and_example_of_a_command_is_on_its_page(folder, command):
    page = (folder / f"commands/{command.split()[0]}.md").read_text(encoding="utf-8")
    if " " in command:
        page = section(page, f"## {command}")
    shown = help_of(command)
    declared = re.findall(r"^  (-.*?)(?:   *\S|$)", re.split("\n(?:Main o|O)ptions\n", shown, maxsplit=1)[1], re.M)
    flags = {name for names in declared for name in re.findall(r"--[a-z-]+", names)} - {"--help"}
    on_page = set(re.findall(r"`(--[a-z-]+)`", "\n".join(line.split(" | ")[0] for line in page.splitlines())))
    assert on_page == flags
    for example in re.findall(r"^ +\$ (dragoman .*?) *$", shown, re.M):
        assert f"    $ {example}\n" in page
    assert page.count("| required |") == shown.count("[required]")


def test_all_registries_have_a_page(folder):
    assert {"tuner", "rule", "metric", "global_feature", "feature", "aligner", "tagger", "corpus"} <= set(REGISTRIES)
    index = (folder / "index.md").read_text(encoding="utf-8")
    for kind, name in NAMED:
        assert f"`{name}`" in index, kind


@pytest.mark.parametrize(("kind", "name"), NAMED)
def test_whatever_has_a_name_has_a_section_with_its_options(folder, kind, name):
    cls = REGISTRIES[kind].get(name)
    pages = [path.read_text(encoding="utf-8") for path in folder.glob("*.md")]
    page = next(page for page in pages if f"`dragoman.{kind}`" in page)
    found = section(page, f"## {name}")
    first = cls.__doc__.split("\n")[0]
    assert re.sub(r"[`\\]", "", first) in re.sub(r"[`\\]", "", found)
    assert f"`{cls.__module__}.{cls.__name__}`" in found
    options_are_in(cls, found)


def options_are_in(cls, found):
    """All fields, each in a row with its default and its help."""
    rows = {line.split("`")[1]: line for line in found.splitlines() if line.startswith("| `")}
    for field in dataclasses.fields(cls):
        row = rows[field.name].replace("\\", "")
        assert " ".join(field.metadata["help"].split()).replace("\\", "") in row
        shown = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
        assert f"`{shown}`" in row if field.default not in (None, "") else "``" not in row
        for bound in ("minimum", "maximum"):
            limit = field.metadata.get(bound)
            assert limit is None or f"{limit:g}" in row


def other_options():
    for module in pkgutil.walk_packages(dragoman.__path__, "dragoman."):
        if not module.name.endswith("._kernels"):
            importlib.import_module(module.name)
    named = {REGISTRIES[kind].get(name) for kind, name in NAMED}
    found, waiting = [], [Options]
    while waiting:
        for cls in waiting.pop().__subclasses__():
            waiting.append(cls)
            # What derives from an abstract class is elsewhere, with all its options.
            if cls.__module__.startswith("dragoman.") and cls not in named and not inspect.isabstract(cls):
                found.append(cls)
    return found


@pytest.mark.parametrize("cls", other_options(), ids=lambda cls: cls.__name__)
def test_options_that_have_no_name_are_on_a_page_of_their_own(folder, cls):
    options_are_in(cls, section((folder / "options.md").read_text(encoding="utf-8"), f"## {cls.__name__}"))


def test_the_front_door_is_documented(folder):
    page = (folder / "python/index.md").read_text(encoding="utf-8")
    for name in getattr(dragoman, "__all__", []):
        assert section(page, f"## {name}").strip()


def test_the_front_door_is_whatever_the_package_says(monkeypatch):
    monkeypatch.setattr(dragoman, "__all__", ["Bitext", "train", "__version__"], raising=False)
    monkeypatch.setattr(dragoman, "Bitext", Bitext, raising=False)
    monkeypatch.setattr(dragoman, "train", train_model, raising=False)
    page = python_api.pages()["python/index.md"]
    bitext = section(page, "## Bitext")
    assert "class Bitext:\n    source: Corpus\n    target: Corpus\n" in bitext
    assert "### Bitext.read { #Bitext-read }" in bitext
    assert "@classmethod\nread(" in bitext
    assert "runtime: Runtime = Runtime()" in section(page, "## train")
    assert dragoman.__version__ in section(page, "## __version__")


def test_public_functions_of_every_room_are_there_with_their_signatures(folder):
    for path in sorted(ROOT.rglob("*.py")):
        room, *rest = path.relative_to(ROOT).parts
        if not rest or path.stem.startswith("_"):
            continue
        page = (folder / f"python/{room}.md").read_text(encoding="utf-8")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                head = "class " if isinstance(node, ast.ClassDef) else ""
                assert re.search(rf"^{head}{node.name}\b", page, re.M), f"{path.stem}.{node.name}"


def test_nothing_depends_on_where_and_when_it_is_written(text):
    assert " object at 0x" not in text
    assert str(ROOT) not in text
    assert str(Path.home()) + "/" not in text
