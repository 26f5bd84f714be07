"""Commands on hierarchical models: whatever works with phrases works with rules, or is refused in a sentence."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from dragoman.core.feature_rows import Weights
from dragoman.formats.nbest.format import NBEST_FORMATS
from dragoman.model.bundle import Model
from oracles.tiny_grammar import SOURCE, TARGET, tiny_model

pytestmark = pytest.mark.slow

PLAN = """
model = "{model}"
source = "source"
reference = "reference"
metrics = ["bleu", "chrf"]
seeds = [1]
prepared = true

[loop]
iterations = 1

[[method]]
name = "mert"
options = {{ restarts = 1 }}

[[method]]
name = "likelihood"

[[test]]
name = "the same"
source = "source"
reference = ["reference"]

[[decision]]
name = "max-derivation"

[[decision]]
use = "lattice-mbr"
scales = [0.5, 1]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with a text and its references."""
    folder = tmp_path_factory.mktemp("hierarchical")
    tiny_model().save(folder / "model")
    for name, lines in (("source", SOURCE), ("reference", TARGET)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "plan.toml").write_text(PLAN.format(model=folder / "model"), encoding="utf-8")
    return folder


@pytest.fixture
def translate(dragoman, folder):
    def run(*arguments, stdin="".join(f"{line}\n" for line in SOURCE)):
        return dragoman("translate", "--model", folder / "model", "--threads", 1, *arguments, stdin=stdin.encode())

    return run


def test_rules_are_shown_below_translations(translate):
    found = translate("--show", stdin="un chat noir ne dort pas\n")
    assert found.out.splitlines()[:-1] == [
        "a black cat does not sleep",
        "    0-0  un           a",
        "    1-2  [X1] noir    black [X1]",
        "    1-1    chat         cat",
        "    3-5  ne [X1] pas  does not [X1]",
        "    4-4    dort         sleep",
    ]
    assert found.out.splitlines()[-1].startswith("    score ")


def test_side_outputs_know_the_tree(translate, tmp_path):
    outputs = {name: tmp_path / name for name in ("details", "links", "hypergraphs", "picture")}
    found = translate(*(part for name, path in outputs.items() for part in (f"--{name}", path)))
    assert found.out.splitlines() == TARGET
    first, *_, last = [json.loads(line) for line in outputs["details"].read_text().splitlines()]
    assert first["tree"]["glue"]
    black = first["tree"]["children"][1]
    assert [black["source"], black["target"], black["links"]] == [[1, 3], [1, 3], [[2, 1]]]
    assert black["children"][0]["links"] == [[1, 2]]
    assert black["features"]["rule_penalty"] == 1
    assert last["tree"]["children"][1]["unknown"]
    assert outputs["links"].read_text().splitlines()[0] == "0-0 1-2 2-1 3-3"
    assert len(outputs["hypergraphs"].read_text().splitlines()) == len(SOURCE)
    assert ElementTree.parse(outputs["picture"]).getroot().tag.endswith("svg")


@pytest.mark.parametrize("name", ["moses", "joshua", "travatar", "jsonl"])
def test_lists_can_be_read_and_reranked(dragoman, folder, translate, name, tmp_path):
    path = tmp_path / "lists"
    translate("--nbest", 10, "--nbest-out", path, "--nbest-format", name)
    lists = NBEST_FORMATS.get(name)().read(path)
    weights = Weights.read(folder / "model" / "weights.txt")
    assert [lists.line(first) for first in lists.sentences[:-1]] == TARGET
    assert lists.features.dot(weights) == pytest.approx(lists.scores, abs=1e-6)
    done = dragoman("rerank", "apply", "--candidates", path, "--weights", folder / "model" / "weights.txt")
    assert done.out.splitlines() == TARGET
    assert dragoman("mbr", "--candidates", path).code == 0


def test_forced_targets_have_derivations_or_empty_lines(translate, tmp_path):
    (tmp_path / "wanted").write_text("the dog sleep\nno such words\n", encoding="utf-8")
    found = translate("--force", tmp_path / "wanted", "--show", stdin="le chien dort\nle chien dort\n")
    lines = found.out.splitlines()
    assert lines[:4] == ["the dog sleep", "    0-0  le     the", "    1-1  chien  dog", "    2-2  dort   sleep"]
    assert lines[5] == ""
    assert "1 of 2 translations can be reached" in found.err


def test_given_translations_fill_holes(translate):
    found = translate("--markup", "--show", stdin='ne <x translation="wait long">attend</x> pas\n')
    assert found.out.splitlines()[:3] == [
        "does not wait long",
        "    0-2  ne [X1] pas  does not [X1]",
        "    1-1    attend       wait long",
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--reordering-limit", 4], "a hierarchical model has no reordering limit; its spans are limited by the model"),
        (["--climb", "gloss"], "hill-climbing changes phrases and their order: a hierarchical model has neither"),
        (["--algorithm", "stack"], "there is no stack decoding with a hierarchical model; expected cube pruning"),
    ],
)
def test_what_makes_no_sense_is_refused(translate, arguments, why):
    found = translate(*arguments)
    assert (found.code, found.error) == (2, why)


def test_models_are_shown_rule_by_rule(dragoman, folder):
    sizes = dragoman("model", "show", folder / "model").out
    assert "grammar tm" in sizes
    assert "14 source sides; scores bwd, bwd_lex, fwd, fwd_lex" in sizes
    found = dragoman("model", "show", folder / "model", "le [X] de [X]").out
    assert "2 translations of 'le [X] de [X]'" in found
    assert "[X2] 's [X1]" in found
    assert "the [X1] of [X2]" in found
    assert "0 translations of '[X]'" in dragoman("model", "show", folder / "model", "[X]").out


def test_a_model_is_filtered(dragoman, folder, tmp_path):
    (tmp_path / "text").write_text("ne dort pas\n", encoding="utf-8")
    found = dragoman("model", "filter", folder / "model", "--source", tmp_path / "text", "--out", tmp_path / "small")
    assert found.code == 0, found.err
    small = Model.load(tmp_path / "small")
    assert len(small.grammars["tm"]) == 4
    assert len(small.grammars["tm"].lookup([small.source_vocab.id("ne"), -1, small.source_vocab.id("pas")])) == 2


def test_features_of_words_are_added_and_tuned_those_of_neighbours_refused(dragoman, folder, tmp_path):
    refused = dragoman("model", "add-features", folder / "model", "--feature", "boundary-tags", "--out", tmp_path / "x")
    assert refused.error == "boundary-tags is about neighbours, and the rules of a hierarchical model have none"
    features = [part for name in ("word-pair", "phrase-length", "word-insertion") for part in ("--feature", name)]
    richer, run, text = tmp_path / "richer", tmp_path / "run", folder / "source"
    assert dragoman("model", "add-features", folder / "model", *features, "--out", richer).code == 0
    common = ["--model", richer, "--source", text, "--reference", folder / "reference", "--threads", 1]
    Weights(dict.fromkeys(Model.load(richer).feature_names, -0.2)).write(tmp_path / "start")
    flags = ["--method", "mira", "--iterations", 3, "--start", tmp_path / "start", "--prepared", "--out", run]
    assert dragoman("tune", *common, *flags).code == 0
    found = Weights.read(run / "weights.txt")
    assert {name.partition(".")[0] for name in found} >= {"wp", "pl"}
    assert "wp." in dragoman("weights", "top", run, "--limit", 99).out
    done = dragoman("translate", "--model", richer, "--weights", run, "--details", tmp_path / "details", text)
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (tmp_path / "details").read_text().splitlines()]
    for row in rows:
        total = sum(found.get(name, 0.0) * value for name, value in row["features"].items())
        assert row["score"] == pytest.approx(total, abs=1e-9)
    assert "wp.chat~cat" in rows[0]["features"]


def test_decisions_are_tuned_and_experiments_done(dragoman, folder, tmp_path):
    texts = ["--source", folder / "source", "--reference", folder / "reference", "--prepared", "--threads", 1]
    chosen = ["--decision", "lattice-mbr", "--grid", "scale=0.5,1", "--out", tmp_path / "rule.toml"]
    assert dragoman("tune-decision", "--model", folder / "model", *texts, *chosen).code == 0
    done = dragoman("translate", "--model", folder / "model", "--decision", tmp_path / "rule.toml", folder / "source")
    assert len(done.out.splitlines()) == len(SOURCE)
    found = dragoman("experiment", folder / "plan.toml", "--out", tmp_path / "experiment", "--threads", 1)
    assert found.code == 0, found.err
    assert (tmp_path / "experiment" / "report.html").exists()


def test_rules_on_demand_are_shown_filtered_and_given_features_as_those_of_a_table(dragoman, toy, tmp_path):
    toy.write(tmp_path, test=slice(20))
    first = toy.pairs[0].source
    found = {}
    for kind, flags in (("table", []), ("demand", ["--on-demand"])):
        model, small, rich = (tmp_path / f"{kind}-{name}" for name in ("model", "small", "rich"))
        assert dragoman(*toy.train, "--alignment", toy.links, "--hierarchical", *flags, "--out", model).code == 0
        shown = [dragoman("model", "show", model, side).out for side in (first[0], f"{first[0]} [X]")]
        assert "0 translations" not in shown[1]
        assert dragoman("model", "filter", model, "--source", tmp_path / "test.s", "--out", small).code == 0
        features = ["--feature", "word-pair:source-words=0,target-words=0", "--feature", "phrase-length"]
        features += ["--feature", "structural-distortion:grain=coarse"]
        assert dragoman("model", "add-features", model, *features, "--out", rich).code == 0
        details = [tmp_path / f"{kind}-{name}.jsonl" for name in ("small", "rich")]
        for folder, path in zip((small, rich), details, strict=True):
            assert dragoman("translate", "--model", folder, "--details", path, tmp_path / "test.s").code == 0
        orders = [learnt["log_p"].tolist() for learnt in Model.load(rich).sparse_features.values() if "log_p" in learnt]
        found[kind] = shown, [path.read_text(encoding="utf-8") for path in details], orders
        assert len(Model.load(small).grammars["tm"]) > 0
    assert found["table"] == found["demand"]
    assert '"wp.' in found["table"][1][1]


def test_structural_distortion_is_added_and_tuned(dragoman, folder, toy, tmp_path):
    richer, run, text = tmp_path / "richer", tmp_path / "run", folder / "source"
    features = ["--feature", "structural-distortion:grain=fine", "--feature", "rule-class:classes=identity+number"]
    added = dragoman("model", "add-features", folder / "model", *features, "--out", richer)
    assert added.code == 0, added.err
    assert "sd.*; grain=fine, sentences=10000" in added.out
    common = ["--model", richer, "--source", text, "--reference", folder / "reference", "--threads", 1]
    Weights(dict.fromkeys(Model.load(richer).feature_names, -0.2)).write(tmp_path / "start")
    flags = ["--method", "mira", "--iterations", 3, "--start", tmp_path / "start", "--prepared", "--out", run]
    assert dragoman("tune", *common, *flags).code == 0
    found = Weights.read(run / "weights.txt")
    assert {"sd.monotone.any", "sd.reordered.any", "sd.reordered.1"} <= set(found)
    done = dragoman("translate", "--model", richer, "--weights", run, "--details", tmp_path / "details", text)
    assert done.code == 0, done.err
    for row in map(json.loads, (tmp_path / "details").read_text().splitlines()):
        total = sum(found.get(name, 0.0) * value for name, value in row["features"].items())
        assert row["score"] == pytest.approx(total, abs=1e-9)
    texts = ["--source", toy.source, "--target", toy.target, "--alignment", toy.links]
    for flags, code, message in [
        ([], 2, "this model does not; expected a parallel text with links: --source, --target and --alignment"),
        (texts[:4], 2, "--source, --target and --alignment go together"),
        ([*texts[:2], "--target", text, *texts[4:]], 1, "expected"),
    ]:
        coarse = ["--feature", "structural-distortion:grain=coarse", *flags, "--out", tmp_path / "coarse"]
        result = dragoman("model", "add-features", folder / "model", *coarse)
        assert (result.code, message in result.error) == (code, True), result.err
    coarse = ["--feature", "structural-distortion:grain=coarse", *texts, "--out", tmp_path / "coarse"]
    assert dragoman("model", "add-features", folder / "model", *coarse).code == 0
    assert dragoman("translate", "--model", tmp_path / "coarse", "--details", tmp_path / "details", text).code == 0
    assert '"sd.log_p"' in (tmp_path / "details").read_text()


def test_phrases_of_another_model_become_a_grammar(dragoman, folder, model, tmp_path):
    made = dragoman("model", "add-grammar", folder / "model", "--name", "toy", "--from", model, "--out", tmp_path / "m")
    assert made.code == 0, made.err
    assert "grammar toy" in made.out
    line = b"un chat noir ne dort pas la ville\n"
    found = dragoman("translate", "--model", tmp_path / "m", "--show", stdin=line)
    assert found.out.startswith("a black cat does not sleep the town\n")
    again = dragoman("model", "add-grammar", tmp_path / "m", "--name", "toy", "--from", model, "--out", tmp_path / "n")
    assert (again.code, again.error) == (2, "the model has a grammar toy already; expected another name")
    other = dragoman("model", "add-grammar", model, "--name", "t", "--from", folder / "model", "--out", tmp_path / "n")
    assert other.error == "the model is phrase-based; expected a hierarchical one, to which grammars can be added"
    assert not (tmp_path / "n").exists()
