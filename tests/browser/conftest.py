"""The page in a real browser: Debian's chromium, with a service of its own behind it."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect, sync_playwright

import dragoman as dm
from dragoman.core.feature_rows import Weights
from dragoman.tuning.runs.run import Record, Run

_SIZE = {"width": 1280, "height": 900}
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_COMMAND = [sys.executable, "-c", "from dragoman.cli.main import main; main()"]

_TIMEOUT = 60_000  # machines may be busy; what is there is seen at once
expect.set_options(timeout=_TIMEOUT)


@pytest.fixture(scope="module")
def browser():
    """A browser for the tests of a module; while it runs, its library keeps an event loop going in this thread."""
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Models of both kinds, with weights under which the hierarchical one nests its rules, and runs."""
    made = tmp_path_factory.mktemp("page")
    phrases = dm.example(made)
    with pytest.warns(UserWarning, match="discounts"):
        rules = dm.train(made / "train.fr", made / "train.en", out=made / "rules", hierarchical=True, progress=False)
    rules.with_weights({"glue": -3.0}).weights.write(made / "nested.txt")
    phrases.with_weights({"word_penalty": 1.0, "lm": 0.0}).weights.write(made / "short.txt")
    pairs = [("vnd", "und"), ("vns", "uns"), ("jn", "in"), ("vnter", "unter"), ("haus", "haus")] * 5
    dm.normaliser(examples=pairs, out=made / "old-to-new", threads=1, progress=False)
    _write_run(
        made / "runs" / "done", [(40.0, 0.5), (44.0, 0.8), (45.5, 0.7)], stop="the weights do not change any more"
    )
    _write_run(made / "runs" / "going", [(38.0, 0.5), (41.0, 0.6)])
    experiment = made / "runs" / "plan"
    experiment.mkdir()
    (experiment / "plan.toml").write_text("", encoding="utf-8")
    (experiment / "report.html").write_text("<!doctype html><title>x</title><h1>A report</h1>", encoding="utf-8")
    return made


@pytest.fixture(scope="session")
def add_iteration():
    """Let a run go on: `add_iteration(run, 43.0, 0.9)`."""
    return _add_iteration


def _write_run(folder, iterations, stop=None):
    """A run with a score and a weight for each iteration."""
    run = Run.begin(folder, {"method": "mert", "metric": "bleu"})
    run.started(Weights({"lm": iterations[0][1], "word_penalty": -1.0}))
    for score, weight in iterations:
        _add_iteration(run, score, weight, stop if (score, weight) == iterations[-1] else None)


def _add_iteration(run, score, weight, stop=None):
    number = len(run.events()) + 1
    run.write_weights(Weights({"lm": weight, "word_penalty": -1.0}), number)
    run.record(Record.from_event({"iteration": number, "score": score, "stop": stop}))


@dataclass
class Service:
    """A `dragoman serve` in a process of its own."""

    process: subprocess.Popen
    url: str

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


@pytest.fixture(scope="module")
def serve(folder):
    """Start a service: `serve("--api-key", "secret")`."""

    def started(*arguments, port=0):
        models = ["--model", folder / "model", "--model", folder / "rules", "--model", folder / "old-to-new"]
        weights = ["--weights", f"model:short={folder}/short.txt", "--weights", f"rules:nested={folder}/nested.txt"]
        others = ["--runs", folder / "runs", "--port", port, "--threads", 1, *arguments]
        process = subprocess.Popen(
            [*_COMMAND, "serve", *map(str, [*models, *weights, *others])], stderr=subprocess.PIPE, text=True
        )
        said = ""
        while not (found := re.search(r"http://[\d.:]+", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        return Service(process, found.group())

    return started


@pytest.fixture(scope="module")
def service(serve):
    started = serve()
    yield started
    started.stop()


@dataclass
class Watched:
    """A page whose every complaint is kept. What a test provokes on purpose it takes out by `excuse`."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    opened: int = 0

    def watch(self):
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(f"{error}"))
        self.page.on("requestfailed", self._failed)
        self.page.on("request", self._asked)

    def _failed(self, request):
        # The page cancels what it does not need any more.
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"{request.url} failed: {request.failure}")

    def _asked(self, request):
        if not request.url.startswith((self.url, "blob:", "data:")):
            self.complaints.append(f"{request.url} is elsewhere")

    def open(self, view, **settings):
        """Go to a view, with settings in the address."""
        # An address that differs from the one before only after its # would not be loaded.
        self.opened += 1
        self.page.goto(f"{self.url}/?{self.opened}#{view}?{urlencode(settings)}")
        return self.page

    def excuse(self, pattern):
        """Expect complaints of this kind, at least one, and forget them."""
        kept = [text for text in self.complaints if not re.search(pattern, text)]
        assert len(kept) < len(self.complaints), f"nothing like {pattern} in {self.complaints}"
        self.complaints[:] = kept


@pytest.fixture(scope="module")
def make_page(browser):
    """A page in a window of its own."""

    def made(url):
        usual = {"viewport": _SIZE, "reduced_motion": "reduce"}
        watched = Watched(browser.new_context(**usual).new_page(), url)
        watched.page.set_default_timeout(_TIMEOUT)
        watched.watch()
        return watched

    return made


@pytest.fixture(scope="module")
def usual_page(make_page, service):
    """One for all tests that want nothing special, because a new one takes long."""
    return make_page(service.url)


@pytest.fixture
def watched(usual_page):
    """A page of which a test may expect complaints; those that are left at its end are too many."""
    usual_page.complaints.clear()
    yield usual_page
    usual_page.page.unroute_all()
    usual_page.page.emulate_media(color_scheme="light")
    usual_page.page.set_viewport_size(_SIZE)
    assert usual_page.complaints == []


@pytest.fixture
def at(watched):
    """A page at a view: `at("translate", text="…")`."""
    return watched.open


@pytest.fixture
def visit(make_page):
    """Watch a page of another service: `visit(service.url).open("weights", text="…")`."""
    seen = []

    def visited(url):
        seen.append(make_page(url))
        return seen[-1]

    yield visited
    for found in seen:
        found.page.context.close()
        assert found.complaints == []
