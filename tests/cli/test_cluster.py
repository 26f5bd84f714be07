"""Commands on a cluster: the same bytes as with threads, though a worker is killed in the middle of each."""

import json
import os
import signal
import time
from pathlib import Path

import dask
import numpy as np
import pytest

from dragoman import mbr, train
from dragoman.core.progress import LineProgress, ProgressRecorder
from dragoman.core.work import cluster as clusters
from dragoman.core.work.cluster import ClusterWorkers
from dragoman.decision import gains as sharded_gains
from dragoman.formats.nbest import chunks

pytestmark = [pytest.mark.slow, pytest.mark.needs_threads]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler that runs, with two workers; its users have the keys in Dask's own settings."""
    keys = tmp_path_factory.mktemp("keys")
    with ClusterWorkers.local(2) as workers:
        settings = {}
        for name, text in workers._cluster.security.get_tls_config_for_role("client").items():
            if name in ("ca_file", "cert", "key"):
                (keys / name).write_text(text, encoding="ascii")
                place = "ca-file" if name == "ca_file" else f"client.{name}"
                settings[f"distributed.comm.tls.{place}"] = str(keys / name)
        with dask.config.set(settings):
            yield workers._cluster


@pytest.fixture
def address(cluster, monkeypatch, request):
    """Where the workers are, one of whom is killed as soon as there is much to do, or in the stage of that name.

    Both run before one is killed: on a busy machine, one that ended before it was ready is not restarted by itself.
    """
    given, killed = [], []
    stage = getattr(request, "param", None)
    submit, begin = ClusterWorkers._submit, LineProgress.stage

    def submit_and_kill(self, function, *arguments):
        given.append(function)
        future = submit(self, function, *arguments)
        if len(given) >= 2 and stage is None and not killed:
            running = cluster.scheduler.workers
            while len(pids := [n.pid for n in cluster.workers.values() if n.pid and n.worker_address in running]) < 2:
                cluster.scale(2)
                time.sleep(0.05)
            os.kill(pids[0], signal.SIGKILL)
            killed.append(pids[0])
        return future

    def begin_stage(self, name):
        nonlocal stage
        if name == stage:
            given.clear()
            stage = None
        return begin(self, name)

    monkeypatch.setattr(ClusterWorkers, "_submit", submit_and_kill)
    monkeypatch.setattr(LineProgress, "stage", begin_stage)
    yield cluster.scheduler_address
    assert killed


@pytest.fixture
def text(toy, tmp_path):
    """Sentences, some words of which nobody knows."""
    toy.write(tmp_path, dev=slice(20), test=slice(20, 110))
    path = tmp_path / "test.s"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line} new{i % 7}\n" for i, line in enumerate(lines)), encoding="utf-8")
    return path


def messages(result):
    """What a command says, without its progress, which it shows if it takes long."""
    return [line for line in result.err.splitlines() if not line.startswith("dragoman: translating: ")]


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "options",
    [
        ["--details", "details", "--nbest", 5, "--nbest-out", "nbest", "--hypergraphs", "graphs"],
        ["--decision", "mbr", "--nbest-size", 20],
        ["--decision", "mbr", "--evidence", "samples", "--sampling-option", "samples=20"],
        ["--anneal", "--annealing-option", "scans=5"],
        ["--force", "test.t"],
    ],
    ids=lambda options: options[0].removeprefix("--"),
)
def test_translations_are_those_of_threads(dragoman, model, text, address, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    command = ["translate", "--model", model, "--prepared", text, *options]
    first = dragoman(*command, "--threads", 2)
    assert first.code == 0
    expected = content(tmp_path)
    second = dragoman(*command, "--cluster", address)
    assert (second.code, second.out, messages(second)) == (0, first.out, messages(first))
    assert content(tmp_path) == expected


def test_samples_are_those_of_threads(dragoman, model, text, address, tmp_path):
    command = ["sample", "--model", model, "--prepared", "--source", text, "--samples", 20]
    assert dragoman(*command, "--threads", 2, "--out", tmp_path / "threads").code == 0
    assert dragoman(*command, "--cluster", address, "--out", tmp_path / "cluster").code == 0
    assert (tmp_path / "threads").read_bytes() == (tmp_path / "cluster").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        ["mert", "--method-option", "restarts=5", "--iterations", 2, "--nbest", 20],
        ["mert", "--method-option", "restarts=2", "--iterations", 1, "--evidence", "hypergraph"],
        ["mira-online", "--method-option", "passes=1", "--method-option", "workers=3"],
        ["risk-sentence", "--method-option", "updates=2", "--method-option", "samples=20"],
        [
            "samplerank",
            "--method-option",
            "epochs=1",
            "--method-option",
            "samples=5",
            "--method-option",
            "neighbours=both",
        ],
        ["samplerank", "--method-option", "epochs=1", "--method-option", "pool_from=forests"],
    ],
    ids=lambda options: f"{options[0]}-{options[-1]}",
)
def test_tuning_runs_are_those_of_threads(dragoman, model, text, address, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    command = ["tune", "--model", model, "--prepared", "--source", "test.s", "--reference", "test.t", "--method"]
    assert dragoman(*command, *options, "--threads", 2, "--out", "one").code == 0
    result = dragoman(*command, *options, "--cluster", address, "--out", "two")
    assert result.code == 0, result.err
    assert without_times(tmp_path / "one") == without_times(tmp_path / "two")


PLAN = """
model = "{model}"
source = "dev.s"
reference = "dev.t"
metrics = ["bleu"]
seeds = [3, 8]
prepared = true
loop.iterations = 1
decoding.nbest = 10
method = [{{ name = "mert", options = {{ restarts = 1 }} }}]
test = [{{ name = "test", source = "test.s", reference = "test.t" }}]
"""


def test_experiments_are_those_of_processes(dragoman, model, text, address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN.format(model=model), encoding="utf-8")
    assert dragoman("experiment", "plan.toml", "--out", "one", "--threads", 2).code == 0
    result = dragoman("experiment", "plan.toml", "--out", "two", "--cluster", address)
    assert result.code == 0
    one, two = (without_times(tmp_path / name) for name in ("one", "two"))
    assert one == two


@pytest.mark.parametrize(
    "options",
    [["--weights-from", "logprob"], ["--utility-matrix", "gains.npz"], ["--evidence", "evidence.jsonl"]],
    ids=lambda o: o[0],
)
def test_minimum_bayes_risk_is_that_of_threads(dragoman, address, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sharded_gains, "_PAIRS_PER_SHARD", 60)
    monkeypatch.setattr(chunks, "BLOCK_BYTES", 500)
    rng = np.random.default_rng(7)
    for name in ("candidates", "evidence"):
        with Path(f"{name}.jsonl").open("w", encoding="utf-8") as stream:
            for i in range(30):
                texts = [" ".join(f"w{word}" for word in rng.integers(0, 9, 6)) for _ in range(rng.integers(1, 9))]
                stream.write(json.dumps({"id": i, "hyps": [{"text": t, "logprob": -j} for j, t in enumerate(texts)]}))
                stream.write("\n")
    command = ["mbr", "--candidates", "candidates.jsonl", "--utility", "chrf", *options]
    first = dragoman(*command, "--threads", 2)
    expected = content(tmp_path)
    second = dragoman(*command, "--cluster", address)
    assert (first.code, second.code, second.out) == (0, 0, first.out)
    assert content(tmp_path) == expected
    if "--evidence" not in options:
        assert mbr("candidates.jsonl", utility="chrf", cluster=address) == first.out.splitlines()


@pytest.mark.parametrize(
    "options",
    [
        ["--prune-significance", "a+e", "--smoothing", "kneser-ney"],
        ["--aligner-option", "gradient=exact", "--memory", "60M"],
        ["--aligner", "hmm", "--aligner-option", "iterations=1", "--hierarchical", "--with-phrases"],
        ["--hierarchical", "--on-demand"],
    ],
    ids=["phrases", "memory", "hmm", "demand"],
)
def test_models_are_those_of_threads(dragoman, toy, address, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    toy.write(tmp_path, train=slice(300))
    command = ["train", "--source", "train.s", "--target", "train.t", "--tokenised", *options]
    first = dragoman(*command, "--threads", 2, "--out", "one")
    second = dragoman(*command, "--cluster", address, "--out", "two")
    assert (first.code, second.code) == (0, 0), second.err
    assert content(tmp_path / "one") == content(tmp_path / "two")
    if "--smoothing" in options:
        settings = {"tokenised": True, "prune_significance": "a+e", "smoothing": "kneser-ney"}
        train("train.s", "train.t", out="three", cluster=address, progress=ProgressRecorder(), **settings)
        assert content(tmp_path / "one") == content(tmp_path / "three")


@pytest.mark.parametrize(
    "address", ["extracting rules", "counting rules", "scoring rules", "counting n-grams"], indirect=True
)
@pytest.mark.parametrize(
    "options", [[], ["--rule-prune-significance", "a+e", "--memory", "60M"]], ids=["all", "memory"]
)
def test_rules_are_those_of_threads(dragoman, toy, address, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    toy.write(tmp_path, train=slice(200))
    names = ["--source", "train.s", "--target", "train.t"]
    assert dragoman("align", *names, "--threads", 1, "--out", "links").code == 0
    command = ["train", *names, "--tokenised", "--alignment", "links", "--hierarchical", *options]
    second = dragoman(*command, "--cluster", address, "--out", "two")
    first = dragoman(*command, "--threads", 2, "--out", "one")
    assert (first.code, second.code) == (0, 0), second.err
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_workers_of_another_version_are_refused_before_the_work_begins(dragoman, model, cluster, text, monkeypatch):
    monkeypatch.setattr(clusters, "version", lambda: "9.9")
    found = dragoman("translate", "--model", model, "--cluster", cluster.scheduler_address, text)
    assert found.code == 1
    assert "has Dragoman" in found.error
    assert "and this is 9.9; expected the same version" in found.error


def without_times(folder):
    """What an experiment leaves, but for what says how long it took."""
    found = {name: data for name, data in content(folder).items() if not name.endswith((".html", ".csv"))}
    for name in [name for name in found if name.endswith("events.jsonl")]:
        found[name] = [{**json.loads(line), "seconds": None, "checksum": None} for line in found[name].splitlines()]
    return found


def test_a_cluster_that_cannot_do_the_work_is_refused(dragoman, model, tmp_path):
    command = ["translate", "--model", model]
    found = dragoman(*command, "--cluster", "tcp://127.0.0.1:1", "--cluster-wait", 0.5)
    assert found.code == 1
    assert found.error.startswith("nobody answers at tcp://127.0.0.1:1 within 0.5 seconds; expected")
    assert dragoman(*command, "--cluster", "host").code == 2
    found = dragoman(*command, "--cluster", "local:2", "--threads", 2)
    assert (found.code, found.error) == (2, "--threads are those of this process; expected that or --cluster")
    assert dragoman(*command, "--send-model").error == "--send-model goes with --cluster"
    found = dragoman("mbr", "--candidates", "c", "--utility-matrix-in", "m", "--cluster", "local:2")
    assert (found.code, found.error[:29]) == (2, "--utility-matrix-in leaves no")
    (tmp_path / "queue.toml").write_text('queue = "slurm"\ncors = 1\n')
    found = dragoman(*command, "--cluster", tmp_path / "queue.toml")
    assert found.error.startswith(f"{tmp_path / 'queue.toml'}: has a key 'cors'; expected only queue, cores")
