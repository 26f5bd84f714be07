"""Answers of routes."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from pydantic import BaseModel

from dragoman.serve.json_text import written
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


def answer(value: BaseModel | dict[str, Any], media_type: str = "application/json") -> Response:
    """Write an answer as it is, without a look at the schema, which tests compare it with."""
    plain = value.model_dump() if isinstance(value, BaseModel) else value
    return Response(written(plain), media_type=media_type)
