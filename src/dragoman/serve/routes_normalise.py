"""Old spelling in, modern spelling out: `normalise`, for the models of normalisers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from dragoman.normalisation.normalised import Normalised
from dragoman.normalisation.normaliser import Normaliser
from dragoman.normalisation.running_text import Cut, RunningText
from dragoman.serve import schemas_normalise
from dragoman.serve.answers import REFUSALS, answer
from dragoman.serve.failures import RequestError
from dragoman.serve.service import Service


def routes(service: Service) -> APIRouter:
    """The routes of this group."""
    router = APIRouter(tags=["normalise"], responses=REFUSALS)

    @router.post("/normalise", response_model=schemas_normalise.NormaliseAnswer)
    async def normalise(asked: schemas_normalise.NormaliseRequest) -> Response:
        """Write text in modern spelling, and say of each word how sure that is and what else it may be."""
        name, normaliser = _normaliser(service, asked.model)
        lines = asked.text.split("\n")
        service.check_lines(lines)
        found = await service.slow.run(lambda: _normalised(normaliser, asked))
        service.metrics.sentences(len(lines))
        return answer({"model": name, **found})

    return router


def _normaliser(service: Service, name: str | None) -> tuple[str, Normaliser]:
    """A normaliser by name, or the first."""
    models = [service.shelf.get(name)] if name is not None else service.shelf
    for model in models:
        if model.normaliser is not None:
            return model.name, model.normaliser
    missing = "the service has no normaliser" if name is None else f"the model {name} is not a normaliser's"
    raise RequestError(404, f"{missing}; start it with --model FOLDER of `dragoman normalise train`")


def _normalised(normaliser: Normaliser, asked: schemas_normalise.NormaliseRequest) -> dict[str, Any]:
    running = RunningText(normaliser.words, asked.markup)
    pieces = [
        Cut(words, [*between[:-1], between[-1].removesuffix("\n")]) for words, between in running.lines(asked.text)
    ]
    if asked.text.endswith("\n") or not asked.text:
        pieces.append(Cut([], [""]))
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


def _word(word: str, found: Normalised, alternatives: int) -> dict[str, Any]:
    others = [{"text": text, "confidence": sure} for text, sure in found.alternatives[:alternatives]]
    return {"word": word, "modern": found.modern, "confidence": found.confidence, "alternatives": others}
