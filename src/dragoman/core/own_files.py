"""Files that Dragoman writes: locks, temporary names, leftovers of killed processes, and which files are its own.

A folder of ours is recognised by a marker file. Files in it that Dragoman did not write are foreign: a folder that is
restarted keeps them, and a folder that would be replaced as a whole is refused.

A file or folder that is being written has a temporary name, and its writer locks it. A temporary file whose lock is
free is a leftover, whatever its process number says: process numbers are reused, and the disk may be shared with other
machines. Their writers lock what they write too, if the file system supports locks between machines.
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

from dragoman.core.errors import BusyError, DataError, write_error


def hold(opened: int | IO[bytes]) -> bool | None:
    """Lock an open file until it is closed; return False if another process has it, None if there are no locks."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
    return True


def is_at(path: Path, opened: int) -> bool:
    """Return True if a path still names the open file: it may have been removed or replaced since."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(opened))  # noqa: PTH116 - of a link itself
    except FileNotFoundError:
        return False


def open_existing(path: Path) -> int | None:
    """Open a file or folder to lock it; never a link, and without blocking on a pipe or device."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None


def make_locked_folder(make: Callable[[], Path]) -> tuple[Path, int]:
    """Make a new folder and lock it; return its path and the descriptor whose closing unlocks it."""
    while True:
        made = make()
        opened = open_existing(made)
        if opened is not None:
            if hold(opened) is not False and is_at(made, opened):
                return made, opened
            os.close(opened)
        # Otherwise another process took it for a leftover before it was locked.


#: `.NAME.partial-PROCESS-LETTERS`; older versions locked nothing, and their names had no letters at the end.
_LEFTOVER = re.compile(r"\.(?P<name>.+)\.(?P<kind>partial|old)-(?P<process>[0-9]{1,9})(?P<letters>-[0-9a-f]{8})?")


def temporary_name(final: Path, kind: str) -> Path:
    """Return a unique name for a file or folder that is being written (`partial`) or was replaced (`old`)."""
    return final.with_name(f".{final.name}.{kind}-{os.getpid()}-{secrets.token_hex(4)}")


def is_leftover(path: Path) -> bool:
    """Return True for a temporary name: a file or folder that may have been left by a killed process."""
    return _LEFTOVER.fullmatch(path.name) is not None


def clear_leftovers(folder: Path) -> None:
    """Remove leftovers of dead processes from a folder and all below it; links are not followed.

    If a process was killed while it swapped folders, the old folder is restored.
    """
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            _clear(Path(place) / name)
        folders[:] = [name for name in folders if not is_leftover(Path(name))]


def clear_leftovers_of(final: Path) -> None:
    """Remove leftovers of one file or folder, in the same way."""
    with contextlib.suppress(FileNotFoundError):
        for entry in [entry for entry in final.parent.iterdir() if entry.name.startswith(f".{final.name}.")]:
            if (found := _LEFTOVER.fullmatch(entry.name)) and found["name"] == final.name:
                _clear(entry)


def _clear(entry: Path) -> None:
    """Remove a leftover, if no process has locked it.

    Where there are no locks, and for names of older versions, a running process with its number counts as its writer.
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
    """Remove a file, a link or a folder with its contents, as far as possible; never a pipe or a device."""
    with contextlib.suppress(OSError):
        mode = entry.lstat().st_mode
        if stat.S_ISDIR(mode):
            shutil.rmtree(entry, ignore_errors=True)
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            entry.unlink()


def is_alive(pid: int) -> bool:
    """Return True if there is a process with this number."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


#: The lock file of a folder that is updated in place.
LOCK = ".lock"


@contextlib.contextmanager
def lock_folder(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a folder that is updated in place; the folder is made if there is none.

    Leftovers of killed processes are removed from it first. The lock file stays in the folder.
    """
    folder = Path(folder)
    with _locked(folder / LOCK, folder):
        clear_leftovers(folder)
        yield


@contextlib.contextmanager
def lock_output(out: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a folder that is replaced as a whole; the lock file is beside it, and is removed at the end."""
    out = Path(os.path.abspath(out))  # noqa: PTH100 - a name for `.` and `..`, and links stay links
    lock = out.with_name(f".{out.name}.lock")
    with _locked(lock, out):
        try:
            clear_leftovers_of(out)
            yield
        finally:
            lock.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(lock: Path, folder: Path) -> Iterator[None]:
    opened = _open_lock(lock, folder)
    try:
        yield
    finally:
        os.close(opened)


def _open_lock(lock: Path, folder: Path) -> int:
    """Open and lock a lock file; one that was removed in the meantime is made again."""
    while True:
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            opened = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:  # the folder was removed between the two
            continue
        except OSError as error:
            raise write_error(folder, error) from None
        known = hold(opened)
        if known and is_at(lock, opened):
            return opened
        os.close(opened)
        if known is False:
            raise BusyError("is being worked on by another process", path=folder)
        if known is None:
            raise DataError("cannot be locked", path=folder, expected="a file system with locks")


#: Number of foreign files that a message names.
_MAX_NAMED = 3


@dataclass(frozen=True)
class OwnFiles:
    """The files of a folder that are ours, as regular expressions over their paths in it."""

    patterns: tuple[str, ...]

    def below(self, folder: str) -> tuple[str, ...]:
        """Return the patterns of these files in a folder below; `folder` is a pattern too."""
        return tuple(f"{folder}/(?:{pattern})" for pattern in self.patterns)

    def __contains__(self, name: str) -> bool:
        return any(re.fullmatch(pattern, name, re.DOTALL) for pattern in self.patterns)

    def foreign_files(self, folder: Path) -> list[str]:
        """Return the files in a folder that are not ours; of subfolders without files of ours, only their names."""
        names = [*_names(folder)]
        ours = {name.partition("/")[0] for name in names if name in self}
        found: dict[str, None] = {}
        for name in names:
            top, below, _ = name.partition("/")
            if name not in self:
                found[name if top in ours or not below else f"{top}/"] = None
        return [*found]

    def remove(self, folder: Path, *, keep: Sequence[str] = ()) -> None:
        """Remove our files, except the folder's lock and those to `keep`, and folders that are empty afterwards.

        Links are removed, not what they point to.
        """
        ours = [name for name in _names(folder) if name in self and name not in (LOCK, *keep)]
        for name in ours:
            (folder / name).unlink(missing_ok=True)
        above = {parent for name in ours for parent in Path(name).parents if parent != Path()}
        for parent in sorted(above, key=lambda one: len(one.parts), reverse=True):
            with contextlib.suppress(OSError):  # there is something else in it
                (folder / parent).rmdir()


def _names(folder: Path) -> Iterator[str]:
    """Yield the paths of all files and links below a folder, without leftovers."""
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
    r"(?:casing|compounds)/[^/]+\.npy",
)


def _model(folder: Path) -> OwnFiles:
    """Return the files of a model: arrays are those with checksums, if it has any."""
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
    """Read a TOML file; return nothing if it is missing or damaged."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


#: The evidence of an iteration of a run.
EVIDENCE = OwnFiles(
    (
        r"(?:[^/]+/){0,3}[^/]+\.npy",
        r"(?:[^/]+/)?(?:features\.txt|checksums\.toml)",
        r"mixtures\.toml",
        r"shares\.txt",
    )
)

_TRANSLATIONS = (
    r"tests/[^/]+/(?:[^/]+/)?(?:final(?:-[0-9]+)?|[0-9]{3,})\.txt",
    r"decisions/[^/]+\.toml",
    r"files\.json",
    r"\.lock",
)

#: A tuning run and, in an experiment, its translations.
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
        r"(?:conclusive|curves|decoding_scores|decodings|mixtures|pairs|runs|scales|systems|weights)\.csv",
        r"report\.html",
        r"\.lock",
        *OwnFiles(_TRANSLATIONS).below("untuned"),
        *RUN.below("runs/[^/]+/[0-9]+"),
        *OwnFiles((*_MODEL, *_ARRAYS)).below("models/[^/]+"),
    )
)

#: The stages that a killed training resumes from.
CHECKPOINT = OwnFiles((r"[^/]+/(?:key|checksums\.toml|[^/]+\.npy)",))

_MOSES = OwnFiles((r"moses\.ini", r"(?:phrase|reordering|rule)-table\.[^/]+\.gz", "glue-grammar", r"[^/]+\.arpa\.gz"))
_GRAMMAR = OwnFiles((r"grammar\.gz", r"cdec\.ini", "weights", r"[^/]+\.arpa\.gz"))
_DIAGNOSIS = OwnFiles((r"diagnostics\.json", r"report\.html"))
_SAMPLE_CURVES = OwnFiles((r"sample-curves\.csv", r"report\.html"))

#: The marker files of folders, and the files that are ours in each.
_KINDS: dict[str, Callable[[Path], OwnFiles]] = {
    "model.toml": _model,
    "normaliser.toml": _normaliser,
    "manifest.toml": _corpus,
    "moses.ini": lambda folder: _MOSES,
    "grammar.gz": lambda folder: _GRAMMAR,
    "diagnostics.json": lambda folder: _DIAGNOSIS,
    "sample-curves.csv": lambda folder: _SAMPLE_CURVES,
    "run.toml": lambda folder: RUN,
    "plan.toml": lambda folder: EXPERIMENT,
}


def own_files(folder: Path) -> OwnFiles:
    """Return the files that are ours in a folder, by its marker files; none if it has no marker."""
    return OwnFiles(
        tuple(
            pattern for mark, kind in _KINDS.items() if (folder / mark).is_file() for pattern in kind(folder).patterns
        )
    )


def refuse_foreign_files(folder: Path, kind: OwnFiles | None = None) -> None:
    """Refuse to replace a folder with files that are not ours, or anything that is not a folder."""
    if folder.is_symlink() or not folder.exists():  # a link is replaced, not what it points to
        return
    if not folder.is_dir():
        raise DataError("exists and is not a folder", path=folder, expected="a folder to replace, or a new name")
    found = (own_files(folder) if kind is None else kind).foreign_files(folder)
    if found:
        more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
        raise DataError(
            f"holds {', '.join(found[:_MAX_NAMED])}{more} that Dragoman did not write",
            path=folder,
            expected="a folder of its own",
        )
