"""JSON bodies: those of requests, counted before they are read, and read by models; those of answers, in pieces.

Parts of an answer may be JSON already, because trees are deeper than a recursive serialiser can go.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypeVar, get_type_hints

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.types import Receive, Scope, Send

from dragoman.serve.limits import RequestError
from dragoman.serve.schemas import ErrorAnswer

Model = TypeVar("Model", bound=BaseModel)

#: The sentence for a body that cannot be parsed.
NO_JSON = "the body is not JSON in UTF-8"

#: Marks that stand before or between values; brackets within brackets are refused when a body is parsed.
_MARKS = (b",", b":")

#: The most mistakes of which the first is described; of more, only the number is told.
_MOST_MISTAKES = 100

#: Parts and characters of an answer that is written at once; a longer one is written in another thread.
_SHORT = 10_000

#: Bytes of a long answer that are sent at a time, and the depth down to which its values are written one by one; others
#: are answered in between.
_PIECE, _DEPTH = 1 << 18, 5

#: Statuses of refusals, for the schema.
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": text}
    for status, text in {
        400: "Something is wrong with the request, or the data in it.",
        401: "There is no valid key.",
        404: "There is nothing of that name.",
        408: "The body did not come in time.",
        413: "The request is too large.",
        422: "The request has the wrong shape, or asks for too much.",
        429: "The client asks too often; see Retry-After.",
        500: "Something went wrong in the service.",
        503: "Too much waits already; see Retry-After.",
    }.items()
}


def may_have_more_values(body: bytes, most: int) -> bool:
    """Return whether a body may have more than `most` values, by a fast upper bound."""
    return sum(map(body.count, _MARKS)) > most


def has_more_values(body: bytes, most: int) -> bool:
    """Return whether a JSON body, which need not be valid, has more than `most` values.

    >>> has_more_values(b'{"a": [1, 2, ",,,"]}', 3), has_more_values(b'{"a": [1, 2, ",,,"]}', 2)
    (False, True)
    """
    at = found = 0
    while at >= 0:
        quote = body.find(b'"', at)
        found += sum(body.count(mark, at, quote if quote >= 0 else len(body)) for mark in _MARKS)
        if found > most:
            return True
        at = quote if quote < 0 else _behind_string(body, quote)
    return False


def _behind_string(body: bytes, quote: int) -> int:
    """Return the position after a string, or -1 if it is not closed."""
    end = body.find(b'"', quote + 1)
    while end >= 0:
        first = end
        while body[first - 1] == ord("\\"):
            first -= 1
        if (end - first) % 2 == 0:
            return end + 1
        end = body.find(b'"', end + 1)
    return -1


class JsonRoute(APIRoute):
    """A route whose endpoint takes a model: pydantic reads it from the body at once.

    FastAPI describes the route in its schema. Its own handler would describe every mistake of a body, during which
    nobody else is answered: half a second for 49,000 of them.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Make the function that answers a request."""
        endpoint, hints = self.endpoint, get_type_hints(self.endpoint)
        models = [hint for hint in hints.values() if isinstance(hint, type) and issubclass(hint, BaseModel)]
        if not models:
            return super().get_route_handler()
        (model,) = models

        async def answered(request: Request) -> Response:
            asked = _read(model, request.headers.get("content-type", ""), await request.body())
            found: Response = await endpoint(asked)
            return found

        return answered


def api_router(tag: str) -> APIRouter:
    """Make a router for a group of routes, whose bodies are JSON and whose refusals have our shape."""
    return APIRouter(tags=[tag], responses=_REFUSALS, route_class=JsonRoute)


def _read(model: type[Model], content_type: str, body: bytes) -> Model:
    """Read a model from a body, or refuse it."""
    if not body:
        raise RequestError(422, "the body: Field required")
    kind, _, subtype = content_type.partition(";")[0].strip().lower().partition("/")
    if kind != "application" or not (subtype == "json" or subtype.endswith("+json")):
        raise RequestError(422, "the body: Input should be JSON, with Content-Type: application/json")
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        if error.error_count() > _MOST_MISTAKES:
            raise refusal_of_body(error) from None
    # Python's own reader words mistakes in its terms, and takes half characters, which are refused where they are used.
    try:
        return model.model_validate(json.loads(body))
    except ValidationError as error:
        raise refusal_of_body(error) from None
    except (ValueError, RecursionError):
        raise RequestError(400, NO_JSON) from None


def refusal_of_body(error: ValidationError, status: int = 422) -> RequestError:
    """Make a refusal of the first mistake in a body."""
    if error.error_count() > _MOST_MISTAKES:
        return RequestError(status, f"found {error.error_count():,} mistakes in the body; expected none")
    first = error.errors(include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "the body"
    return RequestError(status, f"{place}: {first['msg']}")


class RawJson(str):
    """Text that is JSON already."""

    __slots__ = ()


def to_json(value: Any) -> str:
    """Write a value as JSON; numbers that are not finite are null.

    >>> to_json({"a": [1, float("nan")], "b": RawJson('{"c": 2}')})
    '{"a": [1, null], "b": {"c": 2}}'
    """
    if isinstance(value, RawJson):
        return value
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {to_json(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_json, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return "null"
    return json.dumps(value, ensure_ascii=False)


def pieces(value: Any, depth: int) -> Iterator[str]:
    """Write a value in pieces, one for each value down to some depth, so that no piece takes long.

    >>> list(pieces({"a": [1, "b"], "c": {}}, 2))
    ['{', '"a": ', '[', '1', ', ', '"b"', ']', ', "c": ', '{', '}', '}']
    """
    if depth and isinstance(value, Mapping):
        yield "{"
        for i, (key, one) in enumerate(value.items()):
            yield f"{', ' if i else ''}{json.dumps(key, ensure_ascii=False)}: "
            yield from pieces(one, depth - 1)
        yield "}"
    elif depth and isinstance(value, list | tuple):
        yield "["
        for i, one in enumerate(value):
            if i:
                yield ", "
            yield from pieces(one, depth - 1)
        yield "]"
    else:
        yield to_json(value)


def is_short(value: Any, most: int) -> bool:
    """Return whether a value has at most `most` parts, nested ones and characters of texts included.

    >>> is_short({"a": [1, 2]}, 4), is_short({"a": [1, 2]}, 3), is_short(["word"], 4)
    (True, False, False)
    """
    waiting, parts = [value], 0
    while waiting:
        one = waiting.pop()
        parts += len(one) if isinstance(one, str) else 1
        if isinstance(one, Mapping | list | tuple):
            if len(one) > most - parts:
                return False
            waiting += one.values() if isinstance(one, Mapping) else one
        if parts > most:
            return False
    return True


class Answer(Response):
    """An answer that is written when it is sent; no schema is applied to it, but tests compare it with the schema."""

    media_type = "application/json"

    def __init__(self, value: BaseModel | dict[str, Any]):
        super().__init__()
        self._value = value

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write and send it, a long one piece by piece."""
        if isinstance(self._value, dict) and is_short(self._value, _SHORT):
            self.body = to_json(self._value).encode()
            self.headers["content-length"] = str(len(self.body))
            await super().__call__(scope, receive, send)
            return
        body = await asyncio.to_thread(self._pieces)
        self.headers["content-length"] = str(sum(map(len, body)))
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for piece in body:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def _pieces(self) -> list[bytes]:
        """The body in pieces that are sent in no time."""
        value = self._value.model_dump() if isinstance(self._value, BaseModel) else self._value
        made, waiting = list[bytes](), bytearray()
        for piece in pieces(value, _DEPTH):
            waiting += piece.encode()
            if len(waiting) >= _PIECE:
                made.append(bytes(waiting))
                waiting.clear()
        return [*made, bytes(waiting)]
