"""A look inside: hypergraphs, the same under other weights, samples, posteriors."""

import json

import numpy as np
import pytest

import dragoman as dm
from dragoman.forest.kbest import nbest
from dragoman.formats.hypergraph_jsonl import format_hypergraph

pytestmark = pytest.mark.slow

LINE = "Un petit chat noir attend un ami dans la rue."
OTHER = {"lm": 0.05, "tm.fwd": 0.01, "word_penalty": 1.0}


@pytest.mark.parametrize("name", ["model", "rules"])
def test_a_hypergraph_is_that_of_the_search(ask, folder, name):
    found = ask("hypergraph", text=LINE, model=name)
    assert found["hypergraph"] == json.loads(format_hypergraph(dm.load(folder / name).hypergraph(LINE)))


@pytest.mark.parametrize("name", ["model", "rules"])
def test_under_the_same_weights_nothing_changes(ask, folder, name):
    line = "Un petit chat noir dort."  # of which nobody else has asked
    system = dm.load(folder / name)
    found = ask("reweight", text=line, model=name, size=3)
    explained = json.loads(system.explain(line).json(0))
    _same_but_for_rounding(found["derivation"], explained)
    assert found["text"] == system.translate(line)
    assert [row["text"] for row in found["nbest"]] == system.nbest(line, 3).texts()
    again = ask("reweight", text=line, model=name, size=3)
    assert (found["searched"], again["searched"]) == (True, False)
    assert again == {**found, "searched": False}


@pytest.mark.parametrize("name", ["model", "rules"])
def test_under_other_weights_the_best_is_what_the_hypergraph_has(ask, folder, name):
    system = dm.load(folder / name)
    graph = system.hypergraph(LINE).reweighted(system.with_weights(OTHER).weights)
    found = ask("reweight", text=LINE, model=name, weights=OTHER, size=5)
    own = ask("reweight", text=LINE, model=name, size=5)
    wanted = nbest([graph], 5, distinct=True)
    assert [row["text"] for row in found["nbest"]] == wanted.texts()
    assert np.allclose([row["score"] for row in found["nbest"]], wanted.scores)
    assert found["nbest"] != own["nbest"]
    _is_described(found["derivation"], system.with_weights(OTHER).weights, found["nbest"][0])


def test_where_everything_was_looked_at_it_is_what_a_new_search_finds(ask, folder):
    line = "un homme dort"
    wanted = dm.load(folder / "model").with_weights(OTHER).with_limits(algorithm="exhaustive").explain(line)
    found = ask("reweight", text=line, weights=OTHER)
    _same_but_for_rounding(found["derivation"], json.loads(wanted.json(0)))


def _same_but_for_rounding(found, wanted):
    assert found["score"] == pytest.approx(wanted["score"])
    assert found["features"] == pytest.approx(wanted["features"])
    for name in ("source", "text", "phrases"):
        assert found[name] == wanted[name]
    ours, theirs = ([*_rules(one["tree"])] for one in (found, wanted))
    assert [rule for rule, _ in ours] == [rule for rule, _ in theirs]
    for (_, features), (_, others) in zip(ours, theirs, strict=True):
        assert features == pytest.approx(others)


def _rules(tree):
    """All rules of a tree, each with its features apart."""
    if tree is not None:
        yield {key: value for key, value in tree.items() if key not in ("children", "features")}, tree["features"]
        for child in tree["children"]:
            yield from _rules(child)


def _is_described(derivation, weights, best):
    """A derivation has the score, the features and the words of the best hypothesis, and covers the source."""
    assert (derivation["text"], derivation["score"]) == (best["text"], pytest.approx(best["score"]))
    assert sum(weights[name] * value for name, value in derivation["features"].items()) == pytest.approx(best["score"])
    spans = sorted(tuple(phrase["source"]) for phrase in derivation["phrases"])
    assert [begin for begin, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == len(derivation["source"].split())
    assert max(phrase["target"][1] for phrase in derivation["phrases"]) == len(derivation["text"].split())


def test_hypergraphs_that_are_too_large_are_refused(live):
    server = live(edges=10, cache_bytes=100)
    for route in ("hypergraph", "reweight"):
        response = server.client.post(f"/api/v1/{route}", json={"text": LINE})
        assert response.status_code == 422
        assert "expected at most 10" in response.json()["error"]["message"]
    assert len(server.service.hypergraphs) == 0


def test_samples_are_those_of_the_front_door(ask, folder):
    found = ask("sample", text=LINE, samples=50, chains=3, seed=7, burn_in=10)["derivations"]
    samples = dm.load(folder / "model").sample(LINE, 50, chains=3, seed=7, burn_in=10)
    frame = sorted(zip(samples.counts.sum(axis=1).tolist(), samples.scores.tolist(), strict=True), reverse=True)
    assert sorted(((row["count"], row["score"]) for row in found), reverse=True) == frame
    assert sum(row["probability"] for row in found) == pytest.approx(1)
    assert [row["count"] for row in found] == sorted((row["count"] for row in found), reverse=True)


@pytest.mark.parametrize("evidence", ["nbest", "hypergraph", "samples"])
@pytest.mark.parametrize("name", ["model", "rules"])
def test_every_rule_that_takes_the_evidence_chooses(ask, client, folder, evidence, name):
    found = ask("posterior", text=LINE, model=name, evidence=evidence, samples=100, scale=0.5)
    rules = client.get("/api/v1/models").json()["decisions"]
    assert [row["decision"] for row in found["choices"]] == [r["name"] for r in rules if evidence in r["takes"]]
    assert not any("refused" in row for row in found["choices"])
    shares = [row["probability"] for row in found["candidates"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(found["mass"])
    assert 0 < found["mass"] <= 1 + 1e-9
    by_rule = {row["decision"]: row["text"] for row in found["choices"]}
    if evidence != "hypergraph":
        assert by_rule["max-translation"] == found["candidates"][0]["text"]
    if evidence == "nbest":
        options = {"evidence": evidence, "scale": 0.5}
        assert by_rule["mbr"] == dm.load(folder / name).translate(LINE, decision="mbr", **options)


@pytest.mark.parametrize("evidence", ["nbest", "hypergraph"])
def test_the_posterior_is_of_the_strings_that_rules_see(ask, folder, evidence):
    found = ask("posterior", text=LINE, evidence=evidence, size=30, scale=0.5)
    system = dm.load(folder / "model")
    strings = system.nbest(LINE, 30).texts()
    assert len(set(system.nbest(LINE, 30, distinct=False).texts())) < len(strings)
    assert len(found["candidates"]) == len(strings)
    texts = {row["text"] for row in found["candidates"]}
    assert evidence == "hypergraph" or {row["text"] for row in found["choices"]} <= texts


def test_rules_that_do_not_take_the_evidence_say_so(ask, refused):
    asked = {"text": "Un homme dort.", "evidence": "hypergraph", "decisions": ["mbr", "consensus"]}
    first, second = ask("posterior", **asked)["choices"]
    assert first == {"decision": "mbr", "refused": "mbr decides by n-best lists or samples, not by hypergraphs"}
    assert second == {"decision": "consensus", "evidence": "hypergraph", "text": "A man sleeps."}
    assert refused("posterior", text="a", decisions=["x"])[0] == 400


@pytest.mark.parametrize("route", ["nbest", "reweight", "hypergraph", "sample", "posterior"])
def test_an_empty_sentence_is_none(refused, route):
    assert refused(route, text=" \n") == (400, "the text is empty; expected a sentence")


@pytest.mark.parametrize(
    ("route", "asked", "status", "sentence"),
    [
        ("nbest", {"size": 1001}, 422, "size is 1,001; expected at most 1,000"),
        ("reweight", {"size": 1001}, 422, "size is 1,001; expected at most 1,000"),
        ("translate", {"nbest": 1001}, 422, "nbest is 1,001; expected at most 1,000"),
        ("sample", {"samples": 20_000}, 422, "the number of samples of all chains is 40,200; expected at most 20,000"),
        (
            "posterior",
            {"samples": 20_000},
            422,
            "the number of samples of all chains is 40,000; expected at most 20,000",
        ),
        ("translate", {"decision": "mbr", "samples": 10_001}, 422, "of all chains is 20,002; expected at most 20,000"),
        ("translate", {"text": "a " * 251}, 413, "a sentence has 251 words; expected at most 250"),
        ("nbest", {"text": "a" * 10_100}, 413, "a sentence has 252 words; expected at most 250"),
        ("translate", {"text": "a\n" * 1001}, 413, "found 1,001 sentences; expected at most 1,000 a request"),
        ("reweight", {"weights": {"lm": 1e308, "tm.fwd": 1e308}}, 400, "finite"),
    ],
)
def test_limits_are_told(refused, route, asked, status, sentence):
    found = refused(route, **{"text": "un homme", **asked})
    assert found[0] == status
    assert sentence in found[1]
