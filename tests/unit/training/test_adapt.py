import warnings

import pytest

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.core.store import CHECKSUMS
from dragoman.model.parts import Settings
from dragoman.search.translator import Translator
from dragoman.training import adapt
from dragoman.training.adapt import SYSTEMS, Adaptation, AdaptRecipe, SystemBuilder, domain_first
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.lm.kneser_ney import KneserNey
from dragoman.training.pipeline import TrainRecipe, train_model
from dragoman.training.prepare import PreparedText
from dragoman.training.rules.model import RuleModel
from oracles.phrase_pairs import as_dict
from oracles.toy_language import sentence_pairs

pytestmark = pytest.mark.filterwarnings("ignore::dragoman.core.progress.DragomanWarning")


def text(pairs):
    return Bitext(*(Corpus.from_lines(" ".join(getattr(p, side)) for p in pairs) for side in ("source", "target")))


@pytest.fixture(scope="module")
def corpora():
    pairs = sentence_pairs(200)
    return {"in": text(pairs[:50]), "out": text(pairs[50:180])}, text(pairs[180:])


def counted(function, calls, text=None):
    """The same function, which notes how many sentence pairs it was given."""

    def call(*arguments, **more):
        calls.append(len(arguments[0] if text is None else text))
        return function(*arguments, **more)

    return call


def built(corpora, **options):
    return SystemBuilder(*corpora, AdaptRecipe(Adaptation(**options), kneser_ney=KneserNey(order=2)))


@pytest.fixture(scope="module")
def models(corpora):
    systems = built(corpora)
    with warnings.catch_warnings(action="ignore", category=DragomanWarning):  # about texts that are too small
        return {name: systems.model(name) for name in SYSTEMS}


def pairs_of(model, table="tm"):
    return as_dict(model.tables[table].to_pairs(model.source_vocab, model.target_vocab))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_translates_and_has_a_weight_for_all(models, name):
    model = models[name]
    assert set(model.weights) == set(model.weight_names)
    assert [t.text for t in Translator.of(model).translate(["la maison bleue"])] == ["the blue house"]
    assert model.history["system"] == name
    assert model.history["corpora"] == {"in": 50, "out": 130}


def test_tables_are_what_they_are_called(models):
    ours, every = pairs_of(models["in"]), pairs_of(models["joint"])
    assert ours.keys() < every.keys()
    for name in ("perp", "uniform", "pro-mix", "fill-up"):
        assert pairs_of(models[name]).keys() == every.keys()
    filled = pairs_of(models["fill-up"])
    assert all(filled[key][0][:4] == pytest.approx(row[0]) for key, row in ours.items())
    assert {filled[key][0][4] for key in ours} == {1}
    both = models["log-linear"]
    assert list(both.tables) == ["tm", "tm2"]
    assert pairs_of(both).keys() == ours.keys()
    assert pairs_of(both).keys() | pairs_of(both, "tm2").keys() == every.keys()


def test_shares_are_in_the_weights_of_pro_mix_only(models):
    shares = models["perp"].history["mixture"]["shares"]
    kept = models["pro-mix"]
    assert {name: kept.weights[name] for name in kept.interpolation_weight_names} == shares
    assert models["perp"].interpolation_weight_names == []
    assert set(models["uniform"].history["mixture"]["shares"].values()) == {0.5}
    assert shares["mix.tm.fwd.in"] != 0.5


def test_orientations_are_those_of_all_corpora_but_for_the_domain_alone(models):
    every = pairs_of(models["joint"])
    for name in ("perp", "pro-mix", "fill-up", "log-linear"):
        for key, row in pairs_of(models[name]).items():
            assert row[3]["lr"] == pytest.approx(every[key][3]["lr"])
    assert any(row[3]["lr"] != pytest.approx(every[key][3]["lr"]) for key, row in pairs_of(models["in"]).items())


def test_the_language_model_is_one_for_all(models):
    assert len({id(model.language_models["lm"]) for model in models.values()}) == 1
    assert sum(models["in"].history["language_model"]["weights"].values()) == pytest.approx(1)


def test_nothing_is_aligned_or_extracted_twice(corpora, monkeypatch):
    calls = []
    monkeypatch.setattr(adapt, "phrase_pairs", counted(adapt.phrase_pairs, calls))
    systems = built(corpora)
    for name in SYSTEMS:
        systems.model(name)
    assert sorted(calls) == [50, 130, 180]
    calls.clear()
    built(corpora).model("in")
    assert calls == [50]


@pytest.mark.parametrize(
    ("how", "system", "aligned"),
    [
        ("together", "in", [200]),
        ("together", "perp", [200]),
        ("apart", "in", [50]),
        ("apart", "joint", [180]),
        ("apart", "perp", [50, 130, 180, 200]),
    ],
)
def test_the_text_of_each_table_is_aligned_by_itself_or_all_together(corpora, how, system, aligned, monkeypatch):
    """Apart, the tuning set, of which only perplexity needs the alignment, is aligned beside all corpora."""
    calls, align = [], Diagonal.align
    monkeypatch.setattr(Diagonal, "align", lambda self, text, **more: counted(align, calls, text)(self, text, **more))
    model = built(corpora, align=how).model(system)
    assert sorted(calls) == aligned
    assert model.history["align"] == how
    assert [t.text for t in Translator.of(model).translate(["la maison bleue"])] == ["the blue house"]


def trained(text, rule_model=None):
    recipe = TrainRecipe(kneser_ney=KneserNey(order=2), rule_model=rule_model)
    return train_model(PreparedText(text, Settings()), recipe).model


def files(model, folder):
    """All files of a saved model but the language model and what describes it."""
    model.save(folder)
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    described = ("model.toml", CHECKSUMS)
    return {
        str(p): (folder / p).read_bytes() for p in paths if p.parts[0] != "language_models" and p.name not in described
    }


def test_the_domain_alone_is_what_training_on_it_makes(corpora, tmp_path):
    """All but the language model, which is the same in all systems: phrases, vocabularies and untuned weights."""
    ours = built(corpora).model("in")
    theirs = trained(corpora[0]["in"])
    assert files(ours, tmp_path / "in") == files(theirs, tmp_path / "trained")
    assert ours.settings == theirs.settings


def test_the_domain_alone_does_not_depend_on_other_corpora(corpora, tmp_path):
    texts, tuning = corpora
    other = Bitext(Corpus.from_lines(["la maison bleue", "a b"] * 9), Corpus.from_lines(["blue the house", "c"] * 9))
    changed = {"in": texts["in"], "other": other}, tuning
    for how, same in (("apart", True), ("together", False)):
        one = files(built(corpora, align=how).model("in"), tmp_path / how / "one")
        two = files(built(changed, align=how).model("in"), tmp_path / how / "two")
        assert (one == two) is same


def test_joint_is_what_training_on_the_concatenation_makes(corpora, tmp_path):
    whole = Bitext.concatenate([*corpora[0].values()])
    assert files(built(corpora).model("joint"), tmp_path / "joint") == files(trained(whole), tmp_path / "trained")


def test_a_component_is_the_table_of_its_corpus(corpora):
    """Also of the words that only its corpus has, and with the lexical weights of its own text."""
    both = built(corpora).model("log-linear")
    for table, name in (("tm", "in"), ("tm2", "out")):
        alone = trained(corpora[0][name])
        ours, theirs = pairs_of(both, table), pairs_of(alone)
        assert ours.keys() == theirs.keys()
        assert all(ours[key][0] == pytest.approx(theirs[key][0]) for key in theirs)


@pytest.mark.parametrize("name", ["joint", "perp", "uniform", "fill-up", "pro-mix"])
def test_orientations_of_mixtures_can_be_mixed(corpora, models, name):
    model = built(corpora, mix_reordering=True).model(name)
    shares = model.history.get("mixture", {"shares": {}})["shares"]
    expected = {f"mix.lr.{direction}.{part}" for direction in ("bwd", "fwd") for part in ("in", "out")}
    assert expected & shares.keys() == (set() if name in ("joint", "fill-up") else expected)
    assert set(model.weights) == set(model.weight_names)
    own, joint = pairs_of(model), pairs_of(models["joint"])
    same = all(row[3]["lr"] == pytest.approx(joint[key][3]["lr"]) for key, row in own.items())
    assert same is (name in ("joint", "fill-up"))
    assert [t.text for t in Translator.of(model).translate(["la maison bleue"])] == ["the blue house"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_hierarchical_systems(corpora, name):
    recipe = AdaptRecipe(kneser_ney=KneserNey(order=2), rule_model=RuleModel(max_span=6))
    model = SystemBuilder(*corpora, recipe).model(name)
    assert set(model.weights) == set(model.weight_names)
    assert [t.text for t in Translator.of(model).translate(["la maison bleue"])] == ["the blue house"]
    assert (model.settings.span_limit, model.history["rule_model"]["max_span"]) == (6, 6)
    assert list(model.grammars) == (["tm", "tm2"] if name == "log-linear" else ["tm"])
    assert bool(model.interpolation_weight_names) is (name == "pro-mix")


def test_hierarchical_systems_are_what_training_makes(corpora, tmp_path):
    builder = SystemBuilder(*corpora, AdaptRecipe(kneser_ney=KneserNey(order=2), rule_model=RuleModel()))
    whole = Bitext.concatenate([*corpora[0].values()])
    for name, own in (("in", corpora[0]["in"]), ("joint", whole)):
        assert files(builder.model(name), tmp_path / name) == files(trained(own, RuleModel()), tmp_path / f"{name}2")


def test_bad_input(corpora):
    with pytest.raises(UsageError, match="there is 1 corpus; expected two or more"):
        SystemBuilder({"in": corpora[0]["in"]}, corpora[1])
    with pytest.raises(UsageError, match="there are no orientations to mix"):
        SystemBuilder(*corpora, AdaptRecipe(Adaptation(mix_reordering=True), rule_model=RuleModel()))
    with pytest.raises(UsageError, match="no system is called 'both'; there are in, joint"):
        built(corpora).model("both")
    assert list(domain_first({"a": 1, "b": 2}, "b")) == ["b", "a"]
    with pytest.raises(UsageError, match="no corpus is called 'c'; there are a, b"):
        domain_first({"a": 1, "b": 2}, "c")
