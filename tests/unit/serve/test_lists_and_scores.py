"""Anybody's lists and outputs: read, reranked, decided upon, scored."""

import pytest

import dragoman as dm
from oracles.scored_text import OUTPUTS, REFERENCES, TOKENISERS, sacrebleu_of

MOSES = (
    "0 ||| a cat ||| lm= -2 tm= -1 ||| -3\n0 ||| the cat ||| lm= -1 tm= -3 ||| -4\n1 ||| dogs ||| lm= -1 tm= 0 ||| -1\n"
)


def test_lists_of_any_format_are_read(ask):
    found = ask("lists", content=MOSES)
    assert (found["format"], found["features"]) == ("moses", ["lm", "tm"])
    first, second = found["lists"]
    assert first["candidates"][1] == {"text": "the cat", "score": -4.0, "features": {"lm": -1.0, "tm": -3.0}}
    assert (second["id"], len(second["candidates"])) == (1, 1)
    assert found["weights"] == pytest.approx({"lm": 1.0, "tm": 1.0})  # those behind the lists' scores
    found = ask("lists", content="0\ta cat\t-1.5\n0\tthe cat\t-2\n", format="tsv")
    assert (found["format"], found["features"]) == ("tsv", ["score"])
    assert found["lists"][0]["candidates"][0]["features"] == {"score": -1.5}


def test_missing_numbers_are_refused_in_the_words_of_the_service(refused):
    status, said = refused("lists", content='{"hyps": [{"text": "a", "logprob": -1}, {"text": "b"}]}\n')
    assert status == 400
    assert "1 of 2 hypotheses have no 'logprob'" in said
    assert said.endswith("expected a number for each hypothesis, or for none")


def test_lists_are_put_into_the_order_of_weights(ask):
    found = ask("rerank", content=MOSES, weights={"lm": 1.0})
    assert found["chosen"] == dm.rerank([["the cat"], ["dogs"]], {"x": 1.0}, features={"x": [1.0, 1.0]})
    assert found["lists"][0] == {"id": 0, "text": "the cat", "order": [1, 0], "scores": [-2.0, -1.0]}
    assert found["content"].startswith("0 ||| the cat ||| lm= -1 tm= -3 ||| -1\n0 ||| a cat ")
    assert ask("rerank", content=found["content"], weights={"lm": 1.0})["lists"][0]["order"] == [0, 1]


def test_candidates_are_chosen_by_minimum_bayes_risk(ask):
    content = "".join(f"0 ||| {text} ||| lm= 0 ||| 0\n" for text in ("dogs", "the cat sat", "a cat sat", "the cat sat"))
    lists = [["dogs", "the cat sat", "a cat sat", "the cat sat"]]
    assert ask("mbr", content=content, metric="chrf", weights_from="uniform")["chosen"] == dm.mbr(lists, utility="chrf")


@pytest.mark.parametrize(
    ("route", "asked", "sentence"),
    [
        ("lists", {"content": "0 ||| a |||  ||| 0\n"}, "the format may be joshua or moses"),
        ("lists", {"content": "0 ||| a ||| lm= x ||| 1\n", "format": "moses"}, "line 1: "),
        ("lists", {"content": "\n \n"}, "the file is empty; expected an n-best list"),
        ("lists", {"content": "BZh91AY&SY"}, "the lists are compressed; expected text"),
        ("lists", {"content": MOSES, "format": "/etc/passwd"}, "no nbest_format is called '/etc/passwd'"),
        ("rerank", {"content": MOSES, "weights": {"x": 1}}, "there is a weight for 'x', which no hypothesis has"),
        ("mbr", {"content": MOSES, "metric": "precomputed(path=/etc/passwd)"}, "precomputed reads a file"),
        ("mbr", {"content": MOSES, "metric": "bleu-precomputed(path=/etc/passwd)"}, "precomputed reads a file"),
        ("mbr", {"content": MOSES, "metric": "+bleu" * 100}, "a metric has 500 characters"),
        ("score", {"outputs": ["a"], "references": ["a", "b"]}, "has 1 lines, but the reference has 2"),
        ("score", {"outputs": ["a"], "references": [["a"], ["a", "b"]]}, "the references have different numbers"),
        ("score", {"outputs": ["a"], "references": ["a"], "metrics": ["x"]}, "no metric is called 'x'"),
        ("score", {"outputs": ["a"], "references": ["a"], "metrics": ["precomputed:path=x"]}, "precomputed reads"),
    ],
)
def test_what_is_wrong_is_told_without_paths(refused, route, asked, sentence):
    status, found = refused(route, **asked)
    assert status == 400
    assert sentence in found
    assert "/tmp" not in found


def test_outputs_are_scored_and_compared(ask):
    outputs, others = ["the cat sat down", "a dog"], ["cat", "a dog runs"]
    references = ["the cat sat down", "the dog"]
    found = ask("score", outputs=outputs, references=references, others=others, metrics=["bleu", "ter"], resamples=100)
    for system, key in ((outputs, "scores"), (others, "others")):
        for row in found[key]:
            wanted = dm.score(system, references, row["metric"], resamples=100)
            assert row["score"] == wanted.value
            assert row["interval"] == list(wanted.interval)
            assert row["sentences"] == wanted.sentences.tolist()
            assert row["signature"] == wanted.signature
    assert [row["better"] for row in found["comparisons"]] == ["outputs", "outputs"]
    pair = dm.compare({"outputs": outputs, "others": others}, references, resamples=100, trials=100).pairs[0]
    assert found["comparisons"][0]["p_bootstrap"] == pair["p_bootstrap"]
    several = ask("score", outputs=outputs, references=[references, outputs], metrics=["bleu"], resamples=0)["scores"]
    assert (several[0]["score"], several[0]["interval"]) == (pytest.approx(100), None)


@pytest.mark.parametrize("kind", ["raw", "prepared"])
def test_bleu_is_sacrebleus_of_the_same_text(ask, kind):
    found = ask("score", outputs=OUTPUTS[kind], others=REFERENCES[kind], references=REFERENCES[kind], metrics=["bleu"])
    assert found["scores"][0]["score"] == pytest.approx(sacrebleu_of(kind))
    for part in (found["scores"], found["others"], found["comparisons"]):
        assert f"|tok:{TOKENISERS[kind]}|" in part[0]["signature"]
    assert found["scores"][0]["note"].startswith(f"tok:{TOKENISERS[kind]} because")
