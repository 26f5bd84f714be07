"""The work behind a look inside a sentence: hypergraphs under other weights, draws, and what rules choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dragoman.core.errors import DragomanError, UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.weights import Weights
from dragoman.decision import RULES
from dragoman.decision.posterior import Posterior
from dragoman.decision.rule import Evidence, Rule
from dragoman.forest.inside_outside import log_partition
from dragoman.forest.nbest import nbest
from dragoman.forest.viterbi import best_derivation
from dragoman.front.system import System
from dragoman.model.bundle import Model
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.serve import schemas
from dragoman.serve.failures import RequestError
from dragoman.serve.kept import KeptGraph
from dragoman.serve.work import ALONE, Source, derivation_json, hypotheses_json, prepared_lines, searched

#: Strings of a posterior that are told.
_MOST_CANDIDATES = 100


def kept_graph(system: System, source: Source, *, prepared: bool, most_edges: int) -> KeptGraph:
    """Search a sentence and keep all of it."""
    search = searched(system, source, prepared=prepared)
    graph = search.hypergraph(0)
    if graph.edges > most_edges:
        raise RequestError(422, f"the hypergraph has {graph.edges:,} edges; expected at most {most_edges:,}")
    return KeptGraph(graph, search)


def reweighted(
    model: Model, kept: KeptGraph, source: Source, weights: Weights, size: int, prepared: bool
) -> dict[str, Any]:
    """The best derivation and the best hypotheses of a hypergraph under other weights."""
    with np.errstate(over="ignore", invalid="ignore"):  # which we look for
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


def drawn(system: System, source: Source, asked: schemas.SampleRequest) -> list[dict[str, Any]]:
    """The derivations that were drawn, most frequent first."""
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


def posterior(system: System, source: Source, asked: schemas.PosteriorRequest) -> dict[str, Any]:
    """The most probable strings by some evidence, and what each rule that takes it chooses."""
    lines = prepared_lines(system, [source], prepared=asked.prepared)
    names = RULES.names() if asked.decisions is None else asked.decisions
    rules = [RULES.get(name) for name in names]
    if asked.decisions is None:
        rules = [rule for rule in rules if asked.evidence in rule.takes]
    seen = _Seen(system, lines, asked)
    strings, probabilities = seen.posterior()
    form = system.model.preparation(prepared=asked.prepared)

    def restored(texts: Sequence[str]) -> list[str]:
        return form.restore(texts, [source.line] * len(texts))

    shown = np.argsort(-probabilities, kind="stable")[:_MOST_CANDIDATES]
    texts = restored([strings[i] for i in shown.tolist()])
    choices: list[dict[str, Any]] = []
    for rule in rules:
        choice: dict[str, Any] = {"decision": rule.name, "evidence": asked.evidence}
        try:
            decided = seen.made(rule).decide(seen.evidence(rule), runtime=ALONE).lines()
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


class _Seen:
    """Evidence of one kind about a sentence, in the forms that rules like."""

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

    def made(self, rule: type[Rule]) -> Rule:
        """A rule at the scale that was asked for, if it knows one."""
        scaled = self._asked.evidence != "samples" and any(field.name == "scale" for field in fields(rule))
        return rule.from_dict({"scale": self._asked.scale} if scaled else {})

    def evidence(self, rule: type[Rule]) -> Evidence:
        """What a rule is to see."""
        if self._samples is not None:
            return self._samples
        assert self._graph is not None
        if self._asked.evidence == "nbest":
            return nbest([self._graph], self._asked.size, distinct=rule.distinct_lists)
        return [self._graph]

    def posterior(self) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
        """Strings and their probabilities: shares of the list or samples, or of all that a hypergraph has.

        They are the strings that rules see: so many different ones, each with the derivations that a list of as many
        has of it, or else with its best. The first is what `max-translation` chooses.
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
    """A sentence's best derivations, and the best derivations of further strings behind them.

    The strings of the best derivations are the first of the best strings.
    """
    known = len(derivations.distinct(words_only=True).scores)
    both = NBest.concatenate([derivations, strings])
    rows = np.delete(np.arange(len(both.scores)), len(derivations.scores) + np.arange(known))
    return replace(both.reordered(rows), sentences=np.array([0, len(rows)]))
