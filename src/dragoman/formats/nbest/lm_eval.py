"""Samples that lm-evaluation-harness logs (`--log_samples`), one document per line, of tasks that generate text:

    {"doc_id": 0, "target": "the house", "arguments": {"gen_args_0": {"arg_0": "la maison", "arg_1": {…}}},
     "resps": [["the house", "a house"]], "filtered_resps": ["the house"], "filter": "none", …}

The responses to the first request are the hypotheses: several if a task has `repeats`. Its prompt is the source, the
target is the reference. Other keys (doc, filter, metrics, …) are kept and written back. As version 0.4 writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.core.errors import DataError
from dragoman.formats.faults import quote
from dragoman.formats.nbest.json_lists import JsonNBest, JsonSentence
from dragoman.formats.nbest.json_rows import Rows
from dragoman.formats.nbest.json_values import first_object, unknown_keys

_KEYS = ("doc_id", "target", "resps")
_REQUEST, _PROMPT = "gen_args_0", "arg_0"


@dataclass(frozen=True)
class LmEvalNBest(JsonNBest):
    """Samples of lm-evaluation-harness."""

    name = "lm-eval"
    example = '\'{"doc_id": …, "arguments": {"gen_args_0": {"arg_0": …}}, "resps": [["…"]]}\''
    places = frozenset({"ids"})
    id_key = "doc_id"
    source_key = ""

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if the first object has a document and responses."""
        depth, fields = first_object(lines)
        return depth < 2 and "doc_id" in fields and isinstance(fields.get("resps", 0), list | None)

    def _take(self, fields: dict[str, Any], text: str, rows: Rows) -> None:
        requests = self._list(fields, "resps", text)
        responses = requests[0] if requests and isinstance(requests[0], list) else requests
        target, prompt = fields.get("target"), _prompt(fields)
        references = [target] if isinstance(target, str) else []
        rows.sentence(fields.get("doc_id"), prompt, references, unknown_keys(fields, _KEYS))
        for response in responses:
            if not isinstance(response, str):
                raise DataError(f"a response is {quote(str(response))}", expected="text, of a task that generates it")
            rows.hypothesis(response)

    def _give(self, sentence: JsonSentence) -> Iterator[Any]:
        fields: dict[str, Any] = {} if sentence.name is None else {"doc_id": sentence.name}
        if sentence.references:
            fields["target"] = sentence.references[0]
        if sentence.source is not None and "arguments" not in sentence.more:
            fields["arguments"] = {_REQUEST: {_PROMPT: sentence.source}}
        yield {**fields, "resps": [[own["text"] for own, _ in sentence.hypotheses]], **sentence.more}


def _prompt(fields: dict[str, Any]) -> str | None:
    """Return the prompt of the first request, if the line has one."""
    given = fields.get("arguments")
    request = given.get(_REQUEST) if isinstance(given, dict) else None
    prompt = request.get(_PROMPT) if isinstance(request, dict) else None
    return prompt if isinstance(prompt, str) else None
