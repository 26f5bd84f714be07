"""MetricX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from dragoman.core.options import option
from dragoman.metrics.metric import signature
from dragoman.metrics.neural.torch_models import in_batches, load_model, model_fingerprint, placed
from dragoman.metrics.utility import NeuralUtility, Vector

#: The output piece (`<extra_id_10>`) whose logit is the prediction.
_PREDICTION = 250089

#: Predictions are errors from 0 to 25.
_WORST = 25.0


@dataclass(frozen=True)
class MetricX(NeuralUtility):
    """MetricX: J. Juraska et al. (WMT 2023, 2024), an mT5 model that predicts an error score from 0 to 25.

    The utility is the negative error. `model` is a folder, or the name of a downloaded model; `tokenizer` is the folder
    of mT5's tokenizer, if it is not in the model's. `reads` says which texts the model was trained on. The library is
    `transformers`. Cost: one pass of the model per pair.
    """

    name: ClassVar[str] = "metricx"
    extra: ClassVar[str] = "metricx"
    library: ClassVar[str] = "transformers"

    tokenizer: str | None = option(None, "folder or name of the tokenizer; by default the model's")
    version: Literal["23", "24"] = option("24", "year of the model, which decides the form of its input")
    reads: Literal["reference", "source", "both"] = option(
        "reference", "texts beside the hypothesis: the reference, the source (quality estimation), or both"
    )
    max_length: int = option(1024, "pieces of words per input; what is longer is cut off", minimum=8)

    @property
    def needs_reference(self) -> bool:
        """True if the model reads references."""
        return self.reads != "source"

    @property
    def needs_source(self) -> bool:
        """True if the model reads sources."""
        return self.reads != "reference"

    @cached_property
    def _scorer(self) -> tuple[Any, Any]:
        def load(model: str) -> tuple[Any, Any]:
            from transformers import AutoTokenizer, MT5ForConditionalGeneration

            loaded = placed(MT5ForConditionalGeneration.from_pretrained(model), self.device, self.precision)
            return loaded, AutoTokenizer.from_pretrained(self.tokenizer or model)

        return load_model(self, self.required_model("google/metricx-24-hybrid-large-v2p6"), load)

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> Vector:
        """Return the negative error score of each hypothesis."""
        return in_batches(self.batch_size, ([*map(self.input_text, hypotheses, references, sources)],), self._batch)

    def input_text(self, hypothesis: str, reference: str, source: str) -> str:
        """Return the text that the model reads.

        >>> MetricX(reads="both").input_text("the cat", "a cat", "le chat")
        'source: le chat candidate: the cat reference: a cat'
        >>> MetricX(version="23").input_text("the cat", "a cat", "")
        'candidate: the cat reference: a cat'
        """
        parts = {"source": source, "candidate": hypothesis, "reference": reference}
        if not self.needs_source:
            del parts["source"]
        if not self.needs_reference:
            del parts["reference"]
        if self.version == "23" and "source" in parts:  # MetricX-23 has the hypothesis first
            parts = {"candidate": hypothesis, **parts}
        return " ".join(f"{name}: {text}" for name, text in parts.items())

    def signature(self) -> str:
        """Return the settings that reproduce the scores."""
        model = model_fingerprint(self.required_model("google/metricx-24-hybrid-large-v2p6"))
        return signature(
            self.name,
            model=model,
            year=self.version,
            reads=self.reads,
            precision=self.precision,
            lib=self.library_version(),
        )

    def _batch(self, texts: list[str]) -> Any:
        import torch

        model, tokenizer = self._scorer
        inputs = tokenizer(texts, truncation=True, padding=True, max_length=self.max_length, return_tensors="pt")
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        mask = torch.where(ids == tokenizer.eos_token_id, 0, mask)  # the models were trained without an end of sentence
        first = torch.zeros((len(texts), 1), dtype=torch.long)
        with torch.inference_mode():
            inputs = {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": first}
            logits = model(**{name: value.to(self.device) for name, value in inputs.items()}).logits
        return -np.clip(logits[:, 0, min(_PREDICTION, logits.shape[-1] - 1)].float().cpu().numpy(), 0.0, _WORST)
