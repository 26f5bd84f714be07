"""Limits of the service, and the errors of requests beyond them."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from dataclasses import dataclass

from dragoman.core.errors import DataError, DragomanError
from dragoman.core.options import Options, option

#: Paths of LibreTranslate, where requests bring their key in the body, and refusals have another shape.
LIBRETRANSLATE = ("/languages", "/translate", "/detect")

#: The sentence for our own mistakes; the log has the rest.
UNEXPECTED = "something went wrong in the service; its log says what"


class RequestError(Exception):
    """A request that is refused: a status, a sentence, and the seconds to wait before another try, if that helps."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None):
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the answer."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def busy(reason: str) -> RequestError:
    """Refuse work because too much of it waits."""
    return RequestError(503, f"{reason}; try again in a second", retry_after=1)


def refusal_of(error: BaseException) -> RequestError:
    """Make a refusal of an error: mistakes of users keep their sentence, all others share one.

    >>> refusal_of(DataError("found 3 scores", path="/tmp/xyz/lists", line=7)).message
    'line 7: found 3 scores'
    """
    if isinstance(error, RequestError):
        return error
    if isinstance(error, DataError) and error.path is not None:
        text = str(error).removeprefix(f"{os.fspath(error.path)}:")
        return RequestError(400, re.sub(r"^(\d+): ", r"line \1: ", text.strip()))
    if isinstance(error, DragomanError):
        return RequestError(400, str(error))
    if isinstance(error, UnicodeEncodeError):
        return RequestError(400, "the request holds half a character; expected text that UTF-8 can hold")
    if isinstance(error, MemoryError):
        return RequestError(413, "out of memory; ask for less")
    return RequestError(500, UNEXPECTED)


def error_body(refusal: RequestError, path: str) -> dict[str, object]:
    """The body of a refusal: in our shape, or in that of LibreTranslate at its paths."""
    if path in LIBRETRANSLATE:
        return {"error": refusal.message}
    return {"error": {"status": refusal.status, "message": refusal.message}}


#: Clients whose requests are counted: those that were seen last.
_MOST_CLIENTS = 10_000


@dataclass(frozen=True)
class Limits(Options):
    """Limits beyond which a request is refused, each with its status; none of them changes a translation."""

    body_bytes: int = option(4_000_000, "maximum size of a request's body (413)", minimum=1)
    sentences: int = option(1000, "maximum number of sentences per request (413)", minimum=1)
    words: int = option(250, "maximum number of words per sentence (413)", minimum=1)
    nbest: int = option(1000, "maximum size of n-best lists (422)", minimum=1)
    samples: int = option(20_000, "maximum number of samples per request, all chains together (422)", minimum=1)
    concurrency: int = option(64, "maximum number of requests at a time; others get 503", minimum=1)
    queue: int = option(2000, "maximum number of sentences waiting for the search; others get 503", minimum=1)
    rate: float = option(0.0, "maximum requests per second and client (429); 0: no limit", minimum=0)
    burst: int = option(50, "requests that one client may send at once, if there is a rate", minimum=1)
    slow_workers: int = option(1, "threads for slow work: sampling, posteriors, decision rules", minimum=1)
    slow_queue: int = option(8, "maximum number of slow requests that wait; others get 503", minimum=1)
    slow_seconds: float = option(30.0, "time limit of slow work in seconds (422)", minimum=0.01)
    client_seconds: float = option(
        20.0, "time limit of a client in seconds, to send a request or to receive an answer", minimum=0.01
    )
    cache_bytes: int = option(256_000_000, "memory for cached hypergraphs, for requests with other weights", minimum=0)
    edges: int = option(500_000, "maximum size of hypergraphs to send or cache, in edges (422)", minimum=1)


class Rate:
    """Rate limit of each client: requests per second, and a burst."""

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


class Places:
    """Places for requests that are worked on: some for clients that are known, and as many for strangers."""

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


class RequestSlot:
    """The place of a request while it is worked on."""

    def __init__(self, places: Places, *, known: bool):
        places.take(known=known)
        self._places, self.known = places, known

    def become_known(self) -> None:
        """Exchange a stranger's place for that of a known client: the key was in the body."""
        if not self.known:
            self._places.take(known=True)
            self._places.give_back(known=False)
            self.known = True

    def leave(self) -> None:
        """Leave it to others."""
        self._places.give_back(known=self.known)
