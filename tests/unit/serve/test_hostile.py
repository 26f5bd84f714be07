"""While a request is served that is as odd as a request can be, others are answered."""

import json
import threading
import time

import pytest

pytestmark = pytest.mark.slow

SIZE = 1_900_000
JSON = {"Content-Type": "application/json"}

#: The longest that a health check may take beside one request, in seconds: a quiet machine needs a tenth of it or less
#: (`benchmarks/service_hostile.py`), and what this is about took ten times as long.
_LONGEST = 2.0


def of(shape):
    return (shape * (SIZE // len(shape) + 1))[:SIZE] + "x"


REQUESTS = {
    **{
        f"translate {name}": ("/api/v1/translate", {"text": of(shape)})
        for name, shape in {"newlines": "\n", "dots": ".", "initials": "A. ", "questions": "? ", "commas": ",a"}.items()
    },
    **{
        f"html {name}": ("/translate", {"q": of(shape), "source": "fr", "target": "en", "format": "html"})
        for name, shape in {"comments": "<!--", "tags": "<", "bold": "a<b>", "scripts": "<script>", "&#": "&#9"}.items()
    },
    "nbest": ("/api/v1/nbest", {"text": of("a ")}),
    "empty texts": ("/api/v1/translate", {"texts": [""] * (SIZE // 4)}),
    "numbers for texts": ("/api/v1/translate", {"texts": [3] * (SIZE // 3)}),
    "many keys": ("/api/v1/translate", {f"k{i}": 1 for i in range(SIZE // 15)}),
    "texts of libre": ("/translate", {"q": [""] * (SIZE // 4)}),
    "many lists": ("/api/v1/translate", {"texts": ["Un homme dort."] * 100, "nbest": 100}),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_health_is_answered_beside_any_request(server, name):
    path, body = REQUESTS[name]
    content = json.dumps(body).encode()
    found = []

    def ask():
        found.append(server.client.post(path, content=content, headers=JSON))

    asking = threading.Thread(target=ask)
    asking.start()
    longest = 0.0
    while True:
        last = not asking.is_alive()
        begin = time.monotonic()
        assert server.client.get("/api/v1/health").status_code == 200
        longest = max(longest, time.monotonic() - begin)
        if last:
            break
    asking.join()
    assert found[0].status_code in (200, 400, 413, 422)
    assert len(found[0].content) < 20_000_000
    assert longest < _LONGEST
