"""Judging weights: held-out text is translated under a decision rule, and scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.core.corpus import Corpus
from dragoman.core.progress import ShareDone
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.decision.settings import Decision
from dragoman.decision.spread import Decide, decided
from dragoman.metrics.metric import Scorer
from dragoman.sampling.schedule import Sampling
from dragoman.sampling.spread import Draw
from dragoman.search.kept import Keep, kept
from dragoman.search.spread import Spread


@dataclass(frozen=True, eq=False)
class Judge:
    """Says what weights are worth on some tokenised sentences with references; the same weights always the same.

    `documents` are labels of the sentences, for global features of documents.
    """

    spread: Spread
    lines: Sequence[str]
    scorer: Scorer
    decision: Decision
    samples: int = 200
    documents: Sequence[object] | None = None

    def __call__(self, weights: Weights, *, runtime: Runtime = Runtime()) -> float:
        """Return the metric's score of the translations under these weights."""
        with runtime.stage("translating the held-out text") as share:
            translations = Corpus.from_lines(self._translations(weights, share))
        return float(self.scorer.score(self.scorer.statistics(translations, runtime=runtime).sum(axis=0)))

    def _translations(self, weights: Weights, share: ShareDone) -> list[str]:
        spread = replace(self.spread, translator=self.spread.translator.reweighted(weights))
        decision, texts = self.decision, list[str]()
        if decision.rule.name == "max-derivation" and decision.evidence != "samples":
            parts: Iterator[list[str]] = (
                [found.text for found in part.found] for part in kept(spread, Keep(), self.lines)
            )
        else:
            draw = None
            if decision.evidence == "samples":
                draw = Draw(replace(decision.sampling or Sampling(), samples=self.samples), features=False)
            parts = decided(spread, Decide(decision, draw), self.lines, self.documents)
        for part in parts:
            texts += part
            share(len(texts) / len(self.lines))
        return texts
