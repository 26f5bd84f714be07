"""The application: routes under their prefixes, errors in one shape, the page, and a guard around all of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import FileResponse, JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from dragoman.core.errors import DragomanError
from dragoman.core.version import version
from dragoman.serve import (
    routes_inside,
    routes_libretranslate,
    routes_lists,
    routes_normalise,
    routes_runs,
    routes_service,
    routes_translate,
)
from dragoman.serve.access import Access
from dragoman.serve.direct import MOST_MISTAKES, Direct, too_many_mistakes
from dragoman.serve.failures import RequestError, error_body, refusal_of
from dragoman.serve.guard import LIBRE, Guard
from dragoman.serve.service import Service

PAGE = Path(__file__).parent / "page"

#: The page has its own scripts and styles, talks to its own service, and shows reports in frames.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_SENTENCES = {
    400: "the body is not JSON in UTF-8",
    404: "there is nothing at this address",
    405: "this address is not for requests of this method",
}


def make_app(service: Service, access: Access = Access(), *, cors: Sequence[str] = ()) -> FastAPI:
    """Return the application; closing it ends the service's threads."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.ensure_future(routes_translate.warmed(service))
        yield
        warming.cancel()
        service.close()

    app = FastAPI(
        title="Dragoman",
        version=version(),
        summary="Translations, evidence about them, and runs.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its page comes from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    groups = (routes_translate, routes_inside, routes_lists, routes_normalise, routes_runs, routes_service)
    routers = [group.routes(service) for group in groups]
    for router in routers:
        app.include_router(router, prefix="/api/v1")
        app.include_router(router, prefix="/api", include_in_schema=False)
    app.include_router(routes_service.metrics_route(service))
    app.include_router(routes_libretranslate.routes(service, access))
    _add_page(app)
    _add_errors(app)
    app.add_middleware(Direct, prefixes=("/api/v1", "/api"), routers=routers, refused=_refused)
    if cors:
        app.add_middleware(CORSMiddleware, allow_origins=list(cors), allow_methods=["GET", "POST"], allow_headers=["*"])
    app.add_middleware(Guard, limits=service.limits, access=access, metrics=service.metrics, origins=cors)
    return app


def _add_page(app: FastAPI) -> None:
    """Serve the files of the page by a list of them that is made now: no name is joined to a path."""
    files = {path.relative_to(PAGE).as_posix(): path for path in PAGE.rglob("*") if path.suffix in _TYPES}

    def served(name: str) -> Response:
        if name not in files:
            raise RequestError(404, _SENTENCES[404])
        headers = {"Content-Security-Policy": _PAGE_POLICY, "Cache-Control": "no-cache"}
        return FileResponse(files[name], media_type=_TYPES[files[name].suffix], headers=headers)

    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return served("index.html")

    @app.get("/static/{name:path}", include_in_schema=False)
    async def static(name: str) -> Response:
        return served(name)


def _shaped(path: str, refusal: RequestError) -> Response:
    """An error in our shape, or as LibreTranslate has it."""
    body = {"error": refusal.message} if path in LIBRE else error_body(refusal.status, refusal.message)
    return JSONResponse(body, refusal.status, refusal.headers)


def _refused(path: str, error: Exception) -> Response:
    return _shaped(path, refusal_of(error))


def _add_errors(app: FastAPI) -> None:
    """Give all errors one shape."""

    async def refused(request: Request, error: Exception) -> Response:
        return _refused(request.url.path, error)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError | ValidationError)
        if isinstance(error, ValidationError) and error.error_count() > MOST_MISTAKES:
            return _shaped(request.url.path, too_many_mistakes(error))
        first: dict[str, Any] = dict(error.errors()[0])
        if first["type"] == "json_invalid":
            return _shaped(request.url.path, RequestError(400, _SENTENCES[400]))
        place = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
        status = 400 if request.url.path in LIBRE else 422
        return _shaped(request.url.path, RequestError(status, f"{place}: {first['msg']}"))

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentence = _SENTENCES.get(error.status_code, str(error.detail))
        return _shaped(request.url.path, RequestError(error.status_code, sentence))

    app.add_exception_handler(RequestError, refused)
    app.add_exception_handler(DragomanError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(ValidationError, invalid)
    app.add_exception_handler(HTTPException, of_http)
