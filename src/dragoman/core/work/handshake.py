"""What a worker must have before it is given work: this version of Dragoman, and what the work is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.errors import DragomanError
from dragoman.core.version import version
from dragoman.core.work.sent import keep_sent, packed, place_of


@dataclass(frozen=True)
class Needed:
    """A file or folder that workers read, by its absolute path: `read` says what it holds, in a few letters.

    It is on a file system that all see, or it was `sent`: then it is unpacked where a worker keeps such things.
    """

    path: Path
    digest: str
    read: Callable[[Path], str]
    sent: bytes | None = None

    @classmethod
    def of(cls, path: Path, read: Callable[[Path], str], *, send: bool = False) -> Needed:
        """Look at what is needed on this machine; `send` packs a folder up for workers that do not see it."""
        found = path.absolute()
        return cls(found, read(found), read, packed(found) if send else None)

    def missing(self) -> str | None:
        """What is wrong with it on the machine that this runs on, or None."""
        if self.sent is not None:
            keep_sent(self.digest, self.sent)
        place = place_of(self.path, self.digest)
        if not place.exists():
            return f"has no {place}"
        try:
            found = self.read(place)
        except (DragomanError, OSError) as error:
            return f"cannot read {place} ({error})"
        return None if found == self.digest else f"has something else at {place}"


def unfit(wanted: str, needs: Sequence[Needed]) -> str | None:
    """Why the process that this runs in cannot do the work, or None."""
    if version() != wanted:
        return f"has Dragoman {version()}, and this is {wanted}"
    return next((wrong for need in needs if (wrong := need.missing()) is not None), None)
