"""`dragoman experiment` with decisions that are made several times under the weights of each run."""

import subprocess

import numpy as np
import pytest

from dragoman.evaluation.experiments.translations import seed_of

pytestmark = pytest.mark.slow

PLAN = """
model = "{model}"
source = "dev.s"
reference = "dev.t"
seeds = [3, 4]
prepared = true
curves = false

[loop]
iterations = 1

[decoding]
nbest = 20

[[method]]
name = "pro"

[[test]]
name = "test"
source = "test.s"
reference = ["test.t"]

[[decision]]
name = "mbr"
evidence = "samples"
sampling = {{ samples = 15, chains = 1, burn_in = 3, temperature = 4.0 }}
decodings = 3

[[decision]]
name = "max-translation"
evidence = "samples"
sampling = {{ samples = 15, chains = 1, burn_in = 3, temperature = 4.0 }}
decodings = 2

[[decision]]
name = "max-derivation"
"""


@pytest.fixture(scope="module")
def plan(toy, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    toy.write(folder, dev=slice(20), test=slice(20, 35))
    path = folder / "plan.toml"
    path.write_text(PLAN.format(model=model), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def done(command, plan, tmp_path_factory):
    """The folder of the experiment; for looking at only."""
    out = tmp_path_factory.mktemp("done") / "out"
    arguments = [command, "experiment", plan, "--out", out, "--threads", "2"]
    result = subprocess.run([*map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return out


def test_each_decoding_has_a_seed_of_its_own(dragoman, plan, model, done):
    sampling = [f"--sampling-option={option}" for option in ("samples=15", "chains=1", "burn_in=3", "temperature=4")]
    for folder, weights, seed in (
        (done / "runs" / "pro" / "3", done / "runs" / "pro" / "3", 3),
        (done / "untuned", model / "weights.txt", 1),
    ):
        texts = []
        for rule, names in (("mbr", ["final", "final-2", "final-3"]), ("max-translation", ["final", "final-2"])):
            files = folder / "tests" / "test" / rule
            assert sorted(path.stem for path in files.iterdir()) == names
            for decoding, name in enumerate(names, 1):
                given = ["--decision", rule, "--evidence", "samples", *sampling, "--seed", seed_of(seed, decoding)]
                texts.append((files / f"{name}.txt").read_text(encoding="utf-8"))
                found = dragoman(
                    "translate", "--model", model, "--weights", weights, "--prepared", *given, plan.with_name("test.s")
                )
                assert found.out == texts[-1]
        assert len(set(texts[:3])) == 3


def test_the_report_tells_variation_within_and_between_runs(done, csv_rows):
    scores = {}
    for row in csv_rows(done / "decoding_scores.csv"):
        scores.setdefault((row["method"], row["decision"]), {}).setdefault(row["seed"], []).append(float(row["score"]))
    rows = {(row["method"], row["decision"]): row for row in csv_rows(done / "decodings.csv")}
    assert rows.keys() == scores.keys()
    assert ("pro", "max-derivation") not in rows
    for key, of_runs in scores.items():
        found, row = np.array(list(of_runs.values())), rows[key]
        assert list(of_runs) == ([""] if key[0] == "untuned" else ["3", "4"])
        assert found.shape == (int(row["runs"]), int(row["decodings"]))
        assert float(row["mean"]) == pytest.approx(found.mean(), abs=1e-4)
        assert float(row["sd"]) == pytest.approx(found.std(ddof=1), abs=1e-4)
        assert (float(row["min"]), float(row["max"])) == pytest.approx((found.min(), found.max()), abs=1e-4)
        assert float(row["sd within a run"]) == pytest.approx(np.sqrt(found.var(axis=1, ddof=1).mean()), abs=1e-4)
        if len(found) > 1:
            assert float(row["sd between runs"]) == pytest.approx(found.mean(axis=1).std(ddof=1), abs=1e-4)
    means = {(row["method"], row["decision"], row["seed"]): float(row["score"]) for row in csv_rows(done / "runs.csv")}
    assert means["pro", "mbr", "4"] == pytest.approx(np.mean(scores["pro", "mbr"]["4"]), abs=1e-4)
    assert "Variation over decodings" in (done / "report.html").read_text(encoding="utf-8")


def test_a_killed_experiment_goes_on_with_the_decodings_that_are_missing(
    command, plan, done, killed_experiment, without_clocks, tmp_path
):
    out = tmp_path / "out"
    killed_experiment(plan, out, "runs/pro/4/tests/test/mbr/final-2.txt")
    assert not (out / "runs/pro/4/tests/test/mbr/final-2.txt").exists()
    subprocess.run([command, "experiment", plan, "--out", out, "--threads", "1"], check=True, capture_output=True)
    assert without_clocks(out) == without_clocks(done)


def test_decodings_of_what_is_always_the_same_are_refused(dragoman, plan, tmp_path):
    wrong = plan.with_name("wrong.toml")
    for changed, said in (
        ('evidence = "samples"\nsampling = { samples = 15, chains = 1, burn_in = 3, temperature = 4.0 }', "decodings"),
        ("decodings = 3", "decodings is 0"),
    ):
        text = plan.read_text(encoding="utf-8")
        new = "" if said == "decodings" else "decodings = 0"
        wrong.write_text(text.replace(changed, new, 1), encoding="utf-8")
        refused = dragoman("experiment", wrong, "--out", tmp_path / "out")
        assert refused.code == 1
        assert said in refused.error
