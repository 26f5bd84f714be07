"""Weighted sums of metrics, and metrics written as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.options import option, parse_options
from dragoman.core.runtime import Runtime
from dragoman.metrics import METRICS
from dragoman.metrics.metric import Metric, Scorer, signature
from dragoman.metrics.references import Tokenisation

_TERM = re.compile(r"\s*([+-])?\s*(?:(\d+(?:\.\d*)?|\.\d+)\s*\*)?\s*([A-Za-z]\w*)(?:\(([^()]*)\))?\s*")


@dataclass(frozen=True)
class Combined(Metric):
    """A weighted sum of metrics, such as `0.5*bleu-0.5*ter`; their statistics stand side by side.

    Options of a metric come in brackets: `bleu(reference_length=shortest)-ter`. A higher sum should be better, so error
    rates get a minus.
    """

    name: ClassVar[str] = "combined"

    expression: str = option("0.5*bleu-0.5*ter", "the weighted sum")
    system: str | None = option(None, "name of the system, for metrics that read a file per system")
    tokenise: Tokenisation | None = option(None, "tokeniser of sacreBLEU for terms that tokenise and do not name one")

    def terms(self) -> list[tuple[float, Metric]]:
        """Return the weights and metrics of the sum."""
        terms = [(weight, _made(name, options, self.tokenise)) for weight, name, options in read_sum(self.expression)]
        return [(weight, one if self.system is None else one.for_system(self.system)) for weight, one in terms]

    def scorer(self, references: Sequence[Corpus]) -> CombinedScorer:
        """Bind references."""
        return CombinedScorer([(weight, metric.scorer(references)) for weight, metric in self.terms()])

    def signature(self) -> str:
        """Return the settings that reproduce the score."""
        parts = [f"{weight:+g}*({metric.signature()})" for weight, metric in self.terms()]
        return signature(self.name, sum="".join(parts))

    def for_system(self, system: str) -> Self:
        """Return the sum for the hypotheses of a system."""
        return replace(self, system=system)


class CombinedScorer(Scorer):
    """Several scorers as one; the columns of their statistics stand side by side."""

    def __init__(self, terms: Sequence[tuple[float, Scorer]]):
        self.terms = terms
        self._widths: list[int] | None = None

    def statistics(
        self, hypotheses: Corpus, sentences: NDArray[np.int64] | None = None, *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return the statistics of all metrics."""
        parts = [scorer.statistics(hypotheses, sentences, runtime=runtime) for _, scorer in self.terms]
        self._widths = [part.shape[1] for part in parts]
        return np.concatenate(parts, axis=1)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score sums of statistics."""
        parts = self._split(statistics)
        return _weighted(
            [(weight, scorer.score(part)) for (weight, scorer), part in zip(self.terms, parts, strict=True)]
        )

    def sentence_scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score single sentences by each metric's own sentence score."""
        pairs = zip(self.terms, self._split(statistics), strict=True)
        return _weighted([(weight, scorer.sentence_scores(part)) for (weight, scorer), part in pairs])

    def _split(self, statistics: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        if self._widths is None:  # known from an empty list of hypotheses
            self.statistics(Corpus.from_lines([]), np.empty(0, np.int64))
        assert self._widths is not None
        return np.split(statistics, np.cumsum(self._widths)[:-1], axis=-1)


def read_sum(text: str) -> list[tuple[float, str, str]]:
    """Return the weight, the name and the options of each term of a weighted sum.

    >>> read_sum("0.5*bleu-ter(case_sensitive=true)")
    [(0.5, 'bleu', ''), (-1.0, 'ter', 'case_sensitive=true')]
    """
    terms: list[tuple[float, str, str]] = []
    at = 0
    while at < len(text) or not terms:
        found = _TERM.match(text, at)
        if found is None or (terms and not found[1]):
            raise UsageError(f"cannot read '{text}'; expected a weighted sum such as 0.5*bleu-0.5*ter")
        terms.append((float(found[2] or 1) * (-1 if found[1] == "-" else 1), found[3], found[4] or ""))
        at = found.end()
    return terms


def parse_metric(text: str, *, tokenise: Tokenisation | None = None) -> Metric:
    """Parse a metric: a name, `name:option=value,…`, or a weighted sum of metrics.

    Names may have capitals, as in `BLEU` or `chrF`. `tokenise` is for metrics that tokenise without naming a tokeniser.

    >>> parse_metric("bleu:reference_length=shortest,lowercase=true").signature().split("|")[1:3]
    ['case:lc', 'eff:no']
    """
    name, colon, options = text.strip().partition(":")
    if not colon and re.search(r"[*()+]|\w-\w", name) and name.lower() not in METRICS.names():
        combined = Combined(expression=name, tokenise=tokenise)
        combined.terms()  # so that errors are raised now, not on first use
        return combined
    return _made(name, options, tokenise)


def _made(name: str, options: str, tokenise: Tokenisation | None) -> Metric:
    kind = _called(name)
    tokenises = tokenise is not None and any(field.name == "tokenise" for field in fields(kind))
    return parse_options(kind, [f"tokenise={tokenise}"] * tokenises + _assignments(options))


def _called(name: str) -> type[Metric]:
    return METRICS.get(name if name in METRICS.names() else name.lower())


def _assignments(options: str) -> list[str]:
    return [part for part in options.split(",") if part.strip()]


def _weighted(parts: Sequence[tuple[float, NDArray[np.float64]]]) -> NDArray[np.float64]:
    return np.asarray(sum(weight * scores for weight, scores in parts))
