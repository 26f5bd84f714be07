"""About the service itself: its models and limits, whether it is well, and its counts."""

from __future__ import annotations

from typing import get_args

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from dragoman.core.version import version
from dragoman.decision import RULES
from dragoman.decision.rule import Rule
from dragoman.formats.nbest.format import NBEST_FORMATS
from dragoman.serve import schemas
from dragoman.serve.answers import REFUSALS, answer
from dragoman.serve.no_files import metric_names
from dragoman.serve.service import Service


def routes(service: Service) -> APIRouter:
    """The routes of this group."""
    router = APIRouter(tags=["service"], responses=REFUSALS)

    @router.get("/models", response_model=schemas.ModelsAnswer)
    async def models() -> Response:
        """List models with their features and weights, decision rules, metrics, formats of lists, and limits."""
        return answer(
            schemas.ModelsAnswer(
                models=[model.info for model in service.shelf],
                decisions=[_described(RULES.get(name)) for name in RULES.names()],
                metrics=metric_names(),
                formats=NBEST_FORMATS.names(),
                limits=service.limits.to_dict(),
            )
        )

    @router.get("/health", response_model=schemas.HealthAnswer)
    async def health() -> Response:
        """Say that the service is there, and how much waits."""
        return answer(
            schemas.HealthAnswer(
                status="ok",
                version=version(),
                models=service.shelf.names,
                waiting=service.batcher.waiting,
                slow=service.slow.inside,
            )
        )

    return router


def metrics_route(service: Service) -> APIRouter:
    """What Prometheus asks for, which has a place of its own."""
    router = APIRouter(tags=["service"], responses=REFUSALS)

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Return counts and times in Prometheus' format."""
        gauges = [
            ("dragoman_waiting_sentences", "Sentences that wait for the search.", service.batcher.waiting),
            ("dragoman_slow_requests", "Slow requests that wait or are worked on.", service.slow.inside),
            ("dragoman_batches", "Batches that were searched so far.", service.batcher.batches),
            ("dragoman_kept_bytes", "Memory of hypergraphs that are kept.", service.kept.bytes),
        ]
        return PlainTextResponse(service.metrics.text(gauges), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router


def _described(rule: type[Rule]) -> schemas.DecisionInfo:
    options = {
        name: value for name, value in rule().to_dict().items() if isinstance(value, get_args(str | int | float))
    }
    return schemas.DecisionInfo(name=rule.name, takes=list(rule.takes), options=options)
