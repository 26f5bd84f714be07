"""Connections whose clients have only so much time: to send the head of a request, and to take an answer."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class _Limit:
    """Ends a connection unless something happens in time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float):
        self._loop, self._seconds = loop, seconds
        self._timer: asyncio.TimerHandle | None = None

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
    """Return uvicorn's protocol, but for connections that end when a client is too slow."""

    class TimedProtocol(H11Protocol):
        """A connection with one limit while the head of a request is due, and one while more waits to be taken."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._sending, self._taking = _Limit(self.loop, seconds), _Limit(self.loop, seconds)
            self._sending.begin(transport)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
                self._sending.begin(self.transport)  # the next head has begun to come
            else:
                self._sending.end()

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
