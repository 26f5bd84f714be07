"""Keys, hosts, sites and rates of clients; headers, counts and logs of all requests."""

import json
import threading
import time

import pytest

from dragoman.serve.guard import Access
from dragoman.serve.limits import Rate, RequestError
from dragoman.serve.server import Address

pytestmark = pytest.mark.slow

JSON = {"Content-Type": "application/json"}


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


def test_forms_of_other_sites_are_refused(live):
    server = live(cors=["https://example.org"])
    form = b"q=Un+homme+dort.&source=fr&target=en"
    own = f"http://127.0.0.1:{server.port}"
    for kind in (
        "application/x-www-form-urlencoded",
        "text/plain; charset=utf-8",
        "multipart/form-data; boundary=x",
        "",
    ):
        for origin in ("https://evil.com", "null", f"https://127.0.0.1:{server.port}.evil.com"):
            headers = {"Content-Type": kind, "Origin": origin}
            assert server.client.post("/translate", content=form, headers=headers).status_code == 403
    for origin in ({}, {"Origin": own}, {"Origin": "https://example.org"}):
        headers = {"Content-Type": "application/x-www-form-urlencoded", **origin}
        found = server.client.post("/translate", content=form, headers=headers)
        assert found.json() == {"translatedText": "A man sleeps."}


@pytest.mark.parametrize("key", ["clé", "ключ", "鍵 mit Leerzeichen"])
def test_keys_may_have_any_characters(live, key):
    server = live(Access(key))
    encodings = ["utf-8", "latin-1"] if key == "clé" else ["utf-8"]
    for encoding in encodings:
        for name, before in ((b"X-API-Key", b""), (b"Authorization", b"Bearer ")):
            found = server.client.get("/api/v1/models", headers={name: before + key.encode(encoding)})
            assert found.status_code == 200
    assert server.client.get("/api/v1/models", headers={b"X-API-Key": b"cle"}).status_code == 401
    asked = {"q": "Un homme dort.", "source": "fr", "target": "en"}
    assert server.client.post("/translate", json={**asked, "api_key": key}).status_code == 200
    half = json.dumps({**asked, "api_key": "\ud800"}).encode()
    assert server.client.post("/translate", content=half, headers=JSON).status_code in (400, 401)


def test_a_key_that_is_no_text_is_a_key():
    assert Access("\udcff").knows(b"\xff")
    assert not Access("\udcff").knows(b"")


@pytest.mark.parametrize("path", ["/", "/api/v1/health", "/api/v1/models", "/metrics", "/languages", "/static/page.js"])
def test_head_is_get_without_a_body(server, path):
    whole, only = server.client.get(path), server.client.head(path)
    assert (only.status_code, only.content) == (whole.status_code, b"")
    assert only.headers.get("content-type") == whole.headers.get("content-type")
    if path != "/metrics":
        assert only.headers.get("content-length") == whole.headers.get("content-length")
