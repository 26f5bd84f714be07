"""What goes wrong, as answers: one shape, the sentences of the command line, and no path of the server in them."""

from __future__ import annotations

import os
import re

from dragoman.core.errors import DataError, DragomanError

#: What a client is told of our own mistakes; the log has the rest.
UNEXPECTED = "something went wrong in the service; its log says what"


class RequestError(Exception):
    """A request that is not answered: a status, a sentence, and after how many seconds to try again if that helps."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None):
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """What goes with the answer."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def busy(what: str) -> RequestError:
    """What to say when too much waits already."""
    return RequestError(503, f"{what}; try again in a second", retry_after=1)


def refusal_of(error: BaseException) -> RequestError:
    """What to answer for an error: those of users have their sentence, all others one for all.

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


def error_body(status: int, message: str) -> dict[str, object]:
    """The one shape of errors."""
    return {"error": {"status": status, "message": message}}
