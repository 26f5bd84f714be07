"""Completions of OpenAI's API and compatible servers, one response per line or a list of responses.

    {"choices": [{"index": 0, "text": "the house", "logprobs": {"token_logprobs": [-0.5, -1.0]}}]}
    {"choices": [{"index": 0, "message": {"content": "the house"}, "logprobs": {"content": [{"logprob": -1.5}]}}]}
    {"custom_id": "7", "response": {"body": {"choices": […]}}}

The third is a line of a batch: `custom_id` is the id of the sentence. Sentences are sorted by id, because batches come
in any order. A log-probability is the sum over the tokens. A "prompt", if there is one, is the source. Failed requests
(an error, a status other than 200, no response, no text in any choice) have no hypotheses; a choice without a text is
left out. Other keys are kept and written back; a batch is written as plain responses with their `custom_id`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.core.errors import DataError
from dragoman.formats.faults import quote
from dragoman.formats.nbest.json_lists import JsonNBest, JsonSentence
from dragoman.formats.nbest.json_rows import Rows
from dragoman.formats.nbest.json_values import first_object, unknown_keys

_KEYS = ("custom_id", "prompt", "choices")


@dataclass(frozen=True)
class OpenAiNBest(JsonNBest):
    """Responses with a list of choices."""

    name = "openai"
    example = '\'{"choices": [{"text": …, "logprobs": …}]}\' or \'{"choices": [{"message": {"content": …}}]}\''
    places = frozenset({"logprobs", "ids"})
    id_key = "custom_id"
    source_key = "prompt"
    any_order = True

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if the first object has choices, or is the line of a batch."""
        depth, fields = first_object(lines)
        return depth < 2 and (
            isinstance(fields.get("choices"), list)
            or ("custom_id" in fields and isinstance(fields.get("response", 0), dict | None))
        )

    def _ids(self, ids: list[int | str | None]) -> list[int | str | None]:
        """Convert the ids to numbers, if all of them are decimal numbers."""
        numbered = all(isinstance(x, str) and x.isascii() and x.isdigit() and str(int(x[:18])) == x for x in ids)
        return [int(name) for name in ids if name is not None] if numbered else ids

    def _take(self, fields: dict[str, Any], text: str, rows: Rows) -> None:
        name, batch = fields.get("custom_id"), "response" in fields
        if batch:
            failure, fields = _failure(fields), _body(fields)
        else:
            failure = _reason(fields["error"]) if isinstance(fields.get("error"), dict) else None
        choices = self._list(fields, "choices", text) if failure is None else []
        more = unknown_keys(fields, _KEYS)
        rows.sentence(name, fields.get("prompt"), more=more, failure=failure)
        for choice in choices:
            self._take_choice(choice, rows)

    def _take_choice(self, choice: Any, rows: Rows) -> None:
        fields = choice if isinstance(choice, dict) else {}
        chat = isinstance(fields.get("message"), dict)
        text = fields["message"].get("content") if chat else fields.get("text", 0)
        if text is None:
            rows.without_text()
            return
        if not isinstance(text, str):
            raise DataError(f"found the choice {quote(json.dumps(choice))}, without a text", expected=self.example)
        rows.style["chat"] = int(chat)
        more = unknown_keys(fields, ("index", "text", "message"))
        if chat:
            more["message"] = unknown_keys(fields["message"], ("content",))
        rows.hypothesis(text, logprob=_total(fields.get("logprobs"), rows), more=more)

    def _give(self, sentence: JsonSentence) -> Iterator[Any]:
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
        # Without the tokens, the text is written as one token.
        choice["logprobs"] = (
            {"content": [{"token": own["text"], "logprob": own["logprob"]}]}
            if chat
            else {"tokens": [own["text"]], "token_logprobs": [own["logprob"]]}
        )
    return choice | {key: value for key, value in others.items() if key != "message"}


def _body(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response of a line of a batch; if it failed, its error."""
    response = line["response"]
    body = response.get("body") if isinstance(response, dict) else None
    if isinstance(body, dict):
        return body
    return {"error": line["error"]} if isinstance(line.get("error"), dict) else {}


def _failure(line: Mapping[str, Any]) -> str | None:
    """Return the reason why a line of a batch failed, or None."""
    response = line["response"]
    status = response.get("status_code") if isinstance(response, dict) else None
    errors = (line.get("error"), _body(line).get("error"))
    found = next((_reason(error) for error in errors if isinstance(error, dict)), None)
    if found is None and response is None:
        found = "no response"
    elif found is None and type(status) is int and status != 200:
        found = f"status {status}"
    return found


def _reason(error: Mapping[str, Any]) -> str:
    """Return the name of an error."""
    known = (error.get(key) for key in ("code", "type", "message"))
    return next((quote(name)[1:-1] for name in known if isinstance(name, str) and name), "error")


def _total(logprobs: Any, rows: Rows) -> float | None:
    """Return the sum over the tokens; the first token of an echoed prompt has no log-probability."""
    if logprobs is None:
        return None
    tokens = logprobs.get("token_logprobs", logprobs.get("content")) if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list):
        raise DataError(f"'logprobs' is {quote(json.dumps(logprobs))}", expected="'token_logprobs' or 'content'")
    values = [token.get("logprob") if isinstance(token, dict) else token for token in tokens]
    return sum((rows.number(value, "logprob of a token") for value in values if value is not None), 0.0)
