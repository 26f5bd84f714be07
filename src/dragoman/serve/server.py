"""The server: loads models, listens on an address, and answers requests until it is stopped."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import math
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.serve.app import make_app
from dragoman.serve.connections import DeadlineLoop
from dragoman.serve.guard import Access
from dragoman.serve.limits import Limits
from dragoman.serve.models import ModelRegistry
from dragoman.serve.service import Service

#: Connections that wait to be accepted.
_BACKLOG = 256

#: How long a thread waits for the interpreter before it asks for it.
_SWITCH_SECONDS = 0.0005

#: Bytes of the longest head of a request.
_LONGEST_HEAD = 65_536

#: How long a connection stays open between two requests: longer than clients and proxies usually keep it, so that they
#: close it, and none sends a request into a connection that is being closed.
_IDLE_SECONDS = 75

#: How long the last requests may take when the server stops, beyond the limits of slow work and slow clients.
_LAST_SECONDS = 5


@dataclass(frozen=True)
class Address:
    """An address to listen on, and its access control."""

    host: str
    port: int
    access: Access

    @classmethod
    def of(cls, host: str, port: int, key: str | None, *, no_key: bool, names: Sequence[str] = ()) -> Address:
        """Check that nobody is let in by mistake: a host that others can reach has a key, or is said to have none.

        A host that only this machine can reach goes by its own names only, so that no other site's name leads a browser
        to it.
        """
        if key and no_key:
            raise UsageError("found --api-key and --no-key; expected one of them")
        if key == "":
            raise UsageError("the key is empty; expected some characters, or --no-key")
        local = _is_loopback(host)
        if not local and not key and not no_key:
            raise UsageError(f"other machines can reach {host}: give --api-key KEY, or --no-key to serve everybody")
        own = {host.lower(), f"[{host}]", "localhost", "127.0.0.1", "[::1]", *(name.lower() for name in names)}
        return cls(host, port, Access(key, frozenset(own) if local or names else None))

    def bound(self) -> socket.socket:
        """Listen on the address, or raise an error with the reason."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # asyncio turns Nagle's algorithm off only where the protocol is named. By that algorithm the body of an answer
        # waits, up to 40 ms, until the client has acknowledged the head.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self.host, self.port))
            listener.listen(_BACKLOG)  # clients that ask from now on wait until models are loaded
        except OSError as error:
            listener.close()
            raise DataError(
                f"cannot listen on {self.host}, port {self.port}: {error.strerror}", expected="another --host or --port"
            ) from None
        return listener


def _is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host.

    >>> _is_loopback("127.0.0.1"), _is_loopback("localhost"), _is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Server(uvicorn.Server):
    """A server whose clients have deadlines, and whose streams end before it does."""

    def __init__(self, app: FastAPI, service: Service, *, log_requests: bool = False):
        self._service, limits = service, service.limits
        super().__init__(
            uvicorn.Config(
                app,
                access_log=log_requests,
                log_level="info" if log_requests else "error",  # its warnings are about odd requests
                forwarded_allow_ips="127.0.0.1,::1",  # a proxy on this machine says whose request it is
                server_header=False,
                date_header=False,
                lifespan="on",
                http="h11",  # which ignores offers of other protocols, and limits the length of a head
                ws="none",
                backlog=_BACKLOG,
                timeout_keep_alive=_IDLE_SECONDS,
                timeout_graceful_shutdown=math.ceil(max(limits.slow_seconds, limits.client_seconds)) + _LAST_SECONDS,
                h11_max_incomplete_event_size=_LONGEST_HEAD,
            )
        )

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer requests until told to stop, in an event loop whose connections have deadlines."""
        with asyncio.Runner(loop_factory=partial(DeadlineLoop, self._service.limits.client_seconds)) as runner:
            runner.run(self.serve(sockets=sockets))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End streams, answer the requests that are under way, and stop."""
        self._service.closing = True
        super().handle_exit(sig, frame)


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
    copied: bool = False,
    runtime: Runtime,
) -> None:
    """Load models and answer requests until interrupted."""
    if runs is not None and not runs.is_dir():
        raise DataError("is not a folder", path=runs, expected="a folder with runs")
    listener = address.bound()
    with listener:
        registry = ModelRegistry.of(models, weights=weights, languages=languages, copied=copied)
        service = Service(registry, limits, runs=runs, threads=runtime.threads)
        app = make_app(service, address.access, cors=cors)
        server = Server(app, service, log_requests=log_requests)
        # It can be stopped from its first word on; uvicorn raises the signal once more after all is answered.
        before = signal.signal(signal.SIGTERM, server.handle_exit)
        try:
            _answer_promptly()
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            runtime.note(f"{', '.join(registry.names)} at http://{shown}:{port} (Ctrl-C ends it)")
            server.run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, before)


def _answer_promptly() -> None:
    """Let the thread that answers run promptly beside the threads that work.

    Kernels give up the interpreter for microseconds, and a thread that waits for it asks only after it has not been
    given up for a whole interval: beside many short kernels it would wait until all are done. And objects that stay for
    good need not be searched whenever garbage is collected, which keeps all threads waiting.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
