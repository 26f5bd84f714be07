"""What somebody else keeps in a folder of ours stays there, whatever the command."""

import shutil

import pytest

from dragoman.core.errors import BusyError, DataError
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.tuning.runs.run import Run

PLAN = """
model = "{model}"
source = "dev.s"
reference = "dev.t"
metrics = ["bleu"]
prepared = true

[[method]]
name = "mira"

[[test]]
name = "in domain"
source = "dev.s"
reference = "dev.t"
"""


def add_strangers(folder):
    (folder / "photos").mkdir(parents=True)
    (folder / "photos" / "me.jpg").write_text("me")
    (folder / "thesis.pdf").write_text("years of work")


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def texts(toy, tmp_path):
    toy.write(tmp_path, dev=slice(10))
    return ["--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t", "--prepared"]


@pytest.mark.parametrize("what", ["train", "import", "export", "mix", "normalise"])
def test_a_folder_that_would_be_replaced_is_refused_before_the_work(dragoman, toy, model, tmp_path, what):
    out = tmp_path / "out"
    if what == "normalise":
        out.mkdir()
        (out / "normaliser.toml").write_text("format = 1\n")
        (tmp_path / "words.tsv").write_text("vnd\tund\n")
    else:
        shutil.copytree(model, out)
    add_strangers(out)
    before = files(tmp_path)
    arguments = {
        "train": toy.train,
        "import": ["import", "moses", tmp_path / "moses.ini"],
        "export": ["export", "moses", model],
        "mix": ["model", "mix", "--table", f"a={model}", "--table", f"b={model}"],
        "normalise": ["normalise", "train", "--examples", tmp_path / "words.tsv"],
    }[what]
    result = dragoman(*arguments, "--out", out, "--force")
    found = "holds thesis.pdf, photos/ that Dragoman did not write; expected a folder of its own"
    assert (result.code, result.error) == (1, f"{out}: {found}")
    assert files(tmp_path) == before


def test_a_model_is_not_saved_over_them_from_python(model, tmp_path):
    import dragoman as dm

    out = tmp_path / "out"
    dm.example().save(out)
    dm.example().save(out)
    add_strangers(out)
    before = files(out)
    with pytest.raises(DataError, match=r"holds thesis\.pdf, photos/ that Dragoman did not write"):
        dm.example().save(out)
    assert files(out) == before


def test_a_run_that_is_begun_anew_leaves_them(dragoman, model, texts, tmp_path):
    out = tmp_path / "run"
    command = ["tune", "--model", model, *texts, "--iterations", 1, "--nbest", 5, "--threads", 1, "--out", out]
    assert dragoman(*command, "--seed", 2).code == 0
    (out / "weights" / "007.txt").write_text("of the run before")
    add_strangers(out)
    assert dragoman(*command, "--restart").code == 0
    found = files(out)
    assert (found["thesis.pdf"], found["photos/me.jpg"]) == (b"years of work", b"me")
    assert Run(out).options["seed"] == 1
    assert "weights/007.txt" not in found


def test_a_run_that_goes_on_is_not_begun_anew(dragoman, model, texts, tmp_path):
    out = tmp_path / "run"
    with Run.claimed(out, {"seed": 1}):
        before = files(out)
        result = dragoman("tune", "--model", model, *texts, "--out", out, "--restart")
        assert (result.code, result.error) == (1, f"{out}: is being worked on by another process")
        assert files(out) == before


def test_an_experiment_that_is_begun_anew_leaves_them(texts, model, tmp_path):
    plan, out = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text(PLAN.format(model=model), encoding="utf-8")
    Experiment.begin(plan, out)
    run = out / "runs" / "mira" / "1"
    with Run.claimed(run, {"seed": 1}):
        before = files(out)
        with pytest.raises(BusyError, match="1: is being worked on by another process"):
            Experiment.begin(plan, out, restart=True)
        assert files(out) == before
    add_strangers(out)
    add_strangers(run)
    Experiment.begin(plan, out, restart=True)
    theirs = {f"{place}{name}" for place in ("", "runs/mira/1/") for name in ("thesis.pdf", "photos/me.jpg")}
    assert files(out).keys() == {".lock", "plan.toml", "content.toml", *theirs}
