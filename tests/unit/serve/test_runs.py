"""Runs and experiments in a folder: listed, looked at, followed; names that lead elsewhere lead nowhere."""

import json
import os
import shutil
import threading
import time

import pytest

import dragoman as dm
from dragoman.core.progress import Progress
from dragoman.tuning.runs.run import Record, Run

pytestmark = pytest.mark.slow


def _with_events(*scores):
    return "".join(f'{{"iteration": {i}, "score": {score}, "stop": null}}\n' for i, score in enumerate(scores, 1))


#: Runs whose events are damaged, and what is said of each.
DAMAGED_EVENTS = {
    "digits": (_with_events(1, "9" * 400), "events.jsonl:2: found "),
    "more-digits": (_with_events("9" * 5000), "events.jsonl:1: found "),
    "nan": (_with_events(1, "NaN"), "events.jsonl:2: found "),
    "deep": (_with_events("[" * 90_000), "events.jsonl:1: found "),
    "nested": (
        '{"iteration": 1, "score": 1, "stop": null, "x": ' + "[" * 40 + "]" * 40 + "}\n",
        "events.jsonl: is nested",
    ),
    "half": ('{"iteration": 1, "score": 1, "stop": "\\ud800"}\n', "events.jsonl: holds half a character"),
    "stop": ('{"iteration": 1, "score": 1, "stop": {}}\n', "events.jsonl:1: found "),
}
#: Other damage.
DAMAGED = {
    **{name: said for name, (_, said) in DAMAGED_EVENTS.items()},
    "damaged": "run.toml: is not TOML",
    "date": "run.toml: holds a datetime",
    "folder": "events.jsonl: is a folder; expected a regular file",
    "huge": "events.jsonl: has 104,857,600 bytes; expected at most",
    "linked": "run.toml: is a link; expected a regular file",
    "linked-events": "events.jsonl: is a link; expected a regular file",
    "pipe": "run.toml: is a pipe; expected a regular file",
    "pipe-events": "events.jsonl: is a pipe; expected a regular file",
    "planned": "plan.toml: is a pipe; expected a regular file",
}


def damage(made, secret):
    """Make runs that are not what they should be."""
    secret.write_text("a secret")

    def begun(name):
        return Run.begin(made / name, {"metric": "bleu", "method": "mert"}).folder / "events.jsonl"

    for name, (text, _) in DAMAGED_EVENTS.items():
        begun(name).write_text(text)
    begun("folder").mkdir()
    with begun("huge").open("wb") as stream:
        stream.truncate(100 * 2**20)
    begun("linked-events").symlink_to(secret)
    os.mkfifo(begun("pipe-events"))
    for name in ("linked", "pipe", "date", "planned"):
        (made / name).mkdir()
    (made / "linked" / "run.toml").symlink_to(begun("seen").parent / "run.toml")
    os.mkfifo(made / "pipe" / "run.toml")
    os.mkfifo(made / "planned" / "plan.toml")
    (made / "date" / "run.toml").write_text("metric = 'bleu'\nmethod = 'mert'\nbegun = 2026-01-01T00:00:00\n")
    (made / "seen" / "report.html").symlink_to(secret)
    (made / "seen" / "weights").symlink_to(made.parent)
    begun(os.fsdecode(b"caf\xe9"))


@pytest.fixture(scope="module")
def runs(folder, tmp_path_factory):
    """A finished run, one that goes on, one that is damaged, an experiment with a run, and what is none of these."""
    made = tmp_path_factory.mktemp("outside") / "runs"
    texts = folder / "dev.fr", folder / "dev.en"
    model = dm.load(folder / "model")
    model.tune(*texts, out=made / "done", method="mert", iterations=2, options={"restarts": 1}, progress=Progress())
    going = Run.begin(made / "going", {"metric": "ter", "method": "mira", "model": "/home/me/models/x"})
    going.record(Record.from_event({"iteration": 1, "score": 50.0, "stop": None}))
    (made / "damaged").mkdir()
    (made / "damaged" / "run.toml").write_text("no toml [")
    damage(made, made.parent / "secret.html")
    inside = made / "experiment" / "runs" / "mert" / "1"
    inside.mkdir(parents=True)
    (made / "experiment" / "plan.toml").write_text("")
    (made / "experiment" / "report.html").write_text("<p>A report</p>")
    Run.begin(inside, {"metric": "bleu", "method": "mert"})
    (made / "other").mkdir()
    Run.begin(made.parent / "secret", {"metric": "bleu", "method": "mert"})
    (made / "link").symlink_to(made.parent / "secret")
    return made


@pytest.fixture(scope="module")
def watching(live_server, runs):
    """A server that shows them, and looks often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.serve.runs._LOOK", 0.02)
        patch.setattr("dragoman.serve.runs._MOST_FOLLOWERS", 1)
        with live_server(runs=runs) as found:
            yield found


@pytest.fixture
def client(watching):
    return watching.client


def test_what_is_there_is_listed(client, runs):
    found = {row["name"]: row for row in client.get("/api/v1/runs").json()["runs"]}
    sound = ["caf\\xe9", "done", "experiment", "experiment/runs/mert/1", "going", "seen"]
    assert list(found) == sorted([*sound, *DAMAGED])
    assert [name for name in found if found[name]["damaged"] is None] == sound
    done = dm.TuningRun(runs / "done")
    assert (found["done"]["method"], found["done"]["best"]) == ("mert", done.best_score)
    assert (found["done"]["iterations"], bool(found["done"]["stopped"])) == (len(done.events()), True)
    assert (found["going"]["higher_is_better"], found["going"]["stopped"]) == (False, None)
    assert (found["experiment"]["kind"], found["experiment"]["report"]) == ("experiment", True)
    assert found["experiment"]["runs"] == ["experiment/runs/mert/1"]
    assert (found["damaged"]["kind"], found["damaged"]["metric"]) == ("run", None)


def test_a_run_is_told_with_events_and_weights_but_without_paths(client, runs):
    found = client.get("/api/v1/runs/done").json()
    run = Run(runs / "done")
    assert found["events"] == run.events()
    assert found["weights"] == [dict(run.weights(i)) for i in range(len(run.events()))]
    assert found["best_weights"] == dict(run.weights())
    assert (found["options"]["method"], found["options"]["model"]) == ("mert", "model")
    assert str(runs.parent) not in json.dumps(found)
    assert client.get("/api/v1/runs/going").json()["options"]["model"] == "x"
    assert client.get("/api/v1/runs/experiment").json()["events"] == []
    assert client.get("/api/v1/runs/experiment/runs/mert/1").json()["method"] == "mert"


def test_a_report_is_a_page_that_can_do_nothing(client):
    found = client.get("/api/v1/runs/experiment/report")
    assert (found.text, found.headers["content-type"]) == ("<p>A report</p>", "text/html; charset=utf-8")
    assert "sandbox" in found.headers["content-security-policy"]
    assert client.get("/api/v1/runs/done/report").json()["error"]["message"] == "'done' has no report yet"


NAMES = ["..%2Fsecret", "%2e%2e/secret", "done/%2e%2e/%2e%2e/secret", "link", "other", "/etc", "%00", "nothing", "",
         "experiment/%2e%2e/done", "damaged/run.toml"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_cannot_leave_the_folder(client, runs, name):
    for suffix in ("", "/events", "/report"):
        found = client.get(f"/api/v1/runs/{name}{suffix}", follow_redirects=True)
        assert found.status_code == 404 or (name, suffix, found.json().keys()) == ("", "", {"runs"})
        assert str(runs.parent) not in found.text


@pytest.mark.parametrize(("name", "said"), DAMAGED.items())
def test_a_run_that_is_damaged_says_so_and_is_no_trouble_for_the_others(client, runs, name, said):
    (info,) = [row for row in client.get("/api/v1/runs").json()["runs"] if row["name"] == name]
    assert info["damaged"].startswith(said)
    assert (info["metric"], info["best"]) == (None, None)
    found = client.get(f"/api/v1/runs/{name}")
    kind = "experiment" if name == "planned" else "run"
    message = f"the {kind} '{name}' is damaged: {info['damaged']}"
    assert (found.status_code, found.json()["error"]["message"]) == (400, message)
    events = client.get(f"/api/v1/runs/{name}/events")
    if kind == "run":
        assert (events.status_code, events.json()["error"]["message"]) == (400, message)
    assert "a secret" not in found.text + events.text
    assert str(runs.parent) not in found.text


def test_links_lead_nowhere(client):
    found = client.get("/api/v1/runs/seen/report")
    said = "'seen' has no report that can be shown: report.html: is a link; expected a regular file"
    assert (found.status_code, found.json()["error"]["message"]) == (404, said)
    assert client.get("/api/v1/runs/seen").json()["report"] is False


def test_names_of_other_bytes_are_told_and_found(client):
    assert client.get("/api/v1/runs/caf%5Cxe9").json()["name"] == "caf\\xe9"


def test_an_experiment_has_no_events_of_its_own(client):
    found = client.get("/api/v1/runs/experiment/events")
    assert (found.status_code, found.json()["error"]["message"]) == (
        404,
        "'experiment' is an experiment; its runs have events",
    )


def test_a_run_is_followed_until_it_stops(client, runs):
    run = Run.begin(runs / "live", {"metric": "bleu", "method": "mert"})
    run.record(Record.from_event({"iteration": 1, "score": 10.0, "stop": None}))

    def go_on():
        time.sleep(0.1)
        run.record(Record.from_event({"iteration": 2, "score": 12.5, "stop": "enough"}))

    writer = threading.Thread(target=go_on)
    writer.start()
    with client.stream("GET", "/api/v1/runs/live/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        text = "".join(response.iter_text())
    writer.join()
    blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in text.split("\n\n") if "id:" in block]
    assert [(block["id"], block["event"], json.loads(block["data"])["score"]) for block in blocks] == [
        ("0", "iteration", 10.0),
        ("1", "iteration", 12.5),
    ]
    assert text.endswith('event: end\ndata: {"stop": "enough"}\n\n')
    again = client.get("/api/v1/runs/live/events", headers={"Last-Event-ID": "0"}).text
    assert again.startswith("id: 1\n")
    shutil.rmtree(runs / "live")


def test_there_are_only_so_many_followers_and_who_goes_makes_room(client):
    with client.stream("GET", "/api/v1/runs/going/events") as response:
        pieces = response.iter_text()
        assert next(pieces).startswith("id: 0\n")
        refused = client.get("/api/v1/runs/going/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    for _ in range(200):
        with client.stream("GET", "/api/v1/runs/going/events") as response:
            if response.status_code == 200:
                return
        time.sleep(0.02)
    raise AssertionError("nobody else can follow")


def test_without_a_folder_there_are_no_runs(server):
    assert server.client.get("/api/v1/runs").json() == {"runs": []}
    assert server.client.get("/api/v1/runs/done").status_code == 404
