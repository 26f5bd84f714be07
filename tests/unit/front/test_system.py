"""The front door: what a person in a notebook does, on a small model."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.progress import Progress
from dragoman.decision.mbr import Mbr
from dragoman.features import FEATURES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("example")


@pytest.fixture(scope="module")
def model(folder):
    return dm.example(folder)


@pytest.fixture(scope="module")
def run(model, folder):
    texts = folder / "dev.fr", folder / "dev.en"
    return model.with_weights({"lm": 3.0}).tune(
        *texts, out=folder / "run", method="mert", iterations=2, options={"restarts": 2}, progress=Progress()
    )


def test_everything_is_there_and_nothing_is_imported_before_it_is_used():
    code = (
        "import sys, dragoman; before = set(sys.modules); assert 'numpy' not in before, 'numpy'; "
        "names = [getattr(dragoman, name) for name in dragoman.__all__]; "
        "assert [name for name in dir(dragoman) if name[0] != '_'] == sorted(dragoman.__all__); "
        "assert dragoman.__version__[0].isdigit()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = dm.colour


def test_raw_text_goes_in_and_text_comes_out(model, tmp_path):
    line = "Une fille attend un ami devant la maison."
    translated = "A girl waits for a friend in front of the house."
    assert model.translate(line) == translated
    assert model.translate([line, "", line]) == [translated, "", translated]
    assert model.translate(f"{line}\n\n{line}") == f"{translated}\n\n{translated}"
    (tmp_path / "text").write_text(f"{line}\n")
    assert model.translate(tmp_path / "text") == [translated]
    assert model.translate("une fille attend un ami .", prepared=True) == "a girl waits for a friend ."


def test_what_a_model_says_of_a_sentence(model):
    line = "Un chien noir dort."
    assert model.explain(line).text == model.nbest(line, 5).line(0) == "a black dog sleeps ."
    assert model.nbest(line, 5).scores[0] == pytest.approx(model.explain(line).score)
    assert len(set(model.nbest(line, 20).texts())) == 20
    assert model.hypergraph(line).edges > 10
    samples = model.sample(line, 50, chains=3)
    assert samples.counts.sum() == 150
    assert (model.sample(line, 50, chains=3).counts == samples.counts).all()
    assert model.nbest([line, line], 5).texts() == model.nbest(line, 5).texts() * 2


def test_explain_prints_how_a_translation_was_made(model):
    found = model.explain("Un chien noir dort.")
    text, score, *steps, features = str(found).splitlines()
    assert (text, score) == (found.text, f"score {found.score:.4f}")
    assert len(steps) == len(found.phrases)
    assert [step.split()[-1] for step in steps][-1] == "4-4"
    assert all(" → " in step for step in steps)
    assert f"lm {found.features['lm']:.4g}" in features
    shown = found._repr_html_()
    assert "word links 0-0 " in shown
    assert "<td>lm</td>" in shown
    assert repr(found) == f"Translation('a black dog sleeps .', score {found.score:.4f}, {len(found.phrases)} phrases)"


@pytest.mark.parametrize(
    ("decision", "options"),
    [
        ("mbr", {"scale": 2}),
        ("consensus", {}),
        ("mbr", {"evidence": "samples", "samples": 50}),
        ("max-translation", {}),
    ],
)
def test_decisions(model, decision, options):
    assert model.translate(["Un homme dort."], decision=decision, **options) == ["A man sleeps."]


def test_limits(model):
    other = model.with_limits(reordering_limit=0, pop_limit=17)
    assert (other.space.reordering_limit, other.limits.pop_limit) == (0, 17)
    assert model.limits.pop_limit != 17
    with pytest.raises(UsageError, match="no option 'pops'"):
        model.with_limits(pops=3)


def test_runs_show_what_they_did(model, run, folder):
    assert dm.TuningRun(folder / "run").best_score == run.best_score == max(run.frame()["score"])
    assert list(run.frame()["iteration"]) == [event["iteration"] for event in run.events()]
    assert f"run: mert, {len(run.events())} iteration" in repr(run)
    assert f"best bleu {run.best_score:.2f}; bleu|nrefs:1|text:prepared|" in repr(run)
    assert {"plot", "frame", "weights", "best_score"} <= set(dir(run))
    assert not {"record", "write_weights", "claimed", "drop_state"} & set(dir(run))
    assert "<td>1</td>" in run._repr_html_()
    assert run.plot().axes[0].get_ylabel() == "bleu"
    with pytest.raises(DataError, match="has no events"):
        dm.TuningRun(folder / "nothing").frame()


def test_weights_come_from_runs_files_and_names(model, run, folder, tmp_path):
    tuned = model.with_weights(run)
    assert dict(tuned.weights) == dict(run.weights()) != dict(model.weights)
    assert dict(model.with_weights(folder / "run").weights) == dict(tuned.weights)
    assert model.with_weights({"lm": 0.9}).weights["lm"] == 0.9
    assert model.with_weights({"lm": 0.9}).weights["tm.fwd"] == model.weights["tm.fwd"]
    with pytest.raises(UsageError, match="no feature 'colour'"):
        model.with_weights({"colour": 1.0})
    saved = tuned.save(tmp_path / "tuned")
    assert dict(dm.load(tmp_path / "tuned").weights) == dict(tuned.weights) == dict(saved.weights)


def test_tuning_goes_on_from_the_weights_that_a_system_has(model, folder):
    heavy = model.with_weights({"lm": 2.0})
    run = heavy.tune(
        folder / "dev.fr", folder / "dev.en", out=folder / "heavy", method="pro", iterations=1, progress=Progress()
    )
    assert run.weights(0)["lm"] == 2.0
    with pytest.raises(DataError, match="was begun with start"):
        model.tune(
            folder / "dev.fr", folder / "dev.en", out=folder / "heavy", method="pro", iterations=1, progress=Progress()
        )
    with pytest.raises(UsageError, match="only a saved model"):
        dm.example().tune(folder / "dev.fr", folder / "dev.en", out=folder / "never")


def test_scores_and_comparisons(folder, tmp_path):
    references = (folder / "dev.en").read_text().splitlines()
    worse = [line.replace("the", "a") for line in references]
    found = dm.score(worse, folder / "dev.en")
    assert float(found) == dm.score(worse, [references, references]).value < 100
    assert found.interval[0] <= found.value <= found.interval[1]
    assert len(found.sentences) == len(references)
    assert "nrefs:1" in found.signature
    (tmp_path / "worse").write_text("".join(f"{line}\n" for line in worse))
    comparison = dm.compare({"same": references, "worse <b>": [tmp_path / "worse", worse]}, references, resamples=100)
    assert comparison.order.startswith("same > worse")
    assert list(comparison.frame()["better"]) == ["same"]
    assert "worse &lt;b&gt;" in comparison._repr_html_()
    assert [label.get_text() for label in comparison.plot().axes[0].get_yticklabels()] == ["worse <b>", "same"]
    with pytest.raises(DataError, match="has 1 lines, but the reference has"):
        dm.score(["one"], references)
    with pytest.raises(UsageError, match="'a sentence', which is not a file"):
        dm.score("a sentence", references)
    with pytest.raises(UsageError, match="found 1 system"):
        dm.compare({"a": references}, references)


def test_frames_and_html_have_all_hypotheses(model):
    lists = model.nbest("Un homme dort.", 3)
    frame = lists.frame()
    assert list(frame["text"]) == lists.texts()
    assert list(frame["rank"]) == [1, 2, 3]
    assert (
        frame["word_penalty"].to_list()
        == lists.features.dense()[:, lists.features.names.index("word_penalty")].tolist()
    )
    samples = model.sample("Un homme dort.", 30)
    assert samples.frame()["probability"].sum() == pytest.approx(1)
    assert samples.frame()["count"].sum() == 60
    assert "60 samples" in samples._repr_html_()
    assert "3 hypotheses" in lists._repr_html_()


def test_without_pandas_one_sentence_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"pip install 'dragoman\[frames\]'"):
        model.nbest("Un homme dort.", 3).frame()


def test_candidates_of_anybody(model, tmp_path):
    lists = [["a cat", "the cat"], ["dogs", "a dog"]]
    assert dm.mbr([[("a", -9.0), ("b", -0.1)], [("c", 0.0)]]) == ["b", "c"]
    column = {"comet": [0.1, 0.9, 0.8, 0.2]}
    assert dm.rerank(lists, {"comet": 1.0}, features=column) == ["the cat", "dogs"]
    weights = dm.tune_reranker(lists, ["a cat", "a dog"], features=column, metric="chrf", progress=Progress())
    assert weights["comet"] < 0
    weights.write(tmp_path / "weights")
    assert dm.rerank(lists, tmp_path / "weights", features=column) == ["a cat", "a dog"]
    with pytest.raises(UsageError, match="a weight for 'bleurt'"):
        dm.rerank(lists, {"bleurt": 1.0}, features=column)
    with pytest.raises(UsageError, match="does not work on lists"):
        dm.tune_reranker(lists, ["a", "b"], method="samplerank")


def test_a_function_may_be_the_gain():
    calls = []

    def shared(hypotheses, references):
        calls.append((hypotheses, references))
        return np.array([len(set(a.split()) & set(b.split())) for a, b in zip(hypotheses, references, strict=True)])

    lists = [["dogs", "the cat", "a cat sat", "the cat"], ["b"]]
    assert dm.mbr(lists, utility=shared) == ["the cat", "b"]
    strings = ["dogs", "the cat", "a cat sat"]
    assert [sorted(zip(*pairs, strict=True)) for pairs in calls] == [
        sorted((a, b) for a in strings for b in strings),
        [("b", "b")],
    ]
    scored = [[(text, float(-i)) for i, text in enumerate(row)] for row in lists]
    by_name = dm.mbr(scored, utility="chrf", scale=0.5)
    gains = lambda a, b: dm.score(a, b, "chrf", resamples=0).sentences  # noqa: E731
    assert dm.mbr(scored, utility=gains, scale=0.5) == by_name
    for wrong, said in (
        (lambda a, b: [1.0], "sentence 1: the utility gave 1 numbers for 9 pairs"),
        (nothing, "gave nan for"),
    ):
        with pytest.raises(UsageError, match=said):
            dm.mbr(lists, utility=wrong)
    with pytest.raises(UsageError, match="no cluster"):
        dm.mbr(lists, utility=shared, cluster="local:2")


def nothing(hypotheses, references):
    return [float("nan")] * len(hypotheses)


def test_models_show_themselves(model):
    assert repr(model).startswith(f"System({model.folder}: phrase-based fr-en; tm: ")
    assert len(repr(model)) < 200
    decided = Mbr().decide(model.nbest("un homme dort", 3))
    assert repr(decided) == "Decisions(1 sentence, the first 'a man sleeps')"
    assert "<td>a man sleeps</td>" in decided._repr_html_()
    assert repr(model.nbest("un homme", 1)) == "NBest(1 sentence, 1 hypothesis, 15 features)"
    assert repr(model.sample("un homme", 1, chains=1)) == "Samples(1 sentence, 1 derivation, 1 sample)"
    assert "<td>lm</td>" in model._repr_html_()
    assert isinstance(model.weights, Weights)


def test_training_options_are_routed_and_unknown_ones_refused(folder, tmp_path):
    class Quiet(Progress):
        def warn(self, text):
            pass

    made = dm.train(
        folder / "train.fr", folder / "train.en", out=tmp_path / "m", max_phrase_length=2, lowercase=False,
        lm={"order": 2}, aligner="hmm", progress=Quiet(),
    )  # fmt: skip
    assert made.model.language_models["lm"].order == 2
    assert made.model.tables["tm"].max_source_length == 2
    assert made.translate("Un homme dort.") == "A man sleeps."
    assert Path(made.folder) == tmp_path / "m"
    with pytest.raises(UsageError, match="no option 'order'"):
        dm.train(folder / "train.fr", folder / "train.en", out=tmp_path / "n", order=3)
    assert not (tmp_path / "n").exists()
    assert np.isfinite(list(made.weights.values())).all()


def test_grammars_of_cdec_and_joshua_translate(tmp_path):
    arpa = "\\data\\\nngram 1=4\n\n\\1-grams:\n-3\t<unk>\n-1\t</s>\n-1\tthe\n-1\thouse\n\n\\end\\\n"
    (tmp_path / "lm").write_text(arpa)
    (tmp_path / "weights").write_text("fwd 1\nGlue 0.1\nLanguageModel 1\n")
    rules = [("maison", "house", -0.5), ("maison", "the", -9), ("[X,1] la", "the [X,1]", -0.5)]
    for name, score in (("cdec", "fwd={}"), ("joshua", "{}")):
        lines = (f"[X] ||| {s} ||| {t} ||| {score.format(x if name == 'cdec' else -x)}\n" for s, t, x in rules)
        (tmp_path / name).write_text("".join(lines))
    lm = tmp_path / "lm"
    theirs = dm.load_cdec(tmp_path / "cdec", lm=lm, weights=tmp_path / "weights", threads=1, progress=False)
    assert theirs.translate("maison la") == "the house"
    assert theirs.weights["tm.fwd"] == 1
    joshua = dm.load_joshua(tmp_path / "joshua", lm=[lm], scores=["fwd"], threads=1, progress=False)
    assert joshua.translate("maison la") == "the house"


def test_trees_come_with_the_text(model, folder):
    rich = dm.System(model.model.with_features([FEATURES.get("syntax")()])).save(folder / "syntactic")
    rich = rich.with_weights({"syntax.NP.equal": 0.5, "syntax.NP.cross": -0.5})
    line, tree = "Un homme dort.", "(S (NP (DT Un) (NN homme)) (VP (VBZ dort)) (. .))"
    assert rich.explain(line, tree=tree).features["syntax.NP.equal"] > 0
    assert rich.translate(line, trees=tree) == rich.translate([line], trees=[tree])[0] == "A man sleeps."
    file = folder / "trees"
    file.write_text(f"{tree}\n()\n", encoding="utf-8")
    assert rich.translate([line, line], trees=file, decision="mbr") == ["A man sleeps."] * 2
    for found in (rich.nbest(line, 2, tree=tree), rich.sample(line, 20, tree=tree), rich.hypergraph(line, tree=tree)):
        assert "syntax.NP.equal" in found.features.names
    with pytest.raises(UsageError, match="give them with `trees=`"):
        rich.translate(line)
    with pytest.raises(UsageError, match="give them with `tree=`"):
        rich.explain(line)
    with pytest.raises(DataError, match=r"trees: there are more trees than sentences"):
        rich.translate([line], trees=file)


def test_tuning_takes_trees(model, folder):
    rich = dm.System(model.model.with_features([FEATURES.get("syntax")(grain="coarse")])).save(folder / "coarse")
    texts = folder / "dev.fr", folder / "dev.en"
    count = len(texts[0].read_text(encoding="utf-8").splitlines())
    (folder / "none").write_text("()\n" * count, encoding="utf-8")
    settings = {"iterations": 1, "progress": Progress(), "trees": folder / "none"}
    run = rich.tune(*texts, out=folder / "with-trees", **settings)
    assert run.options["trees"] == str(folder / "none")
    with pytest.raises(UsageError, match="give them with `held_out_trees=`"):
        rich.tune(*texts, out=folder / "other", method="risk-sentence", held_out=texts, **settings)
