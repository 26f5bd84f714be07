"""A service over a small phrase-based model and a hierarchical one, in this process."""

import contextlib
import threading
import time

import httpx
import pytest

import dragoman as dm
from dragoman.serve.app import make_app
from dragoman.serve.guard import Access
from dragoman.serve.limits import Limits
from dragoman.serve.models import ModelRegistry
from dragoman.serve.server import Address, Server
from dragoman.serve.service import Service


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The texts and the model of `dm.example`, a hierarchical model, and other weights for the first."""
    made = tmp_path_factory.mktemp("serve")
    model = dm.example(made)
    with pytest.warns(UserWarning, match="discounts"):
        dm.train(made / "train.fr", made / "train.en", out=made / "rules", hierarchical=True, progress=False)
    pairs = [("vnd", "und"), ("vns", "uns"), ("jn", "in"), ("vnter", "unter"), ("haus", "haus")] * 5
    dm.normaliser(examples=pairs, out=made / "old-to-new", threads=1, progress=False)
    model.with_weights({"lm": 2.0, "word_penalty": 0.0}).weights.write(made / "other.txt")
    return made


@pytest.fixture(scope="session")
def registry(folder):
    return ModelRegistry.of([f"{folder}/model", f"{folder}/rules"], weights=[f"model:other={folder}/other.txt"])


class Live:
    """A server in a thread, at a port of its own, and a client of it."""

    def __init__(self, service, access=Access(), cors=()):
        self.service = service
        self.listener = Address.of("127.0.0.1", 0, None, no_key=False).bound()
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = Server(make_app(service, access, cors=cors), service)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]})
        self.thread.start()
        while not self.server.started:
            time.sleep(0.005)
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def close(self):
        self.client.close()
        self.server.should_exit = True
        self.thread.join(20)
        assert not self.thread.is_alive()
        self.listener.close()


@pytest.fixture(scope="session")
def live_server(registry):
    """A live server with some limits, for as long as it is used: `with live_server(client_seconds=0.2) as server`."""

    @contextlib.contextmanager
    def made(access=Access(), *, runs=None, cors=(), **limits):
        found = Live(Service(registry, Limits(**limits), runs=runs, threads=2), access, cors)
        try:
            yield found
        finally:
            found.close()

    return made


@pytest.fixture
def live_of():
    """A live server of a service of one's own, for a test: `live_of(Service(…))`."""
    with contextlib.ExitStack() as stack:

        def made(service):
            found = Live(service)
            stack.callback(found.close)
            return found

        yield made


@pytest.fixture
def live(live_server):
    """A live server with some limits, for a test: `live(client_seconds=0.2)`."""
    with contextlib.ExitStack() as stack:
        yield lambda *access, **settings: stack.enter_context(live_server(*access, **settings))


@pytest.fixture(scope="module")
def server(live_server):
    """A live server with the usual limits, for the tests of a module."""
    with live_server() as found:
        yield found


@pytest.fixture(scope="module")
def client(server):
    """Its client."""
    return server.client


@pytest.fixture
def ask(client):
    """Ask and get an answer that is right: `ask("translate", text="…")`."""

    def asked(route, **body):
        response = client.post(f"/api/v1/{route}", json=body)
        assert response.status_code == 200, response.text
        return response.json()

    return asked


@pytest.fixture
def refused(client):
    """Ask and get the status and the sentence of an error."""

    def asked(route, **body):
        response = client.post(f"/api/v1/{route}", json=body)
        found = response.json()["error"]
        assert found["status"] == response.status_code
        return response.status_code, found["message"]

    return asked
