"""Downloads over HTTP that continue where they broke off."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dragoman.core.errors import BusyError, DataError, version, write_error
from dragoman.core.own_files import hold
from dragoman.core.progress import ProgressCallback

_TRIES = 4
_TIMEOUT_SECONDS = 30
_BLOCK_BYTES = 1 << 16
_RANGE_NOT_SATISFIABLE = 416


def download(url: str, path: Path, share: ProgressCallback = lambda share: None) -> None:
    """Download a file, unless it is there already.

    Until the file is complete it is called `NAME.part`. A later call asks the server for the missing bytes only (HTTP
    Range); a server that does not know ranges sends everything again. A connection that breaks is tried again a few
    times. Nothing tells whether two parts belong together: compare a checksum afterwards.
    """
    if path.exists():
        return
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _held(part) as stream:
            for tries_left in reversed(range(_TRIES)):
                try:
                    _continue(url, stream, share)
                    break
                except urllib.error.HTTPError as error:
                    if error.code != _RANGE_NOT_SATISFIABLE or not tries_left:
                        raise DataError(f"{url} cannot be downloaded (HTTP {error.code} {error.reason})") from None
                    stream.truncate(0)
                except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
                    if not tries_left:
                        why = getattr(error, "reason", None) or str(error) or type(error).__name__
                        raise DataError(f"{url} cannot be downloaded ({why})") from None
        part.replace(path)
    except OSError as error:
        raise write_error(path, error) from None


@contextmanager
def _held(part: Path) -> Iterator[IO[bytes]]:
    """Open a file for appending; only one process at a time may have it."""
    with part.open("ab") as stream:
        if hold(stream) is False:
            raise BusyError("is being downloaded by another process", path=part)
        yield stream


def _continue(url: str, stream: IO[bytes], share: ProgressCallback) -> None:
    """Append what is missing, or write everything if the server does not send a part."""
    start = stream.seek(0, 2)
    headers = {"User-Agent": f"dragoman/{version()}"} | ({"Range": f"bytes={start}-"} if start else {})
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT_SECONDS) as response:
        if response.status == http.client.PARTIAL_CONTENT:
            if not (response.headers.get("Content-Range") or "").startswith(f"bytes {start}-"):
                stream.truncate(0)
                raise ConnectionError("the server sent another part than it was asked for")
        else:
            stream.truncate(0)
            start = 0
        length = response.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        done = start
        while block := response.read(_BLOCK_BYTES):
            stream.write(block)
            done += len(block)
            if total:
                share(done / total)
        stream.flush()
        if total is not None and done < total:
            raise ConnectionError(f"the connection broke after {done:,} of {total:,} bytes")
