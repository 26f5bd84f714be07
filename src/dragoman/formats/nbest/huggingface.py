"""Output of Hugging Face's pipelines as JSON, with texts under `translation_text`, `generated_text` or `summary_text`.

    [{"translation_text": "the house", "score": -0.5}, {"translation_text": "a house"}]     a sentence per line
    [[{"generated_text": "the house"}, {"generated_text": "a house"}], …]                   a file that is one list
    {"id": 0, "translation_text": "the house", "score": -0.5}                               a hypothesis per line
    {"id": 0, "generated_text": ["the house", "a house"], "sequences_scores": [-0.5, -1]}   a sentence per line

Hypotheses on separate lines are grouped by `id`, or by the option `size`; otherwise each is the only one of its
sentence. A single list of hypotheses without ids is refused unless `size` is given, because it may be one sentence or
many. `score` or `sequences_scores` (length-normalised log-probabilities of `generate`) are scores, `logprob` is a
log-probability. Lists are written with a hypothesis per line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.core.errors import DataError
from dragoman.core.options import option
from dragoman.formats.faults import quote
from dragoman.formats.nbest.json_lists import JsonNBest, JsonSentence
from dragoman.formats.nbest.json_rows import Rows
from dragoman.formats.nbest.json_values import JsonValue, first_object, parallel_list, text_list, unknown_keys

_TEXT_KEYS = ("translation_text", "generated_text", "summary_text")
_SCORE_KEYS = ("score", "sequences_scores")
_KEYS = ("id", *_TEXT_KEYS, *_SCORE_KEYS, "logprob")


@dataclass(frozen=True)
class HuggingFaceNBest(JsonNBest):
    """Outputs of Hugging Face's pipelines and of `generate`."""

    name = "huggingface"
    example = '\'{"id": …, "translation_text": …, "score": …}\' or \'[{"generated_text": …}, …]\''
    places = frozenset({"scores", "logprobs", "ids"})
    text_key = "translation_text"
    always_numbered = True

    size: int | None = option(None, "number of hypotheses per sentence, if they have no ids", minimum=1)

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if the first object has a text under a key of the pipelines."""
        return any(isinstance(first_object(lines)[1].get(key, 0), str | list | None) for key in _TEXT_KEYS)

    def _take_all(self, found: Iterable[JsonValue], rows: Rows) -> Iterator[JsonValue]:
        singles, last = 0, None
        for one in found:
            value = one.value
            if isinstance(value, list):
                rows.sentence()
                for fields in value:
                    self._take_hypothesis(fields, rows)
            elif isinstance(value, dict) and any(isinstance(value.get(key), list) for key in _TEXT_KEYS):
                self._take(value, one.text, rows)
            else:
                last = self._take_single(one, singles, last, rows)
                singles += 1
            if not singles:  # single hypotheses may be continued by the next value
                yield one
        if self.size is not None and last is None and singles % self.size:
            raise DataError(f"there are {singles} hypotheses", expected=f"{self.size} for each sentence")

    def _take_single(self, one: JsonValue, singles: int, last: Any, rows: Rows) -> Any:
        """Read a single hypothesis, after `singles` others, the last with id `last`; return its id."""
        name = one.value.get("id") if isinstance(one.value, dict) else None
        if name is not None and rows.ids and name == last:
            pass
        elif name is None and self.size is None and one.element and singles:
            raise DataError(
                "the list's hypotheses have no 'id', and may be of one sentence or of several",
                expected="the option size, which is the number of hypotheses of a sentence",
            )
        elif name is not None or singles % (self.size or 1) == 0:
            rows.sentence(name)
        self._take_hypothesis(one.value, rows)
        return name

    def _take(self, fields: dict[str, Any], text: str, rows: Rows) -> None:
        key = _text_key(fields)
        texts = text_list(fields[key], key)
        rows.sentence(fields.get("id"))
        rows.style["generated"] = _TEXT_KEYS.index(key)
        scores = parallel_list(fields, _score_key(fields), len(texts))
        for words, score, logprob in zip(texts, scores, parallel_list(fields, "logprob", len(texts)), strict=True):
            if words is None:
                rows.without_text()
            else:
                rows.hypothesis(words, score=score, logprob=logprob)

    def _take_hypothesis(self, fields: Any, rows: Rows) -> None:
        key = _text_key(fields) if isinstance(fields, dict) else ""
        if key and fields[key] is None:
            rows.without_text()
            return
        if not key or not isinstance(fields[key], str):
            expected = f"a string under {', '.join(_TEXT_KEYS)}"
            raise DataError(f"found {quote(json.dumps(fields))}, which has no text", expected=expected)
        rows.style["generated"] = _TEXT_KEYS.index(key)
        more = unknown_keys(fields, _KEYS)
        rows.hypothesis(fields[key], score=fields.get(_score_key(fields)), logprob=fields.get("logprob"), more=more)

    def _give(self, sentence: JsonSentence) -> Iterator[Any]:
        key = _TEXT_KEYS[sentence.style.get("generated", 0)]
        if not sentence.hypotheses:
            yield {"id": sentence.name, key: []}
        for own, others in sentence.hypotheses:
            yield {"id": sentence.name, **{key if k == "text" else k: value for k, value in own.items()}, **others}


def _text_key(fields: Mapping[str, Any]) -> str:
    return _one_of(fields, _TEXT_KEYS)


def _score_key(fields: Mapping[str, Any]) -> str:
    return _one_of(fields, _SCORE_KEYS)


def _one_of(fields: Mapping[str, Any], keys: Sequence[str]) -> str:
    there = [key for key in keys if key in fields]
    if len(there) > 1:
        raise DataError(f"there are both '{there[0]}' and '{there[1]}' in one object", expected="one of them")
    return there[0] if there else ""
