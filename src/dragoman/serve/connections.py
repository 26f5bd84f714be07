"""Deadlines of connections and bodies: clients have limited time to send a request and to receive an answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from starlette.types import Receive

from dragoman.serve.limits import Limits, RequestError

#: The connection from which the request of the current task came.
_current: ContextVar[Connection | None] = ContextVar("connection", default=None)

#: Bytes a second that a body must come with, once half of a client's time is over.
_LEAST_RATE = 10_000

#: How much of an unwanted body may come, in largest bodies, before its client reads the refusal.
_DRAINED = 4


class _Deadline:
    """A time after which a connection is aborted."""

    def __init__(self, seconds: float):
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.Transport) -> None:
        """Start the clock, unless it runs already."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, transport.abort)

    def end(self) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Connection(asyncio.Protocol):
    """Deadlines around the protocol of a server, which does everything else.

    A head is due from the moment a connection is made, or the first byte after an answer comes, until the application
    is called. An answer is due while the system does not take the bytes that are to be sent.
    """

    _transport: asyncio.Transport

    def __init__(self, inner: asyncio.Protocol, seconds: float):
        self._inner = inner
        self._head, self._answer = _Deadline(seconds), _Deadline(seconds)
        self._requests = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first head."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=0)  # pause_writing is called as soon as anything waits
        self._head.begin(transport)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass bytes on; tasks that the server begins for them know this connection."""
        if not self._requests:
            self._head.begin(self._transport)
        _current.set(self)
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass it on."""
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        """Wait for the client to take bytes."""
        self._answer.begin(self._transport)
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Note that the client has taken all."""
        self._answer.end()
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass it on."""
        self._head.end()
        self._answer.end()
        self._inner.connection_lost(exc)

    @contextlib.contextmanager
    def request(self) -> Iterator[None]:
        """Count a request, whose head has come, until it is answered."""
        self._head.end()
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1


def request_under_way() -> contextlib.AbstractContextManager[None]:
    """Tell the connection of the current task that a request is under way, if it has deadlines."""
    connection = _current.get()
    return contextlib.nullcontext() if connection is None else connection.request()


class DeadlineLoop(asyncio.SelectorEventLoop):
    """An event loop that puts deadlines around the connections of its servers."""

    def __init__(self, seconds: float):
        super().__init__()
        self._client_seconds = seconds

    async def create_server(
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], *args: Any, **options: Any
    ) -> asyncio.Server:
        """Create a server of connections with deadlines."""

        def connection() -> Connection:
            inner = protocol_factory()
            assert isinstance(inner, asyncio.Protocol)
            return Connection(inner, self._client_seconds)

        return await super().create_server(connection, *args, **options)


class Bodies:
    """Bodies that clients are sending; when there are too many, the one that began first is given up.

    A body takes no place of a request: its client gets one when all of it has come.
    """

    def __init__(self, limits: Limits):
        self._limits = limits
        self._under_way: dict[asyncio.Timeout, None] = {}
        self._unwanted: dict[asyncio.Timeout, None] = {}

    def check_length(self, length: bytes | None) -> None:
        """Refuse a body that the head calls too large, or gives a senseless length."""
        if length is not None and not length.isdigit():
            raise RequestError(400, "the length of the body is no number")
        digits = (length or b"").lstrip(b"0")
        if len(digits) > len(str(self._limits.body_bytes)) or int(digits or b"0") > self._limits.body_bytes:
            raise self._too_large()

    async def read(self, receive: Receive) -> bytes:
        """Return all of a body, unless it is too large or comes too slowly."""
        seconds = self._limits.client_seconds
        begin = asyncio.get_running_loop().time()
        body = bytearray()
        limit = asyncio.timeout_at(begin + seconds / 2)
        try:
            async with limit:
                self._add(limit, self._under_way)
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionError
                    body += message.get("body", b"")
                    if len(body) > self._limits.body_bytes:
                        raise self._too_large()
                    if not message.get("more_body"):
                        return bytes(body)
                    limit.reschedule(begin + min(seconds, seconds / 2 + len(body) / _LEAST_RATE))
        except TimeoutError:
            raise RequestError(
                408, f"the body did not come in time; expected all of it within {seconds:g} seconds, and no pauses"
            ) from None
        finally:
            self._under_way.pop(limit, None)

    async def drain(self, receive: Receive) -> None:
        """Let some of an unwanted body come, for a while, so that its client reads the refusal."""
        left = _DRAINED * self._limits.body_bytes
        limit = asyncio.timeout(self._limits.client_seconds)
        try:
            async with limit:
                self._add(limit, self._unwanted)
                while left >= 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if message["type"] == "http.disconnect" or not message.get("more_body"):
                        return
        except TimeoutError:
            pass
        finally:
            self._unwanted.pop(limit, None)

    def _add(self, limit: asyncio.Timeout, others: dict[asyncio.Timeout, None]) -> None:
        """Add a body to others; if there are too many, the first has no more time."""
        others[limit] = None
        if len(others) > self._limits.concurrency:
            oldest = next(iter(others))
            del others[oldest]
            oldest.reschedule(0)

    def _too_large(self) -> RequestError:
        return RequestError(413, f"the body has more than {self._limits.body_bytes:,} bytes; expected a smaller one")
