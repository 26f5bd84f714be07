"""Responses of OpenNMT-py's server, one per line or as a single document.

    [[{"src": "la maison", "tgt": "the house", "n_best": 2, "pred_score": -0.5}, …],
     [{"src": "la maison", "tgt": "a house", "n_best": 2, "pred_score": -0.75}, …]]

The outer list has the ranks, the inner ones the sentences of the request; older servers return one list with the
`n_best` hypotheses of each sentence in turn. `n_best` shows which it is or, if it is missing, the sources do. The score
is a log-probability, normalised as the server is configured. Lists are written with a response per sentence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.core.errors import DataError
from dragoman.formats.faults import quote
from dragoman.formats.nbest.json_lists import JsonNBest, JsonSentence
from dragoman.formats.nbest.json_rows import Rows
from dragoman.formats.nbest.json_values import JsonValue, first_object, unknown_keys

_KEYS = ("src", "tgt", "n_best", "pred_score")


@dataclass(frozen=True)
class OpenNmtJsonNBest(JsonNBest):
    """Responses of OpenNMT-py's translation server."""

    name = "opennmt-json"
    example = '\'[[{"src": …, "tgt": …, "n_best": …, "pred_score": …}, …], …]\''
    places = frozenset({"scores"})
    id_key = ""
    text_key = "tgt"
    lists = False

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if there is a target in a list of lists."""
        depth, fields = first_object(lines)
        return depth == 2 and isinstance(fields.get("tgt"), str)

    def _take_all(self, found: Iterable[JsonValue], rows: Rows) -> Iterator[JsonValue]:
        for one in found:
            value = one.value
            if not (isinstance(value, list) and all(isinstance(row, list) for row in value)):
                raise DataError(f"found {quote(one.text)}, which is not a list of lists", expected=self.example)
            for row in value:
                for fields in row:
                    if not (isinstance(fields, dict) and isinstance(fields.get("tgt", 0), str | None)):
                        wrong = f"found {quote(json.dumps(fields))}, without a string 'tgt'"
                        raise DataError(wrong, expected=self.example)
            for sentence in _sentences(value):
                rows.sentence(None, sentence[0].get("src"))
                for fields in sentence:
                    self._take(fields, one.text, rows)
            yield one

    def _take(self, fields: dict[str, Any], text: str, rows: Rows) -> None:
        if fields["tgt"] is None:
            rows.without_text()
            return
        rows.hypothesis(fields["tgt"], score=fields.get("pred_score"), more=unknown_keys(fields, _KEYS))

    def _give(self, sentence: JsonSentence) -> Iterator[Any]:
        if not sentence.hypotheses:
            raise DataError("has no hypotheses", expected="some, because a response has no place for none")
        response = []
        for own, others in sentence.hypotheses:
            fields = self._head(sentence)
            fields |= {"tgt": own["text"], "n_best": len(sentence.hypotheses)}
            if "score" in own:
                fields["pred_score"] = own["score"]
            response.append([{**fields, **others}])
        yield response


def _sentences(response: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """Return the hypotheses of each sentence."""
    sizes = {fields.get("n_best") for row in response for fields in row}
    lengths = {len(row) for row in response}
    if len(sizes) > 1 or len(lengths) > 1:
        raise DataError("the response's lists differ in length or 'n_best'", expected="the same for all")
    size = next(iter(sizes), None)
    if not sizes:
        return []
    by_rank = [list(column) for column in zip(*response, strict=True)]
    if size is None:
        ways = [way for way in (by_rank, response) if all(len({h.get("src") for h in row}) == 1 for row in way)]
        if len(ways) == 1 or (ways and by_rank == response):
            return ways[0]
        found = "there is no 'n_best', and the sources do not say which hypotheses belong together"
        raise DataError(found, expected="the number of hypotheses of a sentence as 'n_best'")
    if type(size) is int and len(response) == size:
        found_in = by_rank
    elif type(size) is int and len(response) == 1 and size > 0 and len(response[0]) % size == 0:
        found_in = [response[0][i : i + size] for i in range(0, len(response[0]), size)]
    else:
        raise DataError(
            f"'n_best' is {quote(json.dumps(size))}, and the response has {len(response)} lists",
            expected="a list for each rank, or one list",
        )
    if any(len({h.get("src") for h in row}) > 1 for row in found_in):
        raise DataError("hypotheses of one sentence have different sources", expected="the same 'src' at each rank")
    return found_in
