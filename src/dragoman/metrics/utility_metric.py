"""Utilities as metrics of whole texts: the mean of their sentence scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.metrics.combined import CombinedScorer
from dragoman.metrics.metric import MeanScorer, Metric, signature
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.references import Tokenisation, checked_sentences
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.utility import (
    Utility,
    UtilityFunction,
    known_metric,
    names_utility,
    needs_reference,
    needs_source,
    neural_sum,
    utility_of,
    utility_signature,
)

#: A metric as users give it: a name with options, a metric, a function, or an object with `score`.
GivenMetric = str | Metric | Utility | UtilityFunction

#: Pairs that are scored between two reports of progress.
_PAIRS_PER_REPORT = 256


class UtilityMetric(Metric):
    """The mean of a utility's sentence scores: a neural metric, a function, or an object with `score`.

    With several references, a sentence counts against the one that gives it the best score. Equal pairs are scored
    once, also for several systems; `cache` keeps scores on disk. `sources` has the source text of each sentence.
    """

    def __init__(self, utility: Utility, sources: Sequence[str] | None = None, cache: ScoreCache | None = None):
        called = str(getattr(utility, "name", type(utility).__name__))
        for name, value in (("name", called), ("pairs", PairScorer(utility, cache)), ("sources", sources)):
            object.__setattr__(self, name, value)

    pairs: PairScorer
    sources: Sequence[str] | None

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def digits(self) -> int:
        """Most neural metrics have scores from 0 to 1."""
        return 4

    def scorer(self, references: Sequence[Corpus]) -> UtilityScorer:
        """Bind references; there may be none for utilities that do not need any."""
        return UtilityScorer(self, references)

    def signature(self) -> str:
        """Return the utility's signature, or just its name."""
        return utility_signature(self.pairs.utility) or signature(self.name)


class SumMetric(Metric):
    """A weighted sum of metrics and neural metrics, such as `0.5*bleu+50*comet(model=FOLDER)`.

    Metrics count as they do by themselves (BLEU as BLEU of the whole text), utilities with the mean over sentences.
    """

    def __init__(self, terms: Sequence[tuple[float, Metric]]):
        object.__setattr__(self, "name", "combined")
        object.__setattr__(self, "terms", terms)

    terms: Sequence[tuple[float, Metric]]

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def scorer(self, references: Sequence[Corpus]) -> CombinedScorer:
        """Bind references."""
        return CombinedScorer([(weight, metric.scorer(references)) for weight, metric in self.terms])

    def signature(self) -> str:
        """Return the settings that reproduce the score."""
        return signature(self.name, sum="".join(f"{weight:+g}*({one.signature()})" for weight, one in self.terms))


class UtilityScorer(MeanScorer):
    """The mean of a utility's sentence scores, with references and sources."""

    def __init__(self, metric: UtilityMetric, references: Sequence[Corpus]):
        self.metric, self._references = metric, references
        utility = metric.pairs.utility
        if needs_source(utility) and metric.sources is None:
            raise UsageError(f"{metric.name} needs the source text; expected one line for each sentence")
        if not references and (metric.sources is None or needs_reference(utility)):
            raise UsageError(f"{metric.name} needs at least one reference")

    def statistics(
        self, hypotheses: Corpus, sentences: NDArray[np.int64] | None = None, *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return two numbers for each hypothesis: the score, and 1."""
        sources, references = self.metric.sources, [reference.lines() for reference in self._references]
        lines = len(references[0]) if references else len(sources or ())
        if sources is not None and len(sources) != lines:
            raise DataError(f"there are {len(sources)} source lines for {lines} sentences", expected="as many")
        rows = checked_sentences(len(hypotheses), sentences, lines).tolist()
        texts = hypotheses.lines()
        origins = [""] * len(rows) if sources is None else [sources[row] for row in rows]
        if not needs_reference(self.metric.pairs.utility):
            references = [[""] * lines]
        best = np.full(len(texts), -np.inf)
        with runtime.counter(f"scoring with {self.metric.name}", len(references) * len(texts), "pairs") as progress:
            for known in references:
                for begin in range(0, len(texts), _PAIRS_PER_REPORT):
                    some = slice(begin, begin + _PAIRS_PER_REPORT)
                    found = self.metric.pairs.score(texts[some], [known[row] for row in rows[some]], origins[some])
                    best[some] = np.maximum(best[some], found)
                    progress(len(found))
        return np.column_stack([best, np.ones(len(texts))])


def metric_of(
    given: GivenMetric,
    *,
    tokenise: Tokenisation | None = None,
    sources: Sequence[str] | None = None,
    cache: ScoreCache | None = None,
) -> Metric:
    """Return a metric: one of ours by name, or the mean of a utility's scores.

    >>> metric_of("bleu").name, metric_of(lambda hypotheses, references: map(len, hypotheses)).digits
    ('bleu', 4)
    """
    if isinstance(given, Metric):
        return given
    if isinstance(given, str) and not names_utility(given):
        terms = neural_sum(given)
        if terms is None:
            return known_metric(given, tokenise=tokenise)
        parts = [(weight, f"{name}:{options}" if options else name) for weight, name, options in terms]
        return SumMetric(
            [(weight, metric_of(part, tokenise=tokenise, sources=sources, cache=cache)) for weight, part in parts]
        )
    return UtilityMetric(utility_of(given), sources, cache)
