"""What every request goes through first: who may ask, how much and how often, and how long a client may take."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from dragoman.serve.failures import RequestError, busy, error_body, refusal_of
from dragoman.serve.metrics import Metrics
from dragoman.serve.settings import Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_log = logging.getLogger("dragoman.serve")

#: Clients whose requests are counted; the ones that were seen last.
_MOST_CLIENTS = 10_000

#: After so many seconds of work, see whether the client is still there.
_LOOK = 0.1

#: What nobody needs a key for: the page, and whether the service is there.
_OPEN = ("/", "/favicon.ico", "/api/health", "/api/v1/health")

#: Those of LibreTranslate, whose key is in the body, and whose errors have another shape.
LIBRE = ("/languages", "/translate", "/detect")

_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cache-control": b"no-store",
}


@dataclass(frozen=True)
class Access:
    """Who may ask: those with the key, if there is one, by one of these names of the host, if they are known."""

    key: str | None = None
    hosts: frozenset[str] | None = None

    def check_key(self, given: str | None) -> None:
        """Refuse a request without the key, or with another."""
        if self.key is not None and not hmac.compare_digest((given or "").encode(), self.key.encode()):
            raise RequestError(
                401, "the request has no valid key; send it as Authorization: Bearer KEY, or as X-API-Key"
            )

    def check_host(self, host: str) -> None:
        """Refuse a name that is not ours: another site may have it lead a browser here."""
        if self.hosts is not None and _name(host) not in self.hosts:
            raise RequestError(421, "the service does not go by the host of this request")


def _name(host: str) -> str:
    """A host without its port."""
    return host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0].lower()


class Rate:
    """How many requests each client may make: so many a second, and some more at once."""

    def __init__(self, rate: float, burst: int):
        self._rate, self._burst = rate, burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, client: str, now: float) -> None:
        """Count a request, or refuse it."""
        if not self._rate:
            return
        left, before = self._left.pop(client, (float(self._burst), now))
        left = min(self._burst, left + (now - before) * self._rate)
        allowed = left >= 1
        self._left[client] = (left - allowed, now)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        if not allowed:
            wait = max(1, round((1 - left) / self._rate + 0.5))
            raise RequestError(429, f"there are more than {self._rate:g} requests a second", retry_after=wait)


class Guard:
    """The outermost layer: limits, headers, counts, errors in one shape, and an end to work that nobody waits for."""

    def __init__(self, app: App, limits: Limits, access: Access, metrics: Metrics):
        self._app, self._limits, self._access, self._metrics = app, limits, access, metrics
        self._rate = Rate(limits.rate, limits.burst)
        self._inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        begin = time.monotonic()
        self._inside += 1
        try:
            await self._admitted(scope, receive, answer)
        except asyncio.CancelledError:
            answer.status = answer.status or 499
            raise
        except (ConnectionError, TimeoutError):
            answer.status = answer.status or 499
        except Exception as error:
            refusal = refusal_of(error)
            if refusal.status == 500:
                _log.error("a request to %s failed", scope["path"], exc_info=error)
            if not answer.status:
                await answer.refuse(refusal, bare=scope["path"] in LIBRE)
        finally:
            self._inside -= 1
            self._metrics.request(_route(scope), answer.status or 499, time.monotonic() - begin)

    async def _admitted(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self._access.check_host(headers.get("host", ""))
        self._rate.check((scope.get("client") or ("", 0))[0], time.monotonic())
        # A browser that asks whether it may ask sends no key.
        is_open = scope["path"] in (*_OPEN, *LIBRE) or scope["method"] == "OPTIONS"
        if not is_open and not scope["path"].startswith("/static/"):
            bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
            self._access.check_key(headers.get("x-api-key") or bearer)
        if self._inside > self._limits.concurrency:
            raise busy(f"{self._limits.concurrency} requests are worked on already")
        body = await self._body(headers, receive)
        client = _Client(body, receive)
        await client.wait_for(self._app(scope, client, answer))

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        """All of a request's body, if it is not too large and comes in time."""
        most = self._limits.body_bytes
        too_large = RequestError(413, f"the body has more than {most:,} bytes; expected a smaller one")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.client_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionError
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_large
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise RequestError(408, f"the body did not come within {self._limits.client_seconds:g} seconds") from None


class _Client:
    """Who asks: gives the body, which was read already, and ends the work if nobody waits for it any more."""

    def __init__(self, body: bytes, receive: Receive):
        self._body: bytes | None = body
        self._receive = receive
        self._watch: asyncio.Task[None] | None = None
        self._gone = False

    async def __call__(self) -> Message:
        """Give the body; whoever asks for more waits until the client goes."""
        if self._body is None:
            await asyncio.shield(self._watched())
            return {"type": "http.disconnect"}
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def wait_for(self, work: Awaitable[None]) -> None:
        """Have a request answered; only if that takes a while does anybody look whether its client is still there."""
        task = asyncio.current_task()
        assert task is not None

        def leave(_: object) -> None:
            self._gone = True
            task.cancel()

        timer = asyncio.get_running_loop().call_later(_LOOK, lambda: self._watched().add_done_callback(leave))
        try:
            await work
        except asyncio.CancelledError:
            if not self._gone:
                raise
            task.uncancel()
            raise ConnectionError from None
        finally:
            timer.cancel()
            if self._watch is not None:
                self._watch.remove_done_callback(leave)
                self._watch.cancel()

    def _watched(self) -> asyncio.Task[None]:
        """What is done when the client has gone."""
        if self._watch is None:
            self._watch = asyncio.ensure_future(_disconnected(self._receive))
        return self._watch


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _route(scope: Scope) -> str:
    """The route of a request as the schema has it: names in paths would be counters without end."""
    route = getattr(scope.get("route"), "path", "other")
    prefix = next((some for some in ("/api/v1", "/api") if scope["path"].startswith(f"{some}/")), "")
    return route if route.startswith(prefix) else prefix + route


class _Answer:
    """What is sent, with headers that every answer has."""

    def __init__(self, send: Send):
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": list({**_HEADERS, **dict(message.get("headers", ()))}.items())}
        await self._send(message)

    async def refuse(self, refusal: RequestError, *, bare: bool) -> None:
        """Send an error in our shape, or as LibreTranslate does."""
        shape = {"error": refusal.message} if bare else error_body(refusal.status, refusal.message)
        body = json.dumps(shape, ensure_ascii=False).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
        pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await self({"type": "http.response.start", "status": refusal.status, "headers": pairs})
        await self({"type": "http.response.body", "body": body})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
