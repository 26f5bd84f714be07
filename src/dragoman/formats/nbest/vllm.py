"""vLLM's outputs as JSON, one prompt per line or a list of prompts: the fields of its RequestOutput.

    {"prompt": "la maison", "outputs": [{"index": 0, "text": "the house", "cumulative_logprob": -1.5}]}

The prompt is the source, and the cumulative log-probability of the tokens is the log-probability; an "id" is that of
the sentence. Other keys (request_id, token_ids, finish_reason, …) are kept and written back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.formats.nbest.json_lists import JsonNBest, JsonSentence
from dragoman.formats.nbest.json_rows import Rows
from dragoman.formats.nbest.json_values import first_object, unknown_keys

_KEYS = ("id", "prompt", "outputs")
_HYPOTHESIS_KEYS = ("index", "text", "cumulative_logprob")


@dataclass(frozen=True)
class VllmNBest(JsonNBest):
    """Outputs of vLLM's `generate`."""

    name = "vllm"
    example = '\'{"prompt": …, "outputs": [{"text": …, "cumulative_logprob": …}]}\''
    places = frozenset({"logprobs", "ids"})
    source_key = "prompt"

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if the first object has outputs."""
        depth, fields = first_object(lines)
        return depth < 2 and isinstance(fields.get("outputs", 0), list | None)

    def _take(self, fields: dict[str, Any], text: str, rows: Rows) -> None:
        outputs = self._list(fields, "outputs", text)
        rows.sentence(fields.get("id"), fields.get("prompt"), more=unknown_keys(fields, _KEYS))
        for output in outputs:
            words = self._string(output, "output")
            if words is None:
                rows.without_text()
                continue
            rows.hypothesis(
                words, logprob=output.get("cumulative_logprob"), more=unknown_keys(output, _HYPOTHESIS_KEYS)
            )

    def _give(self, sentence: JsonSentence) -> Iterator[Any]:
        fields = self._head(sentence)
        fields["outputs"] = [
            {"index": i, "text": own["text"], "cumulative_logprob": own.get("logprob"), **others}
            for i, (own, others) in enumerate(sentence.hypotheses)
        ]
        yield {**fields, **sentence.more}
