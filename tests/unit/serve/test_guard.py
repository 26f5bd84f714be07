"""Who may ask, how much and how often; and what clients can do wrong without harm."""

import json
import socket
import threading
import time

import pytest

from dragoman.core.errors import UsageError
from dragoman.serve.access import Access
from dragoman.serve.failures import RequestError
from dragoman.serve.guard import Rate
from dragoman.serve.server import Address

JSON = {"Content-Type": "application/json"}


def raw(server, data, *, wait=10, slowly=()):
    """Send bytes, some of them slowly, and return all that comes back until the connection is closed."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as connection:
        connection.sendall(data)
        for piece in slowly:
            time.sleep(0.05)
            connection.sendall(piece)
        found = b""
        while piece := connection.recv(65536):
            found += piece
        return found


def post(server, body, **headers):
    lines = {"Host": f"127.0.0.1:{server.port}", "Connection": "close", **JSON, "Content-Length": len(body), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return b"POST /api/v1/translate HTTP/1.1\r\n" + head.encode() + b"\r\n" + body


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


def test_a_body_that_does_not_say_how_long_it_is_is_counted(server):
    def pieces():
        for _ in range(100):
            yield b" " * 100_000

    found = server.client.post("/api/v1/translate", content=pieces(), headers=JSON)
    assert found.status_code == 413


def test_what_is_no_route_and_no_method_is_told(client):
    assert client.get("/api/v1/nothing").json()["error"]["status"] == 404
    assert client.get("/api/v1/translate").json()["error"]["status"] == 405
    assert client.get("/static/../app.py").json()["error"]["status"] == 404
    assert client.get("/static/%2e%2e/app.py").json()["error"]["status"] == 404


def test_every_answer_has_headers_for_safety(client):
    for path in ("/", "/api/v1/health", "/api/v1/nothing", "/metrics"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["content-security-policy"]
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers
    assert "script-src 'self'" in client.get("/").headers["content-security-policy"]


def test_a_key_is_needed_where_there_is_one(live):
    server = live(Access("secret"))
    client = server.client
    for headers in ({}, {"X-API-Key": "other"}, {"Authorization": "Bearer"}):
        found = client.get("/api/v1/models", headers=headers)
        assert (found.status_code, found.json()["error"]["status"]) == (401, 401)
    for headers in ({"X-API-Key": "secret"}, {"Authorization": "Bearer secret"}):
        assert client.get("/api/v1/models", headers=headers).status_code == 200
    assert client.get("/api/models").status_code == client.get("/metrics").status_code == 401
    assert client.get("/").status_code == client.get("/api/v1/health").status_code == 200
    asked = {"q": "Un homme dort.", "source": "fr", "target": "en"}
    assert client.post("/translate", json=asked).status_code == 401
    assert client.post("/translate", json={**asked, "api_key": "secret"}).json() == {"translatedText": "A man sleeps."}


def test_only_names_of_ours_are_answered(live):
    server = live(Address.of("127.0.0.1", 0, None, no_key=False, names=["Example.org"]).access)
    for host, status in (("127.0.0.1", 200), ("localhost:80", 200), ("example.org", 200), ("evil.example", 421)):
        assert server.client.get("/api/v1/health", headers={"Host": host}).status_code == status


def test_other_sites_may_ask_only_if_they_were_named(live):
    server = live(Access("secret"), cors=["https://example.org"])
    for origin, allowed in (("https://example.org", "https://example.org"), ("https://evil.example", None)):
        found = server.client.get("/api/v1/health", headers={"Origin": origin})
        assert found.headers.get("access-control-allow-origin") == allowed
        refused = server.client.post(
            "/api/v1/translate", json={"text": "a", "model": "none"}, headers={"Origin": origin, "X-API-Key": "secret"}
        )
        assert (refused.status_code, refused.headers.get("access-control-allow-origin")) == (404, allowed)
        asking = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-api-key",
        }
        found = server.client.options("/api/v1/translate", headers=asking)
        assert (found.status_code == 200, found.headers.get("access-control-allow-origin")) == (bool(allowed), allowed)


def test_beyond_this_machine_there_is_a_key_or_none_is_wanted():
    for host in ("0.0.0.0", "192.168.1.1", "example.org", "::"):
        with pytest.raises(UsageError, match="others can reach"):
            Address.of(host, 1, None, no_key=False)
        assert Address.of(host, 1, None, no_key=True).access.key is None
        assert Address.of(host, 1, "k", no_key=False).access.key == "k"
    for host in ("127.0.0.1", "localhost", "::1"):
        assert Address.of(host, 1, None, no_key=False).access.hosts >= {"localhost", "127.0.0.1", "[::1]"}
    with pytest.raises(UsageError, match="found --api-key and --no-key"):
        Address.of("127.0.0.1", 1, "k", no_key=True)
    with pytest.raises(UsageError, match="the key is empty"):
        Address.of("127.0.0.1", 1, "", no_key=False)


def test_an_answer_waits_for_nothing():
    with Address.of("127.0.0.1", 0, None, no_key=False).bound() as listener:
        assert listener.proto == socket.IPPROTO_TCP  # asyncio turns Nagle's algorithm off only where it is


def test_a_client_may_ask_only_so_often():
    rate = Rate(2.0, 3)
    for _ in range(3):
        rate.check("a", 10.0)
    with pytest.raises(RequestError, match="more than 2 requests a second") as refused:
        rate.check("a", 10.1)
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
    rate.check("b", 10.1)
    rate.check("a", 10.6)
    with pytest.raises(RequestError):
        rate.check("a", 10.6)


def test_a_rate_that_is_set_is_kept(live):
    client = live(rate=0.001, burst=2).client
    assert [client.get("/api/v1/health").status_code for _ in range(3)] == [200, 200, 429]
    of_proxy = {"X-Forwarded-For": "192.0.2.7"}
    assert client.get("/api/v1/health", headers=of_proxy).status_code == 200


def test_too_many_requests_at_a_time_are_sent_away(live):
    server = live(concurrency=1, slow_seconds=30)
    body = json.dumps({"text": "Un petit chat dort.", "samples": 9_000, "chains": 2, "burn_in": 0}).encode()
    threads = []
    found = []
    may_go = threading.Event()
    server.service.slow._pool.submit(may_go.wait, 20)  # what keeps the one slow worker busy

    def ask():
        found.append(server.client.post("/api/v1/sample", content=body, headers=JSON).status_code)

    threads.append(threading.Thread(target=ask))
    threads[0].start()
    while not server.service.slow.inside:
        time.sleep(0.005)
    refused = server.client.get("/api/v1/health")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    may_go.set()
    threads[0].join()
    assert found == [200]


def test_slow_clients_are_left_and_others_are_not_kept_waiting(live):
    server = live(client_seconds=0.3)
    whole = post(server, b'{"text": "Un homme dort."}')
    head = whole.partition(b"\r\n\r\n")[0]
    assert b"A man sleeps." in raw(server, whole[:-5], slowly=[whole[-5:]])
    assert raw(server, whole[:-5]).startswith(b"HTTP/1.1 408 ")  # a body that does not come
    assert raw(server, head) == b""  # a head that does not come
    assert raw(server, b"") == b""  # nothing at all
    drops = [bytes([byte]) for byte in head]
    begin = time.monotonic()
    with pytest.raises(OSError, match=r"reset|pipe|peer"):
        raw(server, b"", slowly=drops)  # a head that comes a byte at a time
    assert time.monotonic() - begin < 5
    assert server.client.get("/api/v1/health").status_code == 200


def test_a_head_without_end_is_left(server):
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "
    with pytest.raises(OSError, match=r"reset|pipe|peer"):
        raw(server, head + 100_000 * b"x", slowly=[100_000 * b"x"] * 40)
    for odd in (
        b"\x16\x03\x01\x02\x00\x01",
        b"GET\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
    ):
        assert raw(server, odd).startswith(b"HTTP/1.1 400 ")
    assert server.client.get("/api/v1/health").status_code == 200


def test_an_offer_of_another_protocol_is_not_taken(server, caplog):
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAoAAAAAIAAAAA"}
    whole = post(server, b'{"text": "Un homme dort."}', **offer)
    again = post(server, b'{"text": "Une femme court."}')
    found = raw(server, whole[:-5], slowly=[whole[-5:], again])
    assert found.index(b"A man sleeps.") < found.index(b"A woman runs.")
    # One behind a request that is still to be answered ends the connection.
    assert raw(server, again.replace(b"close", b"keep-alive") + whole) == b""
    assert raw(server, b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 4")
    assert "pgrade" not in caplog.text
    assert server.client.get("/api/v1/health").status_code == 200


def test_an_answer_that_is_not_taken_is_thrown_away(live):
    server = live(client_seconds=0.3)
    asked = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.settimeout(10)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(1000 * asked)  # whose answers are more than the system keeps for a client
        while not server.server.server_state.connections:
            time.sleep(0.001)
        begin = time.monotonic()
        while server.server.server_state.connections:
            assert time.monotonic() - begin < 60, "the connection is kept"
            time.sleep(0.01)
    assert server.client.get("/api/v1/health").status_code == 200


def test_a_connection_that_drops_stops_its_work(live):
    server = live(slow_seconds=60, samples=10**12)
    body = json.dumps({"text": "Un petit chat dort devant la maison.", "samples": 10**8}).encode()
    data = post(server, body).replace(b"/translate", b"/sample")
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(data)
        while not server.service.slow.inside:
            time.sleep(0.005)
        time.sleep(0.2)
    begin = time.monotonic()
    while server.service.slow.inside:
        assert time.monotonic() - begin < 10, "the sampler goes on"
        time.sleep(0.01)
    assert server.client.get("/api/v1/health").json()["slow"] == 0


def test_connections_that_drop_leave_nothing_behind(live):
    server = live()
    data = post(server, json.dumps({"texts": ["Un petit chat dort devant la maison."] * 20}).encode())
    for end in (len(data), len(data) - 10, 30):
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(data[:end])
    # Who comes after them is answered when all of them are in.
    asked = f"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n"
    assert raw(server, asked.encode()).startswith(b"HTTP/1.1 200 ")
    begin = time.monotonic()
    while server.server.server_state.connections or server.service.batcher.waiting:
        assert time.monotonic() - begin < 20, "something is left"
        time.sleep(0.01)
    assert server.client.get("/api/v1/health").json()["waiting"] == 0


def test_work_that_takes_too_long_is_stopped_and_told(live):
    server = live(slow_seconds=0.2, samples=10**12)
    asked = {"text": "Un petit chat dort devant la maison.", "samples": 10**8}
    found = server.client.post("/api/v1/sample", json=asked)
    assert (found.status_code, found.json()["error"]["message"]) == (
        422,
        "the work takes longer than 0.2 seconds; ask for less, or a shorter text",
    )
    while server.service.slow.inside:
        time.sleep(0.01)


def test_our_own_mistakes_are_not_told(live, monkeypatch, caplog):
    server = live()

    def broken(*_):
        raise RuntimeError("a secret of /home/me")

    monkeypatch.setattr(server.service.runs, "all", broken)
    found = server.client.get("/api/v1/runs")
    assert found.status_code == 500
    assert found.json()["error"]["message"] == "something went wrong in the service; its log says what"
    assert "a secret" in caplog.text
    assert server.client.get("/api/v1/health").status_code == 200


def test_no_text_of_a_request_is_logged(live, caplog):
    client = live().client
    client.post("/api/v1/translate", json={"text": "secret words"})
    client.post("/api/v1/translate", json={"text": 3, "secret": "words"})
    assert "secret" not in caplog.text


def test_counts_are_for_prometheus(live):
    client = live().client
    client.post("/api/v1/translate", json={"texts": ["Un homme dort.", "Un chat."]})
    client.post("/api/v1/translate", json={})
    lines = client.get("/metrics").text.splitlines()
    assert 'dragoman_requests_total{route="/api/v1/translate",status="200"} 1' in lines
    assert 'dragoman_requests_total{route="/api/v1/translate",status="400"} 1' in lines
    assert "dragoman_sentences_total 2" in lines
    assert 'dragoman_request_seconds_bucket{le="+Inf"} 2' in lines
    assert "dragoman_waiting_sentences 0" in lines
