"""BERTScore."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from dragoman.core.options import option
from dragoman.metrics.metric import signature
from dragoman.metrics.neural.torch_models import in_batches, load_model, model_fingerprint, placed
from dragoman.metrics.utility import NeuralUtility, Vector


@dataclass(frozen=True)
class BertScore(NeuralUtility):
    """BERTScore: T. Zhang et al. (ICLR 2020), through the library `bert-score`.

    `model` is an encoder of Hugging Face, as a folder or as the name of a downloaded one. Words are not weighted by
    their inverse document frequency, and scores are not rescaled. Cost: one pass of the encoder per text.
    """

    name: ClassVar[str] = "bertscore"
    extra: ClassVar[str] = "bertscore"
    library: ClassVar[str] = "bert-score"

    layers: int = option(9, "layers of the encoder to use", minimum=1)
    value: Literal["precision", "recall", "f1"] = option("f1", "precision, recall, or their harmonic mean")

    @cached_property
    def _scorer(self) -> Any:
        def load(model: str) -> Any:
            from bert_score import BERTScorer

            scorer = BERTScorer(model_type=model, num_layers=self.layers, device=self.device, idf=False)
            placed(scorer._model, self.device, self.precision)
            return scorer

        return load_model(self, self.required_model("roberta-large"), load)

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> Vector:
        """Return the BERTScore of each pair."""
        column = ("precision", "recall", "f1").index(self.value)

        def batch(ours: list[str], theirs: list[str]) -> Any:
            return self._scorer.score(ours, theirs, batch_size=self.batch_size)[column].float().cpu()

        return in_batches(self.batch_size, (hypotheses, references), batch)

    def signature(self) -> str:
        """Return the settings that reproduce the scores."""
        model = model_fingerprint(self.required_model("roberta-large"))
        return signature(
            self.name,
            model=model,
            layers=self.layers,
            value=self.value,
            precision=self.precision,
            lib=self.library_version(),
        )
