"""The workspace of large work: how much memory it may take, and a temporary folder for data that does not fit.

The folder is made when it is first needed and removed at the end, also after an error. Folders of killed processes are
removed by the next process that uses the same place.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from dragoman.core.errors import DataError, UsageError, write_error
from dragoman.core.files import PathLike
from dragoman.core.own_files import hold, is_alive, make_locked_folder, open_existing

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

#: However little memory is left, work goes on in pieces of the given memory divided by this.
_SMALLEST_PART = 8

#: Prefix of the names of temporary folders, and suffix of those that their process has locked.
_PREFIX, _HELD = "dragoman-", "-held"


def memory_size(text: str | int) -> int:
    """Read a number of bytes, with K, M, G or T for the powers of 1024.

    >>> memory_size("4G"), memory_size("1.5M"), memory_size("1000")
    (4294967296, 1572864, 1000)
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)", str(text), re.ASCII)
    size = int(float(found[1]) * _UNITS[found[2]]) if found and len(found[1]) < 20 else 0
    if not 0 < size < 1 << 60:
        raise UsageError(f"the memory is '{text}'; expected a number above 0 and K, M, G or T, as in 4G")
    return size


def format_size(size: float) -> str:
    """Write a number of bytes with its unit.

    >>> format_size(1.5 * 2**30), format_size(900)
    ('1.5 GB', '900 bytes')
    """
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}" if size < 100 * unit else f"{size / unit:,.0f} {name}"
    return f"{size:.0f} bytes"


def free_memory() -> int:
    """Return the number of bytes of memory that this process can take without swapping."""
    free = []
    with contextlib.suppress(OSError):
        found = re.search(r"^MemAvailable: *([0-9]+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.M)
        free += [int(found[1]) << 10] if found else []
    with contextlib.suppress(OSError, ValueError):  # the limit of a container
        limit, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text(encoding="ascii") for name in ("max", "current"))
        free.append(max(int(limit) - int(used), 0))
    with contextlib.suppress(OSError, ValueError, AttributeError):
        free += [] if free else [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2]
    return max(min(free, default=4 << 30), 64 << 20)


def resident_memory() -> int:
    """Return the resident memory of this process in bytes; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


class Workspace:
    """Memory and temporary space for work; without `memory` there is no limit, and nothing is written to disk.

    >>> with Workspace(memory=1 << 30) as workspace:
    ...     folder = workspace.folder
    >>> folder.exists()
    False
    """

    def __init__(self, memory: int | None = None, temporary: PathLike | None = None):
        self.memory = memory
        self._temporary = None if temporary is None else Path(temporary)
        self._folder: Path | None = None
        self._signals: dict[int, object] = {}
        if self._temporary is not None and not self._temporary.is_dir():
            raise DataError("is not a folder", path=self._temporary, expected="a folder for temporary files")

    @property
    def _parent(self) -> Path:
        """Parent of the temporary folder; the system's default is looked up when it is needed."""
        return self._temporary or Path(tempfile.gettempdir())

    def room(self) -> int:
        """Return the number of bytes that the next piece of work may take."""
        if self.memory is None:
            return sys.maxsize
        return max(self.memory - resident_memory(), self.memory // _SMALLEST_PART, 1)

    @property
    def folder(self) -> Path:
        """The temporary folder."""
        if self._folder is None:
            try:
                start = f"{_owner()}{os.getpid()}-"
                self._folder, self._held = make_locked_folder(
                    lambda: Path(tempfile.mkdtemp(_HELD, prefix=start, dir=self._parent))
                )
            except OSError as error:
                raise write_error(self._parent, error) from None
        return self._folder

    def check_disk(self, needed: int) -> None:
        """Refuse work that needs more temporary space than there is."""
        try:
            free = shutil.disk_usage(self._parent).free
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror})", path=self._parent) from None
        if needed > free:
            raise DataError(
                f"has {format_size(free)} free, and about {format_size(needed)} of temporary files will be written",
                path=self._parent,
                expected="more room, another folder for them, or more memory",
            )

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Turn an error of writing into one that names the folder."""
        try:
            yield
        except OSError as error:
            raise write_error(self._parent, error) from None

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError):
            _clear_leftovers(self._parent, _owner())
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
                if signal.getsignal(number) is signal.SIG_DFL:  # the default would leave the folder behind
                    self._signals[number] = signal.signal(number, _leave)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the temporary folder; arrays mapped from it stay readable."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            os.close(self._held)
        while self._signals:
            signal.signal(self._signals.popitem()[0], signal.SIG_DFL)


def _owner() -> str:
    """Return the prefix of this machine's folders: other machines may use the same disk."""
    return f"{_PREFIX}{socket.gethostname()}-"


def _leave(number: int, frame: types.FrameType | None) -> None:
    raise SystemExit(128 + number)


def _clear_leftovers(parent: Path, owner: str) -> None:
    """Remove the folders of dead processes of this machine."""
    for entry in [entry for entry in parent.iterdir() if entry.name.startswith(owner)]:
        pid, _, rest = entry.name.removeprefix(owner).partition("-")
        if not rest or not re.fullmatch("[0-9]{1,9}", pid) or (opened := open_existing(entry)) is None:
            continue
        try:
            known = hold(opened)
            if known is not False and ((known and rest.endswith(_HELD)) or not is_alive(int(pid))):
                shutil.rmtree(entry, ignore_errors=True)
        finally:
            os.close(opened)
