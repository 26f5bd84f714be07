"""Work in a thread that can be told to end from outside: kernels ask, ten times a second, whether they should go on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from dragoman import kernels


@contextlib.contextmanager
def stopped_by(check: Callable[[], None]) -> Iterator[None]:
    """Have the kernels that this thread calls ask a function whether to go on; what it raises ends them, and is raised.

    Kernels that other threads call for this one do not ask: whoever wants work to be stopped gives it one thread. Nor
    do those ask that are done within a tenth of a second, nor anything that is not a kernel.

    >>> with stopped_by(lambda: None):
    ...     pass
    """
    before = kernels.set_watcher(check)
    try:
        yield
    finally:
        kernels.set_watcher(before)
