import pytest

import dragoman as dm
from dragoman.core.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore::dragoman.core.progress.DragomanWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example")
    dm.example(folder)
    return folder


@pytest.fixture
def dev(folder):
    return {"source": folder / "dev.fr", "reference": folder / "dev.en", "progress": False}


def test_models_are_trained_from_several_texts(folder, dev, tmp_path):
    corpora = {"out": (folder / "train.fr", folder / "train.en"), "in": (folder / "dev.fr", folder / "dev.en")}
    models = dm.adapt(corpora, ["in", "pro-mix"], domain="in", out=tmp_path / "models", lm={"order": 2}, **dev)
    assert list(models) == ["in", "pro-mix"]
    mixed = models["pro-mix"]
    assert mixed.model.tables["tm"].components.names == ("in", "out")
    assert mixed.translate("Un homme dort.") == "A man sleeps."
    run = mixed.tune(
        dev["source"], dev["reference"], out=tmp_path / "run", method="pro-mix", iterations=1, progress=False
    )
    shares = [run.weights()[f"mix.tm.fwd.{name}"] for name in ("in", "out")]
    assert sum(shares) == pytest.approx(1)
    with pytest.raises(UsageError, match="no mixture is called 'both'"):
        dm.adapt(corpora, ["both"], out=tmp_path / "other", **dev)
    with pytest.raises(UsageError, match="there is no option 'aline'"):
        dm.adapt(corpora, ["in"], out=tmp_path / "other", aline="apart", **dev)


def test_tables_of_models_are_mixed_by_perplexity(folder, dev, tmp_path):
    model = dm.load(folder / "model")
    mixed = dm.mix({"in": model, "out": folder / "model"}, out=tmp_path / "mixed", **dev)
    assert mixed.translate("Un homme dort.") == model.translate("Un homme dort.")
    assert mixed.model.history["mixture"]["weights"] == "perplexity"
    with pytest.raises(UsageError, match="a tuning set needs both source and reference"):
        dm.mix({"in": model, "out": model}, source=dev["source"], out=tmp_path / "other")
    both = {"in": model, "out": model}
    kept = dm.mix(both, weights="uniform", keep_components=True, out=tmp_path / "kept", progress=False)
    with pytest.raises(UsageError, match=r"sum to 1\.2"):
        kept.with_weights({"mix.tm.fwd.in": 0.7}).translate("Un homme dort.")
