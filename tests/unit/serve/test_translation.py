"""What `translate` and `nbest` answer, which is what the front door and the command line give."""

import json
import threading

import pytest

import dragoman as dm
from dragoman.decision.settings import Decision

pytestmark = pytest.mark.slow

TEXT = "Un homme dort. Une femme court dans la rue.\n\n Un chien noir ronfle."
LINES = ["Un homme dort.", "Une femme court dans la rue.", "Un chien noir ronfle."]


@pytest.fixture(scope="module")
def model(folder):
    return dm.load(folder / "model")


@pytest.fixture(scope="module")
def rules(folder):
    return dm.load(folder / "rules")


def test_a_text_keeps_its_spacing(ask, model):
    found = ask("translate", text=TEXT)
    first, second, third = model.translate(LINES)
    assert found == {
        "model": "model",
        "translations": [{"source": TEXT, "text": f"{first} {second}\n\n {third}"}],
    }


def test_without_splitting_a_line_is_a_sentence(ask, model):
    (found,) = ask("translate", text=TEXT, split=False)["translations"]
    lines = TEXT.split("\n")
    assert found["text"] == f"{model.translate(lines[0])}\n\n {model.translate(lines[2].strip())}"


def test_many_texts_are_answered_in_order(ask, model):
    found = ask("translate", texts=["", *LINES, " "])["translations"]
    assert [one["text"] for one in found] == ["", *model.translate(LINES), " "]


@pytest.mark.parametrize("name", ["model", "rules"])
def test_details_are_those_of_the_command(ask, folder, name):
    system = dm.load(folder / name)
    (found,) = ask("translate", text=LINES[1], model=name, details=True)["translations"]
    (sentence,) = found["sentences"]
    explained = system.explain(LINES[1])
    assert sentence["derivation"] == json.loads(explained.json(0))
    assert (sentence["derivation"].get("tree") is None) == (name == "model")
    assert (sentence["source"], sentence["text"], sentence["score"]) == (LINES[1], found["text"], explained.score)


def test_lists_come_with_translations_or_alone(ask, model):
    wanted = model.nbest(LINES[1], 3)
    rows = [
        {"text": text, "score": score, "features": wanted.features.row(h)}
        for h, (text, score) in enumerate(zip(wanted.texts(), wanted.scores.tolist(), strict=True))
    ]
    (found,) = ask("translate", text=LINES[1], nbest=3)["translations"]
    assert found["sentences"][0]["nbest"] == rows
    alone = ask("nbest", text=LINES[1], size=3)
    assert (alone["nbest"], alone["text"]) == (rows, found["text"])
    derivations = ask("nbest", text=LINES[1], size=3, distinct=False)["nbest"]
    assert [row["text"] for row in derivations] == model.nbest(LINES[1], 3, distinct=False).texts()


def test_weights_are_by_name_or_a_set(ask, model, folder, refused):
    weights = {"lm": 2.0, "word_penalty": 0.0}
    by_name = ask("nbest", text=LINES[0], weights=weights)
    assert by_name["nbest"] == ask("nbest", text=LINES[0], weights="other")["nbest"]
    assert by_name["nbest"][0]["score"] == model.with_weights(weights).nbest(LINES[0], 1).scores[0]
    assert by_name["nbest"][0]["score"] != ask("nbest", text=LINES[0])["nbest"][0]["score"]
    assert refused("nbest", text="a", weights="none") == (
        400,
        "the model model has no weights called 'none'; there are other",
    )
    status, sentence = refused("nbest", text="a", weights={"nothing": 1})
    assert (status, sentence.partition(";")[0]) == (400, "the model has no feature 'nothing'")


@pytest.mark.parametrize(
    "asked",
    [
        {"decision": "mbr", "scale": 0.5},
        {"decision": "mbr", "evidence": "samples", "samples": 50, "seed": 3},
        {"decision": "consensus", "options": {"hypotheses": 5, "order": 2}},
        {"decision": "lattice-mbr", "model": "rules"},
        {"decision": "mbr", "options": {"evidence": 2, "metric": "chrf"}},
    ],
)
def test_rules_decide_as_they_do_elsewhere(ask, folder, asked):
    found = ask("translate", texts=LINES, **asked)["translations"]
    options = {**asked.get("options", {}), **({"scale": asked["scale"]} if "scale" in asked else {})}
    decision = Decision.of(asked["decision"], [f"{k}={v}" for k, v in options.items()], asked.get("evidence"))
    drawing = {key: value for key, value in asked.items() if key in ("samples", "seed")}
    system = dm.load(folder / asked.get("model", "model"))
    assert [one["text"] for one in found] == system.translate(LINES, decision=decision, **drawing)


NO_LISTS = "a decision chooses strings, not derivations: it goes without details and nbest"
NO_FILE = "precomputed reads a file"
OF_FILE = {"metric": "precomputed:path=/etc/passwd"}


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "found both text and texts, or neither; expected one of them"),
        ({"text": "a", "texts": ["b"]}, "found both text and texts, or neither; expected one of them"),
        ({"text": "a", "scale": 2}, "evidence, scale and options go with a decision"),
        ({"text": "a", "decision": "mbr", "nbest": 2}, NO_LISTS),
        ({"text": "a", "decision": "lattice-mbr", "evidence": "nbest"}, "lattice-mbr decides by hypergraphs, not by"),
        ({"text": "a", "decision": "/etc/passwd"}, "no rule is called '/etc/passwd'; there are"),
        ({"text": "a", "decision": "mbr", "options": OF_FILE}, NO_FILE),
        ({"text": "a", "decision": "mbr", "options": {"trees": "/etc/passwd"}}, "found 'trees=/etc/passwd'; expected"),
        ({"text": "a", "decision": "mbr", "options": {"samples": 3}}, "found 'samples=3'; expected NAME=VALUE"),
        ({"text": "a", "trees": ["(S a)", "(S b)"]}, "there are 2 trees for 1 sentences; expected one for each"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(refused, asked, sentence):
    status, found = refused("translate", **asked)
    assert (status, found[: len(sentence)]) == (400, sentence)


def test_trees_that_no_feature_looks_at_change_nothing(ask, model):
    trees = ["(S (NP Un homme) (VP dort .))"]
    wanted = [{"source": LINES[0], "text": model.translate(LINES[0])}]
    assert ask("translate", text=LINES[0], trees=trees)["translations"] == wanted
    assert ask("translate", text=LINES[0], trees=trees, decision="mbr")["translations"] == wanted
    assert ask("reweight", text=LINES[0], tree=trees[0])["text"] == wanted[0]["text"]


def test_a_model_that_is_not_there(refused):
    assert refused("translate", text="a", model="x") == (404, "no model is called 'x'; there are model, rules")


def test_models_tell_what_can_be_weighted(client, model):
    found = client.get("/api/v1/models").json()
    first, second = found["models"]
    assert (first["name"], first["kind"], first["source_language"], first["target_language"]) == (
        "model",
        "phrase",
        "fr",
        "en",
    )
    assert (second["kind"], second["needs_trees"], second["weight_sets"]) == ("chart", False, [])
    assert first["weight_sets"] == ["other"]
    assert {row["name"]: row["weight"] for row in first["features"]} == dict(model.weights)
    assert {row["name"]: row["group"] for row in first["features"]}["tm.fwd"] == "tm"
    assert {rule["name"]: rule["takes"] for rule in found["decisions"]}["mbr"] == ["nbest", "samples"]
    assert "bleu" in found["metrics"]
    assert "precomputed" not in found["metrics"]
    assert "moses" in found["formats"]
    assert found["limits"]["sentences"] == 1000
    assert client.get("/api/models").json() == found


def test_requests_of_many_clients_give_the_same_as_each_alone(server, model):
    lines = [f"{line} {line}" for line in LINES] * 4
    found = [None] * len(lines)

    def ask(i):
        found[i] = server.client.post("/api/v1/translate", json={"text": lines[i], "split": False}).json()

    before = server.service.batcher.batches
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(lines))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one["translations"][0]["text"] for one in found] == model.translate(lines)
    assert 0 < server.service.batcher.batches - before <= len(lines)
