"""Bodies of requests as they come: how large they may be, how long they may take, and how many may be under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from dragoman.serve.failures import RequestError
from dragoman.serve.settings import Limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

#: Bytes a second that a body must come with, once half of a client's time is over.
_LEAST_RATE = 10_000

#: Of a body that nobody wants to have, so many times the largest that may be are let come, for a client to read why.
_DRAINED = 4


class Bodies:
    """The bodies that some clients are sending. When there are more than may be, the one that began first is given up.

    None of them keeps others from being worked on: who has sent all takes a place, and not before.
    """

    def __init__(self, limits: Limits):
        self._limits = limits
        self._under_way: dict[asyncio.Timeout, None] = {}
        self._unwanted: dict[asyncio.Timeout, None] = {}

    def check_length(self, length: bytes | None) -> None:
        """Refuse a body whose head says that it is too large, or says nothing that makes sense."""
        if length is not None and not length.isdigit():
            raise RequestError(400, "the length of the body is no number")
        digits = (length or b"").lstrip(b"0")
        if len(digits) > len(str(self._limits.body_bytes)) or int(digits or b"0") > self._limits.body_bytes:
            raise self._too_large()

    async def read(self, receive: Receive) -> bytes:
        """Return all of a body, if it is not too large, and comes in time and quickly enough."""
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
        """Let a body come that is not wanted, so that its client gets to read why; not for long, and not all of any."""
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
        """Add one to those under way; if they are too many, the first has no more time."""
        others[limit] = None
        if len(others) > self._limits.concurrency:
            oldest = next(iter(others))
            del others[oldest]
            oldest.reschedule(0)

    def _too_large(self) -> RequestError:
        return RequestError(413, f"the body has more than {self._limits.body_bytes:,} bytes; expected a smaller one")
