import http.server
import re
import shutil
import subprocess
import threading

import pytest


class Server:
    """Files served on this machine: by path, with what a test wants to go wrong."""

    def __init__(self):
        self.files = {}
        #: Requests so far: path, and the range that was asked for.
        self.requests = []
        #: Number of bytes after which the connection breaks, one entry per answer from now on.
        self.breaks = []
        self.knows_ranges = True
        #: Offset that is added to the range of every answer.
        self.shift = 0
        served = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                served.answer(self)

            def log_message(self, *args):
                pass

        self._server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def answer(self, request):
        wanted = request.headers.get("Range")
        self.requests.append((request.path, wanted))
        data = self.files.get(request.path)
        if data is None:
            request.send_error(404)
            return
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and self.knows_ranges else 0
        if start and start >= len(data):
            request.send_error(416)
            return
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start + self.shift}-{len(data) - 1}/{len(data)}")
        request.send_header("Content-Length", str(len(data) - start))
        request.end_headers()
        request.wfile.write(data[start:][: self.breaks.pop(0) if self.breaks else None])

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server():
    """Return a server on this machine that ends with the test."""
    started = Server()
    yield started
    started.close()


@pytest.fixture
def make_package(tmp_path, tmp_path_factory):
    """Return a function that writes a small Debian package into the test's folder."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("needs dpkg-deb, a program of Debian and Ubuntu")

    def make(name, version, files):
        root = tmp_path_factory.mktemp("package")
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody <n@example.org>\n"
            "Description: a test\n"
        )
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        file = tmp_path / f"{name}_{version.replace(':', '%3a')}_all.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", root, file], check=True, capture_output=True)
        return file

    return make
