"""What comes over a socket and is not what it should be: half-sent bodies, odd lengths, hosts, methods, keys, forms."""

import contextlib
import http.client
import json
import socket

import pytest

from dragoman.serve.access import Access

JSON = {"Content-Type": "application/json"}
ASKED = b'{"text": "Un homme dort."}'


def head(server, method="POST", path="/api/v1/translate", **headers):
    """The head of a request; names are written with underscores, and lists are several headers of a name."""
    lines = {"Host": f"127.0.0.1:{server.port}", "Content_Type": "application/json", **headers}
    rows = [
        f"{name.replace('_', '-')}: {one}\r\n".encode()
        for name, value in lines.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    return f"{method} {path} HTTP/1.1\r\n".encode() + b"".join(rows) + b"\r\n"


def answered(server, data):
    """Send bytes, and return the status and the body of the answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(data)
        with http.client.HTTPResponse(connection) as found:
            found.begin()
            return found.status, found.read()


def message_of(body):
    return json.loads(body)["error"]["message"]


@pytest.fixture
def half_sent():
    """Begin to send bodies, and wait until the server takes them in."""
    with contextlib.ExitStack() as stack:

        def begun(server, number, **headers):
            found = []
            for _ in range(number):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
                connection.sendall(head(server, Content_Length=100, Expect="100-continue", **headers) + b'{"q": ')
                found.append(connection)
            for connection in found:
                assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
            return found

        yield begun


def test_half_sent_bodies_of_strangers_keep_no_keyholder_waiting(live, half_sent):
    server = live(Access("secret"))
    first, *_ = half_sent(server, 64, path="/translate")
    half_sent(server, 8, path="/")
    found = server.client.post("/api/v1/translate", content=ASKED, headers=JSON | {"X-API-Key": "secret"})
    assert (found.status_code, found.json()["translations"][0]["text"]) == (200, "A man sleeps.")
    asked = {"q": "Un homme dort.", "source": "fr", "target": "en"}
    assert server.client.post("/translate", json={**asked, "api_key": "secret"}).json() == {
        "translatedText": "A man sleeps."
    }
    assert server.client.post("/translate", json=asked).status_code == 401
    assert server.client.get("/api/v1/health").status_code == 200
    # Those who began first have made room.
    assert first.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_half_sent_bodies_take_no_place_where_there_is_no_key(live, half_sent):
    server = live(concurrency=2)
    half_sent(server, 2)
    found = server.client.post("/api/v1/translate", json={"text": "Un homme dort."})
    assert found.json()["translations"][0]["text"] == "A man sleeps."


def test_strangers_have_other_places_than_keyholders(live):
    server = live(Access("secret"), concurrency=1)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as stranger:
        # A stranger is refused before any of the body has come.
        stranger.sendall(head(server, Content_Length=1000))
        assert stranger.recv(1000).startswith(b"HTTP/1.1 401 ")
        found = server.client.get("/api/v1/models", headers={"Authorization": "bearer secret"})
        assert found.status_code == 200


def test_a_body_that_comes_too_slowly_is_given_up(live, half_sent):
    server = live(client_seconds=0.2)
    (connection,) = half_sent(server, 1)
    found = b""
    while piece := connection.recv(1000):
        found += piece
    assert found.startswith(b"HTTP/1.1 408 ")
    assert "expected all of it within 0.2 seconds" in message_of(found.partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize(
    ("length", "status"),
    [
        ("9" * 5000, (400, 413)),
        ("0" * 5000 + "26", (200, 400)),
        ("-1", (400,)),
        ("x", (400,)),
        ("", (400,)),
        ("2_6", (400,)),
        ("٢٦", (400,)),
        ("26, 26", (400,)),
        (["26", "26"], (400,)),
        (["26", "27"], (400,)),
        ("18446744073709551617", (400, 413)),
        ("5000000", (413,)),
    ],
    ids=range(12),
)
def test_odd_lengths_are_refused(server, length, status, caplog):
    for offer in ({"Connection": "close"}, {"Connection": "Upgrade, close", "Upgrade": "h2c"}):
        found, body = answered(server, head(server, Content_Length=length, **offer) + ASKED)
        assert found in status, (offer, body)
        assert b"Traceback" not in body
    assert "Traceback" not in caplog.text
    assert server.client.get("/api/v1/health").status_code == 200


@pytest.mark.parametrize(
    "chunks", [b"x\r\n", b"-1\r\nab\r\n", b"1a\r\n", b"ffffffffffffffffff\r\nab", b"3\r\nabcdef\r\n0\r\n\r\n"]
)
def test_damaged_chunks_are_refused(server, chunks, caplog):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head(server, Transfer_Encoding="chunked") + chunks)
        connection.shutdown(socket.SHUT_WR)
        found = connection.recv(1000)
    assert found == b"" or found.startswith(b"HTTP/1.1 4")
    assert "Traceback" not in caplog.text
    assert server.client.get("/api/v1/health").status_code == 200


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "SOURCE", "FOO", "get", "G" * 5000, "Ä"], ids=range(10)
)
def test_odd_methods_are_refused(server, method, caplog):
    found, body = answered(server, head(server, method, "/api/v1/health", Connection="close"))
    assert found in (400, 405)
    assert b"Traceback" not in body
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:80@evil.com", 400),
        ("localhost:80:80", 400),
        ("localhost:", 400),
        ("localhost:x", 400),
        ("localhost/evil.com", 400),
        ("user@localhost", 400),
        ("localhost evil.com", 400),
        ("localhost,evil.com", 400),
        ("[::1", 400),
        ("[::1]evil.com", 400),
        ("[localhost]", 400),
        ("", 400),
        (["localhost", "evil.com"], 400),
        ("evil.com", 421),
        ("localhost.evil.com", 421),
        ("LOCALHOST:8017", 200),
        ("[::1]:80", 200),
    ],
)
def test_hosts_are_read_strictly(live, host, status):
    hosts = frozenset({"localhost", "[::1]"})
    server = live(Access(hosts=hosts))
    assert answered(server, head(server, "GET", "/api/v1/health", Host=host, Connection="close"))[0] == status


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


def test_that_a_body_is_too_large_is_read_by_who_sends_all_of_it_first(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head(server, Content_Length=12_000_000, Connection="close"))
        for _ in range(12):
            connection.sendall(b" " * 1_000_000)
        found = b""
        while piece := connection.recv(65536):
            found += piece
    assert found.startswith(b"HTTP/1.1 413 ")
    assert (
        message_of(found.partition(b"\r\n\r\n")[2]) == "the body has more than 4,000,000 bytes; expected a smaller one"
    )


def test_a_body_without_end_is_not_taken_for_ever(live):
    server = live(body_bytes=1000)
    sent = 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection, contextlib.suppress(OSError):
        connection.sendall(head(server, Transfer_Encoding="chunked"))
        while sent < 200_000_000:
            connection.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
            sent += 0x10000
    assert sent < 200_000_000


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


def test_forms_of_many_fields_are_refused(client):
    found = client.post(
        "/translate", content=b"q=a&" * 100_000, headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert (found.status_code, found.json()["error"][:30]) == (413, "the form has too many fields; ")
