"""Files that Dragoman writes: which are its own, who holds them, and what killed processes left unfinished.

A folder of ours is known by a file in it, its mark. What is in it and was not written by Dragoman is a stranger's: a
folder that is begun anew keeps it, and one that would be replaced whole is refused.

Process numbers are given again, and mean nothing on another machine; a lock that can be had says that nobody is there.

What is being written has a temporary name, and is held by its writer. A leftover that can be held has none any more,
whatever its number says: numbers of processes are given again, and disks are shared with other machines, whose writers
hold what they write too, if the file system knows their locks.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dragoman.core.errors import DataError


def hold(opened: int | IO[bytes]) -> bool | None:
    """Lock what was opened, until it is closed; False if somebody has it, None where there are no locks to be had."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
    return True


def is_at(path: Path, opened: int) -> bool:
    """Whether a path still names what was opened: it may have been removed, or replaced, since."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(opened))  # noqa: PTH116 - of a link itself
    except FileNotFoundError:
        return False


def open_existing(path: Path) -> int | None:
    """Open a file or folder to lock it, but no link, and without waiting for what may stand behind its name."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None


def held_folder(make: Callable[[], Path]) -> tuple[Path, int]:
    """Make a new folder and hold it; returns its path and what has to be closed to let it go."""
    while True:
        made = make()
        opened = open_existing(made)
        if opened is not None:
            if hold(opened) is not False and is_at(made, opened):
                return made, opened
            os.close(opened)
        # Else somebody took it for a leftover before it was held.


#: `.NAME.partial-PROCESS-LETTERS`; older versions held nothing, and their names had no letters at the end.
_LEFTOVER = re.compile(r"\.(?P<name>.+)\.(?P<kind>partial|old)-(?P<process>[0-9]{1,9})(?P<letters>-[0-9a-f]{8})?")


def temporary_name(final: Path, kind: str) -> Path:
    """A name for what is to become a file or folder (`partial`), or was it before (`old`), that nobody else has."""
    return final.with_name(f".{final.name}.{kind}-{os.getpid()}-{secrets.token_hex(4)}")


def is_leftover(path: Path) -> bool:
    """Whether a name is that of a file or folder that was never finished, of a process that may have been killed."""
    return _LEFTOVER.fullmatch(path.name) is not None


def clear_leftovers(folder: Path) -> None:
    """Remove what processes that are no more left in a folder and in all below it; links are not followed.

    If one was killed while it swapped folders, the old one is brought back.
    """
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            _clear(Path(place) / name)
        folders[:] = [name for name in folders if not is_leftover(Path(name))]


def clear_leftovers_of(final: Path) -> None:
    """Remove what was to become one file or folder, in the same way."""
    with contextlib.suppress(FileNotFoundError):
        for entry in [entry for entry in final.parent.iterdir() if entry.name.startswith(f".{final.name}.")]:
            if (found := _LEFTOVER.fullmatch(entry.name)) and found["name"] == final.name:
                _clear(entry)


def _clear(entry: Path) -> None:
    """Remove a leftover, if it is one that nobody holds.

    Where there are no locks, and for names of older versions, a process of its number is taken for its writer.
    """
    found = _LEFTOVER.fullmatch(entry.name)
    if found is None:
        return
    opened = open_existing(entry)
    try:
        known = None if opened is None else hold(opened)
        if known is False or ((known is None or not found["letters"]) and is_alive(int(found["process"]))):
            return
        if opened is not None and not is_at(entry, opened):
            return
        final = entry.with_name(found["name"])
        if found["kind"] == "old" and not os.path.lexists(final):
            entry.rename(final)
        else:
            remove_whole(entry)
    finally:
        if opened is not None:
            os.close(opened)


def remove_whole(entry: Path) -> None:
    """Remove a file, a link or a folder with all that is in it, as far as that is possible; nothing else is removed."""
    with contextlib.suppress(OSError):
        mode = entry.lstat().st_mode
        if stat.S_ISDIR(mode):
            shutil.rmtree(entry, ignore_errors=True)
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            entry.unlink()


def is_alive(pid: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


#: What whoever works in a folder holds, if the folder stays (see `locks`).
LOCK = ".lock"

#: So many strangers are named.
_NAMED = 3


@dataclass(frozen=True)
class OwnFiles:
    """The files of a folder that are ours, as regular expressions of their paths in it."""

    patterns: tuple[str, ...]

    def below(self, folder: str) -> tuple[str, ...]:
        """The patterns of these files if their folder is in another one, in a place that is a pattern too."""
        return tuple(f"{folder}/(?:{pattern})" for pattern in self.patterns)

    def __contains__(self, name: str) -> bool:
        return any(re.fullmatch(pattern, name, re.DOTALL) for pattern in self.patterns)

    def strangers(self, folder: Path) -> list[str]:
        """What is not ours in a folder; of folders that have nothing of ours, only their names."""
        names = [*_names(folder)]
        ours = {name.partition("/")[0] for name in names if name in self}
        found: dict[str, None] = {}
        for name in names:
            top, below, _ = name.partition("/")
            if name not in self:
                found[name if top in ours or not below else f"{top}/"] = None
        return [*found]

    def remove(self, folder: Path, *, keep: Sequence[str] = ()) -> None:
        """Remove what is ours, but for the folder's lock and what to keep, and folders that are empty then.

        Links are removed as links.
        """
        ours = [name for name in _names(folder) if name in self and name not in (LOCK, *keep)]
        for name in ours:
            (folder / name).unlink(missing_ok=True)
        above = {parent for name in ours for parent in Path(name).parents if parent != Path()}
        for parent in sorted(above, key=lambda one: len(one.parts), reverse=True):
            with contextlib.suppress(OSError):  # there is something else in it
                (folder / parent).rmdir()


def _names(folder: Path) -> Iterator[str]:
    """The paths of all files and links below a folder, without what was left unfinished."""
    for place, folders, files in os.walk(folder):
        here = Path(place)
        folders[:] = sorted(name for name in folders if not is_leftover(Path(name)))
        links = [name for name in folders if (here / name).is_symlink()]
        for name in sorted([*files, *links]):
            if not is_leftover(Path(name)):
                yield (here / name).relative_to(folder).as_posix()


_MODEL = (r"model\.toml", r"weights\.txt", r"checksums\.toml")
_ARRAYS = (
    r"(?:vocab|tables|grammars|corpora|language_models|extra_features)/[^/]+/[^/]+\.npy",
    r"casing/[^/]+\.npy",
)


def _model(folder: Path) -> OwnFiles:
    """Of a model: the arrays that it has checksums of, if it has any."""
    listed = _read(folder / "checksums.toml")
    return OwnFiles((*_MODEL, *(map(re.escape, listed) if listed else _ARRAYS)))


def _normaliser(folder: Path) -> OwnFiles:
    files = (r"normaliser\.toml", r"memory\.tsv", r"words\.txt", r"weights\.txt", r"context\.arpa", r"capitals\.tsv")
    return OwnFiles((*files, *_model(folder / "model").below("model")))


def _corpus(folder: Path) -> OwnFiles:
    """Of a corpus: the parts of the sides, or the files, that its manifest names."""
    about = _read(folder / "manifest.toml")
    sides = [about.get("source"), about.get("target"), *(about.get("references") or ())]
    parts = (rf"(?:train|dev|test)\.{re.escape(str(side))}(?:\.gz)?" for side in sides)
    files = about.get("files")
    names = [str(file.get("name")) for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    return OwnFiles((r"manifest\.toml", *parts, *map(re.escape, names)))


def _read(file: Path) -> dict[str, Any]:
    """What a file says; nothing if it is not there or damaged."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


#: What an iteration of a run decoded.
EVIDENCE = OwnFiles(
    (
        r"(?:[^/]+/){0,3}[^/]+\.npy",
        r"(?:[^/]+/)?(?:features\.txt|checksums\.toml)",
        r"mixtures\.toml",
        r"shares\.txt",
    )
)

_TRANSLATIONS = (
    r"tests/[^/]+/(?:[^/]+/)?(?:final|[0-9]{3,})\.txt",
    r"decisions/[^/]+\.toml",
    r"files\.json",
    r"\.lock",
)

#: A tuning run, and in an experiment its translations.
RUN = OwnFiles(
    (
        r"(?:run|checksums)\.toml",
        r"events\.jsonl",
        r"weights\.txt",
        r"last_look\.json",
        r"weights/[0-9]{3,}\.txt",
        r"state/[0-9]{3,}\.npz",
        *EVIDENCE.below("evidence/[0-9]{3,}"),
        *_TRANSLATIONS,
    )
)

EXPERIMENT = OwnFiles(
    (
        r"(?:plan|content|checksums)\.toml",
        r"(?:curves|mixtures|pairs|runs|scales|systems|weights)\.csv",
        r"report\.html",
        r"\.lock",
        *OwnFiles(_TRANSLATIONS).below("untuned"),
        *RUN.below("runs/[^/]+/[0-9]+"),
        *OwnFiles((*_MODEL, *_ARRAYS)).below("models/[^/]+"),
    )
)

#: What a training that was killed goes on with.
CHECKPOINT = OwnFiles((r"[^/]+/(?:key|checksums\.toml|[^/]+\.npy)",))

_MOSES = OwnFiles((r"moses\.ini", r"(?:phrase|reordering|rule)-table\.[^/]+\.gz", "glue-grammar", r"[^/]+\.arpa\.gz"))
_GRAMMAR = OwnFiles((r"grammar\.gz", r"cdec\.ini", "weights", r"[^/]+\.arpa\.gz"))
_DIAGNOSIS = OwnFiles((r"diagnostics\.json", r"report\.html"))

#: The files by which folders are known, and what is ours in each.
_KINDS: dict[str, Callable[[Path], OwnFiles]] = {
    "model.toml": _model,
    "normaliser.toml": _normaliser,
    "manifest.toml": _corpus,
    "moses.ini": lambda folder: _MOSES,
    "grammar.gz": lambda folder: _GRAMMAR,
    "diagnostics.json": lambda folder: _DIAGNOSIS,
    "run.toml": lambda folder: RUN,
    "plan.toml": lambda folder: EXPERIMENT,
}


def own_files(folder: Path) -> OwnFiles:
    """What is ours in a folder, by its marks; nothing if it has none."""
    return OwnFiles(
        tuple(
            pattern for mark, kind in _KINDS.items() if (folder / mark).is_file() for pattern in kind(folder).patterns
        )
    )


def refuse_strangers(folder: Path, kind: OwnFiles | None = None) -> None:
    """Refuse to replace a folder with files that are not ours, or anything that is no folder."""
    if folder.is_symlink() or not folder.exists():  # a link is replaced, and not what it leads to
        return
    if not folder.is_dir():
        raise DataError("exists and is not a folder", path=folder, expected="a folder to replace, or a new name")
    found = (own_files(folder) if kind is None else kind).strangers(folder)
    if found:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise DataError(
            f"holds {', '.join(found[:_NAMED])}{more} that Dragoman did not write",
            path=folder,
            expected="a folder of its own",
        )
