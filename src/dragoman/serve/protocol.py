"""Connections whose clients have only so much time: to send the head of a request, and to take an answer."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: The most that the head of a request may be long, in bytes.
_LONGEST_HEAD = 65_536


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
    """Return uvicorn's protocol, but for connections that end when a client is too slow, or a head is too long."""

    class TimedProtocol(HttpToolsProtocol):
        """A connection with one limit while the head of a request is due, and one while more waits to be taken."""

        _head = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._sending, self._taking = _Limit(self.loop, seconds), _Limit(self.loop, seconds)
            self._sending.begin(transport)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._sending.begin(self.transport)

        def on_headers_complete(self) -> None:
            super().on_headers_complete()
            self._sending.end()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._head = self._head + len(data) if self._sending else 0
            if self._head > _LONGEST_HEAD:
                self.transport.abort()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._taking.begin(self.transport)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._taking.end()

        def timeout_keep_alive_handler(self) -> None:
            self.transport.abort()  # and what the client has not taken by now is thrown away

        def connection_lost(self, exc: Exception | None) -> None:
            self._sending.end()
            self._taking.end()
            super().connection_lost(exc)

    return TimedProtocol
