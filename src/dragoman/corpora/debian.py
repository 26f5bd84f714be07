"""Files from Debian packages: installed ones, `.deb` files in a folder, or freshly downloaded ones."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.corpora.recipe import Package


@dataclass(frozen=True)
class Contents:
    """Files by path, and the packages that they come from."""

    files: dict[str, bytes]
    packages: tuple[Package, ...]


def find_packages(pattern: str, folder: Path | None) -> list[str]:
    """Return the names of the packages that match a regular expression: those in the folder, or all that apt knows."""
    if folder is None:
        listed = _run(["apt-cache", "pkgnames"])
    else:
        listed = "\n".join(file.name.split("_")[0] for file in _archives(folder))
    return sorted({name for name in listed.split() if re.fullmatch(pattern, name)})


def read_packages(
    names: Sequence[str],
    wanted: Callable[[str], bool],
    *,
    licence: str,
    folder: Path | None,
    runtime: Runtime = Runtime(),
) -> Contents:
    """Read the wanted files of the named packages.

    They come from the `.deb` files of the folder, if one is given; else from the system, if all packages are installed;
    else from apt-get, which downloads packages without root and without installing them.
    """
    if folder is not None:
        return _read_archives(_archives_of(names, folder), wanted, licence, runtime)
    if (contents := _read_installed(names, wanted, licence)) is not None:
        return contents
    with tempfile.TemporaryDirectory(prefix="dragoman-") as downloads:
        _download(names, Path(downloads), runtime)
        return _read_archives(_archives_of(names, Path(downloads)), wanted, licence, runtime)


def _archives(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; expected one with .deb files")
    return sorted(folder.glob("*.deb"))


def _archives_of(names: Sequence[str], folder: Path) -> list[Path]:
    by_name = {file.name.split("_")[0]: file for file in _archives(folder)}
    for name in names:
        if name not in by_name:
            raise UsageError(f"{folder} has no package {name}; expected a file {name}_VERSION_ARCHITECTURE.deb")
    return [by_name[name] for name in names]


def _read_archives(archives: Sequence[Path], wanted: Callable[[str], bool], licence: str, runtime: Runtime) -> Contents:
    files: dict[str, bytes] = {}
    packages = []
    with runtime.stage("reading packages") as progress_callback:
        for number, archive in enumerate(archives, 1):
            name, version = _run(["dpkg-deb", "-W", "--showformat=${Package} ${Version}", str(archive)]).split()
            packages.append(Package(name, version, licence))
            # Streamed, so that the pictures and sounds of a game need no space on disk.
            with _start(["dpkg-deb", "--fsys-tarfile", str(archive)]) as process:
                files |= _read_tar(cast(IO[bytes], process.stdout), wanted, archive)
            if process.returncode:
                raise DataError("could not be unpacked by dpkg-deb", path=archive)
            progress_callback(number / len(archives))
    return Contents(files, tuple(packages))


def _read_tar(stream: IO[bytes], wanted: Callable[[str], bool], archive: Path) -> dict[str, bytes]:
    files = {}
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                path = member.name.removeprefix(".")
                if member.isfile() and wanted(path):
                    files[path] = cast(IO[bytes], tar.extractfile(member)).read()
        stream.read()
    except tarfile.TarError as error:
        raise DataError(f"is damaged ({error})", path=archive, expected="a Debian package") from None
    return files


def _read_installed(names: Sequence[str], wanted: Callable[[str], bool], licence: str) -> Contents | None:
    files: dict[str, bytes] = {}
    packages = []
    try:
        for name in names:
            state, version = _run(["dpkg-query", "-W", "--showformat=${db:Status-Status} ${Version}", name]).split(" ")
            if state != "installed":
                return None
            for path in _run(["dpkg-query", "-L", name]).splitlines():
                if wanted(path) and Path(path).is_file():
                    files[path] = Path(path).read_bytes()
            packages.append(Package(name, version, licence))
    except (DataError, UsageError):
        return None
    return Contents(files, tuple(packages)) if files else None


def _download(names: Sequence[str], folder: Path, runtime: Runtime) -> None:
    with runtime.stage("downloading packages"), _start(["apt-get", "download", *names], cwd=folder, text=True) as run:
        last = ""
        for line in cast(IO[str], run.stdout):
            if line.startswith("Get:"):
                runtime.note(line.strip())
            elif line.strip() and not line.startswith("W:"):
                last = line.strip()
    if run.returncode:
        raise DataError(f"apt-get could not download {', '.join(names)} ({last.removeprefix('E: ')})")


def _run(command: Sequence[str]) -> str:
    with _start(command, text=True) as process:
        output = cast(str, process.communicate()[0])
    if process.returncode:
        last = (output.strip().splitlines() or ["no reason given"])[-1]
        raise DataError(f"{command[0]} failed ({last.removeprefix('E: ')})")
    return output


def _start(command: Sequence[str], *, cwd: Path | None = None, text: bool = False) -> subprocess.Popen[Any]:
    try:
        return subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if text else None,
            encoding="utf-8" if text else None,
            env=os.environ | {"LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise UsageError(
            f"this corpus needs the program {command[0]}, which is not installed; it is part of Debian and Ubuntu"
        ) from None
