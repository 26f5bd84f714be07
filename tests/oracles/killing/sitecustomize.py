"""Ends a command and all its processes when one of them is about to give a file its name; for tests of kills.

Python loads this at the start of each process that has its folder in PYTHONPATH. `KILL_BEFORE` is a pattern of paths.
"""

import os
import signal
import sys
from fnmatch import fnmatchcase

_PATTERN = os.environ["KILL_BEFORE"]


def _hook(event, arguments):
    if event == "os.rename" and fnmatchcase(os.fsdecode(arguments[1]), _PATTERN):
        os.killpg(0, signal.SIGKILL)


sys.addaudithook(_hook)
