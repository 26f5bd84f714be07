"""Answers of routes."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import Response
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from dragoman.serve.json_text import is_short, pieces, written
from dragoman.serve.schemas import ErrorAnswer

#: Statuses of refusals, for the schema.
REFUSALS: dict[int | str, dict[str, Any]] = {
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


#: Answers of more parts and characters than this are written in a thread of their own.
_SHORT = 10_000

#: Of long answers so many bytes are sent at a time, and values are written one by one so deep; others are answered in
#: between.
_PIECE, _DEPTH = 1 << 18, 5


class Answer(Response):
    """An answer that is written when it is sent: where it is long, while others are answered."""

    def __init__(self, value: BaseModel | dict[str, Any], media_type: str):
        super().__init__(media_type=media_type)
        self._value = value

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write and send it."""
        if isinstance(self._value, dict) and is_short(self._value, _SHORT):
            self.body = written(self._value).encode()
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
        """The body in pieces of a size that is sent in no time."""
        value = self._value.model_dump() if isinstance(self._value, BaseModel) else self._value
        made, waiting = list[bytes](), bytearray()
        for piece in pieces(value, _DEPTH):
            waiting += piece.encode()
            if len(waiting) >= _PIECE:
                made.append(bytes(waiting))
                waiting.clear()
        return [*made, bytes(waiting)]


def answer(value: BaseModel | dict[str, Any], media_type: str = "application/json") -> Response:
    """Write an answer as it is, without a look at the schema, which tests compare it with."""
    return Answer(value, media_type)
