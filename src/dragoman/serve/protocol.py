"""Connections whose clients have only so much time: for the head of a request, which no application sees before."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def timed_protocol(seconds: float) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol, but for connections that are closed when the head of a request takes too long."""

    class TimedProtocol(H11Protocol):
        """A connection with a time limit whenever a head is due or has begun to come."""

        _limit: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._limit = self.loop.call_later(seconds, transport.abort)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            begun = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
            if begun and self._limit is None:
                self._limit = self.loop.call_later(seconds, self.transport.abort)
            elif not begun:
                self._unlimited()

        def connection_lost(self, exc: Exception | None) -> None:
            self._unlimited()
            super().connection_lost(exc)

        def _unlimited(self) -> None:
            if self._limit is not None:
                self._limit.cancel()
                self._limit = None

    return TimedProtocol
