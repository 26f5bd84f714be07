"""`dragoman serve` as a user starts it: what it refuses to begin with, and that it answers what the command answers."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

import dragoman as dm

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("example")
    dm.example(made)
    return made


@pytest.fixture
def served(command, folder):
    """Start the service at any port; gives its process and address."""
    processes = []

    def start(*arguments):
        process = subprocess.Popen(
            [command, "serve", "--model", folder / "model", "--port", "0", "--threads", "1", *map(str, arguments)],
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        line = process.stderr.readline()
        return process, re.search(r"http://\S+", line)[0]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def post(url, **body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def test_answers_are_those_of_translate_to_the_byte(served, dragoman, folder, tmp_path):
    lines = (folder / "dev.fr").read_text(encoding="utf-8").splitlines()
    details, lists = tmp_path / "details.jsonl", tmp_path / "lists.jsonl"
    sides = ["--details", details, "--nbest", "3", "--nbest-out", lists]
    written = dragoman("translate", "--model", folder / "model", folder / "dev.fr", *sides)
    process, url = served()
    found = post(f"{url}/api/v1/translate", texts=lines, details=True, nbest=3, split=False)["translations"]
    assert "".join(f"{one['text']}\n" for one in found) == written.out
    rows = [json.loads(line) for line in details.read_text(encoding="utf-8").splitlines()]
    assert [one["sentences"][0]["derivation"] for one in found] == [{**row, "id": 0} for row in rows]
    texts = [text.split(" ||| ")[1].rstrip() for text in lists.read_text(encoding="utf-8").splitlines()]
    assert [row["text"] for one in found for row in one["sentences"][0]["nbest"]] == texts
    process.send_signal(signal.SIGINT)
    assert process.wait(20) in (0, 130)


def test_after_a_kill_it_can_be_started_again_and_a_model_that_vanishes_goes_on(command, folder, tmp_path):
    model = tmp_path / "model"
    dm.load(folder / "model").save(model)
    port = "0"
    for again in (False, True):
        arguments = [command, "serve", "--model", model, "--port", port, "--threads", "1"]
        process = subprocess.Popen([*map(str, arguments)], stderr=subprocess.PIPE, text=True)
        url = re.search(r"http://\S+", process.stderr.readline())[0]
        port = url.rpartition(":")[2]
        assert post(f"{url}/api/v1/translate", text="Un homme dort.")["translations"][0]["text"] == "A man sleeps."
        if not again:
            process.kill()
            process.communicate()
    for path in sorted(model.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert post(f"{url}/api/v1/translate", text="Une femme court.")["translations"][0]["text"] == "A woman runs."
    assert post(f"{url}/api/v1/reweight", text="Une femme court.")["text"] == "A woman runs."
    process.kill()
    assert "Traceback" not in process.communicate()[1]


def test_when_it_is_told_to_end_it_answers_what_is_under_way(served):
    process, url = served("--slow-workers", "1")
    asked = {"text": "Un petit chat dort devant la maison.", "samples": 9000, "chains": 2, "burn_in": 0}
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(post, f"{url}/api/v1/sample", **asked)
        while not json.load(urllib.request.urlopen(f"{url}/api/v1/health"))["slow"]:
            assert not answer.done()
        process.send_signal(signal.SIGTERM)
        assert sum(one["count"] for one in answer.result()["derivations"]) == 18_000
    assert process.wait(20) == 0
    assert "Traceback" not in process.stderr.read()


def test_it_can_be_told_to_end_from_its_first_word_on(served):
    process, _ = served()
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def test_a_model_that_is_written_into_is_refused_until_it_is_whole_again(served, folder, tmp_path):
    model = tmp_path / "changed"
    dm.load(folder / "model").save(model)
    whole = {path: path.read_bytes() for path in model.rglob("*.npy")}
    process, url = served("--model", model)
    asked = {"text": "Un homme dort.", "model": "changed"}

    def translated():
        return post(f"{url}/api/v1/translate", **asked)["translations"][0]["text"]

    # With one thread, a batch that has begun means that the one before is done: nothing uses the files any more.
    asked_for, batches = 0, 0
    while batches < asked_for + 2:  # those that warm the models
        assert translated() == "A man sleeps."
        asked_for += 1
        with urllib.request.urlopen(f"{url}/metrics") as response:
            batches = int(re.search(r"^dragoman_batches (\d+)", response.read().decode(), re.MULTILINE)[1])
    assert translated() == "A man sleeps."
    for path in whole:
        os.truncate(path, 64)
    sentences = set()
    while True:
        with pytest.raises(urllib.error.HTTPError) as refused:
            translated()
        assert refused.value.code == 503
        sentences.add(json.load(refused.value)["error"]["message"])
        if any("is not whole" in sentence for sentence in sentences):
            break
    assert all(text.startswith("the model changed (in the folder changed) was changed while") for text in sentences)
    assert str(tmp_path) not in "".join(sentences)
    # Another model is not concerned, and what there is can be asked.
    assert post(f"{url}/api/v1/translate", text="Un homme dort.")["translations"][0]["text"] == "A man sleeps."
    assert len(json.load(urllib.request.urlopen(f"{url}/api/v1/models"))["models"]) == 2
    for path, content in whole.items():
        path.write_bytes(content)
    found = None
    while found is None:
        with contextlib.suppress(urllib.error.HTTPError):
            found = translated()
    assert found == "A man sleeps."
    assert process.poll() is None


def test_a_model_that_was_copied_into_memory_may_be_written_into(served, folder, tmp_path):
    model = tmp_path / "changed"
    dm.load(folder / "model").save(model)
    _, url = served("--model", model, "--copy")
    for path in model.rglob("*.npy"):
        os.truncate(path, 64)
    found = post(f"{url}/api/v1/translate", text="Un homme dort.", model="changed")
    assert found["translations"][0]["text"] == "A man sleeps."


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (
            ["--host", "0.0.0.0"],
            2,
            "other machines can reach 0.0.0.0: give --api-key KEY, or --no-key to serve everybody",
        ),
        (["--host", "192.0.2.1", "--no-key"], 1, "cannot listen on 192.0.2.1, port 8017: "),
        (["--api-key", "k", "--no-key"], 2, "found --api-key and --no-key; expected one of them"),
        (["--runs", "nowhere"], 1, "nowhere: is not a folder; expected a folder with runs"),
        (["--weights", "x"], 2, "found 'x'; expected NAME=VALUE"),
        (["--slow-seconds", "0"], 2, "--slow-seconds is 0.0; expected at least 0.01"),
    ],
)
def test_what_it_refuses_to_begin_with(dragoman, folder, arguments, code, sentence):
    port = [] if "192.0.2.1" in arguments else ["--port", "0"]
    found = dragoman("serve", "--model", folder / "model", *port, *arguments)
    assert (found.code, found.error[: len(sentence)]) == (code, sentence)


def test_a_model_that_is_none(dragoman, tmp_path):
    found = dragoman("serve", "--port", "0", "--model", tmp_path / "none")
    assert found.code == 1
    assert "none" in found.error


def test_without_its_libraries_it_says_what_to_install(dragoman, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    found = dragoman("serve", "--model", folder / "model")
    assert found.error == "the service needs FastAPI and uvicorn: pip install 'dragoman[serve]'"
    assert os.environ.get("DRAGOMAN_API_KEY") is None


def test_a_start_does_not_wait_for_libraries_that_few_requests_need():
    said = "import sys, dragoman.serve.server; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout.split()
    assert not set(found) & {"scipy.optimize", "scipy.stats", "pandas", "matplotlib", "sacremoses"}
