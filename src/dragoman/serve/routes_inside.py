"""A look inside one sentence: its hypergraph, the same under other weights, samples, and the posterior."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Response

from dragoman.core.errors import UsageError
from dragoman.formats.hypergraph_jsonl import format_hypergraph
from dragoman.front.system import System
from dragoman.serve import schemas
from dragoman.serve.answers import REFUSALS, answer
from dragoman.serve.inside import drawn, kept_graph, posterior, reweighted
from dragoman.serve.json_text import Written
from dragoman.serve.service import Service
from dragoman.serve.work import Source, searched


def routes(service: Service) -> APIRouter:
    """The routes of this group."""
    router = APIRouter(tags=["look inside"], responses=REFUSALS)

    def source_of(asked: schemas.OfSentence) -> Source:
        return Source(service.check_one(asked.text), asked.tree)

    def alone(asked: schemas.OfModel) -> System:
        return service.shelf.get(asked.model).weighted(asked.weights)

    @router.post("/hypergraph", response_model=schemas.HypergraphAnswer)
    async def hypergraph(asked: schemas.HypergraphRequest) -> Response:
        """Return all that the search kept of a sentence, as `dragoman translate --hypergraphs` writes it."""
        source, system = source_of(asked), alone(asked)

        def work() -> str:
            graph = searched(system, source, prepared=asked.prepared).hypergraph(0)
            service.check_size("the number of edges", graph.edges, service.limits.edges)
            return format_hypergraph(graph)

        found = Written(await service.slow.run(work))
        name = service.shelf.get(asked.model).name
        return answer({"model": name, "source": asked.text, "hypergraph": found})

    @router.post("/reweight", response_model=schemas.ReweightAnswer)
    async def reweight(asked: schemas.ReweightRequest) -> Response:
        """Weigh the hypergraph of a sentence anew: the best derivation and list under other weights, without a search.

        The hypergraph is that of a search under the model's own weights; it is kept for the next request.
        """
        model = service.shelf.get(asked.model)
        service.check_size("size", asked.size, service.limits.nbest)
        source = source_of(asked)
        weights = model.weighted(asked.weights).weights
        mixed = [name for name in model.system.model.share_names if weights[name] != model.system.weights[name]]
        if mixed:
            raise UsageError(
                f"the share {mixed[0]} changes features, not weights: a hypergraph has the shares it was made with"
            )
        make = partial(kept_graph, model.system, source, prepared=asked.prepared, most_edges=service.limits.edges)

        def work() -> dict[str, object]:
            kept, new = service.kept.get_or_make((model.name, source, asked.prepared), make)
            found = reweighted(model.system.model, kept, source, weights, asked.size, asked.prepared)
            return {**found, "searched": new}

        found = await service.batcher.alone(work)
        return answer({"model": model.name, "source": asked.text, **found})

    @router.post("/sample", response_model=schemas.SampleAnswer)
    async def sample(asked: schemas.SampleRequest) -> Response:
        """Draw derivations of a sentence from the model's distribution."""
        service.check_samples(asked.samples, chains=asked.chains, burn_in=asked.burn_in)
        found = await service.slow.run(partial(drawn, alone(asked), source_of(asked), asked))
        return answer({"model": service.shelf.get(asked.model).name, "source": asked.text, "derivations": found})

    @router.post("/posterior", response_model=schemas.PosteriorAnswer)
    async def posterior_of(asked: schemas.PosteriorRequest) -> Response:
        """Weigh the translations of a sentence against each other, and say what each decision rule chooses."""
        service.check_size("size", asked.size, service.limits.nbest)
        service.check_samples(asked.samples)
        found = await service.slow.run(partial(posterior, alone(asked), source_of(asked), asked))
        return answer({"model": service.shelf.get(asked.model).name, "source": asked.text, **found})

    return router
