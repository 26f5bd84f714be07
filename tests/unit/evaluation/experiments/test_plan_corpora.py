"""Plans that train their systems on corpora."""

import shutil

import pytest

from dragoman.core.errors import DataError
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.plan import Plan
from dragoman.model.bundle import Model
from oracles.toy_language import sentence_pairs

PLAN = """
source = "a.s"
reference = "a.t"
test = [{ name = "test", source = "a.s", reference = ["a.t"] }]
"""
CORPORA = """
[[corpus]]
name = "in"
source = "a.s"
target = "a.t"

[[corpus]]
name = "web"
source = "b.s"
target = "b.t"
"""
ADAPT = """
[adapt]
systems = ["in", "pro-mix"]
tokenised = true
max_phrase_length = 4
aligner_options = { iterations = 2 }
lm = { order = 2 }
"""


@pytest.fixture
def read(tmp_path):
    for name in ("a.s", "a.t", "b.s", "b.t"):
        (tmp_path / name).write_text("", encoding="utf-8")

    def read(text):
        (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
        return Plan.read(tmp_path / "plan.toml", tmp_path / "models")

    return read


def test_each_system_is_a_method_with_a_model_of_its_own(read, tmp_path):
    plan = read(PLAN + CORPORA + ADAPT)
    assert [(m.name, m.tuner.name, m.model) for m in plan.methods] == [
        ("in", "pro", tmp_path / "models" / "in"),
        ("pro-mix", "pro-mix", tmp_path / "models" / "pro-mix"),
    ]
    assert plan.job.model == tmp_path / "models" / "in"
    assert list(plan.systems.corpora) == ["in", "web"]
    recipe = plan.systems.recipe
    assert (recipe.preparation.tokenised, recipe.kneser_ney.order) == (True, 2)
    assert (recipe.phrase_model.max_phrase_length, recipe.aligner.iterations) == (4, 2)


def test_what_is_kept_of_files_is_of_corpora_and_texts(read):
    content = read(PLAN + CORPORA + ADAPT).content()
    assert set(content) == {"source", "reference", "corpus in", "corpus web", "test test"}


def test_methods_may_choose_systems(read, tmp_path):
    method = 'method = [{ name = "risk", use = "risk-nbest", system = "pro-mix" }, { name = "mert" }]'
    plan = read(method + PLAN + CORPORA + ADAPT)
    assert [m.model for m in plan.methods] == [tmp_path / "models" / "pro-mix", None]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (PLAN + ADAPT, "has \\[adapt\\] without corpora; expected two or more"),
        (PLAN + CORPORA, "has corpora without \\[adapt\\]; expected"),
        ('model = "a.s"' + PLAN + CORPORA + ADAPT, "has a 'model', and \\[adapt\\] to train some; expected one"),
        (PLAN + CORPORA.replace("web", "in") + ADAPT, "has two corpora called in; expected each once"),
        (PLAN + CORPORA.replace('"b.', '"a.') + ADAPT, "has the corpus web with the files of in; expected each once"),
        (PLAN + CORPORA.replace("b.t", "c.t") + ADAPT, "has a corpus web of '.*c.t', which does not exist"),
        (PLAN + CORPORA.replace("target", "reference") + ADAPT, "has a corpus with name, source, reference; expected"),
        (PLAN + CORPORA + ADAPT.replace('"in"', '"best"'), "in which no system is called 'best'; there are in, joint"),
        (PLAN + CORPORA + ADAPT.replace('"in"', '"pro-mix"'), "system pro-mix is given twice; expected each once"),
        (PLAN + CORPORA + ADAPT.replace('["in", "pro-mix"]', "3"), "systems is 3; expected a list"),
        (PLAN + CORPORA + ADAPT.replace("tokenised", "tokenized"), "there is no option 'tokenized'; there are"),
        (PLAN + CORPORA + ADAPT.replace("{ order = 2 }", "2"), "lm is 2; expected"),
        (
            'method = [{ name = "pro", system = "perp" }]' + PLAN + CORPORA + ADAPT,
            "has a method 'pro' with the system 'perp'; expected one of in, pro-mix",
        ),
        ('method = [{ name = "pro", system = "perp" }]\nmodel = "a.s"' + PLAN, "has a method with 'system'"),
    ],
)
def test_bad_plans(read, text, why):
    with pytest.raises(DataError, match=why):
        read(text)


@pytest.mark.filterwarnings("ignore::dragoman.core.progress.DragomanWarning")
def test_systems_are_trained_once_in_the_folder_of_the_experiment(read, tmp_path):
    pairs = sentence_pairs(120)
    for name, part in (("a", pairs[:50]), ("b", pairs[50:])):
        for side in ("source", "target"):
            lines = "".join(" ".join(getattr(pair, side)) + "\n" for pair in part)
            (tmp_path / f"{name}.{side[0]}").write_text(lines, encoding="utf-8")
    read(PLAN + CORPORA + ADAPT)
    plan, out = tmp_path / "plan.toml", tmp_path / "out"
    begun = Experiment.begin(plan, out).plan
    begun.systems.train(begun.job)
    assert Model.load(out / "models" / "pro-mix").history["corpora"] == {"in": 50, "web": 70}
    written = [(folder / "model.toml").stat().st_mtime_ns for folder in begun.systems.folders]
    shutil.rmtree(out / "models" / "in")
    again = Experiment.begin(plan, out).plan
    again.systems.train(again.job)
    now = [(folder / "model.toml").stat().st_mtime_ns for folder in again.systems.folders]
    assert [a == b for a, b in zip(now, written, strict=True)] == [False, True]
    (tmp_path / "b.t").write_text("another text\n" * 70, encoding="utf-8")
    with pytest.raises(DataError, match="corpus web"):
        Experiment.begin(plan, out)
