"""The server: models are loaded, and requests are answered until somebody stops it."""

from __future__ import annotations

import gc
import math
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn

from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import SILENT, Progress
from dragoman.serve.access import Access, is_loopback
from dragoman.serve.app import make_app
from dragoman.serve.models import Shelf
from dragoman.serve.protocol import LONGEST_HEAD, timed_protocol
from dragoman.serve.service import Service
from dragoman.serve.settings import Limits

#: Connections that wait to be taken.
_BACKLOG = 256

#: How long a thread waits for the interpreter before it asks for it.
_SWITCH_SECONDS = 0.0005

#: A connection between two requests is kept so long: longer than clients and proxies usually do, so that it is they who
#: close it, and none sends a request into one that is being closed.
_IDLE_SECONDS = 75


#: When it is to end, what is under way has as long as slow work and clients may take, and so many seconds more.
_LAST_SECONDS = 5


@dataclass(frozen=True)
class Address:
    """Where to listen, and who may ask there."""

    host: str
    port: int
    access: Access

    @classmethod
    def of(cls, host: str, port: int, key: str | None, *, no_key: bool, names: Sequence[str] = ()) -> Address:
        """Check that nobody is let in by mistake: what others can reach has a key, or is said to have none.

        A host that only this machine can reach goes by its own names only, so that no other site's name leads a browser
        to it.
        """
        if key and no_key:
            raise UsageError("found --api-key and --no-key; expected one of them")
        if key == "":
            raise UsageError("the key is empty; expected some characters, or --no-key")
        local = is_loopback(host)
        if not local and not key and not no_key:
            raise UsageError(f"others can reach {host}: give --api-key KEY, or say --no-key if everybody may ask")
        own = {host.lower(), f"[{host}]", "localhost", "127.0.0.1", "[::1]", *(name.lower() for name in names)}
        return cls(host, port, Access(key, frozenset(own) if local or names else None))

    def bound(self) -> socket.socket:
        """Listen, or say why that cannot be."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # Only where the protocol is named does asyncio turn Nagle's algorithm off, by which the body of an answer
        # waits, up to 40 ms, until the client has said that it got the head.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self.host, self.port))
            listener.listen(_BACKLOG)  # whoever asks from now on waits until models are loaded
        except OSError as error:
            listener.close()
            raise DataError(
                f"cannot listen at {self.host}, port {self.port}: {error.strerror}", expected="another --host or --port"
            ) from None
        return listener


class _Server(uvicorn.Server):
    """A server that says when it is to end, so that streams do."""

    def __init__(self, config: uvicorn.Config, service: Service):
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Answer what is under way, and end."""
        self._service.closing = True
        super().handle_exit(sig, frame)


def configured(app: object, limits: Limits, *, log_requests: bool = False) -> uvicorn.Config:
    """How uvicorn is to serve: clients that are slow or idle are left."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        access_log=log_requests,
        log_level="info" if log_requests else "warning",
        proxy_headers=True,
        forwarded_allow_ips="127.0.0.1,::1",  # a proxy on this machine says whose request it is
        server_header=False,
        date_header=False,
        lifespan="on",
        http=timed_protocol(limits.client_seconds),
        ws="none",
        loop="asyncio",
        backlog=_BACKLOG,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=math.ceil(max(limits.slow_seconds, limits.client_seconds)) + _LAST_SECONDS,
        h11_max_incomplete_event_size=LONGEST_HEAD,
    )


def serve_until_stopped(
    address: Address,
    *,
    models: Sequence[str],
    weights: Sequence[str] = (),
    languages: Sequence[str] = (),
    runs: Path | None = None,
    limits: Limits = Limits(),
    cors: Sequence[str] = (),
    log_requests: bool = False,
    threads: int | None = None,
    copied: bool = False,
    progress: Progress = SILENT,
) -> None:
    """Load models and answer requests until interrupted."""
    if runs is not None and not runs.is_dir():
        raise DataError("is not a folder", path=runs, expected="a folder with runs")
    listener = address.bound()
    with listener:
        shelf = Shelf.of(models, weights=weights, languages=languages, copied=copied)
        service = Service(shelf, limits, runs=runs, threads=threads)
        app = make_app(service, address.access, cors=cors)
        server = _Server(configured(app, limits, log_requests=log_requests), service)
        # From the first word on it can be told to end; after all was answered, uvicorn says so once more.
        before = signal.signal(signal.SIGTERM, server.handle_exit)
        try:
            _answer_promptly()
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            progress.note(f"{', '.join(shelf.names)} at http://{shown}:{port} (Ctrl-C ends it)")
            server.run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, before)


def _answer_promptly() -> None:
    """See that the thread that answers gets its turn beside those that work.

    Kernels give up the interpreter for microseconds, and a thread that waits for it asks only after it has not been
    given up for a whole interval: beside many short kernels it would wait until all are done. And what is there for
    good need not be looked through whenever garbage is collected, which keeps everybody waiting.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
