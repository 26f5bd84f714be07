"""BLEURT, in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from dragoman.core.options import option
from dragoman.metrics.metric import signature
from dragoman.metrics.neural.torch_models import in_batches, load_model, model_fingerprint, placed
from dragoman.metrics.utility import NeuralUtility, Vector


@dataclass(frozen=True)
class Bleurt(NeuralUtility):
    """BLEURT: T. Sellam, D. Das and A. Parikh (ACL 2020), through the library `bleurt-pytorch`.

    `model` is a folder, or the name of a downloaded model. Cost: one pass of the model per pair.
    """

    name: ClassVar[str] = "bleurt"
    extra: ClassVar[str] = "bleurt"
    library: ClassVar[str] = "bleurt-pytorch"

    max_length: int = option(512, "pieces of words per pair; what is longer is cut off", minimum=8)

    @cached_property
    def _scorer(self) -> tuple[Any, Any]:
        def load(model: str) -> tuple[Any, Any]:
            from bleurt_pytorch import BleurtForSequenceClassification, BleurtTokenizer

            loaded = BleurtForSequenceClassification.from_pretrained(model)
            return placed(loaded, self.device, self.precision), BleurtTokenizer.from_pretrained(model)

        return load_model(self, self.required_model("lucadiliello/BLEURT-20-D12"), load)

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> Vector:
        """Return the BLEURT score of each pair."""
        return in_batches(self.batch_size, (references, hypotheses), self._batch)

    def signature(self) -> str:
        """Return the settings that reproduce the scores."""
        model = model_fingerprint(self.required_model("lucadiliello/BLEURT-20-D12"))
        return signature(
            self.name, model=model, length=self.max_length, precision=self.precision, lib=self.library_version()
        )

    def _batch(self, references: list[str], hypotheses: list[str]) -> Any:
        import torch

        model, tokenizer = self._scorer
        inputs = tokenizer(
            references, hypotheses, truncation=True, padding=True, max_length=self.max_length, return_tensors="pt"
        )
        with torch.inference_mode():
            return model(**inputs.to(self.device)).logits.float().view(-1).cpu()
