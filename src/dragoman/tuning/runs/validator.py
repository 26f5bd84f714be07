"""Validation of weights on held-out text, translated under a decision rule, and early stopping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

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

#: Samples per chain of a rule that is named without a decision file.
SAMPLES = 200


@dataclass(frozen=True)
class Validation(Options):
    """Validation of a learner's weights on held-out text, and early stopping.

    Weights are best judged by the rule that will translate with them, and by as many samples. Arun's thesis (7.3.4.2,
    7.5.3) runs the sampler on a held-out set under each decision rule, and keeps the weights that are best there:
    `validation_rule = "mbr"`, `validation_evidence = "samples"`, `validation_samples = 5000` for two chains. A decision
    file (see `tune-decision`) also has the rule's options and those of sampling. Validation and `translate` under the
    same decision give the same text: both have the seed 1.
    """

    validation_rule: str = option(
        "max-derivation", "decision rule (or file of tune-decision) for translating held-out text"
    )
    validation_evidence: Literal["nbest", "hypergraph", "samples"] | None = option(
        None, "evidence of that rule; by default what suits it best, or samples if the model has global features"
    )
    validation_samples: int | None = option(
        None, "samples per chain, if that rule sees samples; default: those of the decision file, or 200", minimum=1
    )
    max_minutes: float | None = option(None, "stop after this many minutes", minimum=0)
    patience: int | None = option(None, "stop after this many checkpoints without a better score", minimum=1)

    def decision(self, *, global_features: bool = False) -> Decision:
        """Return the decision that translates held-out text; models with global features need samples."""
        evidence = self.validation_evidence or ("samples" if global_features else None)
        found = Decision.of(self.validation_rule, evidence=evidence)
        if found.evidence != "samples":
            return found
        sampling = Sampling(samples=SAMPLES) if found.sampling is None else found.sampling
        return replace(found, sampling=replace(sampling, samples=self.validation_samples or sampling.samples))

    def description(self) -> dict[str, Any]:
        """Return the options as a run's folder records them, always with a number of samples."""
        sampling = self.decision().sampling
        return {"validation_samples": SAMPLES if sampling is None else sampling.samples, **self.to_dict()}

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
            return Outputs(decision=decision, samples=Draw(decision.sampling or Sampling(), features=False))
        return Outputs() if decision.rule.name == "max-derivation" else Outputs(decision=decision)
