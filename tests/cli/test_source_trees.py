"""Trees beside the source, in every command that translates with a model that looks at them."""

import gzip
import json
import re

import numpy as np
import pytest

from dragoman.core.feature_rows import Weights
from oracles import trees

pytestmark = pytest.mark.slow

SYNTAX = {"syntax.equal": 2.0, "syntax.cross": -1.5}


@pytest.fixture(scope="module")
def brackets(toy):
    """A tree for each sentence of the toy text."""
    rng = np.random.default_rng(1)
    return [trees.bracketed(trees.random_node(rng, pair.source)) for pair in toy.pairs]


@pytest.fixture
def syntactic(dragoman, model, toy, brackets, tmp_path):
    """A model with two features of trees, which have weights, and texts with trees as arguments."""
    done = dragoman(
        "model", "add-features", model, "--feature", "syntax:grain=coarse,labels=NP+VP+S+PP", "--out", tmp_path / "m"
    )
    assert done.code == 0, done.err
    assert "syntax.*; grain=coarse, labels=NP+VP+S+PP" in done.out
    Weights.read(tmp_path / "m" / "weights.txt").updated(SYNTAX).write(tmp_path / "weights")
    toy.write(tmp_path, dev=slice(12), test=slice(12, 18))
    (tmp_path / "dev.trees.gz").write_bytes(gzip.compress("".join(f"{one}\n" for one in brackets[:12]).encode()))
    (tmp_path / "test.trees").write_text("".join(f"{one}\n" for one in brackets[12:18]), encoding="utf-8")
    return tmp_path


@pytest.fixture
def translate(dragoman, syntactic):
    def run(*arguments, **settings):
        given = ["--model", syntactic / "m", "--weights", syntactic / "weights", "--prepared", "--threads", 1]
        return dragoman("translate", *given, *arguments, **settings)

    return run


def test_translations_have_features_of_trees(translate, syntactic, brackets):
    source = (syntactic / "dev.s").read_bytes()
    details = syntactic / "details"
    result = translate("--trees", syntactic / "dev.trees.gz", "--details", details, stdin=source)
    assert result.code == 0, result.err
    rows = [json.loads(line) for line in details.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 12
    for row, tree in zip(rows, brackets, strict=False):
        weights = Weights.read(syntactic / "weights")
        assert row["score"] == pytest.approx(sum(weights.get(n, 0.0) * v for n, v in row["features"].items()))
        line = trees.TreeFile([tree]).attach(row["source"])
        expected = {"syntax.equal": 0, "syntax.cross": 0}
        for phrase in row["phrases"]:
            for name in trees.span_features(line.tree, *phrase["source"], ("NP", "VP", "S", "PP"), fine=False):
                expected[name] += 1
        assert {name: row["features"].get(name, 0) for name in expected} == expected
    assert any(row["features"].get(name) for row in rows for name in SYNTAX)


def test_every_command_takes_trees(dragoman, translate, syntactic):
    model = ["--model", syntactic / "m", "--weights", syntactic / "weights", "--prepared", "--threads", 1]
    source = ["--source", syntactic / "test.s", "--trees", syntactic / "test.trees"]
    done = dragoman("sample", *model, *source, "--samples", 5, "--burn-in", 1, "--out", syntactic / "samples")
    assert done.code == 0, done.err
    assert "syntax.cross" in (syntactic / "samples").read_text(encoding="utf-8")
    flags = ["--samples", 5, "--burn-in", 1, "--sentences", 1, "--limit-words", 30, "--out", syntactic / "diagnosis"]
    done = dragoman("diagnose", *model, *source, *flags, "--table-limit", 1, "--reordering-limit", 0)
    assert done.code == 0, done.err
    flags = ["--decision", "mbr", "--grid", "scale=1,2", "--out", syntactic / "decision"]
    done = dragoman("tune-decision", *model, *source, "--reference", syntactic / "test.t", *flags)
    assert done.code == 0, done.err
    given = [syntactic / "test.s", "--trees", syntactic / "test.trees"]
    for others in (["--decision", syntactic / "decision"], ["--anneal"], ["--force", syntactic / "test.t"]):
        done = translate(*given, *others)
        assert (done.code, len(done.out.splitlines())) == (0, 6), done.err


def test_trees_are_of_the_words_between_tags(translate, syntactic):
    lines = (syntactic / "test.s").read_text(encoding="utf-8").splitlines()
    marked = [re.sub(r"^(\S+)", r'<x translation="given">\1</x>', line) for line in lines]
    done = translate("--markup", "--trees", syntactic / "test.trees", stdin="".join(f"{m}\n" for m in marked).encode())
    assert done.code == 0, done.err
    assert all("given" in line.split() for line in done.out.splitlines())


def test_tuning_weighs_the_features(dragoman, syntactic):
    dev = ["--source", syntactic / "dev.s", "--reference", syntactic / "dev.t", "--trees", syntactic / "dev.trees.gz"]
    start = syntactic / "start"
    weights = Weights.read(syntactic / "m" / "weights.txt")
    begun = Weights(dict.fromkeys(weights, -0.1)).updated({"phrase_penalty": 0.0, **SYNTAX})
    begun.write(start)
    flags = ["--model", syntactic / "m", "--prepared", "--threads", 1, "--iterations", 2, "--start", start]
    for method in ("mert", "pro", "mira"):
        run = syntactic / method
        done = dragoman("tune", *flags, *dev, "--method", method, "--out", run)
        assert done.code == 0, done.err
        found = Weights.read(run / "weights" / "001.txt")
        assert any(found[name] != begun[name] for name in SYNTAX), method
    fixed = ["--method", "mira", "--fix", "syntax.*"]
    done = dragoman("tune", *flags, *dev, *fixed, "--range", "syntax.cross=-1,0", "--out", syntactic / "fixed")
    assert done.code == 0, done.err
    found = Weights.read(syntactic / "fixed" / "weights" / "001.txt")
    assert {name: found[name] for name in SYNTAX} == SYNTAX
    assert found["lm"] != begun["lm"]
    # Other trees under the same name are other text.
    (syntactic / "dev.trees.gz").write_bytes(b"()\n" * 12)
    done = dragoman("tune", *flags, *dev, "--method", "mira", "--out", syntactic / "mira")
    assert "was begun when trees had another content" in done.error


def test_learners_need_trees_of_the_held_out_text(dragoman, syntactic):
    flags = ["--model", syntactic / "m", "--prepared", "--threads", 1, "--method", "risk-sentence"]
    dev = ["--source", syntactic / "dev.s", "--reference", syntactic / "dev.t", "--trees", syntactic / "dev.trees.gz"]
    held = ["--held-out-source", syntactic / "test.s", "--held-out-reference", syntactic / "test.t"]
    small = ["--method-option", "samples=5", "--max-minutes", 0, "--out", syntactic / "run"]
    done = dragoman("tune", *flags, *dev, *held, *small)
    assert "looks at trees of the source sentences: give them with --held-out-trees" in done.error
    done = dragoman("tune", *flags, *dev, "--held-out-trees", syntactic / "test.trees", *small)
    assert done.error == "--held-out-trees goes with --held-out-source"
    done = dragoman("tune", *flags, *dev, *held, "--held-out-trees", syntactic / "test.trees", *small)
    assert done.code == 0, done.err


PLAN = """
model = "m"
source = "dev.s"
trees = "dev.trees.gz"
reference = "dev.t"
runs = 1
prepared = true
curves = false
[loop]
iterations = 1
[[method]]
name = "mira"
[[test]]
name = "test"
source = "test.s"
trees = "test.trees"
reference = "test.t"
"""


def test_experiments_take_trees(dragoman, syntactic):
    plan = syntactic / "plan.toml"
    for line, text in (
        ('trees = "test.trees"\n', "the test set 'test'"),
        ('trees = "dev.trees.gz"\n', "the tuning set"),
    ):
        plan.write_text(PLAN.replace(line, ""), encoding="utf-8")
        done = dragoman("experiment", plan, "--out", syntactic / "out", "--threads", 1)
        assert f'has no trees for {text}, and the model needs them; expected trees = "FILE"' in done.error
    plan.write_text(PLAN, encoding="utf-8")
    done = dragoman("experiment", plan, "--out", syntactic / "out", "--threads", 1)
    assert done.code == 0, done.err
    assert len((syntactic / "out/runs/mira/1/tests/test/final.txt").read_text(encoding="utf-8").splitlines()) == 6
    (syntactic / "test.trees").write_text("()\n" * 6, encoding="utf-8")
    done = dragoman("experiment", plan, "--out", syntactic / "out", "--threads", 1)
    assert "was begun when test test had another content" in done.error


def test_trees_that_are_missing_or_wrong(dragoman, translate, syntactic, model):
    given = syntactic / "test.s"
    assert translate(given).error.endswith("looks at trees of the source sentences: give them with --trees")
    lines = (syntactic / "test.trees").read_text(encoding="utf-8").splitlines()
    wrong = syntactic / "wrong"
    words = given.read_text(encoding="utf-8").splitlines()[1]
    for broken, message in (
        (lines[:4], f"{wrong}: there are 4 trees, and more sentences"),
        ([*lines, "()"], f"{wrong}: there are more trees than sentences, which are 6"),
        ([lines[0], lines[1][:-1], *lines[2:]], f"{wrong}:2: the bracket at column 1 is not closed"),
        (
            [lines[0], "(NP (NN other))", *lines[2:]],
            f"{wrong}:2: the tree has 'other' where the sentence has '{words[:3]}",
        ),
    ):
        wrong.write_text("".join(f"{line}\n" for line in broken), encoding="utf-8")
        assert translate(given, "--trees", wrong).error.startswith(message)
    assert "nowhere: cannot be read" in translate(given, "--trees", syntactic / "nowhere").error
    plain = dragoman("translate", "--model", model, "--prepared", "--trees", syntactic / "test.trees", given)
    assert plain.warnings == ["trees are not used: the model has no feature that looks at them"]
    assert len(plain.out.splitlines()) == 6
