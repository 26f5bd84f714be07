"""Validation of weights: held-out text is translated under a decision rule, and scored; early stopping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.options import Options, option
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
from dragoman.tuning.runs.record import Record


@dataclass(frozen=True)
class Validation(Options):
    """How the weights of learners are judged, and when that is reason to stop early."""

    judge_by: str = option("max-derivation", "rule (or file of tune-decision) under which held-out text is translated")
    judge_evidence: Literal["nbest", "hypergraph", "samples"] | None = option(
        None, "what that rule sees; by default what suits it best, or samples if the model has global features"
    )
    judge_samples: int = option(200, "samples a chain, if that rule sees samples", minimum=1)
    max_minutes: float | None = option(None, "stop after so many minutes", minimum=0)
    patience: int | None = option(None, "stop after so many checkpoints without a better score", minimum=1)

    def reason_to_stop(self, records: Sequence[Record], score: float, sign: int) -> str | None:
        """Why nothing more is to be learnt after some iterations and a last score, or None."""
        if records and records[-1].ends:
            return records[-1].ends
        seconds = sum(record.total_seconds for record in records)
        if self.max_minutes is not None and records and seconds >= 60 * self.max_minutes:
            return "the time is over"
        scores = [sign * one for one in (*(record.score for record in records), score)]
        if self.patience is not None and len(scores) - 1 - int(np.argmax(scores)) >= self.patience:
            return f"no better score at the last {self.patience} checkpoints"
        return None


@dataclass(frozen=True, eq=False)
class Validator:
    """Judges weights on some tokenised sentences with references; the same weights always get the same score.

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
