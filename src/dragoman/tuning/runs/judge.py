"""Judging weights: held-out text is translated under a decision rule, and scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from dragoman.core.corpus import Corpus
from dragoman.core.progress import SILENT, Progress, ShareDone
from dragoman.core.weights import Weights
from dragoman.decision.rule import Decisions
from dragoman.decision.settings import Decision
from dragoman.metrics.metric import Scorer
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.translator import Translator


@dataclass(frozen=True, eq=False)
class Judge:
    """Says what weights are worth on some tokenised sentences with references; the same weights always the same.

    `documents` are labels of the sentences, for global features of documents.
    """

    translator: Translator
    lines: Sequence[str]
    scorer: Scorer
    decision: Decision
    samples: int = 200
    documents: Sequence[object] | None = None

    def __call__(self, weights: Weights, progress: Progress = SILENT) -> float:
        """Return the metric's score of the translations under these weights."""
        with progress.stage("translating the held-out text") as share:
            translations = self._translations(weights, share)
        return float(
            self.scorer.score(self.scorer.statistics(translations, threads=self.translator.threads).sum(axis=0))
        )

    def _translations(self, weights: Weights, share: ShareDone) -> Corpus:
        translator = self.translator.reweighted(weights)
        if self.decision.rule.name == "max-derivation" and self.decision.evidence != "samples":
            texts = []
            for translation in translator.translate(self.lines):
                texts.append(translation.text)
                share(len(texts) / len(self.lines))
            return Corpus.from_lines(texts)
        draw = None
        if self.decision.evidence == "samples":
            sampler = Sampler.of(translator, replace(self.decision.sampling or Sampling(), samples=self.samples))
            draw = partial(sampler.sample, documents=self.documents, features=False)
        decided = []
        for evidence in self.decision.gather(translator, self.lines, draw=draw):
            decided.append(self.decision.rule.decide(evidence, threads=translator.threads))
            share(sum(map(len, decided)) / len(self.lines))
        return Decisions.concatenate(decided).corpus
