"""What Python says is wrong: in the names that Python has."""

import pytest

import dragoman as dm
from dragoman.cli.main import with_flags
from dragoman.core.errors import DragomanError
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.features import FEATURES

pytestmark = pytest.mark.filterwarnings("ignore::dragoman.core.progress.DragomanWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("example")
    model = dm.example(made)
    model.tune(made / "dev.fr", made / "dev.en", out=made / "run", method="mira", iterations=1, progress=False)
    (made / "plan.toml").write_text(
        'model = "model"\nsource = "dev.fr"\nreference = ["dev.en"]\n[[method]]\nname = "mira"\n'
        '[[test]]\nname = "t"\nsource = "dev.fr"\nreference = ["dev.en"]\n'
    )
    Experiment.begin(made / "plan.toml", made / "experiment")
    return made


def tuned(folder, **options):
    model = dm.load(folder / "model")
    dev = folder / "dev.fr", folder / "dev.en"
    return model.tune(*dev, **{"out": folder / "run", "method": "mira", "progress": False, **options})


def other_plan(folder):
    (folder / "other.toml").write_text((folder / "plan.toml").read_text().replace('"t"', '"u"'))
    Experiment.begin(folder / "other.toml", folder / "experiment")


def damaged_run(folder):
    (folder / "damaged").mkdir(exist_ok=True)
    (folder / "damaged" / "events.jsonl").write_text("no event\n")
    return dm.TuningRun(folder / "damaged").events()


def global_feature(folder):
    model = dm.load(folder / "model").model.with_features([FEATURES.get("length_ratio")()])
    return dm.System(model, model.weights.updated({"length_ratio": -1.0})).translate("un")


def of_trees(folder):
    model = dm.load(folder / "model")
    return model.translate("un", trees="(S", colour=3)


WRONG = {
    "another run": (lambda f: tuned(f, iterations=2), "`restart=True` to begin anew", "--restart to begin anew"),
    "another plan": (other_plan, "`restart=True` to begin again", "--restart to begin again"),
    "a damaged run": (damaged_run, "`restart=True` begins anew", "--restart begins anew"),
    "a global feature": (global_feature, 'by `decision="mbr"` with', "by --decision mbr with --evidence samples"),
    "shares": (lambda f: tuned(f, out=f / "x", method="pro-mix"), "the mixture pro-mix", "the mixture pro-mix"),
    "a limit": (lambda f: dm.load(f / "model").with_limits(pop_limit=0), "pop_limit is 0", "pop_limit is 0"),
    "an option": (lambda f: tuned(f, rounds=2), "no option 'rounds'", "no option 'rounds'"),
    "a method": (lambda f: tuned(f, method="none"), "'none'", "'none'"),
    "a decision": (lambda f: dm.load(f / "model").translate("un", decision="no"), "'no'", "'no'"),
    "evidence": (of_trees, "need a decision", "need a decision"),
    "training": (lambda f: dm.train(f / "dev.fr", f / "dev.en", out=f / "y", rules={"a": 1}), "True", "True"),
    "a metric": (lambda f: dm.score(["a"], ["a"], "none"), "'none'", "'none'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_errors_name_what_python_has_and_commands_print_flags(folder, what):
    provoke, python, command = WRONG[what]
    with pytest.raises(DragomanError) as found:
        provoke(folder)
    assert python in str(found.value)
    assert " --" not in str(found.value)
    assert command in with_flags(str(found.value))


def test_a_run_is_begun_anew(folder):
    assert len(tuned(folder, out=folder / "anew", iterations=1).events()) == 1
    assert tuned(folder, out=folder / "anew", iterations=2, restart=True).options["loop"]["iterations"] == 2
