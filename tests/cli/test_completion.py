"""What a shell is offered when somebody presses Tab."""

import os
import subprocess
import sys

import pytest
import typer

from dragoman.cli.main import build_app, command_entries


@pytest.fixture(scope="module")
def group():
    return typer.main.get_command(build_app())


def offered(command, incomplete, parameter=None):
    context = typer.Context(command)
    asked = command if parameter is None else next(one for one in command.params if one.name == parameter)
    return [item.value for item in asked.shell_complete(context, incomplete)]


def test_commands_and_options_that_begin_so(group):
    assert offered(group, "tune") == ["tune", "tune-decision"]
    assert offered(group, "") == list(command_entries())
    assert offered(group, "--v") == ["--version"]


@pytest.mark.parametrize(
    ("command", "parameter", "incomplete", "names"),
    [
        ("tune", "method", "mira", ["mira", "mira-online", "mira-smo"]),
        ("tune", "metric", "ch", ["chrf"]),
        ("score", "metric", "b", ["bleu"]),
        ("train", "aligner", "h", ["hmm"]),
        ("translate", "decision", "max", ["max-derivation", "max-translation"]),
        ("translate", "nbest_format", "j", ["joshua", "jsonl"]),
        ("mbr", "format_name", "so", ["sockeye"]),
    ],
)
def test_names_of_methods_metrics_and_formats(group, command, parameter, incomplete, names):
    assert offered(group.get_command(None, command), incomplete, parameter) == names


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_a_shell_needs_is_printed(dragoman, shell):
    result = dragoman("--show-completion", shell)
    assert (result.code, result.err) == (0, "")
    assert f"_DRAGOMAN_COMPLETE=complete_{shell}" in result.out


def test_a_shell_gets_its_answer():
    program = [sys.executable, "-c", "from dragoman.cli.main import main; main()"]
    asked = {"_DRAGOMAN_COMPLETE": "complete_bash", "COMP_WORDS": "dragoman tra", "COMP_CWORD": "1"}
    done = subprocess.run(program, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["train", "translate"]
