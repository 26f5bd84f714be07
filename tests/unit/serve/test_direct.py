"""The short way to routes: what comes by it is what comes by the long one."""

import pytest

SHORT, LONG = "application/json; charset=utf-8", "application/other+json"


@pytest.fixture
def both(client):
    """Ask both ways, which differ by the type of the body only; gives the status and the answer of each."""

    def asked(route, body):
        found = [client.post(route, content=body, headers={"Content-Type": kind}) for kind in (SHORT, LONG)]
        return [(one.status_code, one.json(), sorted(set(one.headers) - {"content-length"})) for one in found]

    return asked


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
def test_both_ways_have_the_same_answers(both, prefix, route, body, status):
    both(f"{prefix}/{route}", body)  # after which a hypergraph is kept
    short, long = both(f"{prefix}/{route}", body)
    assert short == long
    assert short[0] == status


def test_requests_that_are_right_take_the_short_way(live, monkeypatch):
    server = live()
    monkeypatch.setattr("fastapi.routing.APIRoute.handle", None)  # which the long one goes through
    for prefix in ("/api/v1", "/api"):
        found = server.client.post(f"{prefix}/translate", json={"text": "Un homme dort."})
        assert found.json()["translations"][0]["text"] == "A man sleeps."
    assert server.client.get("/api/v1/models").status_code == 500
