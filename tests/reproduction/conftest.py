"""A paper of its own: two experiments with a method in common, on a toy language."""

import sys
from pathlib import Path

import pytest

from oracles.toy_language import sentence_pairs

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

DATA = """
[[text]]
name = "dev"
files = ["data:train.s", "data:train.t"]
lines = [1, 20]
quick = 5

[[text]]
name = "test"
files = ["data:train.s", "data:train.t"]
lines = [21, 30]

[[model]]
name = "small"
commands = [["train", "--source", "data:train.s", "--target", "data:train.t", "--tokenised", "--out", "{out}"]]
"""
EXPERIMENT = """
name = "NAME"

[plan]
model = "model:small"
source = "text:dev.0"
reference = "text:dev.1"
prepared = true
runs = 1
curves = false
sample_sizes = []
loop = { iterations = 1 }
METHODS
[[plan.test]]
name = "test"
source = "text:test.0"
reference = "text:test.1"
"""
METHOD = '\n[[plan.method]]\nname = "{0}"\nuse = "{0}"\n'
PLAN = """
title = "Table 1: two methods"
results = ["both"]

[[paper]]
columns = ["", "mira", "pro"]
rows = [["test", "1.0", "2.0"]]

[[ours]]
from = "both"
columns = [{ label = "mira", method = "mira" }, { label = "pro", method = "pro" }]
rows = [{ label = "test", "test set" = "test" }]

[[picture]]
name = "figure-1"
title = "Bars"
kind = "bars"
from = "both"
groups = [{ label = "test", "test set" = "test" }]
series = [{ label = "mira", method = "mira" }, { label = "pro", method = "pro" }]
"""
CLAIMS = """
[[claim]]
id = "first"
says = "pro is better than mira"
where = "table 1"
criterion = "pro is above mira."
plans = ["table-1"]
verdict = "not run yet"

[[claim]]
id = "second"
says = "two methods suffice"
where = "section 2"
verdict = "cannot be told here"
reason = "There are only two."
"""


@pytest.fixture
def root(tmp_path):
    """The folder of the papers, with one, its recipes and its data."""
    folder = tmp_path / "papers" / "tuning"
    (folder / "experiments").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "papers" / "data.toml").write_text(DATA, encoding="utf-8")
    pairs = sentence_pairs(250)
    for side, suffix in (("source", "s"), ("target", "t")):
        lines = "".join(f"{' '.join(getattr(pair, side))}\n" for pair in pairs)
        (tmp_path / "data" / f"train.{suffix}").write_text(lines, encoding="utf-8")
    for name, methods in (("both", ("mira", "pro")), ("one", ("pro",))):
        text = EXPERIMENT.replace("NAME", name).replace("METHODS", "".join(map(METHOD.format, methods)))
        (folder / "experiments" / f"{name}.toml").write_text(text, encoding="utf-8")
    (folder / "table-1.toml").write_text(PLAN, encoding="utf-8")
    (folder / "claims.toml").write_text(CLAIMS, encoding="utf-8")
    about = 'title = "A paper"\nshort = "A paper"\nreference = "Somebody, 2010."\ndiffers = "Everything."\n'
    (folder / "paper.toml").write_text(about, encoding="utf-8")
    return tmp_path


@pytest.fixture
def results(root):
    """The results of both methods, made up."""
    folder = root / "papers" / "tuning" / "results" / "both"
    folder.mkdir(parents=True)
    rows = ["method,seed,test set,metric,score", *(f"{m},{s},test,bleu,{v}" for m, s, v in RUNS)]
    (folder / "runs.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    origin = 'dragoman = "0"\ncommit = "12345678"\ndate = "2026-11-18"\nmachine = "2 cores"\n'
    (folder / "origin.toml").write_text(origin, encoding="utf-8")
    return folder


RUNS = [("mira", 1, 20.0), ("mira", 2, 21.0), ("pro", 1, 22.0), ("pro", 2, 22.0)]
