"""N-best lists of any system: reranking and minimum Bayes risk decoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.nbest import NBest
from dragoman.core.options import accept_old_names
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.decision.estimators import ESTIMATORS
from dragoman.decision.expected_utility import UtilityEstimation
from dragoman.decision.mbr import Mbr
from dragoman.decision.posterior import Posterior, WeightsFrom
from dragoman.decision.system_lists import join_systems
from dragoman.formats.nbest.json_rows import FailurePolicy
from dragoman.formats.nbest.order import read_texts
from dragoman.front.candidate_lists import Candidates, GivenLists, Order, given_lists
from dragoman.front.chosen_texts import ChosenTexts, RatedCandidates
from dragoman.front.texts import File, Text, file_of, lines_of, open_runtime, runtime_of
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.utility import MetricUtility, Utility, UtilityFunction, utility_of
from dragoman.metrics.utility_metric import GivenMetric
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.runs.computed_features import features_of_weights
from dragoman.tuning.runs.list_features import FeatureSource, feature_columns
from dragoman.tuning.runs.rerank import (
    MARK,
    Missing,
    absent_features,
    first_weights,
    metric_of_lists,
    missing_from,
    missing_of_weights,
    problem_of_lists,
    references_of,
    rerank_nbest,
    tune_problem,
    with_features,
    without_empty,
)


@accept_old_names
def mbr(
    candidates: Candidates,
    *,
    utility: str | Utility | UtilityFunction = "bleu",
    estimator: str = "exact",
    options: Mapping[str, Any] | None = None,
    evidence: Candidates | None = None,
    sources: Text | None = None,
    scale: float = 1.0,
    weights_from: str | None = None,
    check: int = 0,
    resamples: int = 0,
    cache: PathLike[str] | bool = False,
    seed: int = 1,
    format: str | None = None,  # noqa: A002 (the name that the command has)
    order: Order | None = None,
    failed: FailurePolicy | None = None,
    threads: int | None = None,
    cluster: str | None = None,
) -> ChosenTexts:
    """Choose for each sentence the candidate with the highest expected utility (minimum Bayes risk).

    The result is a list of texts with `scores`, `nbest(n)`, `diverse(n)`, `frame()` and `report`.

    `utility` is the name of a metric ("chrf", "bleu:tokenise=13a") or of a neural metric ("comet:model=FOLDER"), a
    function of hypotheses and references (and sources), or an object with `score(hypotheses, references, sources)`;
    higher is better. It is called in batches of pairs of strings. `estimator` computes expected utilities with fewer
    calls ("pruned", "centroids", "low-rank", "aggregated", "coarse-to-fine"), and `options` are its options. `check`
    compares its choices with the exact ones for this many sentences. `resamples` draws the evidence anew that often
    (1,000 are usual), and `confidences` of the result are the shares with the same choice. `cache` keeps the scores of
    utilities that have a signature: a file, or True for the user's cache.

    `evidence` are the pseudo-references, by default the candidates. A string of the evidence has the weight exp(scale ·
    score); all weights are equal if there are no scores, or if `weights_from` is "uniform", as for samples. `order`
    gives the ids of the sentences in the order of the output, or a file of ids. `failed` is the rule for sentences of a
    JSON file without candidates: "empty" (the default), "skip" or "refuse". `cluster` names workers to use instead of
    this process: "local:4", "tcp://host:8786", "slurm.toml".

    >>> mbr([["dogs", "the cat sat", "a cat sat", "the cat sat"]], utility="chrf")
    ['the cat sat']
    >>> def shared(hypotheses, references):
    ...     return [len(set(a.split()) & set(b.split())) for a, b in zip(hypotheses, references)]
    >>> mbr([["dogs", "the cat", "a cat sat", "cat"]], utility=shared)
    ['a cat sat']
    """
    given = given_lists(candidates, format, order, failed)
    others = given if evidence is None else given_lists(evidence, None, order, failed)
    lists = others.lists
    if weights_from is None and lists.logprobs is None and np.isnan(lists.scores).all():
        weights_from = "uniform"
    rule = Mbr.from_dict({"scale": scale, "weights_from": weights_from})
    posterior = rule.posterior(lists)
    ours = posterior if evidence is None else Posterior.of_nbest(given.lists, weights_from="uniform")
    hypotheses = ours.top(rule.hypotheses)
    chosen = utility_of(utility)
    if cluster is not None and not isinstance(chosen, MetricUtility):
        raise UsageError("a function or neural metric runs in this process only; expected a metric, or no cluster")
    estimation = UtilityEstimation(
        PairScorer(chosen, ScoreCache.of(cache)),
        ESTIMATORS.get(estimator).from_dict(options or {}),
        seed=seed,
        check=check,
        resamples=resamples,
    )
    known = given.lists.sources if sources is None else lines_of(sources)
    if known is not None and len(known) != len(hypotheses):
        raise DataError(f"there are {len(known)} sources for {len(hypotheses)} lists", expected="one for each")
    with open_runtime(cluster, threads) as runtime:
        found = estimation.estimates(hypotheses, posterior, known, runtime=runtime)
    rated = RatedCandidates(
        [given.texts[row] for row in hypotheses.rows.tolist()],
        hypotheses.sentences,
        found.values,
        hypotheses.probabilities,
        given.lists.sentence_ids,
        found.confidences,
    )
    return ChosenTexts.of_best(rated, estimation.report)


def rerank(
    candidates: Candidates,
    weights: Weights | Mapping[str, float] | File,
    *,
    features: Mapping[str, FeatureSource] | None = None,
    format: str | None = None,  # noqa: A002
    order: Order | None = None,
    failed: FailurePolicy | None = None,
    missing: Missing | None = None,
) -> ChosenTexts:
    """Return the best hypothesis of each list under the given weights: a mapping, or a file from `rerank tune`.

    The result is a list of texts with `scores`, `nbest(n)`, `diverse(n)` and `frame()`, as that of `mbr`; values are
    weighted sums of features, and probabilities are proportional to their exponentials.

    `features` are additional features by name: numbers, one for each hypothesis in the order of the lists; a function
    of the texts of all hypotheses, or of their texts and sources, that returns as many numbers; or a utility, by name
    ("chrf", "comet:model=FOLDER") or as an object, which is averaged over the candidates of the sentence as in `mbr`,
    or if it needs no reference a quality estimate. `missing` is the rule for hypotheses without a number (NaN):
    "refuse", "drop" (these hypotheses), or a number to fill in; by default as the file of weights has it. A sentence
    without hypotheses gives an empty string. `order` and `failed` are as in `mbr`. A file of weights says which
    language models and utilities it was tuned with; these features are computed unless they are given.

    >>> rerank([["a cat", "the cat"], ["dogs"]], {"comet": 1.0}, features={"comet": [0.2, 0.9, 0.5]})
    ['the cat', 'dogs']
    >>> lists = [["a cat", "the cat sat", "the cat sits"]]
    >>> rerank(lists, {"agreement": 1.0, "words": 0.1}, features={"agreement": "chrf", "words": lambda texts: [
    ...     len(text.split()) for text in texts]})
    ['the cat sat']
    """
    chosen = weights if isinstance(weights, Mapping) else Weights.read(weights)
    marks = [name for name in chosen if name.endswith(MARK)]
    given = given_lists(candidates, format, None, failed, quiet=order is not None)
    if missing is None:
        missing = "refuse" if isinstance(weights, Mapping) else missing_of_weights(weights)
    columns = _columns(features, candidates, given.lists)
    if not isinstance(weights, Mapping):
        kept = features_of_weights(weights, besides=columns)
        columns |= {name: feature.column(given.lists, runtime=Runtime()) for name, feature in kept.items()}
    counted = replace(given.lists, rows=np.arange(len(given.texts)))
    featured = with_features(counted, columns, missing=missing_from(missing), marks=marks)
    lists = GivenLists(featured, featured.texts()).arranged(order).lists
    unknown = absent_features(lists, chosen)
    if unknown:
        raise UsageError(f"there is a weight for '{unknown[0]}', which no hypothesis has")
    best = rerank_nbest(lists, chosen if isinstance(chosen, Weights) else Weights(chosen))
    owners = np.repeat(np.arange(len(best)), np.diff(best.sentences))
    shares = np.exp(best.scores - best.scores[best.sentences[:-1][owners]])
    shares /= np.bincount(owners, shares, minlength=len(best))[owners]
    assert best.rows is not None
    texts = [given.texts[row] for row in best.rows.tolist()]
    return ChosenTexts.of_best(RatedCandidates(texts, best.sentences, best.scores, shares, best.sentence_ids))


def first_hypotheses(lists: NBest) -> dict[int, str]:
    """Return the first hypothesis of each sentence that has one."""
    filled = np.flatnonzero(np.diff(lists.sentences))
    texts = Corpus(lists.vocab, lists.hypotheses.take(lists.sentences[:-1][filled])).lines()
    return dict(zip(filled.tolist(), texts, strict=True))


def tune_reranker(
    candidates: Candidates,
    references: Text | Sequence[Text] | Mapping[str, str],
    *,
    method: str = "mert",
    metric: GivenMetric = "bleu",
    options: Mapping[str, Any] | None = None,
    sources: Text | None = None,
    cache: PathLike[str] | bool = False,
    features: Mapping[str, FeatureSource] | None = None,
    format: str | None = None,  # noqa: A002
    order: Order | None = None,
    failed: FailurePolicy | None = None,
    missing: Missing = "refuse",
    seed: int = 1,
    threads: int | None = None,
    progress: Progress | bool = True,
) -> Weights:
    """Tune weights so that the highest-scoring hypotheses optimise the metric; `options` are options of the method.

    References are in the order of the lists, or found by id in a mapping or in a file of JSON lines with `id` and
    `text`. If `missing` is a number, a feature `NAME.missing` marks the hypotheses that it was filled in for. Sentences
    without hypotheses are skipped. BLEU of raw text uses sacreBLEU's tokeniser, as in `score`. The metric may be any
    that `score` takes: a neural metric or a function scores all hypotheses once, and methods optimise the mean over
    sentences; `sources` (by default those of the lists) and `cache` are for these. "precomputed:path=FILE" reads scores
    of hypotheses. All else is as in `rerank`.

    >>> lists = [["a cat sat", "the cat sat"], ["a dog", "dogs"]]
    >>> features = {"longer": [3.0, 3.0, 2.0, 1.0], "the": [0.0, 1.0, 0.0, 0.0]}
    >>> references = ["the cat sat", "a dog"]
    >>> weights = tune_reranker(lists, references, metric="chrf", features=features, progress=Progress())
    >>> rerank(lists, weights, features=features)
    ['the cat sat', 'a dog']
    """
    tuner = TUNERS.get(method).from_dict(options or {})
    if not isinstance(tuner, Tuner) or not tuner.takes(Problem):
        raise UsageError(f"{method} does not work on lists; expected a method that does, like mert")
    runtime, by_id = runtime_of(threads, progress), _texts_by_id(references)
    read = given_lists(candidates, format, None, failed, quiet=order is not None or by_id is not None)
    columns = _columns(features, candidates, read.lists)
    featured = with_features(read.lists, columns, missing=missing_from(missing), runtime=runtime)
    lists = GivenLists(featured, featured.texts()).arranged(order).lists
    if by_id is not None:
        known = references_of(lists, [by_id], "the lists", runtime=runtime)
    else:
        known = [Corpus.from_lines(lines_of(references))]  # type: ignore[arg-type]
    if len(lists) != len(known[0]):
        raise DataError(f"there are {len(lists)} lists for {len(known[0])} references", expected="one for each")
    if sources is not None:
        origins = tuple(lines_of(sources))
        if len(origins) != len(lists):
            raise DataError(f"there are {len(origins)} sources for {len(lists)} lists", expected="one for each")
        lists = replace(lists, sources=origins)
    lists, known = without_empty(lists, known, runtime=runtime)
    chosen, _ = metric_of_lists(metric, lists, known, cache=ScoreCache.of(cache))
    problem = problem_of_lists(lists, chosen, known, runtime=runtime)
    found = tune_problem(tuner, problem, first_weights(lists).vector(problem.names), seed=seed, runtime=runtime)
    return Weights(dict(zip(problem.names, found.tolist(), strict=True)))


def join_candidates(
    systems: Mapping[str, Candidates], *, scale: float = 1.0, weights_from: WeightsFrom | None = None
) -> NBest:
    """Join the candidates of several systems, by name, for `mbr`, `rerank` and `tune_reranker`.

    Sentences are matched by id, or by order. Each system is a feature, `system.NAME`, and so are its log-probabilities,
    `logprob.NAME`. In `mbr` all systems have the same weight; give the `scale` and `weights_from` of `mbr` here, too.

    >>> both = join_candidates({"a": [["a cat", "the cat"]], "b": [["the cat sat"]]})
    >>> rerank(both, {"system.a": 0.0, "system.b": 1.0}), mbr(both, utility="chrf")
    (['the cat sat'], ['the cat sat'])
    """
    lists = {name: given_lists(candidates).lists for name, candidates in systems.items()}
    return join_systems(lists, scale=scale, weights_from=weights_from)


def _columns(
    features: Mapping[str, FeatureSource] | None, candidates: Candidates, lists: NBest, *, runtime: Runtime = Runtime()
) -> dict[str, NDArray[np.float64]]:
    """Return additional features by name, in the order of the hypotheses."""
    return feature_columns(lists, features or {}, in_file_order=not isinstance(candidates, NBest), runtime=runtime)


def _texts_by_id(references: Any) -> Mapping[str, str] | None:
    """Return references by id; None if they are in the order of the lists."""
    if isinstance(references, Mapping):
        return {str(name): text for name, text in references.items()}
    return read_texts(file_of(references)) if isinstance(references, str | PathLike) else None
