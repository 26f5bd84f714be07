"""Clients that are slow, odd or gone: half-sent heads and bodies, odd lengths, hosts and methods, untaken answers."""

import contextlib
import http.client
import json
import socket
import time

import pytest

from dragoman.serve.guard import Access

pytestmark = pytest.mark.slow

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


def answered_on(connection, data):
    """Send bytes, and return the status and the body of the answer."""
    connection.sendall(data)
    with http.client.HTTPResponse(connection) as found:
        found.begin()
        return found.status, found.read()


def answered(server, data):
    """Do the same on a connection of its own."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        return answered_on(connection, data)


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
        ("26, 26", (200, 400)),  # RFC 9110 leaves it open whether a length may be repeated
        (["26", "26"], (200, 400)),
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


def test_each_head_has_its_time_and_neither_rest_nor_work_counts(live):
    server = live(client_seconds=0.2)
    server.service.slow._pool.submit(time.sleep, 0.5)
    body = b'{"text": "Un homme dort.", "samples": 5}'
    asked = head(server, path="/api/v1/sample", Content_Length=len(body)) + body
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        assert answered_on(connection, asked)[0] == 200  # after half a second of work
        time.sleep(0.5)
        assert answered_on(connection, asked)[0] == 200
        connection.sendall(asked[:30])
        begin = time.monotonic()
        while connection.recv(65536):
            pass
        assert 0.1 < time.monotonic() - begin < 5


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
    found = raw(server, again.replace(b"close", b"keep-alive") + whole + again)
    assert found.count(b"HTTP/1.1 200 ") == 3
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


def test_a_body_that_does_not_say_how_long_it_is_is_counted(server):
    def pieces():
        for _ in range(100):
            yield b" " * 100_000

    found = server.client.post("/api/v1/translate", content=pieces(), headers=JSON)
    assert found.status_code == 413
