"""Bodies of requests, right and wrong, and of answers, short and long."""

import asyncio
import json

import pytest

from dragoman.serve.json_bodies import Answer, RawJson, to_json

pytestmark = pytest.mark.slow

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("prefix", ["/api/v1", "/api"])
@pytest.mark.parametrize(
    ("route", "body", "status"),
    [
        ("translate", b'{"text": "Un homme dort.", "details": true, "nbest": 2}', 200),
        ("translate", b'{"texts": ["Un chat.", ""], "weights": {"lm": 1}}', 200),
        ("translate", b'{"text": "a", "texts": []}', 400),
        ("translate", b'{"text": "a", "model": "none"}', 404),
        ("translate", b'{"text": "a", "weights": "none"}', 400),
        ("translate", b'{"text": 3}', 422),
        ("translate", b'{"text": "\\ud800"}', 400),
        ("translate", b"{", 400),
        ("reweight", b'{"text": "Un homme dort.", "weights": {"lm": 2}}', 200),
        ("score", b'{"outputs": ["a b"], "references": ["a b"]}', 200),
        ("nothing", b"{}", 404),
    ],
)
def test_every_type_of_json_is_read(client, prefix, route, body, status):
    kinds = ("application/json", "application/json; charset=utf-8", "Application/other+JSON")
    answers = [client.post(f"{prefix}/{route}", content=body, headers={"Content-Type": kind}) for kind in kinds]
    assert [one.status_code for one in answers] == [status] * 3
    assert answers[1].json() == answers[2].json()  # by the first, a hypergraph may have been searched


@pytest.mark.parametrize("kind", ["", "text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/json"])
def test_other_types_are_refused(client, kind):
    found = client.post("/api/v1/translate", content=b'{"text": "a"}', headers={"Content-Type": kind})
    sentence = "the body: Input should be JSON, with Content-Type: application/json"
    assert (found.status_code, found.json()["error"]["message"]) == (422, sentence)


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b"{", 400, "the body is not JSON"),
        (b"", 422, "the body: Field required"),
        (b'{"text": "\xff\xfe"}', 400, "the body is not JSON in UTF-8"),
        (b'{"text": "\\ud800"}', 400, "holds half a character; expected text that UTF-8 can hold"),
        (b"[" * 200_000, 400, "the body is not JSON"),
        (b'{"text": 3}', 422, "text: Input should be a valid string"),
        (b'{"texts": "a"}', 422, "texts: Input should be a valid list"),
        (b'{"text": "a", "wieghts": {}}', 422, "wieghts: Extra inputs are not permitted"),
        (b'{"text": "a", "weights": {"lm": NaN}}', 422, "Input should be a finite number"),
        (b'{"text": "a", "nbest": -1}', 422, "nbest: Input should be greater than or equal to 0"),
        (b"[]", 422, "the body: Input should be"),
        (b"x" * 10_000_000, 413, "the body has more than 4,000,000 bytes; expected a smaller one"),
    ],
    ids=range(12),
)  # fmt: skip
def test_bad_bodies_are_refused_in_a_sentence(client, body, status, sentence):
    found = client.post("/api/v1/translate", content=body, headers=JSON)
    assert found.status_code == status
    assert sentence in found.json()["error"]["message"]
    assert found.json()["error"]["status"] == status
    assert "Traceback" not in found.text


def test_half_a_character_is_refused_everywhere(client):
    half = b'"\\ud800"'
    for route, body in (
        ("lists", b'{"content": %s}'),
        ("nbest", b'{"text": %s}'),
        ("posterior", b'{"text": %s}'),
        ("score", b'{"outputs": [%s], "references": ["a"]}'),
        ("score", b'{"outputs": ["a"], "references": ["a"], "metrics": [%s]}'),
    ):
        found = client.post(f"/api/v1/{route}", content=body % half, headers=JSON)
        assert found.status_code in (400, 422), found.text


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b'{"texts": [' + b"3," * 200 + b"3]}", 422, "found 201 mistakes in the body; expected none"),
        (
            b'{"texts": [' + b"3," * 1_900_000 + b"3]}",
            413,
            "the body has more than 50,000 values; expected fewer",
        ),
        (b'{"texts": [' + b'"",' * 2000 + b'""]}', 413, "found 2,001 texts; expected at most 1,000 a request"),
    ],
    ids=range(3),
)
def test_bodies_of_many_values_are_refused(client, body, status, sentence):
    found = client.post("/api/v1/translate", content=body, headers=JSON)
    assert (found.status_code, found.json()["error"]["message"]) == (status, sentence)
    libre = client.post("/translate", content=body.replace(b"texts", b"q"), headers=JSON)
    assert libre.status_code in (status, 400)
    assert len(libre.content) < 1000


def test_commas_in_a_text_are_no_values(client):
    found = client.post("/api/v1/translate", json={"text": ',"' * 60_000})
    assert found.json()["error"]["message"] == "a sentence has 3,000 words; expected at most 250"


def sent(value):
    messages = []

    async def send(message):
        messages.append(message)

    asyncio.run(Answer(value)({"type": "http"}, None, send))
    return messages


def test_a_long_answer_comes_in_pieces_that_are_the_same_text():
    value = {"lists": [{"id": i, "text": "ä" * 50, "deep": [[[[{"score": 0.5}]]]]} for i in range(9_000)]}
    value["made"] = RawJson('{"a": 1}')
    start, *pieces, end = sent(value)
    assert len(pieces) > 3
    assert all(piece["more_body"] for piece in pieces)
    assert not end.get("more_body")
    body = b"".join(piece["body"] for piece in (*pieces, end))
    assert body.decode() == to_json(value)
    assert json.loads(body)["made"] == {"a": 1}
    assert dict(start["headers"])[b"content-length"] == str(len(body)).encode()


def test_a_short_one_is_sent_at_once():
    start, body = sent({"a": [1, 2]})
    assert body["body"] == b'{"a": [1, 2]}'
    assert dict(start["headers"])[b"content-length"] == b"13"
