"""How long others wait while the service has a hostile request: health checks beside each shape at the limit of a body.

    python benchmarks/service_hostile.py --model model

The service and its clients are processes of their own. Each row is a request, its status and time, and the longest
health check beside it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from quick import parse_arguments

_COMMAND = [sys.executable, "-m", "dragoman.cli.main"]

_SHAPES = {
    "dots": ".",
    "dots, a letter": "...x",
    "quotes": '"',
    "apostrophes": "'",
    "newlines": "\n",
    "spaces": " ",
    "tabs": "\t",
    "brackets": "([{",
    "hyphens": "-",
    "digits": "1,",
    "addresses": "http://a.b/c?",
    "mail": "a@b.",
    "combining marks": "e\u0301",
    "abbreviations": "A.B.",
    "initials": "A. ",
    "questions": "? ",
    "short sentences": "Oui. Non.\n",
    "ideographs": "他睡了。",
    "<": "<",
    "<!--": "<!--",
    "<script>": "<script>",
    "a<b>": "a<b>",
    "&": "&",
    "&#": "&#1",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, type=Path)
    parser.add_argument("--bytes", type=int, default=3_990_000, help="size of the requests; 4 MB is the limit")
    asked = parse_arguments(parser, "--model {model} --bytes 2000")
    arguments = ["serve", "--model", str(asked.model), "--port", "0"]
    service = subprocess.Popen([*_COMMAND, *arguments], stderr=subprocess.PIPE, text=True)
    try:
        assert service.stderr is not None
        found = re.search(r"http://(\S+)", service.stderr.readline())
        assert found is not None, "the service did not start"
        post(found[1], "/api/v1/translate", b'{"text": "A."}')
        waits = [beside(found[1], *request) for request in requests(asked.bytes)]
        print(f"{len(waits)} requests; the longest health check: {1000 * max(waits):.0f} ms")
    finally:
        service.terminate()
        service.wait(60)


def requests(size: int) -> Iterator[tuple[str, str, bytes]]:
    """A name, a path and a body for each."""
    for name, shape in _SHAPES.items():
        text = shape * (size // (len(json.dumps(shape, ensure_ascii=False).encode()) - 2))
        for route in ("translate", "nbest", "lists"):
            body = {"content" if route == "lists" else "text": text}
            yield f"{route}: {name}", f"/api/v1/{route}", json.dumps(body, ensure_ascii=False).encode()
        html = {"q": text, "source": "auto", "target": "auto", "format": "html"}
        yield f"html: {name}", "/translate", json.dumps(html, ensure_ascii=False).encode()
    yield "translate: empty texts", "/api/v1/translate", b'{"texts": [%s""]}' % (b'"",' * (size // 3))
    yield "translate: numbers", "/api/v1/translate", b'{"texts": [%s3]}' % (b"3," * (size // 2))
    yield "translate: mistakes", "/api/v1/translate", b'{"texts": [%s3]}' % (b"3," * min(49_000, size // 2))
    yield "translate: keys", "/api/v1/translate", json.dumps({f"k{i}": 1 for i in range(size // 14)}).encode()
    texts = {"texts": ["Un homme dort devant la maison."] * min(1000, size // 40), "nbest": 100, "details": True}
    yield "translate: lists of 100", "/api/v1/translate", json.dumps(texts).encode()
    lists = "".join(f"{i} ||| a b c ||| lm= {i} ||| {i}\n" for i in range(size // 60))
    yield "lists: as many as fit", "/api/v1/lists", json.dumps({"content": lists}).encode()


def beside(host: str, name: str, path: str, body: bytes) -> float:
    """The longest health check beside a request, in seconds."""
    statuses: list[int] = []
    begin = time.monotonic()
    asking = threading.Thread(target=lambda: statuses.append(post(host, path, body)))
    asking.start()
    waits: list[float] = []
    connection = http.client.HTTPConnection(host, timeout=120)
    while asking.is_alive() or not waits:
        before = time.monotonic()
        connection.request("GET", "/api/v1/health")
        connection.getresponse().read()
        waits.append(time.monotonic() - before)
        time.sleep(0.002)
    asking.join()
    took = time.monotonic() - begin
    print(f"{name:40} {statuses[0]}  {took:6.2f} s  health: longest {1000 * max(waits):4.0f} ms", flush=True)
    return max(waits)


def post(host: str, path: str, body: bytes) -> int:
    """Ask, and return the status."""
    connection = http.client.HTTPConnection(host, timeout=120)
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


if __name__ == "__main__":
    main()
