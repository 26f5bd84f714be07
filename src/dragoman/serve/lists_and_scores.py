"""N-best lists and outputs of any system: reading, reranking, minimum Bayes risk, and scores."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import APIRouter, Response

from dragoman.core.errors import DataError
from dragoman.core.feature_rows import Weights
from dragoman.core.nbest import NBest
from dragoman.formats.nbest.format import NBEST_FORMATS, NBestFormat, sniff
from dragoman.front.candidates import mbr, rerank
from dragoman.front.scoring import compare, score
from dragoman.serve import schemas
from dragoman.serve.json_bodies import Answer, api_router
from dragoman.serve.service import Service, check_metric
from dragoman.serve.translation import ALONE, hypotheses_json
from dragoman.tuning.runs.rerank import first_weights, rerank_nbest, with_features


def routes(service: Service) -> APIRouter:
    """Make the routes of lists and scores."""
    router = api_router("lists and scores")

    @router.post("/lists", response_model=schemas.ListsAnswer)
    async def lists(asked: schemas.ListsRequest) -> Response:
        """Read an n-best file in any known format."""
        return Answer(await service.slow.run(partial(_listed, asked)))

    @router.post("/rerank", response_model=schemas.RerankAnswer)
    async def rerank_lists(asked: schemas.RerankRequest) -> Response:
        """Rerank lists with weights, and choose the best candidate of each."""
        return Answer(await service.slow.run(partial(_reranked, asked)))

    @router.post("/mbr", response_model=schemas.MbrAnswer)
    async def mbr_of_lists(asked: schemas.MbrRequest) -> Response:
        """Choose from each list the candidate with the highest expected utility (minimum Bayes risk)."""
        check_metric(asked.metric)
        how = {"utility": asked.metric, "scale": asked.scale, "weights_from": asked.weights_from, "threads": 1}
        return Answer({"chosen": await service.slow.run(lambda: [*mbr(_read(asked)[0], **how)])})  # type: ignore[arg-type]

    @router.post("/score", response_model=schemas.ScoreAnswer)
    async def score_outputs(asked: schemas.ScoreRequest) -> Response:
        """Score translations against references, and compare them with other translations if given."""
        for metric in asked.metrics:
            check_metric(metric)
        several = [asked.references] if isinstance(asked.references[0], str) else asked.references
        for text in (asked.outputs, asked.others or [], *several):
            service.check_lines(text)
        service.check_size("the number of metrics", len(asked.metrics), 10)
        service.check_size("the number of references", len(several), 20)
        service.check_size("resamples", asked.resamples, 10_000)
        return Answer(await service.slow.run(partial(_scored, asked)))

    return router


def _read(asked: schemas.ListsRequest) -> tuple[NBest, NBestFormat]:
    """Read lists by way of a file, because formats read files."""
    if asked.content.startswith("BZh"):
        raise DataError("the lists are compressed", expected="text")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lists"
        file.write_text(asked.content, encoding="utf-8", newline="")
        form = (sniff(file) if asked.format is None else NBEST_FORMATS.get(asked.format))()
        return form.read(file, runtime=ALONE), form


def _featured(lists: NBest) -> NBest:
    """Add the lists' own numbers as features; refuse missing ones, for which a request has no rule."""
    try:
        return with_features(lists, {})
    except DataError as error:
        raise DataError(error.found, expected="a number for each hypothesis, or for none") from None


def _listed(asked: schemas.ListsRequest) -> dict[str, Any]:
    lists, form = _read(asked)
    shown = _featured(lists)
    weights = first_weights(shown) if shown.features.names else {}
    return {
        "format": form.name,
        "features": list(shown.features.names),
        "weights": dict(weights),
        "lists": [
            {"id": name, "candidates": candidates}
            for name, candidates in zip(shown.sentence_ids, hypotheses_json(shown), strict=True)
        ],
    }


def _reranked(asked: schemas.RerankRequest) -> dict[str, Any]:
    lists, form = _read(asked)
    shown = _featured(lists)
    chosen = rerank(lists, asked.weights)
    scores = shown.features.dot(Weights(asked.weights))
    found = rerank_nbest(shown, Weights(asked.weights))
    rows: list[dict[str, Any]] = []
    for name, text, begin, end in zip(
        shown.sentence_ids, chosen, shown.sentences.tolist(), shown.sentences.tolist()[1:], strict=False
    ):
        order = np.argsort(-scores[begin:end], kind="stable").tolist()
        rows.append({"id": name, "text": text, "order": order, "scores": scores[begin:end].tolist()})
    content = b"".join(form.format_blocks(found, "the lists", runtime=ALONE)).decode()
    return {"format": form.name, "chosen": chosen, "lists": rows, "content": content}


def _scored(asked: schemas.ScoreRequest) -> dict[str, Any]:
    systems = {"outputs": asked.outputs, **({} if asked.others is None else {"others": asked.others})}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in systems}
    for name, lines in systems.items():
        for metric in asked.metrics:
            one = score(
                lines,
                asked.references,
                metric,
                language=asked.language,
                resamples=asked.resamples,
                seed=asked.seed,
                threads=1,
            )
            found[name].append(
                {
                    "metric": metric,
                    "score": one.value,
                    "interval": one.interval,
                    "signature": one.signature,
                    "note": one.note,
                    "sentences": one.sentences.tolist(),
                }
            )
    answers: dict[str, Any] = {"scores": found["outputs"]}
    if asked.others is not None:
        answers |= {"others": found["others"], "comparisons": _compared(asked, systems)}
    return answers


def _compared(asked: schemas.ScoreRequest, systems: dict[str, list[str]]) -> list[dict[str, Any]]:
    rows = []
    for metric in asked.metrics:
        resamples = max(asked.resamples, 1)
        found = compare(
            systems,
            asked.references,
            metric,
            language=asked.language,
            resamples=resamples,
            trials=resamples,
            seed=asked.seed,
            threads=1,
        )
        (pair,) = found.pairs
        names = ("better", "difference", "p_bootstrap", "p_randomisation")
        rows.append({"metric": metric, "signature": found.signature, **{name: pair[name] for name in names}})
    return rows
