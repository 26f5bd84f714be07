"""Completions as OpenAI's interface and the servers that speak it give them, one response a line or a list of them.

    {"choices": [{"index": 0, "text": "the house", "logprobs": {"token_logprobs": [-0.5, -1.0]}}]}
    {"choices": [{"index": 0, "message": {"content": "the house"}, "logprobs": {"content": [{"logprob": -1.5}]}}]}
    {"custom_id": "7", "response": {"body": {"choices": […]}}}

The third is a line of a batch: `custom_id` is the sentence's id, and if all ids are numbers, sentences are in their
order, because batches come in any. A log-probability is the sum of those of the tokens. A "prompt", if there is one, is
the source. Other keys are kept and written back; a batch is written as plain responses with their `custom_id`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.core.errors import DataError
from dragoman.formats.faults import shown
from dragoman.formats.nbest.json_lists import JsonNBest, Rows, Sentence
from dragoman.formats.nbest.json_values import first_object, kept

_KEYS = ("custom_id", "prompt", "choices")


@dataclass(frozen=True)
class OpenAiNBest(JsonNBest):
    """Responses with a list of choices."""

    name = "openai"
    example = '\'{"choices": [{"text": …, "logprobs": …}]}\' or \'{"choices": [{"message": {"content": …}}]}\''
    places = frozenset({"logprobs", "ids"})
    id_key = "custom_id"
    source_key = "prompt"
    by_number = True

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Say whether the first object has choices, or is the line of a batch."""
        depth, fields = first_object(lines)
        return depth < 2 and (
            isinstance(fields.get("choices"), list)
            or ("custom_id" in fields and isinstance(fields.get("response"), dict))
        )

    def _take(self, fields: dict[str, Any], text: str, rows: Rows) -> None:
        name = fields.get("custom_id")
        if isinstance(fields.get("response"), dict):
            fields = fields["response"].get("body")
        choices = self._list(fields, "choices", text)
        if isinstance(name, str) and name.isascii() and name.isdigit() and str(int(name)) == name:
            name = int(name)
        rows.sentence(name, fields.get("prompt"), more=kept(fields, _KEYS))
        for choice in choices:
            self._take_choice(choice, rows)

    def _take_choice(self, choice: Any, rows: Rows) -> None:
        fields = choice if isinstance(choice, dict) else {}
        chat = isinstance(fields.get("message"), dict)
        text = fields["message"].get("content") if chat else fields.get("text")
        if not isinstance(text, str):
            raise DataError(f"found the choice {shown(json.dumps(choice))}, without a text", expected=self.example)
        rows.style["chat"] = int(chat)
        more = kept(fields, ("index", "text", "message"))
        if chat:
            more["message"] = kept(fields["message"], ("content",))
        rows.hypothesis(text, logprob=_total(fields.get("logprobs"), rows), more=more)

    def _give(self, sentence: Sentence) -> Iterator[Any]:
        fields = self._head(sentence)
        if sentence.name is not None:
            fields[self.id_key] = str(sentence.name)
        chat = bool(sentence.style.get("chat", False))
        fields["choices"] = [_choice(i, own, others, chat) for i, (own, others) in enumerate(sentence.hypotheses)]
        yield {**fields, **sentence.more}


def _choice(index: int, own: Mapping[str, Any], others: Mapping[str, Any], chat: bool) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": index}
    if chat:
        choice["message"] = {"role": "assistant", **others.get("message", {}), "content": own["text"]}
    else:
        choice["text"] = own["text"]
    if "logprob" in own:
        # Without the tokens, the text counts as one.
        choice["logprobs"] = (
            {"content": [{"token": own["text"], "logprob": own["logprob"]}]}
            if chat
            else {"tokens": [own["text"]], "token_logprobs": [own["logprob"]]}
        )
    return choice | {key: value for key, value in others.items() if key != "message"}


def _total(logprobs: Any, rows: Rows) -> float | None:
    """The sum over the tokens; the first token of an echoed prompt has none."""
    if logprobs is None:
        return None
    tokens = logprobs.get("token_logprobs", logprobs.get("content")) if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list):
        raise DataError(f"'logprobs' is {shown(json.dumps(logprobs))}", expected="'token_logprobs' or 'content'")
    values = [token.get("logprob") if isinstance(token, dict) else token for token in tokens]
    return sum((rows.number(value, "logprob of a token") for value in values if value is not None), 0.0)
