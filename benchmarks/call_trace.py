"""How far a reader has to walk: files that a command enters, and how often it goes from one to another.

python benchmarks/call_trace.py

Traces `dragoman translate` of two sentences and `dragoman tune --method mert` (two iterations, twelve sentences) with
the model of `dm.example`, by `sys.setprofile`, over the functions of the package and in all threads. Each command is
called once before, so that what is loaded or made on first use does not count.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import dragoman as dm
from dragoman.cli.main import main as dragoman
from quick import parse_arguments

_PACKAGE = str(Path(dm.__file__).parent)


class Trace:
    """Counts files, changes of file and of folder, and the deepest stack, of calls and returns."""

    def __init__(self) -> None:
        self.files = set[str]()
        self.changes = self.room_changes = self.deepest = 0
        self._last = threading.local()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Look at a call."""
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(_PACKAGE):
            return
        before: str | None = getattr(self._last, "name", None)
        if before is not None and before != name:
            self.changes += 1
            self.room_changes += Path(before).parent != Path(name).parent
        self._last.name = name
        self.files.add(name)
        depth, above = 0, frame.f_back
        while above is not None:
            depth += above.f_code.co_filename.startswith(_PACKAGE)
            above = above.f_back
        self.deepest = max(self.deepest, depth + 1)


def traced(arguments: Sequence[str]) -> Trace:
    """Trace a command."""
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        called(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return trace


def called(arguments: Sequence[str]) -> None:
    """Call the command line as it is, without what it prints."""
    before = sys.argv
    sys.argv = ["dragoman", *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            dragoman()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"{' '.join(arguments)} ended with {end.code}") from None
    finally:
        sys.argv = before


def main() -> None:
    """Print a row for each command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse_arguments(parser, "")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dm.example(folder)
        (folder / "two").write_text("Un homme dort.\nUne femme court dans la rue.\n", encoding="utf-8")
        for side in ("fr", "en"):
            lines = (folder / f"dev.{side}").read_text(encoding="utf-8").splitlines()[:12]
            (folder / f"few.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.chdir(folder)
        # A model whose files are younger than two seconds is checked at every load: they may still change.
        time.sleep(2.5)
        tune = ["tune", "--model", "model", "--source", "few.fr", "--reference", "few.en", "--method", "mert"]
        commands = {
            "translate, two sentences": ["translate", "--model", "model", "--threads", "1", "two"],
            "tune --method mert": [*tune, "--iterations", "2", "--threads", "1", "--out", "run"],
        }
        print("| command | files | changes of file | changes of folder | deepest |\n|---|---|---|---|---|")
        for label, command in commands.items():
            called(command)
            shutil.rmtree("run", ignore_errors=True)
            found = traced(command)
            shutil.rmtree("run", ignore_errors=True)
            print(f"| {label} | {len(found.files)} | {found.changes:,} | {found.room_changes:,} | {found.deepest} |")
        os.chdir(folder.parent)


if __name__ == "__main__":
    main()
