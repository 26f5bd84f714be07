"""Normalisation of old spelling: the route `normalise`, for the models of normalisers, and its schema."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from dragoman.normalisation.candidate_lists import NormalisedWord
from dragoman.normalisation.normaliser import SpellingNormaliser
from dragoman.normalisation.running_text import MarkupMode, RunningText, SplitLine
from dragoman.serve.json_bodies import Answer, api_router
from dragoman.serve.limits import RequestError
from dragoman.serve.schemas import Name, StrictRequest
from dragoman.serve.service import Service


class NormaliseRequest(StrictRequest):
    """Text in old spelling."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Vnd er gieng, vnnd kam.", "alternatives": 3}]})
    text: str = Field(description="Running text; spacing, punctuation and markup stay as they are.")
    model: Name = None
    markup: MarkupMode = Field(
        default="auto", description="Keep tags and entities as they are (xml), take all for text (none), or look first."
    )
    alternatives: int = Field(default=5, ge=0, le=10, description="The most other forms of each word.")


class Spelt(BaseModel):
    """A modern form of a word, and its probability."""

    text: str
    confidence: float


class SpeltWord(BaseModel):
    """A word of the text, its modern form, its confidence, and alternatives, the most probable first."""

    word: str
    modern: str
    confidence: float
    alternatives: list[Spelt]


class SpeltLine(BaseModel):
    """The words of a line, and the strings before, between and after them (one more than words)."""

    words: list[SpeltWord]
    between: list[str]


class NormaliseAnswer(BaseModel):
    """The text in modern spelling, its lines word by word, and whether it was treated as markup."""

    model: str
    text: str
    lines: list[SpeltLine]
    markup: bool


def routes(service: Service) -> APIRouter:
    """Make the route of normalisation."""
    router = api_router("normalise")

    @router.post("/normalise", response_model=NormaliseAnswer)
    async def normalise(asked: NormaliseRequest) -> Response:
        """Convert text to modern spelling, with the confidence and the alternatives of each word."""
        name, normaliser = _normaliser(service, asked.model)
        lines = asked.text.split("\n")
        service.check_lines(lines)
        found = await service.slow.run(lambda: _normalised(normaliser, asked))
        service.metrics.sentences(len(lines))
        return Answer({"model": name, **found})

    return router


def _normaliser(service: Service, name: str | None) -> tuple[str, SpellingNormaliser]:
    """Find a normaliser by name, or the first."""
    models = [service.models.get(name)] if name is not None else service.models
    for model in models:
        if model.normaliser is not None:
            return model.name, model.normaliser
    missing = "the service has no normaliser" if name is None else f"the model {name} is not a normaliser's"
    raise RequestError(404, f"{missing}; start it with --model FOLDER of `dragoman normalise train`")


def _normalised(normaliser: SpellingNormaliser, asked: NormaliseRequest) -> dict[str, Any]:
    running = RunningText(normaliser.words, asked.markup)
    pieces = [
        SplitLine(words, [*between[:-1], between[-1].removesuffix("\n")])
        for words, between in running.lines(asked.text)
    ]
    if asked.text.endswith("\n") or not asked.text:
        pieces.append(SplitLine([], [""]))
    explained = normaliser.explain_sentences([line.words for line in pieces])
    lines = [
        {
            "words": [_word(word, one, asked.alternatives) for word, one in zip(line.words, found, strict=True)],
            "between": line.between,
        }
        for line, found in zip(pieces, explained, strict=True)
    ]
    text = "\n".join(line.joined([one.modern for one in found]) for line, found in zip(pieces, explained, strict=True))
    return {"text": text, "lines": lines, "markup": running.recognised}


def _word(word: str, found: NormalisedWord, alternatives: int) -> dict[str, Any]:
    others = [{"text": text, "confidence": sure} for text, sure in found.alternatives[:alternatives]]
    return {"word": word, "modern": found.modern, "confidence": found.confidence, "alternatives": others}
