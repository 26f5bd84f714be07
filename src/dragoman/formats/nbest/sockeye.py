"""Sockeye's JSON output, one sentence per line: the best translation, and in n-best lists all translations.

    {"score": 0.5, "scores": [0.5, 0.75], "sentence_id": 0, "translation": "a b", "translations": ["a b", "a c"]}

Its scores are negative log-probabilities, normalised by length: lower is better. In Dragoman higher is better, so their
sign is changed on reading and writing. With target factors there is a list of scores for each translation, and the
first is read. An empty translation may have the score -Infinity, which means none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dragoman.core.errors import DataError
from dragoman.core.options import option
from dragoman.formats.faults import quote
from dragoman.formats.nbest.json_lists import JsonNBest, JsonSentence
from dragoman.formats.nbest.json_rows import Rows
from dragoman.formats.nbest.json_values import first_object, parallel_list, text_list, unknown_keys

_KEYS = ("sentence_id", "translation", "translations", "score", "scores", "translations_factors")


@dataclass(frozen=True)
class SockeyeNBest(JsonNBest):
    """Sockeye's output with `--output-type json`."""

    name = "sockeye"
    example = '\'{"sentence_id": …, "translation": …, "score": …, "translations": […], "scores": […]}\''
    places = frozenset({"scores", "ids"})
    id_key = "sentence_id"
    source_key = ""
    constants = True
    sorted_keys = True

    scores: Literal["neglogprob", "logprob"] = option(
        "neglogprob", "kind of scores: neglogprob (lower is better), as Sockeye writes them, or logprob"
    )

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if the first object has translations."""
        depth, fields = first_object(lines)
        return depth < 2 and (
            isinstance(fields.get("translation", 0), str | None) or isinstance(fields.get("translations"), list)
        )

    def _take(self, fields: dict[str, Any], text: str, rows: Rows) -> None:
        if "translations" in fields:
            texts = text_list(fields["translations"], "translations")
            scores = parallel_list(fields, "scores", len(texts))
        elif isinstance(fields.get("translation", 0), str | None):
            texts, scores = [fields["translation"]], [fields.get("score")]
        else:
            raise DataError(f"found {quote(text)}, without a 'translation'", expected=self.example)
        rows.sentence(fields.get("sentence_id"), more=unknown_keys(fields, _KEYS))
        factors = parallel_list(fields, "translations_factors", len(texts))
        for translation, score, factor in zip(texts, scores, factors, strict=True):
            if translation is None:
                rows.without_text()
                continue
            more = None if factor is None else {"translations_factors": factor}
            rows.hypothesis(translation, score=self._score(score, translation), more=more, keep_text=False)

    def _score(self, value: Any, text: str) -> Any:
        if isinstance(value, list) and value:
            value = value[0]
        if value is None or (value == -math.inf and not text.strip()):
            return None
        if type(value) not in (int, float):
            raise DataError(f"a score is {quote(json.dumps(value))}", expected="a number")
        sign = -1 if self.scores == "neglogprob" else 1
        if sign * value > 0:
            other = "logprob" if self.scores == "neglogprob" else "neglogprob"
            raise DataError(
                f"a score is {value:g}, which is not a {self.scores}",
                expected=f"other scores, or the option scores={other}",
            )
        return sign * value

    def _give(self, sentence: JsonSentence) -> Iterator[Any]:
        fields = {**sentence.more, **self._head(sentence)}
        sign = -1 if self.scores == "neglogprob" else 1
        wrong = next((own["score"] for own, _ in sentence.hypotheses if own.get("score", 0) > 0), None)
        if wrong is not None:
            raise DataError(
                f"has the score {wrong:g}, which is not a log-probability", expected="a format for any scores"
            )
        texts = [own["text"] for own, _ in sentence.hypotheses]
        scores = [(sign * own["score"] or 0.0) if "score" in own else None for own, _ in sentence.hypotheses]
        if texts:
            fields["translation"] = texts[0]
        if scores and scores[0] is not None:
            fields["score"] = scores[0]
        if len(texts) != 1:
            fields["translations"] = texts
            if any(score is not None for score in scores):
                fields["scores"] = scores
        if any(others for _, others in sentence.hypotheses):
            fields["translations_factors"] = [others.get("translations_factors") for _, others in sentence.hypotheses]
        yield fields
