"""Threads that the system does not give: the work is done by those that there are."""

import subprocess
import sys

import pytest

#: Each thread wants so much address space for its stack, which glibc reads when a process starts.
STACK = 1 << 32

SCRIPT = """
import resource, sys, threading
import numpy as np
from dragoman import kernels

def found(threads):
    tokens = np.arange(20_000, dtype=np.int32) % 97
    lines = np.arange(0, 20_001, 10, dtype=np.int64)
    phrases, offsets = np.arange(97, dtype=np.int32), np.arange(98, dtype=np.int64)
    index = kernels.sequence_index(phrases, offsets)
    return kernels.match_spans(tokens, lines, 3, phrases, offsets, index, threads)

pages = int(open("/proc/self/statm").read().split()[0])
expected = found(1)
room = pages * resource.getpagesize() + int(sys.argv[1]) * (1 << 32) + (1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
assert np.array_equal(found(int(sys.argv[2])), expected)
waiting = threading.Event()
try:
    for _ in range(8):
        threading.Thread(target=waiting.wait, daemon=True).start()
except RuntimeError:
    print("no more threads")
finally:
    waiting.set()
"""


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("there_are", [0, 2])
def test_threads_that_cannot_be_had(there_are, threads):
    import resource

    def large_stacks():
        resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(there_are), str(threads)],
        preexec_fn=large_stacks,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (0, "no more threads\n"), done.stderr
