"""Finding one's way: help, version, and commands that do not exist."""

import importlib
import re
import subprocess
import sys

import pytest
import typer

from dragoman import __version__ as version
from dragoman.cli.main import build_app, command_entries

pytestmark = pytest.mark.slow


def walk(command, *names):
    """A command with its name, then all that are below it."""
    yield names, command
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from walk(command.get_command(None, name), *names, name)


EVERYTHING = {" ".join(names): command for names, command in walk(typer.main.get_command(build_app()))}
GROUPS = [name for name, command in EVERYTHING.items() if hasattr(command, "list_commands")]
COMMANDS = [name for name in EVERYTHING if name not in GROUPS]


def test_the_walk_is_long_enough():
    assert {
        "",
        "classes",
        "corpora",
        "export",
        "import",
        "lm",
        "methods",
        "model",
        "normalise",
        "rerank",
        "weights",
    } == set(GROUPS)
    assert {"train", "translate", "rerank apply", "weights diff", "tune-decision"} <= set(COMMANDS)


def test_all_commands_are_listed_with_a_line_about_each(dragoman):
    result = dragoman("--help")
    assert result.code == 0
    for name, command in command_entries().items():
        assert f"\n  {name} " in result.out
        assert command.summary.split()[0] in result.out
    assert "$ dragoman demo --out demo" in result.out
    assert "$ dragoman train " in result.out


def test_what_is_listed_is_what_modules_say_of_themselves():
    for name, command in command_entries().items():
        lines = [line.lower() for line in importlib.import_module(command.module).__doc__.splitlines()]
        assert f"`dragoman {name}`: {command.summary.lower()}" in lines


def test_every_command_of_a_module_is_listed():
    for module in {command.module for command in command_entries().values()}:
        app = typer.Typer()
        importlib.import_module(module).register(app)
        names = [one.name for one in [*app.registered_commands, *app.registered_groups]]
        assert set(names) == {name for name, command in command_entries().items() if command.module == module}


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("name", EVERYTHING)
def test_help_shows_every_name_whole(dragoman, name, columns):
    result = dragoman(*name.split(), "--help", environment={"COLUMNS": str(columns)})
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"Usage: dragoman {name}".rstrip())
    assert "…" not in result.out
    assert "<bool>" not in result.out
    words = set(re.split(r"[\s,]+", result.out))
    for parameter in EVERYTHING[name].params:
        if parameter.param_type_name == "option":
            assert {*parameter.opts, *parameter.secondary_opts} <= words
        else:
            assert parameter.name.rstrip("_") in result.out.lower()
    for line in result.out.splitlines():
        assert len(line) <= columns or line.startswith(("  $ ", "Usage: ")), line  # examples are there to be copied


@pytest.mark.parametrize("name", EVERYTHING)
def test_help_has_no_type_for_flags_that_take_no_value(dragoman, name):
    lines = dragoman(*name.split(), "--help").out.splitlines()
    for parameter in EVERYTHING[name].params:
        if getattr(parameter, "is_flag", False):
            (line,) = (line for line in lines if re.match(rf"  ([^ ]+, )*{max(parameter.opts, key=len)}( |$)", line))
            assert not re.search(r"^  [^ ].*(<bool>|BOOLEAN)", line)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example(dragoman, command):
    examples = [line for line in dragoman(*command.split(), "--help").out.splitlines() if line.startswith("  $ ")]
    assert any(re.search(rf"\bdragoman {command}( |$)", line) for line in examples)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("train", {"--source", "--target", "--out", "--preset", "--hierarchical", "--lm-text"}),
        ("tune", {"--model", "--source", "--reference", "--out", "--method"}),
    ],
)
def test_help_begins_with_the_options_that_matter(dragoman, command, names):
    sections = re.split(r"\n\n(?=\w)", dragoman(command, "--help").out)
    titles = [section.partition("\n")[0] for section in sections]
    assert titles.index("Main options") == titles.index("Examples") + 1
    assert set(re.findall(r"^  (--[\w-]+)", sections[titles.index("Main options")], re.MULTILINE)) == names
    assert titles[-1] == "Options"


def test_paragraphs_of_help_fill_the_line(dragoman, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    lines = [line.strip() for line in dragoman("train", "--help").out.splitlines()]
    assert any(line.startswith("Tokenises, lower-cases") and len(line) > 150 for line in lines)


def test_help_for_a_person_has_colours_unless_they_are_unwanted(monkeypatch):
    group = typer.main.get_command(build_app())
    for wanted in (True, False):
        monkeypatch.setenv("NO_COLOR", "" if wanted else "1")
        assert ("\x1b[" in group.get_help(typer.Context(group))) == wanted


@pytest.mark.parametrize("group", GROUPS)
def test_no_command_shows_help(dragoman, group):
    result = dragoman(*group.split())
    assert result.code == 2
    assert "Usage: dragoman" in result.out + result.err
    assert "Commands" in result.out + result.err


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["translte"], "No such command 'translte'. Did you mean 'translate'"),
        (["model", "shw", "m"], "No such command 'shw'. Did you mean 'show'"),
        (["train", "--sorce", "s"], "No such option"),
        (["train", "--source", "s", "--target", "t"], "Missing option"),
        (["train", "--source", "s", "--target", "t", "--out", "m", "--threads", "0"], "Invalid value"),
        (["train", "--source", "s", "--target", "t", "--out", "m", "--smoothing", "some"], "Invalid value"),
        (["demo", "--out", "d", "--sentences", "many"], "Invalid value"),
    ],
)
def test_commands_that_cannot_be_understood(dragoman, arguments, found):
    result = dragoman(*arguments)
    assert result.code == 2
    assert found in result.err
    assert result.out == ""


def test_tables_of_toml_files_are_not_taken_for_markup(dragoman):
    text = dragoman("experiment", "--help").out
    for table in ("[[method]]", "[[decision]]", "[loop]"):
        assert table in text


@pytest.mark.parametrize("before", [[], ["--debug"]])
def test_version(dragoman, before):
    result = dragoman(*before, "--version")
    assert (result.code, result.err) == (0, "")
    assert result.out == f"dragoman {version}\n"


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_do_not_wait_for_commands(flag):
    """NumPy, rich, matplotlib, the kernels and the commands themselves take tenths of seconds to seconds."""
    script = (
        f"import sys\nfrom dragoman.cli.main import main\nsys.argv = ['dragoman', '{flag}']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported = set(done.stderr.split())
    assert "dragoman.cli.main" in imported
    assert not imported & {"numpy", "scipy", "rich", "pydantic", "matplotlib", "sacremoses", "pythonbible", "zstandard"}
    assert not imported & {command.module for command in command_entries().values()}
    assert not any(name.startswith("dragoman.kernels") for name in imported)
