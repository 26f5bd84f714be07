"""N-best lists as JSON, one sentence per line, for the output of neural systems and language models:

    {"id":7,"src":"la maison","hyps":[{"text":"the house","logprob":-1.5,"features":{"lm":-9.25}}],"refs":["a house"]}

(the keys of a sentence are "id", a number or a string, "src", "hyps" and "refs"; those of a hypothesis "text", "score",
"logprob" and "features"). Only "hyps" and "text" are required. Other keys are kept in `NBest.extras` and written back,
after the known ones. Integers are written as integers where the file had them. Lists may also be called "candidates" or
"samples", a source "source", and a hypothesis may be just a string; they are written as above.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.core.errors import DataError
from dragoman.formats.faults import quote
from dragoman.formats.nbest.json_lists import JsonNBest, JsonSentence
from dragoman.formats.nbest.json_rows import Rows
from dragoman.formats.nbest.json_values import first_object, string_list, unknown_keys

#: Keys of the list of hypotheses, and of the source; the first of them are written.
_LISTS = ("hyps", "candidates", "samples")
_SOURCES = ("src", "source")
_HYPOTHESIS_KEYS = ("text", "score", "logprob", "features")


@dataclass(frozen=True)
class JsonlNBest(JsonNBest):
    """One JSON object per line: a sentence with its hypotheses."""

    name = "jsonl"
    example = '\'{"id":…,"src":…,"hyps":[{"text":…,"logprob":…,"features":{…}}],"refs":[…]}\''

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if the first line is an object with hypotheses."""
        fields = first_object(lines)[1]
        return isinstance(fields.get(_present(fields, _LISTS), 0), list | None)

    def _take(self, fields: dict[str, Any], text: str, rows: Rows) -> None:
        lists, source = (_present(fields, keys) for keys in (_LISTS, _SOURCES))
        hyps = self._list(fields, lists, text)
        references = string_list(fields.get("refs", []), "refs")
        rows.sentence(
            fields.get("id"), fields.get(source), references, unknown_keys(fields, ("id", source, lists, "refs"))
        )
        for hypothesis in hyps:
            self._take_hypothesis(hypothesis, rows)

    def _take_hypothesis(self, fields: Any, rows: Rows) -> None:
        fields = {"text": fields} if isinstance(fields, str) else fields
        text = self._string(fields, "hypothesis")
        if text is None:
            rows.without_text()
            return
        features = fields.get("features", {})
        if not isinstance(features, dict):
            raise DataError(f"'features' is {quote(json.dumps(features))}", expected="an object of names and numbers")
        rows.hypothesis(
            text,
            score=fields.get("score"),
            logprob=fields.get("logprob"),
            features=features,
            more=unknown_keys(fields, _HYPOTHESIS_KEYS),
        )

    def _give(self, sentence: JsonSentence) -> Iterator[Any]:
        fields = self._head(sentence)
        fields["hyps"] = [own | others for own, others in sentence.hypotheses]
        if sentence.references:
            fields["refs"] = sentence.references
        yield {**fields, **sentence.more}


def _present(fields: dict[str, Any], keys: Sequence[str]) -> str:
    """Return the first of the keys that an object has, or the first of all."""
    return next((key for key in keys if key in fields), keys[0])
