"""Threads for kernels."""

import subprocess
import sys

import pytest

# No room for the stacks of more than a few threads: the system refuses the others.
SCRIPT = """
import re, resource, sys
from pathlib import Path
import numpy as np
from dragoman import kernels

words = np.zeros(10**5, np.int32)
arguments = words, np.arange(10**5 + 1), 1, words[:1], np.array([0, 1]), kernels.sequence_index(words[:1], np.array([0, 1]))
expected = kernels.match_spans(*arguments, 1)
size = 1024 * int(re.search(r"VmSize:[ \\t]+([0-9]+)", Path("/proc/self/status").read_text())[1])
resource.setrlimit(resource.RLIMIT_AS, (size + int(sys.argv[1]) * 2**20,) * 2)
assert (kernels.match_spans(*arguments, 64) == expected).all()
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there the limit of memory is one of addresses")
def test_fewer_threads_than_asked_for_do_all_the_work():
    for megabytes in (6, 30):
        arguments = [sys.executable, "-c", SCRIPT, str(megabytes)]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
