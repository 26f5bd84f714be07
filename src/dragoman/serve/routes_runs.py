"""Runs and experiments: what there is, one with its events, its report, and events as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Path, Response
from fastapi.responses import StreamingResponse

from dragoman.serve import schemas
from dragoman.serve.answers import REFUSALS, answer
from dragoman.serve.failures import RequestError, busy
from dragoman.serve.json_text import written
from dragoman.serve.service import Service

#: Seconds between two looks at a run, and looks between two signs of life.
_LOOK, _SIGN = 0.5, 30
_MOST_FOLLOWERS = 16

#: A report is a page by itself: it may look as it likes, and do nothing.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"

Name = Annotated[str, Path(description="The name of a run, as `runs` has it; it may have slashes.")]


def routes(service: Service) -> APIRouter:
    """The routes of this group."""
    router = APIRouter(tags=["runs"], responses=REFUSALS)
    followers: set[object] = set()

    @router.get("/runs", response_model=schemas.RunsAnswer)
    async def runs() -> Response:
        """List tuning runs and experiments of the folder."""
        found = await asyncio.to_thread(service.runs.all)
        return answer(schemas.RunsAnswer(runs=found))

    @router.get(
        "/runs/{name:path}/events",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}}},
    )
    async def events(name: Name, last_event_id: Annotated[str | None, Header()] = None) -> Response:
        """Follow a run: an event for each iteration, those that were before first; `end` when it has stopped."""
        await asyncio.to_thread(service.runs.events, name)
        if len(followers) >= _MOST_FOLLOWERS:
            raise busy(f"{_MOST_FOLLOWERS} clients follow runs already")
        first = int(last_event_id) + 1 if (last_event_id or "").isdecimal() else 0  # type: ignore[arg-type]

        async def followed() -> AsyncIterator[str]:
            me = object()
            followers.add(me)
            try:
                async for text in _followed(service, name, first):
                    yield text
            finally:
                followers.discard(me)

        return StreamingResponse(followed(), media_type="text/event-stream")

    @router.get("/runs/{name:path}/report", response_class=Response, responses={200: {"content": {"text/html": {}}}})
    async def report(name: Name) -> Response:
        """Return the page about an experiment."""
        page = await asyncio.to_thread(service.runs.report, name)
        headers = {"Content-Security-Policy": _REPORT_POLICY, "X-Frame-Options": "SAMEORIGIN"}
        return Response(page, media_type="text/html; charset=utf-8", headers=headers)

    @router.get("/runs/{name:path}", response_model=schemas.RunAnswer)
    async def run(name: Name) -> Response:
        """Return a run with its options, events, and weights after each iteration."""
        return answer(await asyncio.to_thread(service.runs.one, name))

    return router


async def _followed(service: Service, name: str, first: int) -> AsyncIterator[str]:
    """A run's events from one on, as server-sent events, until it has stopped."""
    quiet = 0
    while not service.closing:
        try:
            events = await asyncio.to_thread(service.runs.events, name)
        except RequestError as error:  # it was there when the answer began
            yield f"event: end\ndata: {written({'stop': error.message})}\n\n"
            return
        for number, event in enumerate(events[first:], first):
            yield f"id: {number}\nevent: iteration\ndata: {written(event)}\n\n"
        quiet = 0 if len(events) > first else quiet + 1
        first = max(first, len(events))
        if events and events[-1].get("stop"):
            yield f"event: end\ndata: {written({'stop': events[-1]['stop']})}\n\n"
            return
        if quiet % _SIGN == 1:
            yield ": waiting\n\n"
        await asyncio.sleep(_LOOK)
