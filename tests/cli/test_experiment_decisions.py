"""`dragoman experiment` with decisions: every run translates by every rule, at the scale that suits its weights."""

import json
import re
import shutil
import subprocess

import pytest

from dragoman.core.options import read_toml

pytestmark = pytest.mark.slow

PLAN = """
model = "{model}"
source = "dev.s"
reference = "dev.t"
metrics = ["bleu", "ter"]
seeds = [3]
prepared = true

[loop]
iterations = 2

[decoding]
nbest = 20

[[method]]
name = "mert"
options = {{ restarts = 1 }}

[[method]]
name = "mira"

[[test]]
name = "in domain"
source = "test.s"
reference = ["test.t"]

[[decision]]
name = "max-derivation"

[[decision]]
name = "MBR, sampled"
use = "mbr"
evidence = "samples"
sampling = {{ samples = 20, chains = 1, burn_in = 5 }}
scales = [0.25, 0.5]
scale_lines = 12

[[decision]]
name = "MBR"
use = "mbr"
nbest_size = 30
options = {{ metric = "chrf" }}
scales = [0.02, 0.1, 0.3]

[[decision]]
use = "rule.toml"
"""

RULE = """
rule = "consensus"
evidence = "nbest"
nbest_size = 30
options = { scale = 0.02 }
"""

SLUGS = {
    "max-derivation": "max-derivation",
    "MBR, sampled": "MBR-sampled",
    "MBR": "MBR",
    "consensus": "consensus",
}


@pytest.fixture(scope="module")
def plan(toy, model, tmp_path_factory):
    """A plan with decisions, one of them from a file, and one run of each method."""
    folder = tmp_path_factory.mktemp("plan")
    toy.write(folder, dev=slice(20), test=slice(20, 35))
    (folder / "rule.toml").write_text(RULE, encoding="utf-8")
    path = folder / "plan.toml"
    path.write_text(PLAN.format(model=model), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def done(command, plan, tmp_path_factory):
    """The folder of the experiment, and what the command printed; for looking at only."""
    out = tmp_path_factory.mktemp("done") / "out"
    arguments = [command, "experiment", plan, "--out", out, "--threads", "2"]
    result = subprocess.run([*map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return out, result.stdout


def test_every_run_translates_by_every_decision(dragoman, plan, model, done, csv_rows):
    out, printed = done
    for name in SLUGS:
        assert f"in domain, by {name}: " in printed
    runs = {
        row["decision"]: row for row in csv_rows(out / "runs.csv") if (row["method"], row["metric"]) == ("mert", "bleu")
    }
    assert list(runs) == list(SLUGS)
    folder = out / "runs" / "mert" / "3"
    chosen = {row["decision"]: row for row in csv_rows(out / "scales.csv") if row["method"] == "mert" and row["chosen"]}
    assert list(chosen) == ["MBR, sampled", "MBR"]
    for name, slug in SLUGS.items():
        # What the plan asked for; a file of a decision says all of it but the seed.
        arguments = ["--decision", folder / "decisions" / f"{slug}.toml"] if name in chosen else []
        if name == "MBR, sampled":
            kept = read_toml(arguments[1])["sampling"]
            assert kept["temperature"] == 1 / float(chosen[name]["scale"]) != 1
            assert (kept["samples"], kept["chains"], kept["burn_in"]) == (20, 1, 5)
            arguments += ["--seed", 3]
        if name == "consensus":
            arguments = ["--decision", plan.with_name("rule.toml")]
        translated = dragoman(
            "translate", "--model", model, "--weights", folder, "--prepared", *arguments, plan.with_name("test.s")
        )
        file = folder / "tests" / "in-domain" / slug / "final.txt"
        assert file.read_text(encoding="utf-8") == translated.out
        scored = dragoman("score", "--reference", plan.with_name("test.t"), "--metric", "bleu", "--json", file)
        assert json.loads(scored.out)[0]["score"] == pytest.approx(float(runs[name]["score"]), rel=1e-12)
    finals = [(folder / "tests" / "in-domain" / slug / "final.txt").read_bytes() for slug in SLUGS.values()]
    assert len(set(finals)) == len(SLUGS)  # or the comparison would say little
    # Iterations are translated by the first decision only.
    assert {path.parent.name for path in folder.glob("tests/*/*/000.txt")} == {"max-derivation"}
    # As many systems as 12 are compared all with all.
    assert len(csv_rows(out / "pairs.csv")) == 12 * 11 / 2
    systems = csv_rows(out / "systems.csv")
    assert len(systems) == 12 * 2
    assert all(float(row["min"]) == float(row["mean"]) == float(row["max"]) for row in systems)
    assert "Do the weights need rescaling?" in (out / "report.html").read_text(encoding="utf-8")


def test_a_scale_is_the_one_that_tune_decision_finds(dragoman, plan, model, done, tmp_path):
    out, _ = done
    arguments = ["--model", model, "--weights", out / "runs" / "mert" / "3", "--prepared"]
    arguments += ["--source", plan.with_name("dev.s"), "--reference", plan.with_name("dev.t")]
    arguments += ["--decision", "mbr", "--decision-option", "metric=chrf", "--nbest-size", 30]
    # In the order in which the experiment prefers them.
    grid = tmp_path / "grid.toml"
    assert dragoman("tune-decision", *arguments, "--grid", "scale=0.3,0.1,0.02", "--out", grid).code == 0
    ours = out / "runs" / "mert" / "3" / "decisions" / "MBR.toml"
    settings = [path.read_text(encoding="utf-8").partition("[tuning]")[0] for path in (grid, ours)]
    assert settings[0] == settings[1]


def test_nothing_is_translated_or_chosen_twice(dragoman, plan, done, tmp_path, without_clocks):
    out = tmp_path / "out"
    shutil.copytree(done[0], out)
    before = without_clocks(out)
    folder = out / "runs" / "mert" / "3"
    lost = [
        folder / "tests" / "in-domain" / "MBR" / "final.txt",
        folder / "tests" / "in-domain" / "max-derivation" / "000.txt",
        out / "untuned" / "decisions" / "MBR-sampled.toml",
    ]
    for path in lost:
        path.unlink()
    kept = {
        path: path.stat().st_mtime_ns
        for path in out.rglob("*")
        if path.is_file() and {"tests", "decisions"} & {parent.name for parent in path.parents}
    }
    assert dragoman("experiment", plan, "--out", out, "--threads", 1).code == 0
    assert without_clocks(out) == before
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_a_killed_experiment_goes_on_to_the_same_end(dragoman, plan, done, tmp_path, killed_experiment, without_clocks):
    killed = tmp_path / "killed"
    for pattern in ("untuned/decisions/*.toml", "runs/*/*/tests/*/max-derivation/*.txt"):
        killed_experiment(plan, killed, pattern)
    assert dragoman("experiment", plan, "--out", killed, "--threads", 2).code == 0
    assert without_clocks(killed) == without_clocks(done[0])


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('name = "MBR"\nuse = "mbr"', 'name = "MBR"\nuse = "magic"', "no rule or file is called 'magic'"),
        ('name = "MBR"\n', 'name = "MBR; sampled"\n', "two decisions of the same name"),
        ('evidence = "samples"', 'evidence = "tea"', "'MBR, sampled': its evidence is 'tea'"),
        ('evidence = "samples"', 'evidence = "hypergraph"', "not by hypergraphs"),
        ('evidence = "samples"', "", "sampling goes with evidence"),
        ("burn_in = 5", "burn = 5", "unknown option 'burn'"),
        ("nbest_size = 30\noptions", "nbest_size = 0\noptions", "nbest_size is 0"),
        ('metric = "chrf"', 'metric = "magic"', "magic"),
        ('metric = "chrf"', "scale = 2.0", "expected one of them"),
        ("scales = [0.25, 0.5]\nscale_lines = 12", "options = { scale = 2.0 }", "temperature = 0.5"),
        ("scales = [0.02, 0.1, 0.3]", "scales = []", "scales is []"),
        ("scales = [0.02, 0.1, 0.3]", "scales = [0, 1]", "scales is [0, 1]"),
        ("scales = [0.02, 0.1, 0.3]", "scales = [1e9]", "scale is 1000000000.0"),
        ("scales = [0.25, 0.5]\n", "", "scale_lines goes with scales"),
        ("scale_lines = 12", "scale_lines = true", "scale_lines is True"),
        ("scale_lines = 12", "lines = 12", "'lines' is unknown"),
        ('use = "rule.toml"', 'use = "rule.toml"\nnbest_size = "many"', "nbest_size is 'many'"),
        ('use = "rule.toml"', 'name = ""', "a decision without a rule"),
        ('name = "max-derivation"', 'name = "max-derivation"\nscales = [1]', "max-derivation has no scale"),
        ('[[decision]]\nuse = "rule.toml"', "[loops]", "unknown key 'loops'"),
    ],
)
def test_a_bad_decision_is_refused_before_anything_is_done(dragoman, plan, tmp_path, old, new, found):
    text = plan.read_text(encoding="utf-8")
    assert text.count(old) == 1
    bad = plan.with_name("bad.toml")
    bad.write_text(text.replace(old, new), encoding="utf-8")
    result = dragoman("experiment", bad, "--out", tmp_path / "out")
    assert result.code == 1
    assert found in result.error
    assert not (tmp_path / "out").exists()


def test_reports_say_only_what_was_done(dragoman, plan, done, tmp_path):
    whole = (done[0] / "report.html").read_text(encoding="utf-8")
    assert "Samples were drawn separately for each scale." in whole
    text = plan.read_text(encoding="utf-8")
    begin, end = text.index('[[decision]]\nname = "MBR, sampled"'), text.index('[[decision]]\nname = "MBR"\n')
    without = text[:begin] + text[end:]
    # Here mira finds nothing better than the weights it begins with in its one iteration, and mert does.
    plan.with_name("short.toml").write_text(
        without.replace("iterations = 2", "iterations = 1\nmax_angle = 180"), encoding="utf-8"
    )
    result = dragoman("experiment", plan.with_name("short.toml"), "--out", tmp_path / "out", "--threads", 2)
    assert result.code == 0, result.err
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Do the weights need rescaling?" in page
    assert "drawn separately" not in page
    assert page.count("<td>1 (1 with start weights)</td>") == 3
    assert "no result of tuning" in page
    cells = re.findall(r"<td[^>]*>(.*?)</td>", whole + page)
    assert not [cell for cell in cells if re.search(r"None|True|False|&#x27;|\[|\{|\w\(\w+=|np\.|array", cell)]
