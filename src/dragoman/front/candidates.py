"""N-best lists of any system: reranking and minimum Bayes risk decoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.display import shorten
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.nbest import NBest
from dragoman.core.progress import Progress
from dragoman.decision.gains import Utility, utility_gains
from dragoman.decision.mbr import Mbr
from dragoman.decision.rule import Decisions
from dragoman.formats.nbest.format import NBEST_FORMATS, sniff
from dragoman.formats.nbest.json_rows import FailurePolicy
from dragoman.formats.nbest.order import IdOrderCheck, RequestedOrder, read_ids, read_texts
from dragoman.front.texts import File, Text, file_of, lines_of, open_runtime, runtime_of
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.evidence import DecodedLists
from dragoman.tuning.problems.problem import Problem, weight_ranges
from dragoman.tuning.runs.rerank import (
    MARK,
    Missing,
    first_weights,
    metric_of_lists,
    missing_from,
    of_file,
    references_of,
    rerank_nbest,
    with_features,
    without_empty,
)

#: N-best lists: a file in a known format, lists in memory, or a list of candidates for each sentence: strings, or pairs
#: of a string and its score (for example a log-probability).
Candidates = File | NBest | Sequence[Sequence[str | tuple[str, float]]]

#: Ids of sentences in the order of the output, or a file of ids: one per line, or JSON lines with `id` or `custom_id`.
Order = File | Sequence[str | int]


def mbr(
    candidates: Candidates,
    *,
    metric: str | Utility = "bleu",
    scale: float = 1.0,
    weights_from: str | None = None,
    format: str | None = None,  # noqa: A002 (the name that the command has)
    order: Order | None = None,
    failed: FailurePolicy | None = None,
    threads: int | None = None,
    cluster: str | None = None,
) -> list[str]:
    """Choose for each sentence the candidate with the highest expected utility (minimum Bayes risk).

    The weight of a candidate is exp(scale · score); all weights are equal if there are no scores, or if `weights_from`
    is "uniform", as for samples. `order` gives the ids of the sentences in the order of the output, or a file of ids.
    `failed` is the rule for sentences of a JSON file without candidates: "empty" (the default), "skip" or "refuse".
    `cluster` names workers to use instead of this process: "local:4", "tcp://host:8786", "slurm.toml".

    `metric` is the name of a metric, or a utility function. The function gets two lists of strings, hypotheses and
    references, with all pairs of distinct candidates of a sentence, and returns a number for each pair; higher is
    better. It is called once per sentence.

    >>> mbr([["dogs", "the cat sat", "a cat sat", "the cat sat"]], metric="chrf")
    ['the cat sat']
    >>> def shared(hypotheses, references):
    ...     return [len(set(a.split()) & set(b.split())) for a, b in zip(hypotheses, references)]
    >>> mbr([["dogs", "the cat", "a cat sat", "cat"]], metric=shared)
    ['a cat sat']
    """
    lists = _lists(candidates, format, order, failed)
    if weights_from is None and lists.logprobs is None and np.isnan(lists.scores).all():
        weights_from = "uniform"
    named = {"metric": metric} if isinstance(metric, str) else {}
    rule = Mbr.from_dict({**named, "scale": scale, "weights_from": weights_from})
    posterior = rule.posterior(lists)
    if not isinstance(metric, str):
        if cluster is not None:
            raise UsageError("a function runs in this process only; expected the name of a metric, or no cluster")
        hypotheses = posterior.top(rule.hypotheses)
        gains = utility_gains(metric, hypotheses, posterior)
        return Decisions.of_best(hypotheses.vocab, hypotheses.strings, gains, hypotheses.sentences).lines()
    with open_runtime(cluster, threads) as runtime:
        return rule.choose_from(posterior.top(rule.hypotheses), posterior, runtime=runtime).lines()


def rerank(
    candidates: Candidates,
    weights: Weights | Mapping[str, float] | File,
    *,
    features: Mapping[str, Sequence[float] | NDArray[np.float64]] | None = None,
    format: str | None = None,  # noqa: A002
    order: Order | None = None,
    failed: FailurePolicy | None = None,
    missing: Missing = "refuse",
) -> list[str]:
    """Return the best hypothesis of each list under the given weights: a mapping, or a file from `rerank tune`.

    `features` are additional features, such as the scores of a neural metric: a number for each hypothesis, in the
    order of the lists. `missing` is the rule for hypotheses without a number (NaN): "refuse", "drop" (these
    hypotheses), or a number to fill in; use the same as for tuning. A sentence without hypotheses gives an empty
    string. `order` and `failed` are as in `mbr`.

    >>> rerank([["a cat", "the cat"], ["dogs"]], {"comet": 1.0}, features={"comet": [0.2, 0.9, 0.5]})
    ['the cat', 'dogs']
    """
    chosen = weights if isinstance(weights, Mapping) else Weights.read(weights)
    marks = [name for name in chosen if name.endswith(MARK)]
    read = _lists(candidates, format, None, failed, quiet=order is not None)
    lists = _arranged(
        with_features(read, _columns(features, candidates, read), missing=missing_from(missing), marks=marks), order
    )
    unknown = [name for name in chosen if name not in lists.features.names]
    if unknown:
        raise UsageError(f"there is a weight for '{unknown[0]}', which no hypothesis has")
    best = rerank_nbest(lists, chosen if isinstance(chosen, Weights) else Weights(chosen))
    found = first_hypotheses(best)
    return [found.get(i, "") for i in range(len(best))]


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
    metric: str = "bleu",
    options: Mapping[str, Any] | None = None,
    features: Mapping[str, Sequence[float] | NDArray[np.float64]] | None = None,
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
    without hypotheses are skipped. BLEU of raw text uses sacreBLEU's tokeniser, as in `score`. All else is as in
    `rerank`.

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
    read = _lists(candidates, format, None, failed, quiet=order is not None or by_id is not None)
    featured = with_features(read, _columns(features, candidates, read), missing=missing_from(missing), runtime=runtime)
    lists = _arranged(featured, order)
    if by_id is not None:
        known = references_of(lists, [by_id], "the lists", runtime=runtime)
    else:
        known = [Corpus.from_lines(lines_of(references))]  # type: ignore[arg-type]
    if len(lists) != len(known[0]):
        raise DataError(f"there are {len(lists)} lists for {len(known[0])} references", expected="one for each")
    lists, known = without_empty(lists, known, runtime=runtime)
    chosen, _ = metric_of_lists(metric, lists, known)
    names = list(lists.features.names)
    sign = 1 if chosen.higher_is_better else -1
    problem = DecodedLists(lists).problem(names, weight_ranges(names), chosen.scorer(known), sign=sign, runtime=runtime)
    rng = np.random.default_rng(seed)
    optimum = tuner.optimise(problem, first_weights(lists).vector(names), rng=rng, runtime=runtime)
    return Weights(dict(zip(names, optimum.weights.tolist(), strict=True)))


def _columns(
    features: Mapping[str, Sequence[float] | NDArray[np.float64]] | None, candidates: Candidates, lists: NBest
) -> dict[str, NDArray[np.float64]]:
    """Return additional features by name, in the order of the hypotheses."""
    found = {name: np.asarray(values, np.float64) for name, values in (features or {}).items()}
    if isinstance(candidates, NBest):
        return found
    return {name: of_file(lists, values) for name, values in found.items()}


def _texts_by_id(references: Any) -> Mapping[str, str] | None:
    """Return references by id; None if they are in the order of the lists."""
    if isinstance(references, Mapping):
        return {str(name): text for name, text in references.items()}
    return read_texts(file_of(references)) if isinstance(references, str | PathLike) else None


def _arranged(lists: NBest, order: Order | None) -> NBest:
    """Return the lists in the given order, if there is one."""
    if order is None:
        return lists
    from_file = isinstance(order, str | PathLike)
    ids = read_ids(order) if isinstance(order, str | PathLike) else [*map(str, order)]
    return RequestedOrder(order if from_file else "the order", ids=ids).arrange(lists, "the lists")  # type: ignore[arg-type]


def _lists(
    candidates: Candidates, form: str | None, order: Order | None, failed: FailurePolicy | None, *, quiet: bool = False
) -> NBest:
    """Return candidates as n-best lists; warn if the ids of a file are not in order and no order is given."""
    if isinstance(candidates, NBest):
        return _arranged(candidates, order)
    if isinstance(candidates, str | PathLike):
        file = file_of(candidates)
        kind = sniff(file) if form is None else NBEST_FORMATS.get(form)
        lists = kind.from_dict({} if failed is None else {"failed": failed}).read(file)
        if order is None and not quiet:
            seen = IdOrderCheck()
            seen.add(lists)
            seen.warn(file)
        return _arranged(lists, order)
    alone = next((row for row in candidates if isinstance(row, str)), None)
    if alone is not None:
        raise UsageError(f"found '{shorten(alone)}' for a sentence; expected a list of its candidates, or a Path")
    rows = [[(one, np.nan) if isinstance(one, str) else one for one in row] for row in candidates]
    if not all(rows):
        raise DataError(f"sentence {rows.index([]) + 1} has no candidates", expected="some for each")
    every, bounds = [one for row in rows for one in row], np.cumsum([0, *map(len, rows)])
    return _arranged(NBest.of_texts([text for text, _ in every], [score for _, score in every], bounds), order)
