"""`dragoman experiment`: a plan becomes runs, a report and tables, and can be gone on with."""

import json
import re

import pytest

from dragoman.evaluation.statistics.run_evidence import RunEvidence
from dragoman.evaluation.statistics.significance import holm
from dragoman.tuning.problems.evidence import DecodedLists

pytestmark = pytest.mark.slow

PLAN = """
title = "Two methods"
model = "{model}"
source = "dev.s"
reference = "dev.t"
metrics = ["bleu", "ter"]
seeds = [3, 8]
prepared = true

[loop]
iterations = 2

[decoding]
nbest = 20

[[method]]
name = "MERT, 2 starts"
use = "mert"
options = {{ restarts = 1 }}

[[method]]
name = "mira"

[[test]]
name = "in domain"
source = "test.s"
reference = ["test.t"]
"""

FOLDERS = {"untuned": "untuned", "mira": "runs/mira", "MERT, 2 starts": "runs/MERT-2-starts"}


@pytest.fixture
def plan(toy, model, tmp_path):
    toy.write(tmp_path, dev=slice(20), test=slice(20, 35))
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.format(model=model), encoding="utf-8")
    return path


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_list_scores(folder, curves):
    """The metric on the merged lists, against a problem that is made anew for each iteration."""
    evidence = RunEvidence.read(folder)
    run, whole = evidence.run, evidence.problem
    found = [
        float(row["bleu"])
        for row in curves
        if (row["set"], row["method"], row["seed"]) == ("tuning set, on the merged lists", "mira", "3")
    ]
    lists = [DecodedLists.load(run.evidence(event["iteration"])) for event in run.events()]
    assert len(found) == 3  # two optimisations; a third iteration decodes only
    for iteration in range(3):
        pool = lists[0]
        for more in lists[1:iteration]:
            pool = more.merged_with(pool)
        names = list(pool.names)
        problem = pool.problem(names, dict.fromkeys(names, (0.0, 1.0)), whole.scorer)
        assert found[iteration] == pytest.approx(problem.objective(run.weights(iteration).vector(names)))
    assert found[0] == pytest.approx(run.events()[0]["score"])


def test_the_sizes_of_test_sets_can_be_chosen(dragoman, plan, tmp_path, csv_rows):
    text = plan.read_text(encoding="utf-8").replace(
        "seeds = [3, 8]", "seeds = [3]\ncurves = false\nsample_sizes = [40, 90]"
    )
    plan.write_text(text, encoding="utf-8")
    result = dragoman("experiment", plan, "--out", tmp_path / "out", "--threads", 2)
    assert result.code == 0, result.err
    rows = csv_rows(tmp_path / "out" / "conclusive.csv")
    assert [row["sentences"] for row in rows] == ["40", "90"] * 3
    assert all(0 <= float(row["right"]) + float(row["wrong"]) <= 1 for row in rows)
    assert "90 sentences" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    plan.write_text(text.replace("[40, 90]", "[0]"), encoding="utf-8")
    assert (
        "has sample_sizes [0]; expected a list of numbers"
        in dragoman("experiment", plan, "--out", tmp_path / "o").error
    )


def test_a_plan_is_carried_out_and_reported(dragoman, plan, tmp_path, csv_rows):
    out = tmp_path / "out"
    result = dragoman("experiment", plan, "--out", out, "--threads", 2)
    assert result.code == 0, result.err
    assert "MERT, 2 starts, seed 3, iteration 1:" in result.err
    assert "in domain: " in result.out
    assert "\nbleu|nrefs:1|text:prepared|" in result.out
    runs = csv_rows(out / "runs.csv")
    assert {(row["method"], row["seed"], row["metric"]) for row in runs} == {
        *((m, s, x) for m in ("MERT, 2 starts", "mira") for s in "38" for x in ("bleu", "ter")),
        *(("untuned", "", x) for x in ("bleu", "ter")),
    }
    for row in runs:
        folder = out / FOLDERS[row["method"]] / row["seed"]
        hypotheses = folder / "tests" / "in-domain" / "final.txt"
        reference = tmp_path / "test.t"
        scored = dragoman("score", "--reference", reference, "--metric", row["metric"], "--json", hypotheses)
        assert json.loads(scored.out)[0]["score"] == pytest.approx(float(row["score"]), rel=1e-12)
    assert {row["better"] for row in csv_rows(out / "pairs.csv")} <= {"untuned", "mira", "MERT, 2 starts"}
    assert len(csv_rows(out / "pairs.csv")) == 3
    curves = csv_rows(out / "curves.csv")
    assert {row["set"] for row in curves} == {"tuning set", "tuning set, on the merged lists", "in domain"}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "How many sentences a comparison needs" not in page  # there are 15 sentences
    assert "Candidates of sentence" in page
    check_list_scores(out / "runs" / "mira" / "3", curves)
    weights = csv_rows(out / "weights.csv")
    for method in ("mira", "MERT, 2 starts"):
        for seed in "38":
            run = [abs(float(row["weight"])) for row in weights if (row["method"], row["seed"]) == (method, seed)]
            assert sum(run) == pytest.approx(1)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3 + 2 * 2
    assert not re.search(r"(src|href)=.http", page)  # one file that needs no other

    before = files(out)
    assert dragoman("experiment", plan, "--out", out, "--threads", 1).code == 0
    assert files(out) == before


def test_a_killed_experiment_goes_on_to_the_same_end(dragoman, plan, tmp_path, killed_experiment, without_clocks):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert dragoman("experiment", plan, "--out", whole, "--threads", 2).code == 0
    for pattern in ("runs/mira/3/events.jsonl", "runs/*/8/tests/in-domain/*001.txt"):
        killed_experiment(plan, killed, pattern)
    assert dragoman("experiment", plan, "--out", killed, "--threads", 2).code == 0
    assert without_clocks(killed) == without_clocks(whole)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('name = "mira"', 'name = "magic"', "no tuner is called 'magic'"),
        ("restarts = 1", "magic = 1", "unknown option 'magic'"),
        ("restarts = 1", "restarts = -1", "restarts is -1"),
        ("[[test]]", "[[tests]]", "unknown key 'tests'"),
        ('source = "dev.s"', 'source = "nothing"', "source is 'nothing', which does not exist"),
        ('reference = "dev.t"', "reference = 7", "reference is 7"),
        ("seeds = [3, 8]", "seeds = []", "runs or seeds []"),
        ('name = "mira"', 'name = "MERT; 2 starts"\nuse = "mira"', "two methods of the same name"),
        ('metrics = ["bleu", "ter"]', 'metrics = ["magic"]', "magic"),
        ("prepared = true", "prepared = 1", "prepared is 1"),
        ("prepared = true", 'prepared = true\ncorrection = "bonferroni"', "correction is 'bonferroni'"),
        ("iterations = 2", "iterations = 0", "iterations is 0"),
        ("title =", "title", "is not TOML"),
        ('reference = ["test.t"]', 'reference = ["dev.t", "test.t"]', "as many"),
    ],
)
def test_a_bad_plan_is_refused_before_anything_is_done(dragoman, plan, tmp_path, old, new, found):
    text = plan.read_text(encoding="utf-8")
    assert text.count(old) == 1
    plan.write_text(text.replace(old, new), encoding="utf-8")
    result = dragoman("experiment", plan, "--out", tmp_path / "out")
    assert result.code == 1
    assert found in result.error
    assert not (tmp_path / "out").exists()


def test_another_plan_or_a_folder_of_something_else_is_not_touched(dragoman, plan, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "plan.toml").write_text("old", encoding="utf-8")
    assert "another plan" in dragoman("experiment", plan, "--out", out).error
    assert files(out) == {"plan.toml": b"old", ".lock": b""}
    mine = tmp_path / "mine"
    mine.mkdir()
    (out / "plan.toml").rename(mine / "thesis.tex")
    assert "not an experiment's" in dragoman("experiment", plan, "--out", mine).error
    assert files(mine) == {"thesis.tex": b"old"}


def test_a_run_that_fails_is_said_and_the_others_are_kept(dragoman, plan, tmp_path):
    text = plan.read_text(encoding="utf-8").replace('source = "test.s"', 'source = "short.s"')
    plan.write_text(text, encoding="utf-8")
    (tmp_path / "short.s").write_bytes(b"\xff\n")
    result = dragoman("experiment", plan, "--out", tmp_path / "out", "--threads", 2)
    assert result.code == 1
    assert "not UTF-8" in result.error
    assert "what is done is kept" in result.error
    assert len(list((tmp_path / "out").glob("runs/*/*/weights.txt"))) == 4


def test_a_method_that_learns_online_is_reported_with_its_own_numbers(dragoman, plan, tmp_path, csv_rows):
    learner = 'name = "risk-corpus"\noptions = { updates = 4, evaluate_every = 2, samples = 5, minibatch = 5 }'
    text = plan.read_text(encoding="utf-8").replace('name = "mira"', learner).replace("[3, 8]", "[3]")
    plan.write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    result = dragoman("experiment", plan, "--out", out, "--threads", 2)
    assert result.code == 0, result.err
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Other numbers" in page
    assert "risk-corpus: around its weights" not in page  # there is no evidence to look at
    assert "MERT, 2 starts: around its weights" in page
    assert {row["set"] for row in csv_rows(out / "curves.csv") if row["method"] == "risk-corpus"} == {
        "tuning set",
        "in domain",
    }


def test_a_correction_is_in_the_report_and_raw_values_stay_in_the_table(dragoman, plan, tmp_path, csv_rows):
    for name, line in (("raw", ""), ("corrected", 'correction = "holm"\n')):
        path = tmp_path / f"{name}.toml"
        text = plan.read_text(encoding="utf-8").replace("seeds = [3, 8]", "seeds = [3]\ncurves = false")
        path.write_text(line + text, encoding="utf-8")
        assert dragoman("experiment", path, "--out", tmp_path / name).code == 0
    raw, corrected = (csv_rows(tmp_path / name / "pairs.csv") for name in ("raw", "corrected"))
    assert raw == [{key: value for key, value in row.items() if "Holm" not in key} for row in corrected]
    for column in ("p bootstrap", "p randomisation"):
        wanted = holm([float(row[column]) for row in corrected])
        assert [float(row[f"{column}, Holm"]) for row in corrected] == pytest.approx(wanted, abs=2e-4)
    pages = [(tmp_path / name / "report.html").read_text(encoding="utf-8") for name in ("raw", "corrected")]
    assert ["Holm" in page for page in pages] == [False, True]
    assert "for all 3 pairs on a test set" in pages[1]
    assert ["<th>p bootstrap</th>" in page for page in pages] == [True, False]


def test_experiments_share_runs_and_translations(dragoman, plan, tmp_path, csv_rows):
    """A second plan in another folder, with a method more, tunes and translates only what the first has not."""
    store, other = tmp_path / "store", tmp_path / "other"
    text = plan.read_text(encoding="utf-8").replace("seeds = [3, 8]", "seeds = [3]\ncurves = false")
    plan.write_text(text.partition('[[method]]\nname = "mira"')[0] + text[text.index("[[test]]") :], encoding="utf-8")
    assert dragoman("experiment", plan, "--out", tmp_path / "a", "--runs", store, "--threads", 1).code == 0
    before = files(store)
    other.mkdir()
    moved = text.replace('"dev.', '"../dev.').replace('"test.', '"../test.').replace('"in domain"', '"by another name"')
    (other / "plan.toml").write_text(moved, encoding="utf-8")
    ended = dragoman("experiment", other / "plan.toml", "--out", other / "b", "--runs", store, "--threads", 1)
    assert ended.code == 0, ended.err
    after = files(store)
    assert {name: after[name] for name in before} == before
    runs = {name.split("/")[0] for name in after if name.endswith("run.toml")}
    assert len(runs) == 2
    assert not any((folder / "runs").exists() for folder in (tmp_path / "a", other / "b"))
    first, second = (csv_rows(folder / "runs.csv") for folder in (tmp_path / "a", other / "b"))
    shared = ("MERT, 2 starts", "untuned")
    assert [row["score"] for row in second if row["method"] in shared] == [row["score"] for row in first]
