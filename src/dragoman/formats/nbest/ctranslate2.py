"""CTranslate2's results as JSON, one sentence per line or a list of sentences: tokens of each hypothesis, and scores.

    {"hypotheses": [["▁the", "▁house"], ["▁a", "▁house"]], "scores": [-0.5, -0.75]}

These are the fields of its TranslationResult, and an optional "id" of the sentence. Scores are log-probabilities,
divided by the length unless the length penalty was 0, and are therefore read as scores. Tokens are read as words, or
joined to words by the option `pieces`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dragoman.core.errors import DataError
from dragoman.core.options import option
from dragoman.formats.faults import quote
from dragoman.formats.nbest.json_lists import JsonNBest, JsonSentence
from dragoman.formats.nbest.json_rows import Rows
from dragoman.formats.nbest.json_values import first_object, parallel_list, unknown_keys

_PARALLEL = ("attention", "logits")
_KEYS = ("id", "hypotheses", "scores", *_PARALLEL)


@dataclass(frozen=True)
class CTranslate2NBest(JsonNBest):
    """Results of CTranslate2's `translate_batch` and `generate_batch`."""

    name = "ctranslate2"
    example = '\'{"hypotheses": [["token", …], …], "scores": […]}\''
    places = frozenset({"scores", "ids"})
    source_key = ""

    pieces: Literal["words", "sentencepiece", "bpe"] = option(
        "words", "kind of tokens: words, sentencepiece (▁ begins a word) or bpe (@@ ends an inner piece)"
    )

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if the first object has hypotheses of tokens."""
        depth, fields = first_object(lines)
        return depth < 2 and isinstance(fields.get("hypotheses", 0), list | None)

    def _take(self, fields: dict[str, Any], text: str, rows: Rows) -> None:
        hypotheses = self._list(fields, "hypotheses", text)
        rows.sentence(fields.get("id"), more=unknown_keys(fields, _KEYS))
        scores = parallel_list(fields, "scores", len(hypotheses))
        parallel = {key: parallel_list(fields, key, len(hypotheses)) for key in _PARALLEL if fields.get(key)}
        for i, tokens in enumerate(hypotheses):
            if tokens is None:
                rows.without_text()
                continue
            if not (isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)):
                raise DataError(f"a hypothesis is {quote(json.dumps(tokens))}", expected="a list of tokens")
            more = {key: values[i] for key, values in parallel.items()}
            rows.hypothesis(self._joined(tokens), score=scores[i], more=more, keep_text=False)

    def _joined(self, tokens: Sequence[str]) -> str:
        if self.pieces == "sentencepiece":
            return "".join(tokens).replace("▁", " ").strip(" ")
        text = " ".join(tokens)
        return f"{text} ".replace("@@ ", "").strip(" ") if self.pieces == "bpe" else text

    def _give(self, sentence: JsonSentence) -> Iterator[Any]:
        fields = self._head(sentence)
        fields["hypotheses"] = [own["text"].split(" ") if own["text"] else [] for own, _ in sentence.hypotheses]
        scores = [own.get("score") for own, _ in sentence.hypotheses]
        fields["scores"] = scores if any(score is not None for score in scores) else []
        for key in _PARALLEL:
            if any(key in others for _, others in sentence.hypotheses):
                fields[key] = [others.get(key) for _, others in sentence.hypotheses]
        yield {**fields, **sentence.more}
