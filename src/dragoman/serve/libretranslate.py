"""LibreTranslate's routes, for its clients and plug-ins, and their schema."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dragoman.core.errors import UsageError
from dragoman.serve import schemas
from dragoman.serve.guard import Access
from dragoman.serve.json_bodies import NO_JSON, Answer, refusal_of_body
from dragoman.serve.limits import RequestError, RequestSlot
from dragoman.serve.models import NamedModel
from dragoman.serve.segmentation import html_text
from dragoman.serve.service import Service
from dragoman.serve.translation import Source, split_texts, translate_in_batches

#: Names of languages that clients show.
_NAMES = {
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "ja": "Japanese",
    "pt": "Portuguese",
    "ru": "Russian",
    "zh": "Chinese",
}


class LibreRequest(BaseModel):
    """A request of LibreTranslate's clients; other fields are ignored."""

    model_config = ConfigDict(extra="ignore")
    q: str | list[str] = Field(description="Text, or several.", examples=["Un homme dort."])
    source: str = Field("auto", description="A language, or `auto`.")
    target: str = Field("auto", description="A language.")
    format: str = Field("text", pattern="^(text|html)$")
    api_key: str | None = None


class LibreAnswer(BaseModel):
    """LibreTranslate's answer: a translation, or several."""

    translatedText: str | list[str]  # noqa: N815 - their name
    detectedLanguage: dict[str, Any] | list[dict[str, Any]] | None = None  # noqa: N815


class LibreError(BaseModel):
    """LibreTranslate's shape of errors."""

    error: str


_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": LibreError, "description": "Refused, in a sentence."}
    for status in (400, 401, 408, 413, 429, 500, 503)
}


def routes(service: Service, access: Access) -> APIRouter:
    """Make LibreTranslate's routes."""
    router = APIRouter(tags=["LibreTranslate"], responses=_REFUSALS)
    most = service.limits.sentences + len(LibreRequest.model_fields)  # fields of a form

    @router.post("/translate", response_model=LibreAnswer, openapi_extra=_body(LibreRequest))
    async def translate(request: Request) -> Response:
        """Translate like LibreTranslate: `q` from `source` to `target`, in JSON or as a form."""
        asked = await _read(request, access, most)
        model = _model_for(service, asked.source, asked.target)
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        done = await _translated(service, model, texts, html=asked.format == "html")
        found: dict[str, Any] = {"translatedText": done[0] if isinstance(asked.q, str) else done}
        if asked.source == "auto":
            detected = {
                "confidence": 0 if len(_sources(service)) > 1 else 100,
                "language": model.languages[0] or "auto",
            }
            found["detectedLanguage"] = detected if isinstance(asked.q, str) else [detected] * len(done)
        return Answer(found)

    @router.get("/languages")
    async def languages() -> list[dict[str, Any]]:
        """List source languages, each with its target languages."""
        targets: dict[str, list[str]] = {}
        for model in service.models:
            source, target = model.languages
            targets.setdefault(source or "auto", []).append(target or "auto")
            targets.setdefault(target or "auto", [])
        return [
            {"code": code, "name": _NAMES.get(code, code), "targets": sorted(set(found))}
            for code, found in targets.items()
        ]

    @router.post("/detect", openapi_extra=_body(LibreRequest))
    async def detect(request: Request) -> list[dict[str, Any]]:
        """List the source languages of all models; the text itself is not analysed."""
        await _read(request, access, most)
        codes = _sources(service)
        return [{"confidence": round(100 / len(codes)), "language": code} for code in codes]

    return router


async def _translated(service: Service, model: NamedModel, texts: Sequence[str], *, html: bool) -> list[str]:
    """Translate texts, all their sentences together."""
    if not html:
        return await _of_plain(service, model, texts)
    pages = await service.cut(texts, lambda check: [html_text(text, check) for text in texts])
    found = iter(await _of_plain(service, model, [text for page in pages for text in page.texts]))
    return [page.joined(list(itertools.islice(found, len(page.texts)))) for page in pages]


async def _of_plain(service: Service, model: NamedModel, texts: Sequence[str]) -> list[str]:
    """Translate plain texts."""
    splits = await split_texts(service, texts, model)
    sources = [Source(line) for split in splits for line in split.sentences]
    done = await translate_in_batches(
        service, model, schemas.OfModel(), sources, features=False, nbest=0, distinct=True
    )
    service.metrics.sentences(len(done))
    found = iter(done)
    return [split.joined([one.text for one in itertools.islice(found, len(split.sentences))]) for split in splits]


def _sources(service: Service) -> list[str]:
    return list(dict.fromkeys(model.languages[0] or "auto" for model in service.models))


def _model_for(service: Service, source: str, target: str) -> NamedModel:
    """Find the first model between two languages."""
    for model in service.models:
        ours = zip(model.languages, (source, target), strict=True)
        if all(wanted in ("auto", language) or language is None for language, wanted in ours):
            return model
    known = ", ".join(f"{a or '?'}-{b or '?'}" for a, b in (model.languages for model in service.models))
    raise UsageError(f"no model translates from {source} to {target}; there are {known}")


async def _read(request: Request, access: Access, most: int) -> LibreRequest:
    """Read a request of at most `most` fields; refuse one that has the key neither in its headers nor in its body."""
    try:
        asked = LibreRequest.model_validate(await _fields(request, most))
    except ValidationError as error:
        raise refusal_of_body(error, 400) from None
    place: RequestSlot = request.scope["place"]
    if not place.known:
        access.check_key(asked.api_key)
        place.become_known()
    return asked


async def _fields(request: Request, most: int) -> Any:
    """Parse the body of a request, as JSON or as a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        try:
            return await request.json()
        except (ValueError, RecursionError):
            raise RequestError(400, NO_JSON) from None
    if kind == "application/x-www-form-urlencoded":
        try:
            found = await asyncio.to_thread(
                parse_qs, (await request.body()).decode(), True, errors="strict", max_num_fields=most
            )
        except UnicodeError:
            raise RequestError(400, "the form is not UTF-8") from None
        except ValueError:
            raise RequestError(413, f"the form has too many fields; expected at most {most:,}") from None
        return {name: values if name == "q" and len(values) > 1 else values[-1] for name, values in found.items()}
    raise RequestError(400, "the body is neither JSON nor a form; expected application/json")


def _body(model: type[BaseModel]) -> dict[str, Any]:
    """Describe a body that is JSON or a form."""
    schema = {"schema": model.model_json_schema()}
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": schema, "application/x-www-form-urlencoded": schema},
        }
    }
