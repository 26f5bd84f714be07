"""The option `--quick`: a run of seconds on tiny data, whose figures mean nothing, but which goes everywhere."""

from __future__ import annotations

import argparse
import atexit
import sys
import tempfile
from pathlib import Path
from string import Formatter


def parse_arguments(parser: argparse.ArgumentParser, quick: str) -> argparse.Namespace:
    """Parse the command line of a benchmark; with `--quick`, the options of `quick` come first, so that others win.

    Names in braces in it (`{data}`, `{model}`, `{out}` …) stand for paths of what is made: methods of `TinyData`.
    """
    parser.add_argument("--quick", action="store_true", help="run in seconds on tiny data that are made for it")
    given = sys.argv[1:]
    if "--quick" not in given or {"-h", "--help"} & set(given):
        return parser.parse_args()
    # Not at the top: benchmarks that measure memory would measure it too.
    from tiny_data import TinyData

    temporary = tempfile.TemporaryDirectory(prefix="dragoman-quick-")
    atexit.register(temporary.cleanup)
    made = TinyData(Path(temporary.name))
    names = {name for _, name, _, _ in Formatter().parse(quick) if name}
    paths = {name: getattr(made, name)() for name in sorted(names)}
    return parser.parse_args([*(option.format(**paths) for option in quick.split()), *given])
