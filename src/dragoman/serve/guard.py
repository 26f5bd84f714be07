"""What every request goes through first: who may ask, how much and how often, and how long a client may take."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import partial
from typing import Any

from dragoman.serve.access import Access, Headers, check_origin, no_key
from dragoman.serve.bodies import Bodies, Message, Receive
from dragoman.serve.failures import RequestError, busy, error_body, refusal_of
from dragoman.serve.json_text import has_more_values, may_have_more_values
from dragoman.serve.metrics import Metrics
from dragoman.serve.settings import Limits

Scope = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_log = logging.getLogger("dragoman.serve")

#: Clients whose requests are counted; the ones that were seen last.
_MOST_CLIENTS = 10_000

#: After so many seconds of work, see whether the client is still there.
_LOOK = 0.1

#: For each sentence that a request may have, so many values of JSON: its outputs, and twenty references of each.
_VALUES = 50

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


class _Places:
    """How many requests may be worked on at a time: of clients that are known, and of strangers, each by themselves."""

    def __init__(self, most: int):
        self._most = most
        self._taken = {True: 0, False: 0}

    def take(self, *, known: bool) -> None:
        """Take a place, or refuse a request if there is none."""
        if self._taken[known] >= self._most:
            raise busy(f"{self._most} requests are worked on already")
        self._taken[known] += 1

    def give_back(self, *, known: bool) -> None:
        """Leave a place to others."""
        self._taken[known] -= 1


class Place:
    """The place of a request, for as long as it is worked on."""

    def __init__(self, places: _Places, *, known: bool):
        places.take(known=known)
        self._places, self.known = places, known

    def become_known(self) -> None:
        """Take a place of those who are known in place of a stranger's: the key was in the body."""
        if not self.known:
            self._places.take(known=True)
            self._places.give_back(known=False)
            self.known = True

    def leave(self) -> None:
        """Leave it to others."""
        self._places.give_back(known=self.known)


class Guard:
    """The outermost layer: limits, headers, counts, errors in one shape, and an end to work that nobody waits for.

    Keys are looked at before anything else is taken in, and strangers have bodies and places of their own: what they
    send, or do not send, keeps nobody waiting who has the key.
    """

    def __init__(self, app: App, limits: Limits, access: Access, metrics: Metrics, origins: Sequence[str] = ()):
        self._app, self._limits, self._access, self._metrics = app, limits, access, metrics
        self._origins = frozenset(origins)
        self._rate = Rate(limits.rate, limits.burst)
        self._places = _Places(limits.concurrency)
        self._bodies = {True: Bodies(limits), False: Bodies(limits)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        only_head = scope["method"] == "HEAD"  # which is GET without what follows
        scope = {**scope, "method": "GET"} if only_head else scope
        request = _Request(scope, receive, _Answer(send, only_head=only_head))
        answer = request.answer
        begin = time.monotonic()
        try:
            await self._admitted(request)
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
                await answer.refuse(refusal, bare=scope["path"] in LIBRE, rest=self._rest(request, refusal))
        finally:
            self._metrics.request(_route(scope), answer.status or 499, time.monotonic() - begin)

    async def _admitted(self, request: _Request) -> None:
        """See who asks, take in what is asked, and have it answered."""
        scope, headers = request.scope, request.headers
        request.known = self._access.knows_sender(headers)
        if [name for name, _ in scope["headers"]].count(b"host") > 1:
            raise RequestError(400, "the request names several hosts")
        self._access.check_host(headers)
        check_origin(scope["method"], headers, self._origins)
        self._rate.check((scope.get("client") or ("", 0))[0], time.monotonic())
        # A browser that asks whether it may ask sends no key.
        is_open = scope["path"] in (*_OPEN, *LIBRE) or scope["method"] == "OPTIONS"
        if not (request.known or is_open or scope["path"].startswith("/static/")):
            raise no_key()
        bodies = self._bodies[request.known]
        bodies.check_length(headers.get(b"content-length"))
        body = await bodies.read(request.receive)
        request.is_whole = True
        await self._check_values(headers, body)
        place = Place(self._places, known=request.known)
        try:
            client = _Client(body, request.receive)
            scope["place"] = place
            await client.wait_for(self._app(scope, client, request.answer))
        finally:
            place.leave()

    async def _check_values(self, headers: Headers, body: bytes) -> None:
        """Refuse JSON of more values than a request can need: to look at each takes longer than to count them."""
        most = _VALUES * self._limits.sentences
        is_form = headers.get(b"content-type", b"").startswith(b"application/x-www-form-urlencoded")
        if is_form or not may_have_more_values(body, most):
            return
        if await asyncio.to_thread(has_more_values, body, most):
            raise RequestError(413, f"the body has more than {most:,} values; expected fewer")

    def _rest(self, request: _Request, refusal: RequestError) -> Callable[[], Awaitable[None]] | None:
        """What lets the rest of a body come that was not read; who was too slow is not waited for."""
        if request.is_whole or not request.headers.keys() & {b"content-length", b"transfer-encoding"}:
            return None
        if refusal.status == 408:
            return partial(asyncio.sleep, 0)
        return partial(self._bodies[request.known].drain, request.receive)


class _Request:
    """A request on its way in: who sent it, and whether all of it has come."""

    def __init__(self, scope: Scope, receive: Receive, answer: _Answer):
        self.scope, self.receive, self.answer = scope, receive, answer
        self.headers = dict(scope["headers"])
        self.known = False
        self.is_whole = False


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
    """What is sent, with headers that every answer has; of an answer that is only a head, nothing follows it."""

    def __init__(self, send: Send, *, only_head: bool):
        self._send = send
        self._only_head = only_head
        self._ended = False
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """Pass a message on."""
        if self._ended:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": list({**_HEADERS, **dict(message.get("headers", ()))}.items())}
        elif self._only_head:
            message, self._ended = {"type": "http.response.body", "body": b""}, True
        await self._send(message)

    async def refuse(
        self, refusal: RequestError, *, bare: bool, rest: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Send an error in our shape, or as LibreTranslate does; then let the rest of the request come, and hang up."""
        shape = {"error": refusal.message} if bare else error_body(refusal.status, refusal.message)
        body = json.dumps(shape, ensure_ascii=False).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
        if rest is not None:
            headers["connection"] = "close"
        pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await self({"type": "http.response.start", "status": refusal.status, "headers": pairs})
        await self({"type": "http.response.body", "body": body, "more_body": rest is not None})
        if rest is not None:
            await rest()
            await self({"type": "http.response.body", "body": b""})
