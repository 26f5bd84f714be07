"""Evidence about one sentence: its hypergraph, rescored with other weights, samples, and the posterior of strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
from fastapi import APIRouter, Response

from dragoman.core.errors import DragomanError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.decision import RULES
from dragoman.decision.posterior import Posterior
from dragoman.decision.rule import Evidence, Rule
from dragoman.forest.derivation import best_derivation
from dragoman.forest.inside_outside import log_partition
from dragoman.forest.kbest import nbest
from dragoman.formats.hypergraph_jsonl import format_hypergraph
from dragoman.front.system import System
from dragoman.model.bundle import Model
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.serve import schemas
from dragoman.serve.hypergraph_cache import CachedHypergraph
from dragoman.serve.json_bodies import Answer, RawJson, api_router
from dragoman.serve.limits import RequestError
from dragoman.serve.service import Service
from dragoman.serve.translation import ALONE, Source, derivation_json, hypotheses_json, prepared_lines

#: Strings of a posterior in an answer.
_MOST_CANDIDATES = 100


def routes(service: Service) -> APIRouter:
    """Make the routes of evidence."""
    router = api_router("look inside")

    def source_of(asked: schemas.OfSentence) -> Source:
        return Source(service.check_one(asked.text), asked.tree)

    def system_of(asked: schemas.OfModel) -> System:
        return service.models.get(asked.model).weighted(asked.weights)

    @router.post("/hypergraph", response_model=schemas.HypergraphAnswer)
    async def hypergraph(asked: schemas.HypergraphRequest) -> Response:
        """Return the search hypergraph of a sentence, as `dragoman translate --hypergraphs` writes it."""
        most = service.limits.edges
        search = partial(_searched, system_of(asked), source_of(asked), prepared=asked.prepared, most_edges=most)
        found = RawJson(await service.slow.run(lambda: format_hypergraph(search().graph)))
        return Answer({"model": service.models.get(asked.model).name, "source": asked.text, "hypergraph": found})

    @router.post("/reweight", response_model=schemas.ReweightAnswer)
    async def reweight(asked: schemas.ReweightRequest) -> Response:
        """Rescore the hypergraph of a sentence: best derivation and n-best list with other weights, without a search.

        The hypergraph is that of a search under the model's own weights; it is kept for the next request.
        """
        model = service.models.get(asked.model)
        service.check_size("size", asked.size, service.limits.nbest)
        source = source_of(asked)
        weights = model.weighted(asked.weights).weights
        mixed = [
            name
            for name in model.system.model.interpolation_weight_names
            if weights[name] != model.system.weights[name]
        ]
        if mixed:
            raise UsageError(
                f"the share {mixed[0]} changes features, not weights: a hypergraph has the shares it was made with"
            )
        search = partial(_searched, model.system, source, prepared=asked.prepared, most_edges=service.limits.edges)

        def work() -> dict[str, object]:
            kept, new = service.hypergraphs.get_or_make((model.name, source, asked.prepared), search)
            found = _reweighted(model.system.model, kept, source, weights, asked.size, asked.prepared)
            return {**found, "searched": new}

        found = await service.batcher.alone(work)
        return Answer({"model": model.name, "source": asked.text, **found})

    @router.post("/sample", response_model=schemas.SampleAnswer)
    async def sample(asked: schemas.SampleRequest) -> Response:
        """Sample derivations of a sentence from the model's distribution."""
        service.check_samples(asked.samples, chains=asked.chains, burn_in=asked.burn_in)
        found = await service.slow.run(partial(_drawn, system_of(asked), source_of(asked), asked))
        return Answer({"model": service.models.get(asked.model).name, "source": asked.text, "derivations": found})

    @router.post("/posterior", response_model=schemas.PosteriorAnswer)
    async def posterior_of(asked: schemas.PosteriorRequest) -> Response:
        """Return the most probable translations of a sentence and the choice of each decision rule."""
        service.check_size("size", asked.size, service.limits.nbest)
        service.check_samples(asked.samples)
        found = await service.slow.run(partial(_posterior, system_of(asked), source_of(asked), asked))
        return Answer({"model": service.models.get(asked.model).name, "source": asked.text, **found})

    return router


def _searched(system: System, source: Source, *, prepared: bool, most_edges: int) -> CachedHypergraph:
    """Search a sentence and return its whole hypergraph, unless that is too large."""
    (search,) = system.translator.search_batches(prepared_lines(system, [source], prepared=prepared), forests=True)
    graph = search.hypergraph(0)
    if graph.edges > most_edges:
        raise RequestError(422, f"the hypergraph has {graph.edges:,} edges; expected at most {most_edges:,}")
    return CachedHypergraph(graph, search)


def _reweighted(
    model: Model, kept: CachedHypergraph, source: Source, weights: Weights, size: int, prepared: bool
) -> dict[str, Any]:
    """Find the best derivation and the best hypotheses of a hypergraph under other weights."""
    with np.errstate(over="ignore", invalid="ignore"):  # they are refused below
        graph = kept.graph.reweighted(weights)
    if not np.isfinite(graph.scores).all():
        raise UsageError("under these weights there are scores that are not finite; expected smaller weights")
    best = best_derivation(graph)
    translation = kept.search.derivation(0, best.edges, best.score)
    (text,) = model.preparation(prepared=prepared).restore([translation.text], [source.line])
    (listed,) = hypotheses_json(nbest([graph], size, distinct=True))
    return {
        "text": text,
        "score": translation.score,
        "derivation": derivation_json(translation),
        "nbest": listed,
    }


def _drawn(system: System, source: Source, asked: schemas.SampleRequest) -> list[dict[str, Any]]:
    """Sample derivations and list them, the most frequent first."""
    options = Sampling(samples=asked.samples, chains=asked.chains, temperature=asked.temperature, burn_in=asked.burn_in)
    lines = prepared_lines(system, [source], prepared=asked.prepared)
    (samples,) = Sampler.of(system.translator, options).sample(lines, seed=asked.seed, features=False)
    counts, probabilities = samples.counts.sum(axis=1), samples.probabilities
    return [
        {
            "text": samples.line(h),
            "count": int(counts[h]),
            "probability": float(probabilities[h]),
            "score": float(samples.scores[h]),
        }
        for h in np.argsort(-counts, kind="stable").tolist()
    ]


def _posterior(system: System, source: Source, asked: schemas.PosteriorRequest) -> dict[str, Any]:
    """Find the most probable strings by some evidence, and the choice of each rule that takes it."""
    lines = prepared_lines(system, [source], prepared=asked.prepared)
    names = RULES.names() if asked.decisions is None else asked.decisions
    rules = [RULES.get(name) for name in names]
    if asked.decisions is None:
        rules = [rule for rule in rules if asked.evidence in rule.takes]
    evidence = _Evidence(system, lines, asked)
    strings, probabilities = evidence.posterior()
    form = system.model.preparation(prepared=asked.prepared)

    def restored(texts: Sequence[str]) -> list[str]:
        return form.restore(texts, [source.line] * len(texts))

    shown = np.argsort(-probabilities, kind="stable")[:_MOST_CANDIDATES]
    texts = restored([strings[i] for i in shown.tolist()])
    choices: list[dict[str, Any]] = []
    for rule in rules:
        choice: dict[str, Any] = {"decision": rule.name, "evidence": asked.evidence}
        try:
            decided = evidence.rule(rule).decide(evidence.of(rule), runtime=ALONE).lines()
            choices.append({**choice, "text": restored(decided)[0]})
        except DragomanError as error:
            choices.append({"decision": rule.name, "refused": str(error)})
    return {
        "candidates": [
            {"text": text, "probability": float(probabilities[i])}
            for text, i in zip(texts, shown.tolist(), strict=True)
        ],
        "mass": float(min(1.0, probabilities[shown].sum())),
        "choices": choices,
    }


class _Evidence:
    """Evidence of one kind about a sentence, in the forms that decision rules take."""

    def __init__(self, system: System, lines: Sequence[str], asked: schemas.PosteriorRequest):
        self._asked = asked
        self._samples = None
        self._graph: Hypergraph | None = None
        if asked.evidence == "samples":
            # Samples have the scale at which they are drawn: their temperature is its inverse.
            options = Sampling(samples=asked.samples, temperature=1 / asked.scale)
            (self._samples,) = Sampler.of(system.translator, options).sample(lines, seed=asked.seed, features=False)
        else:
            (part,) = system.translator.search_batches(lines, forests=True)
            self._graph = part.hypergraph(0, features=False)

    def rule(self, rule: type[Rule]) -> Rule:
        """Make a decision rule, with the scale of the request if the rule has one."""
        scaled = self._asked.evidence != "samples" and any(field.name == "scale" for field in fields(rule))
        return rule.from_dict({"scale": self._asked.scale} if scaled else {})

    def of(self, rule: type[Rule]) -> Evidence:
        """Return the evidence in the form that a decision rule takes."""
        if self._samples is not None:
            return self._samples
        assert self._graph is not None
        if self._asked.evidence == "nbest":
            return nbest([self._graph], self._asked.size, distinct=rule.distinct_lists)
        return [self._graph]

    def posterior(self) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
        """Return strings and their probabilities: shares of the list or samples, or of the whole hypergraph.

        They are the strings that rules see: `size` different ones, each with its derivations among the `size` best, or
        else with its best. The first is the choice of `max-translation`.
        """
        if self._samples is not None:
            found = Posterior.of_samples(self._samples)
            return found.corpus.lines(), found.probabilities
        assert self._graph is not None
        lists = _with_more_strings(
            nbest([self._graph], self._asked.size), nbest([self._graph], self._asked.size, distinct=True)
        )
        found = Posterior.of_nbest(lists, self._asked.scale)
        if self._asked.evidence == "nbest":
            return found.corpus.lines(), found.probabilities
        scaled = self._asked.scale * lists.scores
        of_list = np.logaddexp.reduce(scaled)
        share = np.exp(of_list - log_partition(self._graph.scaled(self._asked.scale)))
        return found.corpus.lines(), found.probabilities * min(1.0, float(share))


def _with_more_strings(derivations: NBest, strings: NBest) -> NBest:
    """Add the best derivations of further strings to the best derivations of a sentence.

    The strings of the best derivations are the first of the best strings.
    """
    known = len(derivations.distinct(words_only=True).scores)
    both = NBest.concatenate([derivations, strings])
    rows = np.delete(np.arange(len(both.scores)), len(derivations.scores) + np.arange(known))
    return replace(both.reordered(rows), sentences=np.array([0, len(rows)]))
