"""Connections whose clients have only so much time: to send the head of a request, and to take an answer."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
import httptools
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: The most that the head of a request may be long, in bytes.
LONGEST_HEAD = 65_536


class _Limit:
    """Ends a connection unless something happens in time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float):
        self._loop, self._seconds = loop, seconds
        self._timer: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return self._timer is not None

    def begin(self, transport: asyncio.Transport) -> None:
        """Let the time begin, if it has not."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, transport.abort)

    def end(self) -> None:
        """It has happened."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def timed_protocol(seconds: float) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol, but for connections that end when a client is too slow, or a head is too long.

    The quick parser leaves a connection to others as soon as a client offers another protocol, as some do by default
    with HTTP/2; such connections go on with the slower one, which takes no notice.
    """

    class Timed:
        """One limit while the head of a request is due, and one while more waits to be taken."""

        loop: asyncio.AbstractEventLoop
        transport: asyncio.Transport

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)  # type: ignore[misc]
            self._sending, self._taking = _Limit(self.loop, seconds), _Limit(self.loop, seconds)
            self._sending.begin(transport)

        def pause_writing(self) -> None:
            super().pause_writing()  # type: ignore[misc]
            self._taking.begin(self.transport)

        def resume_writing(self) -> None:
            super().resume_writing()  # type: ignore[misc]
            self._taking.end()

        def timeout_keep_alive_handler(self) -> None:
            self.transport.abort()  # and what the client has not taken by now is thrown away

        def connection_lost(self, exc: Exception | None) -> None:
            self.unlimited()
            super().connection_lost(exc)  # type: ignore[misc]

        def unlimited(self) -> None:
            """Take all the time."""
            self._sending.end()
            self._taking.end()

    class Slower(Timed, H11Protocol):
        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
                self._sending.begin(self.transport)  # the next head has begun to come
            else:
                self._sending.end()

        def _unsupported_upgrade_warning(self) -> None:
            pass  # clients may offer what they like

    class Quick(Timed, HttpToolsProtocol):
        _head = 0

        def data_received(self, data: bytes) -> None:
            self._unset_keepalive_if_required()
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                self._go_on_slower(data[offer.args[0] :])
                return
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
                return
            self._head = self._head + len(data) if self._sending else 0
            if self._head > LONGEST_HEAD:
                self.transport.abort()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._sending.begin(self.transport)

        def on_headers_complete(self) -> None:
            super().on_headers_complete()
            self._sending.end()

        def _should_upgrade(self) -> bool:
            return True

        def _go_on_slower(self, rest: bytes) -> None:
            """Give the connection, the head that was read, and what came behind it to the other protocol."""
            if self.cycle is not None and not self.cycle.response_complete:
                self.transport.abort()  # the answer to the request before is still due
                return
            self.connections.discard(self)
            self.unlimited()
            lines = [b"%s %s HTTP/1.1" % (self.scope["method"].encode(), self.url)]
            lines += [b"%s: %s" % header for header in self.headers]
            other = Slower(self.config, self.server_state, self.app_state)
            self.transport.set_protocol(other)
            other.connection_made(self.transport)
            other.data_received(b"\r\n".join([*lines, b"", rest]))

    return Quick
