"""COMET and its models without references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.metric import signature
from dragoman.metrics.neural.torch_models import in_batches, load_model, model_fingerprint, placed
from dragoman.metrics.utility import NeuralUtility, Vector


@dataclass(frozen=True)
class Comet(NeuralUtility):
    """COMET: R. Rei et al. (EMNLP 2020), and models of its kind (COMETkiwi, xCOMET); library `unbabel-comet`.

    `model` is a checkpoint (`model.ckpt`), the folder that has one, or the name of a model that the library has
    downloaded (`comet.download_model`). A model without references judges a hypothesis by its source alone, and is then
    a quality estimate. Cost: one pass of the encoder per text for regression models, whose embeddings can be averaged;
    one per pair for the others.
    """

    name: ClassVar[str] = "comet"
    extra: ClassVar[str] = "comet"
    library: ClassVar[str] = "unbabel-comet"

    @cached_property
    def _scorer(self) -> Any:
        model = load_model(self, self.required_model("Unbabel/wmt22-comet-da"), _load)
        return placed(model, self.device, self.precision)

    @property
    def needs_reference(self) -> bool:
        """True unless the model was trained without references."""
        return bool(self._scorer.requires_references())

    @property
    def needs_source(self) -> bool:
        """COMET reads the source."""
        return True

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> Vector:
        """Return COMET's score of each hypothesis."""
        return in_batches(self.batch_size, (sources, hypotheses, references), self._batch)

    def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        """Return a sentence embedding for each text."""
        import torch

        found = []
        for begin in range(0, len(texts), self.batch_size):
            batch = self._scorer.encoder.prepare_sample([*texts[begin : begin + self.batch_size]])
            with torch.inference_mode():
                ids, mask = (batch[name].to(self.device) for name in ("input_ids", "attention_mask"))
                found.append(self._scorer.get_sentence_embedding(ids, mask).float().cpu().numpy())
        return np.concatenate(found)

    def score_embedded(
        self, hypotheses: NDArray[Any], references: NDArray[Any], sources: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return the scores of embeddings."""
        import torch

        kind = getattr(torch, self.precision)
        tensors = [torch.from_numpy(np.array(one)).to(self.device, kind) for one in (sources, hypotheses, references)]
        with torch.inference_mode():
            return np.asarray(self._scorer.estimate(*tensors).score.float().cpu().numpy(), np.float64)

    def signature(self) -> str:
        """Return the settings that reproduce the scores."""
        model = model_fingerprint(self.required_model("Unbabel/wmt22-comet-da"))
        return signature(self.name, model=model, precision=self.precision, lib=self.library_version())

    def _batch(self, sources: list[str], hypotheses: list[str], references: list[str]) -> Any:
        import torch

        rows = [
            {"src": source, "mt": hypothesis, "ref": reference}
            for source, hypothesis, reference in zip(sources, hypotheses, references, strict=True)
        ]
        batch = self._scorer.prepare_sample(rows, stage="predict")
        with torch.inference_mode():
            return self._scorer.predict_step(_moved(batch, self.device)).scores.float().cpu().view(-1)


def _moved(batch: Any, device: str) -> Any:
    """Return a batch, a dictionary of tensors or a tuple of such, on a device."""
    if isinstance(batch, tuple | list):
        return tuple(_moved(part, device) for part in batch)
    if isinstance(batch, dict):
        return {name: _moved(value, device) for name, value in batch.items()}
    return batch.to(device) if hasattr(batch, "to") else batch


def _load(model: str) -> Any:
    from comet import download_model, load_from_checkpoint

    path = Path(model)
    if path.is_dir():
        path = next((one for one in (path / "checkpoints" / "model.ckpt", path / "model.ckpt") if one.exists()), path)
    checkpoint = str(path) if path.exists() else download_model(model, local_files_only=True)
    return load_from_checkpoint(checkpoint, local_files_only=True)
