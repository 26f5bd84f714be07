"""The guard: checks of every request before it is routed: host, key, origin, rate, size and time."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.serve.connections import Bodies, request_under_way
from dragoman.serve.json_bodies import has_more_values, may_have_more_values
from dragoman.serve.limits import (
    LIBRETRANSLATE,
    Limits,
    Places,
    Rate,
    RequestError,
    RequestSlot,
    error_body,
    refusal_of,
)
from dragoman.serve.service import Metrics

Headers = Mapping[bytes, bytes]

_log = logging.getLogger("dragoman.serve")

#: A name or address, and perhaps a port; this header takes no other parts of a URL.
_HOST = re.compile(rb"([a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?", re.IGNORECASE)

#: Types of bodies that a page of any site can have a browser send without asking first.
_FORMS = (b"", b"application/x-www-form-urlencoded", b"multipart/form-data", b"text/plain")

#: Seconds of work after which to look whether the client is still there.
_LOOK = 0.1

#: Values of JSON for each sentence that a request may have: its outputs, and twenty references of each.
_VALUES = 50

#: Paths that need no key: the page and health. LibreTranslate's have it in the body.
_OPEN = ("/", "/favicon.ico", "/api/health", "/api/v1/health", *LIBRETRANSLATE)

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
    """Access control: the key, and the names of the host that requests may use; either may be absent."""

    key: str | None = None
    hosts: frozenset[str] | None = None

    def knows(self, given: bytes | None) -> bool:
        """Return whether a key is right, in UTF-8 or Latin-1; without a key, all clients are known."""
        if self.key is None:
            return True
        wanted = [os.fsencode(self.key)]
        if not self.key.isascii() and all(ord(character) < 256 for character in self.key):
            wanted.append(self.key.encode("latin-1"))
        return any(hmac.compare_digest(given or b"", one) for one in wanted)

    def knows_sender(self, headers: Headers) -> bool:
        """Return whether a request has the key in its headers."""
        scheme, _, bearer = headers.get(b"authorization", b"").strip().partition(b" ")
        bearer = bearer if scheme.lower() == b"bearer" else scheme
        return self.knows(headers.get(b"x-api-key") or bearer.strip())

    def check_key(self, given: str | None) -> None:
        """Refuse a request without the key or with a wrong one."""
        if not self.knows((given or "").encode(errors="surrogatepass")):
            raise _no_key()

    def check_host(self, headers: Headers) -> None:
        """Refuse a name that is not ours, or is none: another site may have its name lead a browser here."""
        host = headers.get(b"host")
        found = None if host is None else _HOST.fullmatch(host)
        if host is not None and found is None:
            raise RequestError(400, "the host of this request is no name or address with a port")
        if self.hosts is not None and (found is None or found[1].decode().lower() not in self.hosts):
            raise RequestError(421, "the service does not go by the host of this request")


def _no_key() -> RequestError:
    return RequestError(401, "the request has no valid key; send it as Authorization: Bearer KEY, or as X-API-Key")


def _check_origin(method: str, headers: Headers, allowed: frozenset[str]) -> None:
    """Refuse forms from pages of other sites: a browser sends them without asking, though it hides the answer."""
    origin = headers.get(b"origin")
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if method != "POST" or origin is None or kind not in _FORMS:
        return
    own = origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()
    if not own and not allowed & {"*", origin.decode("latin-1")}:
        raise RequestError(403, "forms of other sites are not answered; expected JSON, or a site that --cors names")


class Guard:
    """The outermost layer: limits, headers, counts, errors in one shape, and an end to work that nobody waits for.

    Keys are checked before anything else is taken in, and strangers have bodies and places of their own: whatever they
    send, or do not send, keeps no client waiting that has the key.
    """

    def __init__(self, app: ASGIApp, limits: Limits, access: Access, metrics: Metrics, origins: Sequence[str] = ()):
        self._app, self._limits, self._access, self._metrics = app, limits, access, metrics
        self._origins = frozenset(origins)
        self._rate = Rate(limits.rate, limits.burst)
        self._places = Places(limits.concurrency)
        self._bodies = {True: Bodies(limits), False: Bodies(limits)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        only_head = scope["method"] == "HEAD"  # a GET whose answer has no body
        scope = {**scope, "method": "GET"} if only_head else scope
        with request_under_way():
            await self._answer(_Request(scope, receive, _Answer(send, only_head=only_head)))

    async def _answer(self, request: _Request) -> None:
        """Have a request answered, and count it."""
        answer, path = request.answer, request.scope["path"]
        begin = time.monotonic()
        try:
            await self._admit(request)
        except asyncio.CancelledError:
            answer.status = answer.status or 499
            raise
        except (ConnectionError, TimeoutError):
            answer.status = answer.status or 499
        except Exception as error:
            refusal = refusal_of(error)
            if refusal.status == 500:
                _log.error("a request to %s failed", path, exc_info=error)
            if not answer.status:
                await answer.refuse(refusal, path, rest=self._rest(request, refusal))
        finally:
            self._metrics.request(_route(request.scope), answer.status or 499, time.monotonic() - begin)

    async def _admit(self, request: _Request) -> None:
        """Check the client, take in the body, and pass the request on."""
        scope, headers = request.scope, request.headers
        request.known = self._access.knows_sender(headers)
        if [name for name, _ in scope["headers"]].count(b"host") > 1:
            raise RequestError(400, "the request names several hosts")
        self._access.check_host(headers)
        _check_origin(scope["method"], headers, self._origins)
        self._rate.check((scope.get("client") or ("", 0))[0], time.monotonic())
        # A browser that asks whether it may ask sends no key.
        is_open = scope["path"] in _OPEN or scope["path"].startswith("/static/") or scope["method"] == "OPTIONS"
        if not (request.known or is_open):
            raise _no_key()
        bodies = self._bodies[request.known]
        bodies.check_length(headers.get(b"content-length"))
        body = await bodies.read(request.receive)
        request.is_whole = True
        await self._check_values(headers, body)
        place = RequestSlot(self._places, known=request.known)
        try:
            client = _Client(body, request.receive)
            scope["place"] = place
            await client.wait_for(self._app(scope, client, request.answer))
        finally:
            place.leave()

    async def _check_values(self, headers: Headers, body: bytes) -> None:
        """Refuse JSON with more values than a request can need: counting them is faster than parsing them."""
        most = _VALUES * self._limits.sentences
        is_form = headers.get(b"content-type", b"").startswith(b"application/x-www-form-urlencoded")
        if is_form or not may_have_more_values(body, most):
            return
        if await asyncio.to_thread(has_more_values, body, most):
            raise RequestError(413, f"the body has more than {most:,} values; expected fewer")

    def _rest(self, request: _Request, refusal: RequestError) -> Callable[[], Awaitable[None]] | None:
        """A function that lets the rest of an unread body come; a client that was too slow has no more time."""
        if request.is_whole or not request.headers.keys() & {b"content-length", b"transfer-encoding"}:
            return None
        if refusal.status == 408:
            return partial(asyncio.sleep, 0)
        return partial(self._bodies[request.known].drain, request.receive)


class _Request:
    """A request on its way in: whether its client is known, and whether all of it has come."""

    def __init__(self, scope: Scope, receive: Receive, answer: _Answer):
        self.scope, self.receive, self.answer = scope, receive, answer
        self.headers = dict(scope["headers"])
        self.known = False
        self.is_whole = False


class _Client:
    """The client of a request whose body has arrived; its work ends when it disconnects."""

    def __init__(self, body: bytes, receive: Receive):
        self._body: bytes | None = body
        self._receive = receive
        self._watch: asyncio.Task[None] | None = None
        self._gone = False

    async def __call__(self) -> Message:
        """Give the body; if it was given, wait until the client goes."""
        if self._body is None:
            await asyncio.shield(self._watched())
            return {"type": "http.disconnect"}
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def wait_for(self, work: Awaitable[None]) -> None:
        """Have work done; if it takes a while, end it when the client goes."""
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
        """A task that is done when the client has gone."""
        if self._watch is None:
            self._watch = asyncio.ensure_future(_disconnected(self._receive))
        return self._watch


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _route(scope: Scope) -> str:
    """The route of a request as the schema has it: with names from paths there would be counters without end."""
    route = getattr(scope.get("route"), "path", "other")
    prefix = next((some for some in ("/api/v1", "/api") if scope["path"].startswith(f"{some}/")), "")
    return route if route.startswith(prefix) else prefix + route


class _Answer:
    """An answer with the headers that all have; after a head that was asked for alone, nothing is sent."""

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
        self, refusal: RequestError, path: str, *, rest: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Send a refusal, let the rest of the request come, and hang up."""
        body = json.dumps(error_body(refusal, path), ensure_ascii=False).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
        if rest is not None:
            headers["connection"] = "close"
        pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await self({"type": "http.response.start", "status": refusal.status, "headers": pairs})
        await self({"type": "http.response.body", "body": body, "more_body": rest is not None})
        if rest is not None:
            await rest()
            await self({"type": "http.response.body", "body": b""})
