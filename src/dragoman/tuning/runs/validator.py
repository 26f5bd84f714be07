"""Validation of weights: held-out text is translated under a decision rule, and scored; early stopping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.options import Options, option
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.decision.settings import Decision
from dragoman.metrics.metric import Scorer
from dragoman.sampling.draw import Draw
from dragoman.sampling.schedule import Sampling
from dragoman.translation.outputs import Outputs
from dragoman.translation.stream import Stream
from dragoman.tuning.runs.run import Record


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
