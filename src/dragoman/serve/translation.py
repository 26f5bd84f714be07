"""Translation: the routes `translate`, and `nbest` for one sentence, and the searches behind them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from fastapi import APIRouter, Response

from dragoman.core.errors import DragomanError, UsageError
from dragoman.core.nbest import NBest
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.decision.settings import Decision
from dragoman.formats.penn_trees import TreeFile, with_trees
from dragoman.front.system import System
from dragoman.search.translation import Translation
from dragoman.serve import schemas, segmentation
from dragoman.serve.json_bodies import Answer, RawJson, api_router, to_json
from dragoman.serve.models import NamedModel
from dragoman.serve.segmentation import Split
from dragoman.serve.service import Service, check_rule
from dragoman.translation.stream import Outputs, SentenceResult, Stream

T = TypeVar("T")

#: Hypotheses of which rows are made at once; those of more are made in the turn of a search.
_FEW = 100


class Quiet(Progress):
    """Progress without warnings: an odd request is no news for the log of a service."""

    def warn(self, text: str) -> None:
        """Say nothing."""


#: The runtime of a request: a thread, because other requests have the other cores.
ALONE = Runtime(threads=1, progress=Quiet())


class Source(NamedTuple):
    """A sentence, and its tree if there is one."""

    line: str
    tree: str | None = None


def prepared_lines(system: System, sources: Sequence[Source], *, prepared: bool) -> list[str]:
    """Prepare sentences for the model, with their trees if it has tree features."""
    lines = system.model.preparation(prepared=prepared).source([source.line for source in sources])
    trees = _trees(system, sources)
    return list(lines if trees is None else with_trees(lines, trees))


def translate_sentences(
    system: System, sources: Sequence[Source], *, prepared: bool, features: bool, nbest: int = 0, distinct: bool = True
) -> list[SentenceResult]:
    """Translate sentences, in one search if they fit into a batch."""
    stream = Stream(system.translator, prepared=prepared, runtime=system.translator.runtime)
    outputs = Outputs(features=features, nbest=nbest or None, distinct=distinct)
    return list(stream.results([source.line for source in sources], outputs, trees=_trees(system, sources)))


def _trees(system: System, sources: Sequence[Source]) -> TreeFile | None:
    given = [source.tree for source in sources if source.tree is not None]
    return system.model.open_trees(given if len(given) == len(sources) else None, name="trees", runtime=ALONE)


def derivation_json(translation: Translation) -> RawJson:
    """Write a derivation as `dragoman translate --details` does."""
    return RawJson(translation.json(0))


def hypotheses_json(lists: NBest) -> list[RawJson]:
    """Write the hypotheses of each list at once: a great many objects would hold up the whole service."""
    texts, scores, bounds = lists.texts(), lists.scores.tolist(), lists.sentences.tolist()

    def row(h: int) -> dict[str, object]:
        return {"text": texts[h], "score": scores[h], "features": lists.features.row(h)}

    return [RawJson(to_json(list(map(row, range(*bound))))) for bound in itertools.pairwise(bounds)]


def routes(service: Service) -> APIRouter:
    """Make the routes of translation."""
    router = api_router("translate")

    @router.post("/translate", response_model=schemas.TranslateAnswer)
    async def translate(asked: schemas.TranslateRequest) -> Response:
        """Translate texts. Lines are split into sentences, decoded in batches with those of other requests."""
        model = service.models.get(asked.model)
        texts = _texts(asked)
        by_lines = not asked.split or asked.prepared or asked.trees is not None
        splits = await split_texts(service, texts, None if by_lines else model)
        sources = _with_trees([line for split in splits for line in split.sentences], asked.trees)
        service.check_size("nbest", asked.nbest, service.limits.nbest)
        if asked.decision is not None:
            done = await _decided(service, model, asked, sources)
            answers = _in_texts(texts, splits, done, [None] * len(done))
        else:
            _refuse_for_rules(asked)
            found = await translate_in_batches(
                service, model, asked, sources, features=asked.details, nbest=asked.nbest, distinct=True
            )
            answers = _in_texts(texts, splits, [one.text for one in found], await _rows(service, sources, found, asked))
        service.metrics.sentences(len(sources))
        return Answer({"model": model.name, "translations": answers})

    @router.post("/nbest", response_model=schemas.NBestAnswer)
    async def nbest(asked: schemas.NBestRequest) -> Response:
        """Return the n-best list of one sentence with features; texts are tokenised."""
        model = service.models.get(asked.model)
        service.check_size("size", asked.size, service.limits.nbest)
        source = Source(service.check_one(asked.text), asked.tree)
        (found,) = await translate_in_batches(
            service, model, asked, [source], features=False, nbest=asked.size, distinct=asked.distinct
        )
        assert found.nbest is not None
        (listed,) = await _made(service, asked.size, partial(hypotheses_json, found.nbest))
        return Answer({"model": model.name, "source": asked.text, "text": found.text, "nbest": listed})

    return router


async def warm_up(service: Service) -> None:
    """Translate a word with each model, so that the first request need not wait for parts that are loaded when used."""

    def work(model: NamedModel) -> None:
        segmentation.split("A. B.", model.languages[0])
        if not model.system.model.tree_features:
            translate_sentences(model.system, [Source("A.")], prepared=False, features=False)

    for model in service.models:
        with contextlib.suppress(DragomanError):  # clients that ask for the model are told
            await service.batcher.alone(partial(work, model))


async def split_texts(service: Service, texts: Sequence[str], model: NamedModel | None) -> list[Split]:
    """Split texts into sentences of a model's language, or into lines without a model; refuse too many."""

    def work(check: Callable[[], None]) -> list[Split]:
        if model is None:
            found = [segmentation.lines(text, check) for text in texts]
        else:
            found = [segmentation.split(text, model.languages[0], check) for text in texts]
        service.check_lines([line for split in found for line in split.sentences])
        return found

    return await service.cut(texts, work)


async def translate_in_batches(
    service: Service,
    model: NamedModel,
    asked: schemas.OfModel,
    sources: Sequence[Source],
    *,
    features: bool,
    nbest: int,
    distinct: bool,
) -> list[SentenceResult]:
    """Have sentences searched, together with those of other requests to the same model under the same weights."""
    weights = tuple(sorted(asked.weights.items())) if isinstance(asked.weights, dict) else asked.weights
    how = {"prepared": asked.prepared, "features": features, "nbest": nbest, "distinct": distinct}
    key = (model.name, weights, *how.values())
    system = model.weighted(asked.weights)

    def work(batch: list[Source]) -> list[SentenceResult]:
        model.check()  # files may have changed while this waited
        return translate_sentences(system, batch, **how)  # type: ignore[arg-type]

    return await service.batcher.run(key, sources, work)


async def _decided(
    service: Service, model: NamedModel, asked: schemas.TranslateRequest, sources: Sequence[Source]
) -> list[str]:
    """Let a decision rule choose, as slow work because its evidence is slow to make."""
    if asked.nbest or asked.details:
        raise UsageError("a decision chooses strings, not derivations: it goes without details and nbest")
    options = {**(asked.options or {}), **({} if asked.scale is None else {"scale": asked.scale})}
    assert asked.decision is not None
    check_rule(asked.decision, options)
    decision = Decision.of(asked.decision, [f"{name}={value}" for name, value in options.items()], asked.evidence)
    service.check_samples(asked.samples)
    if not sources:
        return []
    system = model.weighted(asked.weights)
    of_trees = system.model.tree_features
    trees = [source.tree for source in sources if source.tree is not None and of_trees]

    def work() -> list[str]:
        return system.translate(
            [source.line for source in sources],
            decision=decision,
            samples=asked.samples,
            seed=asked.seed,
            trees=trees or None,
            prepared=asked.prepared,
        )

    return await service.slow.run(work)


async def _rows(
    service: Service, sources: Sequence[Source], found: Sequence[SentenceResult], asked: schemas.TranslateRequest
) -> Sequence[dict[str, Any] | None]:
    """Make a row for each sentence, if details or lists are asked for."""
    if not (asked.details or asked.nbest):
        return [None] * len(found)

    def make() -> list[dict[str, Any]]:
        return [_row(source.line, one, asked) for source, one in zip(sources, found, strict=True)]

    return await _made(service, len(found) * (1 + asked.nbest), make)


async def _made(service: Service, size: int, make: Callable[[], T]) -> T:
    """Have work on results done: at once if there are few, and otherwise in the turn of a search."""
    return make() if size <= _FEW else await service.batcher.alone(make)


def _texts(asked: schemas.TranslateRequest) -> list[str]:
    if (asked.text is None) == (asked.texts is None):
        raise UsageError("found both text and texts, or neither; expected one of them")
    return [asked.text] if asked.texts is None else asked.texts  # type: ignore[list-item]


def _refuse_for_rules(asked: schemas.TranslateRequest) -> None:
    if asked.evidence is not None or asked.scale is not None or asked.options:
        raise UsageError("evidence, scale and options go with a decision")


def _with_trees(lines: Sequence[str], trees: Sequence[str] | None) -> list[Source]:
    if trees is None:
        return [Source(line) for line in lines]
    if len(trees) != len(lines):
        raise UsageError(f"there are {len(trees)} trees for {len(lines)} sentences; expected one for each")
    return [Source(line, tree) for line, tree in zip(lines, trees, strict=True)]


def _row(line: str, done: SentenceResult, asked: schemas.TranslateRequest) -> dict[str, Any]:
    """Describe a sentence."""
    assert done.translation is not None
    row: dict[str, Any] = {"source": line, "text": done.text, "score": done.translation.score}
    if asked.details:
        row["derivation"] = derivation_json(done.translation)
    if done.nbest is not None:
        (row["nbest"],) = hypotheses_json(done.nbest)
    return row


def _in_texts(
    texts: Sequence[str], splits: Sequence[Split], done: Sequence[str], rows: Sequence[dict[str, Any] | None]
) -> list[dict[str, Any]]:
    """Put the sentences of each text together."""
    answers, first = [], 0
    for text, split in zip(texts, splits, strict=True):
        end = first + len(split.sentences)
        found: dict[str, Any] = {"source": text, "text": split.joined(done[first:end])}
        of_text = [row for row in rows[first:end] if row is not None]
        answers.append({**found, "sentences": of_text} if rows and rows[0] is not None else found)
        first = end
    return answers
