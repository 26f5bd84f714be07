"""What a person at a terminal sees, and what a log gets."""

import io
import os
import pty
import re
import subprocess

import pytest
from rich.console import Console

from dragoman.cli.shell import terminal
from dragoman.core.progress import BarProgress

pytestmark = pytest.mark.slow

NASTY = "[/bold] a[0] [red]x[/red] \\"


def at_a_terminal(command, *arguments, out=None):
    """Run a command with a terminal for its output, or for what it says beside; returns its exit code and that."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([command, *map(str, arguments)], stdin=theirs, stdout=out or theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            block = os.read(ours, 65536)
        except OSError:  # the other end was closed
            break
        if not block:
            break
        shown += block
    os.close(ours)
    return process.wait(), shown.decode()


def test_bars_and_colours_at_a_terminal(command, toy, tmp_path):
    code, shown = at_a_terminal(command, *toy.train, "--out", tmp_path / "m")
    assert code == 0
    assert "extracting phrases" in shown
    assert "━" in shown  # a bar
    assert "\x1b[" in shown
    assert "Traceback" not in shown


def test_translations_into_a_file_have_a_bar_at_the_terminal(command, dragoman, model, toy, tmp_path):
    wanted = dragoman("translate", "--model", model, toy.source)
    with (tmp_path / "out").open("wb") as out:
        code, shown = at_a_terminal(command, "translate", "--model", model, toy.source, out=out)
    assert (code, wanted.err) == (0, "")
    assert (tmp_path / "out").read_text(encoding="utf-8") == wanted.out
    lines = wanted.out.count("\n")
    assert "━" in shown
    assert f"translating {lines:,} of {lines:,} sentences, " in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)


def test_there_is_no_bar_between_translations(command, model, toy, tmp_path):
    (tmp_path / "few").write_text("\n".join(" ".join(pair.source) for pair in toy.pairs[:2]), encoding="utf-8")
    code, shown = at_a_terminal(command, "translate", "--model", model, tmp_path / "few")
    assert (code, len(shown.splitlines())) == (0, 2)
    assert "\x1b" not in shown


def test_no_colours_and_no_bars_elsewhere(spawn, toy, tmp_path):
    result = spawn(*toy.train, "--out", tmp_path / "m")
    assert "\x1b" not in result.out + result.err
    assert "━" not in result.err


def test_stages_notes_and_warnings_are_shown_as_they_are():
    bars = BarProgress()
    bars._console = Console(file=io.StringIO(), force_terminal=True, width=200, color_system=None, highlight=False)
    with bars.stage(f"reading {NASTY}") as done:
        done(0.5)
        bars.note(NASTY)
        bars.warn(NASTY)
    shown = bars._console.file.getvalue()
    assert f"reading {NASTY}" in shown
    assert f"! {NASTY}" in shown
    assert shown.count(NASTY) >= 3


@pytest.mark.parametrize("width", [40, 10_000])
def test_tables_show_everything_as_it_is(width):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    long = "/a/rather/long/path/" * 5
    console.print(
        terminal.table(NASTY if width > 40 else "t", ["[b]", "n", "x"], [(NASTY, 1234, 0.00001234), (long, 5, 1.0)])
    )
    shown = console.file.getvalue()
    assert "[b]" in shown
    assert "1,234" in shown
    assert "1.234e-05" in shown
    if width > 40:
        assert NASTY in shown.splitlines()[0]
        assert long in shown
        assert len(shown.splitlines()) == 4
    else:
        assert "".join(line[: line.find(" ")] for line in shown.splitlines()).count("path") >= 1
