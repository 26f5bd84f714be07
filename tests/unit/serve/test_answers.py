"""Long answers are written and sent in pieces, and are the same text."""

import asyncio
import json

from dragoman.serve.answers import answer
from dragoman.serve.json_text import Written, written


def sent(value):
    messages = []

    async def send(message):
        messages.append(message)

    asyncio.run(answer(value)({"type": "http"}, None, send))
    return messages


def test_a_long_answer_comes_in_pieces_that_are_the_same_text():
    value = {"lists": [{"id": i, "text": "ä" * 50, "deep": [[[[{"score": 0.5}]]]]} for i in range(9_000)]}
    value["made"] = Written('{"a": 1}')
    start, *pieces, end = sent(value)
    assert len(pieces) > 3
    assert all(piece["more_body"] for piece in pieces)
    assert not end.get("more_body")
    body = b"".join(piece["body"] for piece in (*pieces, end))
    assert body.decode() == written(value)
    assert json.loads(body)["made"] == {"a": 1}
    assert dict(start["headers"])[b"content-length"] == str(len(body)).encode()


def test_a_short_one_is_sent_at_once():
    start, body = sent({"a": [1, 2]})
    assert body["body"] == b'{"a": [1, 2]}'
    assert dict(start["headers"])[b"content-length"] == b"13"
