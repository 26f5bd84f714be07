"""Killed at every kind of moment, and given again: the same bytes as without, and nothing is left behind."""

import shutil
import signal

import pytest

from oracles.kills import Commands, moments
from oracles.spelling import MODERN, pairs, table

pytestmark = pytest.mark.slow

PLAN = """
title = "Killed"
model = "{model}"
source = "dev.s"
reference = "dev.t"
metrics = ["bleu"]
seeds = [3]
prepared = true
loop = {{ iterations = 2 }}
decoding = {{ nbest = 20 }}

[[method]]
name = "mert"
options = {{ restarts = 1 }}

[[method]]
name = "risk-corpus"
options = {{ updates = 4, evaluate_every = 2, samples = 5, minibatch = 5 }}

[[test]]
name = "in domain"
source = "test.s"
reference = ["test.t"]

[[decision]]
name = "best"
use = "max-derivation"

[[decision]]
name = "scaled"
use = "max-translation"
evidence = "nbest"
nbest_size = 20
scales = [0.5, 1]
"""


@pytest.fixture(scope="module")
def commands():
    with Commands() as found:
        yield found


@pytest.fixture
def ends_the_same(commands, tmp_path, without_clocks):
    """Checks that a command that is killed before some of its events, and given again, ends as one that was not."""

    def check(arguments, most=3, older=None):
        """`arguments` says the command that makes a folder, in place of an `older` one if there is one."""

        def made(name):
            place = tmp_path / name
            place.mkdir()
            if older is not None:
                shutil.copytree(older, place / "out")
            return place

        whole = made("whole")
        done = commands.run(whole, *arguments(whole / "out"))
        assert done.code == 0, done.said
        wanted = without_clocks(whole)
        assert {kind for kind, _ in done.events} >= {"open", "fcntl.flock", "os.rename"}
        for at in moments(done.events, most):
            place = made(f"killed-{at}")
            killed = commands.run(place, *arguments(place / "out"), kill_at=at)
            assert (killed.code, len(killed.events)) == (-signal.SIGKILL, at), killed.said
            again = commands.run(place, *arguments(place / "out"))
            assert again.code == 0, (done.events[at], again.said)
            assert without_clocks(place) == wanted, done.events[at]

    return check


@pytest.fixture(scope="module")
def training(toy, tmp_path_factory):
    """The arguments of a training on a little text."""
    folder = tmp_path_factory.mktemp("little")
    toy.write(folder, train=slice(40))
    lines = toy.links.read_text(encoding="utf-8").splitlines(keepends=True)[:40]
    (folder / "links").write_text("".join(lines), encoding="utf-8")
    files = ["--source", folder / "train.s", "--target", folder / "train.t", "--alignment", folder / "links"]
    return ["train", *files, "--tokenised", "--threads", 1, "--force"]


def test_training(ends_the_same, training):
    ends_the_same(lambda out: [*training, "--out", out])


def test_training_in_place_of_an_older_model(ends_the_same, training, commands, tmp_path):
    older = tmp_path / "older"
    assert commands.run(tmp_path, *training, "--lm-order", 1, "--out", older).code == 0
    ends_the_same(lambda out: [*training, "--out", out], older=older)


def test_training_that_goes_on_with_what_was_done(ends_the_same, training):
    ends_the_same(lambda out: [*training, "--memory", "1M", "--temporary", out.parent, "--out", out])


def test_a_normaliser_in_place_of_an_older_one(ends_the_same, commands, tmp_path):
    for name, rows in {"train": pairs(40), "dev": pairs(20, seed=2)}.items():
        (tmp_path / f"{name}.tsv").write_text(table(rows), encoding="utf-8")
    (tmp_path / "words").write_text("\n".join(MODERN) + "\n", encoding="utf-8")
    files = ["--examples", tmp_path / "train.tsv", "--dev", tmp_path / "dev.tsv", "--modern", tmp_path / "words"]
    command = ["normalise", "train", *files, "--iterations", 1, "--candidates", 10, "--threads", 1, "--force"]
    assert commands.run(tmp_path, *command, "--seed", 2, "--out", tmp_path / "older").code == 0
    ends_the_same(lambda out: [*command, "--out", out], most=1, older=tmp_path / "older")


@pytest.fixture
def texts(toy, tmp_path):
    toy.write(tmp_path, dev=slice(10), test=slice(20, 25))
    return tmp_path


def test_an_experiment_with_its_runs(ends_the_same, texts, model):
    plan = texts / "plan.toml"
    plan.write_text(PLAN.format(model=model), encoding="utf-8")
    ends_the_same(lambda out: ["experiment", plan, out])


def test_tuning_anew(ends_the_same, commands, texts, model):
    files = ["--model", model, "--source", texts / "dev.s", "--reference", texts / "dev.t", "--prepared"]
    command = ["tune", *files, "--iterations", 2, "--nbest", 20, "--threads", 1]
    older = texts / "older"
    assert commands.run(texts, *command, "--seed", 2, "--out", older).code == 0
    (older / "photos").mkdir()
    (older / "photos" / "me.jpg").write_bytes(b"precious")
    ends_the_same(lambda out: [*command, "--restart", "--out", out], most=2, older=older)
