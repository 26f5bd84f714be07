"""Corpora that others have published as files, downloaded or copied, and checked by SHA-256."""

from __future__ import annotations

import hashlib
import shutil
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from dragoman.core.errors import DataError, UsageError, version
from dragoman.core.files import PathLike, open_input, open_output, output_folder
from dragoman.core.options import format_toml, option
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.core.store import cache_folder
from dragoman.corpora.builder import BuildableCorpus
from dragoman.corpora.download import download


@dataclass(frozen=True)
class ArchiveFile:
    """A file of an archive: its name as it is written, and the SHA-256 of its text, uncompressed.

    The text is the concatenation of what is at the `urls`, or lines `first` to `last` of it (from 1, both included).
    Without `urls` the file can only come from a folder or a mirror.
    """

    name: str
    sha256: str
    urls: tuple[str, ...] = ()
    first: int = 1
    last: int | None = None  # None: the text is not cut


@dataclass(frozen=True)
class ArchiveManifest:
    """Origin of an archive, with the number of lines of each file."""

    corpus: str
    summary: str
    licence: str
    home: str
    dragoman: str
    counts: Mapping[str, int]
    files: tuple[ArchiveFile, ...]

    def to_toml(self) -> str:
        """Return the manifest as TOML, the same text for the same manifest."""
        files = [
            {"name": file.name, "sha256": file.sha256, "urls": list(file.urls), "lines": self.counts[file.name]}
            for file in self.files
        ]
        about = {name: value for name, value in asdict(self).items() if name != "counts"}
        return format_toml({**about, "files": files})


@dataclass(frozen=True)
class Archive(BuildableCorpus):
    """Published files, with their own split and tokens; a subclass is only data.

    They come from their own addresses, from a `mirror`, or from a `folder`. A mirror has them under the names that
    `build` writes, so that a finished corpus can serve as one. A folder has the same names, or is a copy of the
    published files; they may be compressed. An interrupted download is resumed by the next call.
    """

    licence: ClassVar[str]
    #: Page that describes the corpus.
    home: ClassVar[str]
    files: ClassVar[tuple[ArchiveFile, ...]]
    #: Name of a recipe that makes a similar corpus.
    recipe: ClassVar[str | None] = None

    folder: Path | None = option(None, "folder that has the files, instead of downloading them (`--from`)")
    mirror: str | None = option(None, "address of a folder that has the files as they are built (`--mirror`)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.folder is not None and self.mirror is not None:
            raise UsageError("both a folder and a mirror are given; expected one of them")
        if self.mirror is not None and urllib.parse.urlsplit(self.mirror).scheme not in ("http", "https"):
            raise UsageError(
                f"found the mirror '{self.mirror}'; expected an address that begins with http:// or https://"
            )

    def build(self, out: PathLike, *, seed: int = 1, runtime: Runtime = Runtime()) -> ArchiveManifest:
        """Write the files, gzipped, and `manifest.toml` into a folder; the split is fixed, so `seed` has no effect."""
        without = [file.name for file in self.files if not file.urls]
        if without and self.folder is None and self.mirror is None:
            similar = (
                f"; `dragoman corpora build {self.recipe} --option tokenised=true` makes a similar corpus"
                if self.recipe
                else ""
            )
            raise UsageError(
                f"no public address of {without[0]} is known; expected a folder or a mirror that has the files of"
                f" corpus '{self.name}' (--from FOLDER, --mirror URL){similar}"
            )
        runtime.note(f"licence of {self.name}: {self.licence} ({self.home})")
        downloads = cache_folder() / "corpora" / self.name
        counts = {}
        with output_folder(out) as written:
            with runtime.stage("reading files" if self.folder else "downloading files") as done:
                for number, file in enumerate(self.files):
                    # Bound now, for the loop changes it.
                    def share(part: float, before: int = number) -> None:
                        done((before + part) / len(self.files))

                    text = self._text(file, downloads, share)
                    with open_output(written / file.name) as stream:
                        stream.write(text)
                    counts[file.name] = text.count(b"\n")
                    share(1)
            manifest = ArchiveManifest(
                self.name, self.summary, self.licence, self.home, version(), counts, tuple(self.files)
            )
            with open_output(written / "manifest.toml") as stream:
                stream.write(manifest.to_toml().encode())
        shutil.rmtree(downloads, ignore_errors=True)
        return manifest

    def _text(self, file: ArchiveFile, downloads: Path, share: ProgressCallback) -> bytes:
        """Return the text of a file, checked."""
        if self.folder is not None:
            return _first_right(file, _copies(file, self.folder), self.folder)
        urls = (f"{self.mirror.rstrip('/')}/{file.name}",) if self.mirror else file.urls
        paths = [downloads / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}-{Path(url).name}" for url in urls]
        for number, (url, path) in enumerate(zip(urls, paths, strict=True)):

            def file_share(part: float, before: int = number) -> None:
                share((before + part) / len(urls))

            download(url, path, file_share)
        try:
            return _first_right(file, [_text_of(paths) if self.mirror else _cut(file, _text_of(paths))], urls[0])
        except DataError:
            for path in paths:  # so that the next call downloads them anew
                path.unlink()
            raise


def _text_of(paths: Iterable[Path]) -> bytes:
    texts = []
    for path in paths:
        with open_input(path) as stream:
            texts.append(stream.read())
    return b"".join(texts)


def _cut(file: ArchiveFile, published: bytes) -> bytes:
    """Return the lines of the published text that belong to a file."""
    if file.last is None:
        return published
    return b"".join(line + b"\n" for line in published.split(b"\n")[file.first - 1 : file.last])


def _first_right(file: ArchiveFile, texts: Iterable[bytes], place: PathLike) -> bytes:
    """Return the first text that has the checksum of the file."""
    found = []
    for text in texts:
        found.append(hashlib.sha256(text).hexdigest())
        if found[-1] == file.sha256:
            return text
    if found:
        raise DataError(f"the text of {file.name} has SHA-256 {found[0]}", path=place, expected=file.sha256)
    names = " and ".join(Path(url).name for url in file.urls)
    raise DataError(f"has no {file.name}", path=place, expected=f"it, or {names}" if names else "it")


def _copies(file: ArchiveFile, folder: Path) -> Iterator[bytes]:
    """Yield the texts in a folder that may be the file: by its own name, then as it was published."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; expected one that has {file.name}")
    for name in (file.name, file.name.removesuffix(".gz")):
        if (folder / name).is_file():
            yield _text_of([folder / name])
    published = [_published(url, folder) for url in file.urls]
    paths = [path for path in published if path is not None]
    if paths and len(paths) == len(published):
        yield _cut(file, _text_of(paths))


def _published(url: str, folder: Path) -> Path | None:
    """Return the path of a published file: in the folder itself or, if that is a copy of everything, below it."""
    parts = Path(urllib.parse.urlsplit(url).path).parts[1:]
    for start in reversed(range(len(parts))):
        for name in (parts[-1], f"{parts[-1]}.gz"):
            if (path := folder.joinpath(*parts[start:-1], name)).is_file():
                return path
    return None
