"""Validation of weights on held-out text, translated under a decision rule, and early stopping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.options import Options, option
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.decision.settings import Decision
from dragoman.metrics.metric import Scorer
from dragoman.sampling.draw import Draw
from dragoman.sampling.schedule import Sampling
from dragoman.translation.stream import Outputs, Stream
from dragoman.tuning.runs.run import Record


@dataclass(frozen=True)
class Validation(Options):
    """Validation of a learner's weights, and early stopping."""

    validation_rule: str = option(
        "max-derivation", "decision rule (or file of tune-decision) for translating held-out text"
    )
    validation_evidence: Literal["nbest", "hypergraph", "samples"] | None = option(
        None, "evidence of that rule; by default what suits it best, or samples if the model has global features"
    )
    validation_samples: int = option(200, "samples per chain, if that rule uses samples", minimum=1)
    max_minutes: float | None = option(None, "stop after this many minutes", minimum=0)
    patience: int | None = option(None, "stop after this many checkpoints without a better score", minimum=1)

    def reason_to_stop(self, records: Sequence[Record], score: float, sign: int) -> str | None:
        """Return the reason to stop after some iterations and a last score, or None."""
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
    """Scores weights on tokenised sentences with references; the same weights always get the same score.

    `documents` are labels of the sentences, for global features of documents.
    """

    stream: Stream
    lines: Sequence[str]
    scorer: Scorer
    decision: Decision
    samples: int = 200
    documents: Sequence[object] | None = None

    def __call__(self, weights: Weights, *, runtime: Runtime = Runtime()) -> float:
        """Return the metric's score of the translations under these weights."""
        with runtime.stage("translating the held-out text") as progress_callback:
            translations = Corpus.from_lines(self._translations(weights, progress_callback))
        return float(self.scorer.score(self.scorer.statistics(translations, runtime=runtime).sum(axis=0)))

    def _translations(self, weights: Weights, progress_callback: ProgressCallback) -> list[str]:
        stream = replace(self.stream, translator=self.stream.translator.reweighted(weights))
        texts = list[str]()
        for result in stream.results(self.lines, self._outputs(), documents=self.documents):
            texts.append(result.text)
            progress_callback(len(texts) / len(self.lines))
        return texts

    def _outputs(self) -> Outputs:
        decision = self.decision
        if decision.evidence == "samples":
            draw = Draw(replace(decision.sampling or Sampling(), samples=self.samples), features=False)
            return Outputs(decision=decision, samples=draw)
        return Outputs() if decision.rule.name == "max-derivation" else Outputs(decision=decision)
