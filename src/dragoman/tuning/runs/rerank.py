"""Reranking of n-best lists from any system: extra scores by name, missing values, and start weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.files import PathLike, open_output, read_lines
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.decision.system_lists import SYSTEM_LOGPROB
from dragoman.metrics.combined import CombinedScorer
from dragoman.metrics.metric import MeanScorer, Metric
from dragoman.metrics.precomputed import PrecomputedScorer
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.tokeniser_choice import metrics_for
from dragoman.metrics.utility_metric import GivenMetric
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.evidence import DecodedLists
from dragoman.tuning.problems.problem import MOST_DENSE, Problem, best_rows, weight_ranges
from dragoman.tuning.runs.computed_features import ComputedFeature, feature_notes

#: Treatment of a missing number: refuse it, drop the hypothesis, or replace it by this number.
Missing = Literal["refuse", "drop"] | float

#: The end of the name of a feature that is 1 where another is missing.
MARK = ".missing"

#: Of more features than these, names that begin alike are those of sparse features.
_LARGEST_DENSE_FAMILY = 20


def missing_from(text: str | float) -> Missing:
    """Read the treatment of missing numbers: a word or a number.

    >>> missing_from("drop"), missing_from("-20")
    ('drop', -20.0)
    """
    if text in ("refuse", "drop"):
        return cast(Missing, text)
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise UsageError(f"missing is '{text}'; expected refuse, drop, or a number")
    return value


#: The beginning of the comment in a file of weights that has the treatment of missing numbers.
_MISSING_NOTE = "# missing: "


def write_reranker(
    path: PathLike, weights: Weights, missing: Missing, features: Mapping[str, ComputedFeature] = {}
) -> None:
    """Write weights with the treatment of missing numbers and the computed features that they were tuned with."""
    with open_output(path) as stream:
        note = "" if missing == "refuse" else f"{_MISSING_NOTE}{missing}\n"
        stream.write((note + feature_notes(features, Path(path).parent) + weights.format()).encode())


def missing_of_weights(path: PathLike) -> Missing:
    """Return the treatment of missing numbers that a file of weights has; to refuse them, if it has none."""
    notes = [line for line in read_lines(path) if line.startswith(_MISSING_NOTE)]
    return missing_from(notes[0].removeprefix(_MISSING_NOTE).strip()) if notes else "refuse"


@dataclass(frozen=True)
class FilledColumns:
    """Columns without gaps, and the hypotheses (rows) that remain."""

    columns: dict[str, NDArray[np.float64]]
    kept: NDArray[np.int64]


def fill_missing(
    nbest: NBest,
    columns: Mapping[str, NDArray[np.float64]],
    missing: Missing = "refuse",
    marks: Collection[str] = (),
    *,
    runtime: Runtime = Runtime(),
) -> FilledColumns:
    """Remove gaps (NaN) from columns that have a number for each hypothesis.

    If gaps are replaced by a number, a column `NAME.missing` is 1 where there was a gap. The columns of `marks` are
    added even if there are no gaps.
    """
    found: dict[str, NDArray[np.float64]] = {}
    kept = np.ones(len(nbest.scores), np.bool_)
    for name, values in columns.items():
        gaps = np.isnan(values)
        found[name] = values
        if gaps.any():
            counts = f"{int(gaps.sum()):,} of {len(gaps):,} hypotheses have no '{name}'"
            place = f"the first of them is {nbest.place_of(int(gaps.argmax()))}"
            if missing == "refuse":
                ways = "drop (leaves them out) or a number (fills it in)"
                raise DataError(f"{counts}, {place}", expected=f"a number for each, or `missing=` {ways}")
            if missing == "drop":
                kept &= ~gaps
                runtime.warn(f"{counts}, {place}; they are left out")
            else:
                found[name] = np.where(gaps, missing, values)
                runtime.warn(f"{counts}, {place}; they get {missing:g}, and 1 as '{name}{MARK}'")
        if name + MARK in marks or (gaps.any() and not isinstance(missing, str)):
            found[name + MARK] = gaps.astype(np.float64)
    rows = np.flatnonzero(kept)
    lost = int((np.diff(np.searchsorted(rows, nbest.sentences)) == 0).sum() - (np.diff(nbest.sentences) == 0).sum())
    if lost:
        runtime.warn(f"{lost:,} of {len(nbest):,} sentences have no hypotheses any more")
    return FilledColumns({name: values[rows] for name, values in found.items()}, rows)


#: The names under which a list's own numbers become features.
SCORE, LOGPROB = "score", "logprob"


def with_features(
    nbest: NBest,
    extra: Mapping[str, NDArray[np.float64]],
    *,
    missing: Missing = "refuse",
    marks: Collection[str] = (),
    runtime: Runtime = Runtime(),
) -> NBest:
    """Add features, one number for each hypothesis, under the given names.

    Log-probabilities always become a feature (of several systems, one each: see `join_systems`), and the score does if
    a list has neither log-probabilities nor features, so that the system's own preference is not lost. Where some
    hypotheses lack a number (NaN, or an empty cell of a table), `missing` and `marks` apply: see `fill_missing`.
    Features that a hypothesis of another format does not name are 0, and not missing.
    """
    columns = dict(extra)
    apart = any(name.startswith(SYSTEM_LOGPROB) for name in nbest.features.names)
    if nbest.logprobs is not None and not np.isnan(nbest.logprobs).all():
        if not apart:
            columns.setdefault(LOGPROB, nbest.logprobs)
    elif not nbest.features.names and not np.isnan(nbest.scores).all():
        columns.setdefault(SCORE, nbest.scores)
    for name, values in columns.items():
        if name in nbest.features.names:
            raise DataError(f"the lists have a feature '{name}' already", expected="another name for the extra one")
        if len(values) != len(nbest.scores):
            raise DataError(f"'{name}' has {len(values)} numbers", expected=f"{len(nbest.scores)}, one a hypothesis")
        if np.isinf(values).any():
            raise DataError(f"'{name}' has a value that is not a finite number")
    own = _columns_of_tables(nbest)
    found = fill_missing(nbest, own | columns, missing, marks, runtime=runtime)
    if len(found.kept) < len(nbest.scores):
        nbest = nbest.kept(found.kept)
    if not found.columns:
        return nbest
    added = FeatureRows.of_columns(found.columns, len(nbest.scores))
    return replace(nbest, features=added if own else FeatureRows.join([nbest.features, added]))


def _columns_of_tables(nbest: NBest) -> dict[str, NDArray[np.float64]]:
    """Return the features of a table as columns, with NaN for empty cells; nothing for other formats."""
    if nbest.extras is None or not nbest.extras.style.get("columns"):
        return {}
    features = nbest.features
    columns = np.full((len(features.names), len(features)), np.nan)
    columns[features.ids, np.repeat(np.arange(len(features)), np.diff(features.offsets))] = features.values
    return dict(zip(features.names, columns, strict=True))


def references_of(
    nbest: NBest, references: Sequence[Mapping[str, str]], path: PathLike, *, runtime: Runtime = Runtime()
) -> list[Corpus]:
    """Return the references with the ids of the lists; warn of other references, and refuse lists without one."""
    names = [*map(str, nbest.sentence_ids)]
    for texts in references:
        unknown = [name for name in names if name not in texts]
        if unknown:
            found = f"{len(unknown):,} of {len(names):,} lists have an id without a reference, the first of them is"
            raise DataError(f"{found} '{unknown[0]}'", path=path, expected="references of all lists")
        if len(texts) > len(names):
            runtime.warn(f"{path}: {len(texts) - len(names):,} of {len(texts):,} references have no list")
    return [Corpus.from_lines([texts[name] for name in names]) for texts in references]


def without_empty(
    nbest: NBest, references: Sequence[Corpus], *, runtime: Runtime = Runtime()
) -> tuple[NBest, list[Corpus]]:
    """Leave out sentences without hypotheses, and their references; warn of their number."""
    there = np.flatnonzero(np.diff(nbest.sentences))
    if len(there) == len(nbest):
        return nbest, [*references]
    empty = len(nbest) - len(there)
    runtime.warn(f"{empty:,} of {len(nbest):,} sentences have no hypotheses, and are left out with their references")
    return nbest.take(there), [corpus.take(there) for corpus in references]


def metric_of_lists(
    given: GivenMetric, lists: NBest, references: Sequence[Corpus], *, cache: ScoreCache | None = None
) -> tuple[Metric, str | None]:
    """Return a metric for lists, with a note on the tokeniser that their text suggests, if any."""
    filled = np.flatnonzero(np.diff(lists.sentences))
    firsts = Corpus(lists.vocab, lists.hypotheses.take(lists.sentences[:-1][filled]))
    chosen = metrics_for([given], references, [firsts], sources=lists.sources, cache=cache)
    ((label, metric),) = chosen.metrics.items()
    return metric, chosen.notes.get(label)


def first_weights(nbest: NBest) -> Weights:
    """Return start weights: those of the lists' own scores if these are weighted sums, else equal ones."""
    names = nbest.features.names
    if not names:
        raise DataError("the lists have neither features nor scores", expected="something to rerank by")
    if len(names) <= MOST_DENSE and not np.isnan(nbest.scores).any():
        matrix = nbest.features.dense()
        found, *_ = np.linalg.lstsq(matrix, nbest.scores, rcond=None)
        if np.allclose(matrix @ found, nbest.scores, rtol=1e-3, atol=1e-2) and np.any(found):
            return Weights(dict(zip(names, found.tolist(), strict=True)))
    return Weights(dict.fromkeys(names, 1.0 / len(names)))


def problem_of_lists(
    nbest: NBest, metric: Metric, references: Sequence[Corpus], *, runtime: Runtime = Runtime()
) -> Problem:
    """Return the problem of choosing weights for all features of the lists."""
    names = list(nbest.features.names)
    sign = 1 if metric.higher_is_better else -1
    scorer = metric.scorer(references)
    for part in [one for _, one in scorer.terms] if isinstance(scorer, CombinedScorer) else [scorer]:
        if isinstance(part, PrecomputedScorer) and nbest.rows is not None:
            part.keep(nbest.rows)
    return DecodedLists(nbest).problem(names, weight_ranges(names), scorer, sign=sign, runtime=runtime)


def tune_problem(
    tuner: Tuner, problem: Problem, start: NDArray[np.float64], *, seed: int = 1, runtime: Runtime = Runtime()
) -> NDArray[np.float64]:
    """Tune weights on features that are brought to one scale, and return them for the features as they were.

    The scale of a feature is its standard deviation within lists, which is all that reranking sees of it. Scales make
    the ranges of random starts, steps and penalties of all methods fit numbers of any size. Means of sentence scores
    are brought to the scale of sentence BLEU for the same reason: see `_USUAL_SPREAD`.
    """
    scales = _scales(problem)
    features = replace(problem.features, values=problem.features.values / scales[problem.features.ids])
    rng = np.random.default_rng(seed)
    scaled = replace(problem, features=features, statistics=_scaled_goal(problem))
    found = tuner.optimise(scaled, start * scales, rng=rng, runtime=runtime).weights
    return np.asarray(found / scales)


#: Standard deviation of sentence scores within lists, in points, to which neural metrics are scaled for tuning:
#: thresholds, margins and temperatures of the methods are meant for sentence BLEU, which spreads like that.
_USUAL_SPREAD = 10.0


def _scaled_goal(problem: Problem) -> NDArray[np.float64]:
    """Return the statistics, scaled if the score is a mean of sentence scores; that changes no choice."""
    if not isinstance(problem.scorer, MeanScorer) or not (problem.statistics[:, 1] == 1).all():
        return problem.statistics
    values, sizes = problem.statistics[:, 0], np.diff(problem.sentences)
    means = np.add.reduceat(values, problem.sentences[:-1]) / sizes
    spread = abs(problem.scorer.scale) * float(np.sqrt(np.mean((values - np.repeat(means, sizes)) ** 2)))
    return problem.statistics * [_USUAL_SPREAD / spread if spread > 1e-12 else 1.0, 1.0]


def _scales(problem: Problem) -> NDArray[np.float64]:
    """Return the standard deviation of each feature within lists; 1 for features that do not vary."""
    features, width = problem.features, len(problem.names)
    rows = np.repeat(np.arange(len(features)), np.diff(features.offsets))
    sizes = np.diff(problem.sentences)
    cells = np.repeat(np.arange(len(sizes)), sizes)[rows] * width + features.ids
    used, cells = np.unique(cells, return_inverse=True)
    sums, squares = (np.bincount(cells, values) for values in (features.values, features.values**2))
    within = squares - sums**2 / sizes[used // width]
    variances = np.bincount(used % width, np.maximum(within, 0.0), minlength=width) / len(features)
    scales = np.sqrt(variances)
    return np.asarray(np.where(scales > 1e-12, scales, 1.0))


def absent_features(nbest: NBest, weights: Mapping[str, float]) -> list[str]:
    """Return the names with weights that no hypothesis has.

    Not counted are those of sparse features, which differ from text to text: names of which many begin alike, up to the
    first dot.
    """
    families = Counter(name.partition(".")[0] for name in weights)
    dense = (name for name in weights if families[name.partition(".")[0]] <= _LARGEST_DENSE_FAMILY)
    return [name for name in dense if name not in nbest.features.names]


def rerank_nbest(nbest: NBest, weights: Weights) -> NBest:
    """Return the lists with their scores replaced by the weighted sums, each sorted best first (stable)."""
    weights.check_finite()
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        scores = nbest.features.dot(weights)
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        sums = {name: value * weights.get(name, 0.0) for name, value in nbest.features.row(row).items()}
        name = max(sums, key=lambda name: abs(sums[name]))
        raise DataError(
            f"{nbest.place_of(row)} has no finite score: {name} weighs {weights[name]:g}", expected="smaller weights"
        )
    sentence = np.repeat(np.arange(len(nbest)), np.diff(nbest.sentences))
    return replace(nbest, scores=scores).reordered(np.lexsort((-scores, sentence)))


@dataclass(frozen=True, eq=False)
class Choices:
    """The hypothesis (row) of each sentence: first, best under weights, and best and worst by the metric."""

    first: NDArray[np.int64]
    tuned: NDArray[np.int64]
    oracle: NDArray[np.int64]
    worst: NDArray[np.int64]


def choices(problem: Problem, weights: NDArray[np.float64]) -> Choices:
    """Choose hypotheses; oracle and worst use the metric of single sentences."""
    gains = problem.sign * problem.scorer.sentence_scores(problem.statistics)
    return Choices(
        first=problem.sentences[:-1],
        tuned=problem.best(weights),
        oracle=best_rows(gains, problem.sentences),
        worst=best_rows(-gains, problem.sentences),
    )
