"""The FastAPI application: all routes, errors in one shape, the page, and the guard."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import get_args

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from dragoman.core.errors import DragomanError, version
from dragoman.decision import RULES
from dragoman.decision.rule import Rule
from dragoman.formats.nbest.format import NBEST_FORMATS
from dragoman.serve import evidence, libretranslate, lists_and_scores, normalisation, runs, schemas, translation
from dragoman.serve.guard import Access, Guard
from dragoman.serve.json_bodies import NO_JSON, Answer, api_router
from dragoman.serve.limits import RequestError, error_body, refusal_of
from dragoman.serve.service import Service, metric_names

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
    400: NO_JSON,
    404: "there is nothing at this address",
    405: "this address is not for requests of this method",
}


def make_app(service: Service, access: Access = Access(), *, cors: Sequence[str] = ()) -> FastAPI:
    """Return the application; closing it ends the service's threads."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.ensure_future(translation.warm_up(service))
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
    routers = [
        translation.routes(service),
        evidence.routes(service),
        lists_and_scores.routes(service),
        normalisation.routes(service),
        runs.routes(service.runs, lambda: service.closing),
        _service_routes(service),
    ]
    for router in routers:
        app.include_router(router, prefix="/api/v1")
        app.include_router(router, prefix="/api", include_in_schema=False)
    app.include_router(_metrics_route(service))
    app.include_router(libretranslate.routes(service, access))
    _add_page(app)
    for kind in (RequestError, DragomanError, HTTPException):
        app.add_exception_handler(kind, _refused)
    if cors:
        app.add_middleware(CORSMiddleware, allow_origins=list(cors), allow_methods=["GET", "POST"], allow_headers=["*"])
    app.add_middleware(Guard, limits=service.limits, access=access, metrics=service.metrics, origins=cors)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    """Return an error in the common shape."""
    if isinstance(error, HTTPException):
        error = RequestError(error.status_code, _SENTENCES.get(error.status_code, str(error.detail)))
    refusal = refusal_of(error)
    return JSONResponse(error_body(refusal, request.url.path), refusal.status, refusal.headers)


def _add_page(app: FastAPI) -> None:
    """Serve the files of the page from a fixed list, so that no name of a request is joined to a path."""
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


def _service_routes(service: Service) -> APIRouter:
    """Make the routes about the service itself."""
    router = api_router("service")

    @router.get("/models", response_model=schemas.ModelsAnswer)
    async def models() -> Response:
        """List models with their features and weights, decision rules, metrics, formats of lists, and limits."""
        return Answer(
            schemas.ModelsAnswer(
                models=[model.info for model in service.models],
                decisions=[_described(RULES.get(name)) for name in RULES.names()],
                metrics=metric_names(),
                formats=NBEST_FORMATS.names(),
                limits=service.limits.to_dict(),
            )
        )

    @router.get("/health", response_model=schemas.HealthAnswer)
    async def health() -> Response:
        """Return the status of the service and the lengths of its queues."""
        return Answer(
            schemas.HealthAnswer(
                status="ok",
                version=version(),
                models=service.models.names,
                waiting=service.batcher.waiting,
                slow=service.slow.inside,
            )
        )

    return router


def _described(rule: type[Rule]) -> schemas.DecisionInfo:
    options = {
        name: value for name, value in rule().to_dict().items() if isinstance(value, get_args(str | int | float))
    }
    return schemas.DecisionInfo(name=rule.name, takes=list(rule.takes), options=options)


def _metrics_route(service: Service) -> APIRouter:
    """Make the route for Prometheus, at its usual path."""
    router = api_router("service")

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Return counts and times in Prometheus' format."""
        gauges = [
            ("dragoman_waiting_sentences", "Sentences that wait for the search.", service.batcher.waiting),
            ("dragoman_slow_requests", "Slow requests that wait or are worked on.", service.slow.inside),
            ("dragoman_batches", "Batches that were searched so far.", service.batcher.batches),
            ("dragoman_kept_bytes", "Memory of cached hypergraphs.", service.hypergraphs.bytes),
        ]
        return PlainTextResponse(service.metrics.text(gauges), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router
