"""Refusals: a status and a sentence for everything that can go wrong, without paths of the server."""

from __future__ import annotations

import os
import re

from dragoman.core.errors import DataError, DragomanError

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
