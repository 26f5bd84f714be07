"""The short way to a route: a request with a body of JSON that is right goes straight to who answers it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from dragoman.core.errors import DragomanError
from dragoman.serve.bodies import Receive
from dragoman.serve.failures import RequestError
from dragoman.serve.guard import App, Scope, Send

#: Of a body with more mistakes only their number is told: to describe each takes longer than to find them.
MOST_MISTAKES = 100


class _Short(NamedTuple):
    """A route, what its body is, and who answers it."""

    route: APIRoute
    asked: type[BaseModel]
    endpoint: Callable[[Any], Awaitable[Response]]


class Direct:
    """Answers requests that are right, without FastAPI, whose way to a route takes longer than all else about one.

    Whatever is wrong with a request, or unusual, is left to the application inside; so its refusals are the same.
    `refused` makes an answer of an error.
    """

    def __init__(
        self,
        app: App,
        prefixes: Sequence[str],
        routers: Iterable[APIRouter],
        refused: Callable[[str, Exception], Response],
    ):
        self._app, self._refused = app, refused
        routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
        shorts = [short for route in routes if (short := _short(route)) is not None]
        self._short = {prefix + short.route.path: short for prefix in prefixes for short in shorts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        short = self._short.get(scope.get("path", ""))
        if short is None or scope["method"] != "POST" or not _is_json(scope):
            await self._app(scope, receive, send)
            return
        message = await receive()
        try:
            asked = short.asked.model_validate_json(message["body"])
        except ValidationError as error:
            if error.error_count() > MOST_MISTAKES:
                await self._refused(scope["path"], too_many_mistakes(error))(scope, receive, send)
                return
            await self._app(scope, _again(message, receive), send)
            return
        scope["route"] = short.route
        try:
            response = await short.endpoint(asked)
        except (RequestError, DragomanError) as error:
            response = self._refused(scope["path"], error)
        await response(scope, receive, send)


def too_many_mistakes(error: ValidationError) -> RequestError:
    """What to say of a body that is wrong all over."""
    return RequestError(422, f"found {error.error_count():,} mistakes in the body; expected none")


def _short(route: APIRoute) -> _Short | None:
    """A route that takes a body and nothing else, and no other if it is none."""
    parameters = list(inspect.signature(route.endpoint, eval_str=True).parameters.values())
    asked = parameters[0].annotation if len(parameters) == 1 else None
    if route.methods != {"POST"} or not (isinstance(asked, type) and issubclass(asked, BaseModel)):
        return None
    return _Short(route, asked, route.endpoint)


def _is_json(scope: Scope) -> bool:
    return any(name == b"content-type" and b"json" in value.lower() for name, value in scope["headers"])


def _again(message: Mapping[str, Any], receive: Receive) -> Receive:
    """Give a message that was taken once more, and then what follows it."""
    first = iter([message])

    async def received() -> Any:
        return next(first, None) or await receive()

    return received
