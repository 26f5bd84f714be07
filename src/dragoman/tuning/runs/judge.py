"""Judging weights: held-out text is translated under a decision rule, and scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.core.corpus import Corpus
from dragoman.core.progress import ShareDone
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.decision.settings import Decision
from dragoman.metrics.metric import Scorer
from dragoman.sampling.draw import Draw
from dragoman.sampling.schedule import Sampling
from dragoman.translation.outputs import Outputs
from dragoman.translation.stream import Stream


@dataclass(frozen=True, eq=False)
class Judge:
    """Says what weights are worth on some tokenised sentences with references; the same weights always the same.

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
        with runtime.stage("translating the held-out text") as share:
            translations = Corpus.from_lines(self._translations(weights, share))
        return float(self.scorer.score(self.scorer.statistics(translations, runtime=runtime).sum(axis=0)))

    def _translations(self, weights: Weights, share: ShareDone) -> list[str]:
        stream = replace(self.stream, translator=self.stream.translator.reweighted(weights))
        texts = list[str]()
        for result in stream.results(self.lines, self._outputs(), documents=self.documents):
            texts.append(result.text)
            share(len(texts) / len(self.lines))
        return texts

    def _outputs(self) -> Outputs:
        decision = self.decision
        if decision.evidence == "samples":
            draw = Draw(replace(decision.sampling or Sampling(), samples=self.samples), features=False)
            return Outputs(decision=decision, samples=draw)
        return Outputs() if decision.rule.name == "max-derivation" else Outputs(decision=decision)
