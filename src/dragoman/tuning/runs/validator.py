"""Validation of weights on held-out text, translated under a decision rule, and early stopping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.options import Options, option
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.decision.rule import Rule
from dragoman.decision.settings import Decision
from dragoman.metrics.metric import Scorer
from dragoman.sampling.draw import Draw
from dragoman.sampling.schedule import Sampling
from dragoman.translation.stream import Outputs, SentenceResult, Stream
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
        None, "samples per chain, if that rule uses samples; default: those of the decision file, or 200", minimum=1
    )
    validation_more: str | None = option(
        None, "further rules or decision files, separated by commas, whose scores by the same evidence are recorded"
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

    def more_rules(self, decision: Decision) -> dict[str, Rule]:
        """Return the further rules by name, which see the evidence of a decision."""
        found: dict[str, Rule] = {}
        for text in filter(None, (self.validation_more or "").split(",")):
            rule = Decision.of(text.strip(), evidence=decision.evidence).rule
            if decision.evidence == "nbest" and rule.distinct_lists != decision.rule.distinct_lists:
                raise UsageError(f"{rule.name} and {decision.rule.name} do not decide by the same n-best lists")
            found[Path(text.strip()).stem.replace("-", "_")] = rule
        return found

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


class Validated(NamedTuple):
    """The score of weights on held-out text, and further numbers for the run's events."""

    score: float
    report: Mapping[str, float] = {}


@dataclass(frozen=True, eq=False)
class Validator:
    """Scores weights on tokenised sentences with references; the same weights always get the same score.

    `documents` are labels of the sentences, for global features of documents. Scores of `more_rules` by the same
    evidence are reported as `held_out_NAME`, and the mean entropy of samples as `held_out_entropy` (thesis, table 7.2):
    that of the relative frequencies of derivations, in nats.
    """

    stream: Stream
    lines: Sequence[str]
    scorer: Scorer
    decision: Decision
    documents: Sequence[object] | None = None
    more_rules: Mapping[str, Rule] = field(default_factory=dict)

    def __call__(self, weights: Weights, *, runtime: Runtime = Runtime()) -> Validated:
        """Return the metric's score of the translations under these weights."""
        with runtime.stage("translating the held-out text") as progress_callback:
            results = self._results(weights, progress_callback)
        texts = zip(*([result.text, *result.more_texts] for result in results), strict=True)
        score, *more = [self._score(list(lines), runtime) for lines in texts]
        report = {f"held_out_{name}": one for name, one in zip(self.more_rules, more, strict=True)}
        entropies = [result.entropy for result in results if result.entropy is not None]
        if entropies:
            report["held_out_entropy"] = float(np.mean(entropies))
        return Validated(score, report)

    def _score(self, lines: Sequence[str], runtime: Runtime) -> float:
        statistics = self.scorer.statistics(Corpus.from_lines(lines), runtime=runtime)
        return float(self.scorer.score(statistics.sum(axis=0)))

    def _results(self, weights: Weights, progress_callback: ProgressCallback) -> list[SentenceResult]:
        stream = replace(self.stream, translator=self.stream.translator.reweighted(weights))
        results = list[SentenceResult]()
        for result in stream.results(self.lines, self._outputs(), documents=self.documents):
            results.append(result)
            progress_callback(len(results) / len(self.lines))
        return results

    def _outputs(self) -> Outputs:
        decision, more = self.decision, tuple(self.more_rules.values())
        if decision.evidence == "samples":
            draw = Draw(decision.sampling or Sampling(), features=False)
            return Outputs(decision=decision, more_rules=more, samples=draw)
        if decision.rule.name == "max-derivation" and not more:
            return Outputs()
        return Outputs(decision=decision, more_rules=more)
