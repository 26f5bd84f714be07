"""Anybody's candidates: reranked, or chosen among by minimum Bayes risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.live import watcher_of
from dragoman.core.nbest import NBest
from dragoman.core.progress import Progress, available_cores
from dragoman.core.shown import shortened
from dragoman.core.weights import Weights
from dragoman.core.work.workers import Workers
from dragoman.decision.called_gains import Utility, called_gains
from dragoman.decision.mbr import Mbr
from dragoman.decision.rule import Decisions
from dragoman.formats.nbest.format import NBEST_FORMATS, sniff
from dragoman.front.texts import File, Text, file_of, lines_of
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.tuner import Tuner
from dragoman.tuning.problems.nbest_evidence import DecodedLists
from dragoman.tuning.problems.ranges import weight_ranges
from dragoman.tuning.runs.rerank import first_weights, metric_of_lists, reranked, with_features

#: N-best lists: a file of any format that is known, lists that were read, or for each sentence its candidates: strings,
#: or pairs of a string and its score (a log-probability, say).
Candidates = File | NBest | Sequence[Sequence[str | tuple[str, float]]]


def mbr(
    candidates: Candidates,
    *,
    metric: str | Utility = "bleu",
    scale: float = 1.0,
    weights_from: str | None = None,
    format: str | None = None,  # noqa: A002 (the name that the command has)
    threads: int | None = None,
    cluster: str | None = None,
) -> list[str]:
    """Choose for each sentence the candidate that agrees most with all others: minimum Bayes risk.

    Candidates weigh exp(scale · score), or all alike if they have no scores or `weights_from` is "uniform", as samples
    should. `cluster` is who works, if not this process: "local:4", "tcp://host:8786", "slurm.toml".

    `metric` is the name of a metric, or a function that says how good hypotheses are where references are true: it
    gets two lists of strings, all pairs of a sentence's different candidates, and returns a number for each pair, the
    higher the better. It is called once a sentence.

    >>> mbr([["dogs", "the cat sat", "a cat sat", "the cat sat"]], metric="chrf")
    ['the cat sat']
    >>> def shared(hypotheses, references):
    ...     return [len(set(a.split()) & set(b.split())) for a, b in zip(hypotheses, references)]
    >>> mbr([["dogs", "the cat", "a cat sat", "cat"]], metric=shared)
    ['a cat sat']
    """
    lists = _lists(candidates, format)
    if weights_from is None and lists.logprobs is None and np.isnan(lists.scores).all():
        weights_from = "uniform"
    named = {"metric": metric} if isinstance(metric, str) else {}
    rule = Mbr.from_dict({**named, "scale": scale, "weights_from": weights_from})
    posterior = rule.posterior(lists)
    if not isinstance(metric, str):
        if cluster is not None:
            raise UsageError("a function is called by this process; expected the name of a metric, or no cluster")
        hypotheses = posterior.top(rule.hypotheses)
        gains = called_gains(metric, hypotheses, posterior)
        return Decisions.of_best(hypotheses.vocab, hypotheses.strings, gains, hypotheses.sentences).lines()
    with Workers.of(cluster, threads=threads or available_cores()) as workers:
        workers.require([])
        return rule.choose_from(posterior.top(rule.hypotheses), posterior, workers=workers).lines()


def rerank(
    candidates: Candidates,
    weights: Weights | Mapping[str, float] | File,
    *,
    features: Mapping[str, Sequence[float] | NDArray[np.float64]] | None = None,
    format: str | None = None,  # noqa: A002
) -> list[str]:
    """Return the best hypothesis of each list under some weights: a mapping, or a file of `rerank tune`.

    `features` are more columns, a number for each hypothesis, such as the scores of a neural metric.

    >>> rerank([["a cat", "the cat"], ["dogs"]], {"comet": 1.0}, features={"comet": [0.2, 0.9, 0.5]})
    ['the cat', 'dogs']
    """
    lists = with_features(_lists(candidates, format), _columns(features))
    chosen = weights if isinstance(weights, Mapping) else Weights.read(weights)
    unknown = [name for name in chosen if name not in lists.features.names]
    if unknown:
        raise UsageError(f"there is a weight for '{unknown[0]}', which no hypothesis has")
    best = reranked(lists, chosen if isinstance(chosen, Weights) else Weights(chosen))
    if not np.diff(best.sentences).all():
        raise DataError("a sentence has no candidates", expected="some for each")
    return Corpus(best.vocab, best.hypotheses.take(best.sentences[:-1])).lines()


def tune_reranker(
    candidates: Candidates,
    references: Text | Sequence[Text],
    *,
    method: str = "mert",
    metric: str = "bleu",
    options: Mapping[str, Any] | None = None,
    features: Mapping[str, Sequence[float] | NDArray[np.float64]] | None = None,
    format: str | None = None,  # noqa: A002
    seed: int = 1,
    threads: int | None = None,
    progress: Progress | bool = True,
) -> Weights:
    """Find weights under which the best hypotheses of the lists score best; `options` are those of the method.

    BLEU of raw lists has sacreBLEU's tokeniser, as `score` has.

    >>> lists = [["a cat sat", "the cat sat"], ["a dog", "dogs"]]
    >>> features = {"longer": [3.0, 3.0, 2.0, 1.0], "the": [0.0, 1.0, 0.0, 0.0]}
    >>> references = ["the cat sat", "a dog"]
    >>> weights = tune_reranker(lists, references, metric="chrf", features=features, progress=Progress())
    >>> rerank(lists, weights, features=features)
    ['the cat sat', 'a dog']
    """
    tuner = TUNERS.get(method).from_dict(options or {})
    if not isinstance(tuner, Tuner) or not tuner.takes_lists:
        raise UsageError(f"{method} does not work on lists; expected a method that does, like mert")
    known = [Corpus.from_lines(lines_of(references))]  # type: ignore[arg-type]
    lists = with_features(_lists(candidates, format), _columns(features))
    if len(lists) != len(known[0]):
        raise DataError(f"there are {len(lists)} lists for {len(known[0])} references", expected="one for each")
    chosen, _ = metric_of_lists(metric, lists, known)
    names, workers = list(lists.features.names), threads or available_cores()
    sign = 1 if chosen.higher_is_better else -1
    problem = DecodedLists(lists).problem(names, weight_ranges(names), chosen.scorer(known), sign=sign, threads=workers)
    optimum = tuner.optimise(
        problem,
        first_weights(lists).vector(names),
        rng=np.random.default_rng(seed),
        threads=workers,
        progress=watcher_of(progress),
    )
    return Weights(dict(zip(names, optimum.weights.tolist(), strict=True)))


def _columns(features: Mapping[str, Sequence[float] | NDArray[np.float64]] | None) -> dict[str, NDArray[np.float64]]:
    return {name: np.asarray(values, np.float64) for name, values in (features or {}).items()}


def _lists(candidates: Candidates, form: str | None) -> NBest:
    if isinstance(candidates, NBest):
        return candidates
    if isinstance(candidates, str | PathLike):
        file = file_of(candidates)
        kind = sniff(file) if form is None else NBEST_FORMATS.get(form)
        return kind().read(file)
    alone = next((row for row in candidates if isinstance(row, str)), None)
    if alone is not None:
        raise UsageError(f"found '{shortened(alone)}' for a sentence; expected a list of its candidates, or a Path")
    rows = [[(one, np.nan) if isinstance(one, str) else one for one in row] for row in candidates]
    if not all(rows):
        raise DataError(f"sentence {rows.index([])} has no candidates", expected="some for each")
    corpus = Corpus.from_lines([text for row in rows for text, _ in row])
    return NBest(
        vocab=corpus.vocab,
        sentences=np.cumsum([0, *map(len, rows)]),
        hypotheses=corpus.sentences,
        scores=np.array([score for row in rows for _, score in row], np.float64),
        features=FeatureRows.zeros(len(corpus)),
    )
